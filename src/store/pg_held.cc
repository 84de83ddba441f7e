#include "store/pg_held.h"

#include <string>
#include <unordered_map>

#include "store/pg_group.h"
#include "store/pg_schema.h"

namespace sluice::store::pg {
namespace {

// A tenant's first run comes before any tenant's second one, or before a heavier tenant's share of them, so that a long
// queue of one tenant does not hide the others.
constexpr std::string_view list_held =
    "WITH working AS (SELECT h.node, r.tenant_id, count(*) AS count FROM heads h JOIN runs r ON r.number = h.run "
    "WHERE h.state NOT IN ('held', 'parked') AND h.node <> $1 GROUP BY h.node, r.tenant_id), "
    "here AS (SELECT r.tenant_id, min(r.created_at) AS since FROM heads h JOIN runs r ON r.number = h.run "
    "WHERE h.state = 'held' AND h.node = $1 GROUP BY r.tenant_id), "
    "waiting AS (SELECT h.id, h.epoch, h.run, r.tenant_id, t.weight, t.max_running, "
    "CASE WHEN r.created_at + $4 <= here.since THEN CAST(1 AS bigint) ELSE 0 END AS overdue, "
    "row_number() OVER (PARTITION BY r.tenant_id ORDER BY h.run) AS turn, "
    "count(*) OVER (PARTITION BY r.tenant_id) AS count "
    "FROM heads h JOIN runs r ON r.number = h.run JOIN tenants t ON t.id = r.tenant_id "
    "LEFT JOIN nodes n ON n.id = h.node LEFT JOIN here ON here.tenant_id = r.tenant_id "
    "LEFT JOIN working w ON w.node = h.node AND w.tenant_id = r.tenant_id "
    "WHERE h.state = 'held' AND h.node <> $1 AND (h.epoch = 1 OR (n.free_slots <= 0 AND n.held > 0) "
    "OR (t.max_running > 0 AND w.count >= t.max_running))) "
    "SELECT tenant_id, weight, max_running, count, id, epoch, overdue FROM waiting WHERE turn <= $2 "
    "ORDER BY CAST(turn - 1 AS float8) / greatest(weight, 1), run LIMIT $3";

// A run whose row is being changed by another node is left out rather than waited for: beats wait behind this.
constexpr std::string_view take_held =
    "WITH waiting AS (SELECT heads.id FROM heads JOIN unnest($2, $3) AS wanted (id, epoch) ON wanted.id = heads.id "
    "AND wanted.epoch = heads.epoch WHERE heads.state = 'held' AND heads.node <> $1 "
    "ORDER BY heads.run FOR UPDATE OF heads SKIP LOCKED), "
    "h AS (UPDATE heads SET epoch = heads.epoch + 1, node = $1 FROM waiting WHERE heads.id = waiting.id "
    "RETURNING heads.*), "
    "moved AS (UPDATE runs SET epoch = h.epoch, node = h.node FROM h WHERE runs.number = h.run) ";

}  // namespace

std::vector<HeldElsewhere> held_elsewhere(PgSession& session, model::NodeId self) {
  PgValues values;
  values.id(self.ulid).number(held_of_tenant_max).number(held_listed_max).number(overdue_ms);
  const auto rows = session.execute(list_held, values);
  std::vector<HeldElsewhere> found;
  std::unordered_map<model::TenantId, std::size_t> known;
  for (int row = 0; row < rows.count(); ++row) {
    const model::TenantId tenant{rows.id(row, 0)};
    const auto [mine, is_new] = known.emplace(tenant, found.size());
    if (is_new) {
      auto& made = found.emplace_back();
      made.tenant = tenant;
      made.limits.weight = rows.number(row, 1);
      made.limits.max_running = rows.number(row, 2);
      made.count = rows.number(row, 3);
    }
    auto& held = found[mine->second];
    if (rows.number(row, 6) != 0 && held.overdue == std::ssize(held.oldest)) ++held.overdue;
    held.oldest.push_back({{rows.id(row, 4)}, {static_cast<uint64_t>(rows.number(row, 5))}});
  }
  return found;
}

std::vector<model::Run> claim(PgSession& session, model::NodeId self, const std::vector<HeldRun>& wanted) {
  PgValues lock;
  lock.number(static_cast<int64_t>(PgLock::records));
  PgArray ids(PgType::bytes);
  PgArray epochs(PgType::number);
  for (const auto& [run, epoch] : wanted) {
    ids.add(run.ulid);
    epochs.add(static_cast<int64_t>(epoch.value));
  }
  PgValues values;
  values.id(self.ulid).array(ids).array(epochs);
  session.send("BEGIN");
  session.send("SELECT pg_advisory_xact_lock_shared($1)", lock);
  session.send(std::string(take_held) + "SELECT " + std::string(run_columns) +
                   " FROM h JOIN runs r ON r.number = h.run "
                   "ORDER BY r.number",
               values);
  session.send("COMMIT");
  const auto given = session.finish();
  std::vector<model::Run> claimed;
  if (given.size() != 4) return claimed;
  for (int row = 0; row < given[2].count(); ++row) claimed.push_back(run_from(given[2], row, 0));
  return claimed;
}

}  // namespace sluice::store::pg
