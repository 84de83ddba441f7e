#include "store/runs.h"

#include <algorithm>
#include <limits>

#include "store/database.h"
#include "store/sql_rows.h"

// Runs in SQL: one, and the list of them, newest first, with every filter answered by an index: a tenant may have very
// many.
namespace sluice::store {

namespace {

// Where a run is in the list: by the moment of its creation, and by its number among those of the same moment.
struct Place {
  int64_t created_ms = 0;
  int64_t number = 0;
  auto operator<=>(const Place&) const = default;
};

struct Listed {
  model::Run run;
  Place place;
};

// What lies between two places, both left out.
struct Span {
  Place above;
  Place below;
};

Span span_of(const RunFilter& filter, std::optional<Place> cursor, Walk walk) {
  constexpr int64_t end = std::numeric_limits<int64_t>::max();
  Span span{{filter.created_after.value_or(Timestamp{-1}).ms, end},
            {filter.created_before.value_or(Timestamp{end}).ms}};
  if (cursor && walk.rising) span.above = std::max(span.above, *cursor);
  if (cursor && !walk.rising) span.below = std::min(span.below, *cursor);
  return span;
}

// The runs that are not over are few, and known; the others have an index.
std::string_view source_of(const RunFilter& filter, std::optional<model::RunState> state) {
  if (!state && filter.agent) return "runs WHERE tenant_id = ?1 AND agent_id = ?6 AND ?7 IS NULL";
  if (!state) return "runs WHERE tenant_id = ?1 AND ?6 IS NULL AND ?7 IS NULL";
  if (model::is_over(*state)) {
    return "runs WHERE tenant_id = ?1 AND state = ?7 AND ended_at IS NOT NULL AND (?6 IS NULL OR agent_id = ?6)";
  }
  return "flights CROSS JOIN runs "
         "WHERE runs.number = flights.run AND tenant_id = ?1 AND state = ?7 AND (?6 IS NULL OR agent_id = ?6)";
}

void read_some(Connection& db, model::TenantId tenant, const RunFilter& filter, std::optional<model::RunState> state,
               const Span& span, Walk walk, int limit, std::vector<Listed>& out) {
  std::string sql("SELECT runs.* FROM ");
  sql.append(source_of(filter, state));
  sql.append(" AND (created_at, number) > (?2, ?3) AND (created_at, number) < (?4, ?5) ORDER BY ");
  sql.append(walk.rising ? "created_at, number LIMIT ?8" : "created_at DESC, number DESC LIMIT ?8");
  Query query(db, sql, tenant, span.above.created_ms, span.above.number, span.below.created_ms, span.below.number,
              filter.agent, state, limit);
  while (query.next()) {
    Listed listed;
    listed.place.number = read_row(query, listed.run);
    listed.place.created_ms = listed.run.created_at.ms;
    out.push_back(std::move(listed));
  }
}

std::string words_of(const std::vector<model::RunState>& states) {
  std::string out;
  for (const auto state : states) out.append(" ").append(model::name_of(state)).append(" ");
  return out;
}

// Messages and runs of a conversation are made together, so their orders agree.
Result<Page<model::Run>> runs_of_conversation(Connection& db, model::TenantId tenant, const RunFilter& filter,
                                              const PageQuery<model::RunId>& query, std::optional<int64_t> cursor) {
  const auto number =
      find_number(db, "SELECT number FROM conversations WHERE id = ? AND tenant_id = ?", *filter.conversation, tenant);
  if (!number) return no_such("conversation");
  if (cursor) cursor = find_number(db, "SELECT message FROM runs WHERE number = ?", *cursor);
  return page_by_number<model::Run>(
      db,
      "SELECT runs.* FROM messages JOIN runs ON runs.number = messages.run WHERE messages.conversation = ?1 "
      "AND (?4 IS NULL OR agent_id = ?4) AND (?5 IS NULL OR created_at > ?5) AND (?6 IS NULL OR created_at < ?6) "
      "AND (?7 = '' OR ?7 LIKE '% ' || state || ' %')",
      "messages.number", *number, cursor, query.limit, Walk::of(query, Order::descending),
      [](Query& row) {
        model::Run listed;
        read_row(row, listed);
        return listed;
      },
      filter.agent, filter.created_after, filter.created_before, words_of(filter.states));
}

}  // namespace

void run(Database& database, model::TenantId tenant, model::RunId id, Done<model::Run> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) -> Result<model::Run> {
    auto found = find_row<model::Run>(db, "SELECT * FROM runs WHERE id = ? AND tenant_id = ?", id, tenant);
    if (!found) return no_such("run");
    return *std::move(found);
  });
}

void run_of_message(Database& database, model::TenantId tenant, model::MessageId assistant_message,
                    Done<model::Run> done) {
  database.read(tenant, std::move(done), [tenant, assistant_message](Connection& db) -> Result<model::Run> {
    auto found = find_row<model::Run>(
        db,
        "SELECT runs.* FROM messages JOIN runs ON runs.number = messages.run WHERE messages.id = ? AND tenant_id = ?",
        assistant_message, tenant);
    if (!found) return no_such("run");
    return *std::move(found);
  });
}

void runs(Database& database, model::TenantId tenant, RunFilter filter, PageQuery<model::RunId> query,
          Done<Page<model::Run>> done) {
  database.read(
      tenant, std::move(done), [tenant, filter = std::move(filter), query](Connection& db) -> Result<Page<model::Run>> {
        std::optional<Place> cursor;
        if (const auto& id = cursor_of(query)) {
          Query found(db, "SELECT created_at, number FROM runs WHERE id = ? AND tenant_id = ?", *id, tenant);
          if (!found.next()) return no_such("run to go on from");
          found.read(cursor.emplace().created_ms, cursor->number);
        }
        if (filter.conversation) {
          return runs_of_conversation(db, tenant, filter, query, cursor ? std::optional(cursor->number) : std::nullopt);
        }
        const auto walk = Walk::of(query, Order::descending);
        const auto span = span_of(filter, cursor, walk);
        std::vector<Listed> found;
        if (filter.states.empty()) read_some(db, tenant, filter, {}, span, walk, query.limit + 1, found);
        for (const auto state : filter.states) read_some(db, tenant, filter, state, span, walk, query.limit + 1, found);
        std::ranges::sort(found, [&](const Listed& a, const Listed& b) {
          return walk.rising ? a.place < b.place : b.place < a.place;
        });
        Page<model::Run> page{.has_more = found.size() > static_cast<std::size_t>(query.limit)};
        if (page.has_more) found.resize(static_cast<std::size_t>(query.limit));
        for (auto& listed : found) page.rows.push_back(std::move(listed.run));
        if (walk.reversed) std::ranges::reverse(page.rows);
        return page;
      });
}

}  // namespace sluice::store
