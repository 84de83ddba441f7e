// Rows as records, and lists of them as pages.
#pragma once

#include <algorithm>
#include <limits>

#include "journal/run_rules.h"
#include "store/questions.h"
#include "store/room.h"
#include "store/sql_query.h"

namespace sluice::store {

using journal::no_such;

// Each reads the columns of its table, in the table's order.
int64_t read_row(Query& query, model::Tenant& tenant);
int64_t read_row(Query& query, model::ServiceKey& key);
int64_t read_row(Query& query, model::ApproverKey& key);
int64_t read_row(Query& query, model::Agent& agent);
int64_t read_row(Query& query, model::Conversation& conversation);
int64_t read_row(Query& query, model::Run& run);
int64_t read_row(Query& query, model::Repository& repository);
int64_t read_row(Query& query, model::Skill& skill);
int64_t read_row(Query& query, model::Environment& environment);
int64_t read_row(Query& query, model::Execution& execution);
int64_t read_row(Query& query, model::RunFile& file);
int64_t read_row(Query& query, model::BagFile& file);
int64_t read_row(Query& query, model::Approval& approval);
int64_t read_row(Query& query, model::SealedSecret& secret);
int64_t read_row(Query& query, model::AuditEntry& entry);
int64_t read_row(Query& query, AguiRun& run);

// As JSON, which is how they are kept.
std::string metadata_text(const model::Metadata& metadata);
std::string policy_text(const model::Policy& policy);
std::string kit_text(const model::AgentKit& kit);
std::string items_text(const std::vector<model::RequestedItem>& items);
std::string list_text(const std::vector<std::string>& texts);

// The first row, if there is one.
template <typename Row, typename... Values>
std::optional<Row> find_row(Connection& db, std::string_view sql, const Values&... values) {
  Query query(db, sql, values...);
  if (!query.next()) return std::nullopt;
  Row row;
  read_row(query, row);
  return row;
}

template <typename... Values>
std::optional<int64_t> find_number(Connection& db, std::string_view sql, const Values&... values) {
  Query query(db, sql, values...);
  if (!query.next()) return std::nullopt;
  int64_t number = 0;
  query.read(number);
  return number;
}

// Which way a page is walked: a page that ends before a row is walked backwards from it.
struct Walk {
  bool rising;    // numbers grow on the way
  bool reversed;  // the rows come in the opposite of list order

  template <typename AnyId>
  static Walk of(const PageQuery<AnyId>& query, Order order) {
    const bool reversed = query.ending_before.has_value();
    return {(order == Order::ascending) != reversed, reversed};
  }
  int64_t before_all() const { return rising ? 0 : std::numeric_limits<int64_t>::max(); }
};

template <typename AnyId>
const std::optional<AnyId>& cursor_of(const PageQuery<AnyId>& query) {
  return query.ending_before ? query.ending_before : query.starting_after;
}

// Takes up to `limit` rows, and no more bytes than a page may have; `read` makes one of the query's
// current row.
template <typename Row, typename Read>
Page<Row> take_page(Query& query, int limit, Walk walk, Read read) {
  Page<Row> page;
  Room room(limit, limits::page_bytes_max);
  while (!page.has_more && query.next()) {
    Row row = read(query);
    page.has_more = !room.take(bytes_of(row));
    if (!page.has_more) page.rows.push_back(std::move(row));
  }
  if (walk.reversed) std::reverse(page.rows.begin(), page.rows.end());
  return page;
}

// A page of the rows that `select` gives ("SELECT … WHERE … ?1"), in the order of `number`; `more` are ?4 and on.
template <typename Row, typename Read, typename Scope, typename... More>
Page<Row> page_by_number(Connection& db, std::string_view select, std::string_view number, const Scope& scope,
                         std::optional<int64_t> cursor, int limit, Walk walk, Read read, const More&... more) {
  std::string sql(select);
  sql.append(" AND ").append(number).append(walk.rising ? " > ?2 ORDER BY " : " < ?2 ORDER BY ").append(number);
  sql.append(walk.rising ? " LIMIT ?3" : " DESC LIMIT ?3");
  Query query(db, sql, scope, cursor.value_or(walk.before_all()), limit + 1, more...);
  return take_page<Row>(query, limit, walk, read);
}

bool has_tenant(Connection& db, model::TenantId id);

// A page of a table that belongs to a tenant, oldest first.
template <typename Row, typename AnyId>
Result<Page<Row>> page_of_tenant(Connection& db, const std::string& table, model::TenantId tenant,
                                 const PageQuery<AnyId>& query) {
  if (!has_tenant(db, tenant)) return no_such("tenant");
  std::optional<int64_t> cursor;
  if (const auto& id = cursor_of(query)) {
    cursor = find_number(db, "SELECT number FROM " + table + " WHERE id = ? AND tenant_id = ?", *id, tenant);
    if (!cursor) return no_such("object to go on from");
  }
  return page_by_number<Row>(db, "SELECT * FROM " + table + " WHERE tenant_id = ?1", "number", tenant, cursor,
                             query.limit, Walk::of(query, Order::ascending), [](Query& row) {
                               Row record;
                               read_row(row, record);
                               return record;
                             });
}

}  // namespace sluice::store
