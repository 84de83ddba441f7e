#include "store/sql_nodes.h"

#include "store/sql_query.h"
#include "store/sqlite_runs.h"

namespace sluice::store {
namespace {

// A tenant's first run comes before any tenant's second one, or before a heavier tenant's share of them, so that a long
// queue of one tenant does not hide the others.
constexpr std::string_view list_held =
    "WITH working AS (SELECT h.node, r.tenant_id, count(*) AS count FROM heads h JOIN runs r ON r.number = h.run "
    "WHERE h.state NOT IN ('held', 'parked') AND h.node <> ?1 GROUP BY h.node, r.tenant_id), "
    "here AS (SELECT r.tenant_id, min(r.created_at) AS since FROM heads h JOIN runs r ON r.number = h.run "
    "WHERE h.state = 'held' AND h.node = ?1 GROUP BY r.tenant_id), "
    "waiting AS (SELECT h.id, h.epoch, h.run, r.tenant_id, t.weight, t.max_running, "
    "CASE WHEN r.created_at + ?4 <= here.since THEN 1 ELSE 0 END AS overdue, "
    "row_number() OVER (PARTITION BY r.tenant_id ORDER BY h.run) AS turn, "
    "count(*) OVER (PARTITION BY r.tenant_id) AS count "
    "FROM heads h JOIN runs r ON r.number = h.run JOIN tenants t ON t.id = r.tenant_id "
    "LEFT JOIN nodes n ON n.id = h.node LEFT JOIN here ON here.tenant_id = r.tenant_id "
    "LEFT JOIN working w ON w.node = h.node AND w.tenant_id = r.tenant_id "
    "WHERE h.state = 'held' AND h.node <> ?1 AND (h.epoch = 1 OR (n.free_slots <= 0 AND n.held > 0) "
    "OR (t.max_running > 0 AND w.count >= t.max_running))) "
    "SELECT tenant_id, weight, max_running, count, id, epoch, overdue FROM waiting WHERE turn <= ?2 "
    "ORDER BY CAST(turn - 1 AS REAL) / max(weight, 1), run LIMIT ?3";

Result<std::vector<HeldElsewhere>> read_held(Connection& db, model::NodeId self) {
  Query query(db, list_held, self, held_of_tenant_max, held_listed_max, overdue_ms);
  std::vector<HeldElsewhere> found;
  std::unordered_map<model::TenantId, std::size_t> known;
  while (query.next()) {
    HeldElsewhere row;
    HeldRun run;
    bool is_overdue = false;
    query.read(row.tenant, row.limits.weight, row.limits.max_running, row.count, run.run, run.epoch, is_overdue);
    const auto [mine, is_new] = known.emplace(row.tenant, found.size());
    if (is_new) found.push_back(row);
    auto& held = found[mine->second];
    if (is_overdue && held.overdue == std::ssize(held.oldest)) ++held.overdue;
    held.oldest.push_back(run);
  }
  return found;
}

std::vector<SeenNode> read_nodes(Connection& db, std::vector<Beat>& beats) {
  std::vector<SeenNode> seen;
  Query query(
      db,
      "SELECT id, started_at, beat_at, name, version, draining, slots, free_slots, warm, sticky, running, held, "
      "parked FROM nodes ORDER BY started_at, id");
  while (query.next()) {
    SeenNode node;
    Beat beat;
    auto& its = node.figures;
    query.read(node.id, node.started_at, beat.beat_at, its.name, its.version, its.draining, its.slots, its.free_slots,
               its.warm, its.sticky, its.running, its.held, its.parked);
    beat.node = node.id;
    beats.push_back(beat);
    seen.push_back(std::move(node));
  }
  return seen;
}

void keep_beat(Connection& db, model::NodeId self, const NodeFigures& its, Timestamp now, int64_t now_us) {
  execute(db,
          "INSERT INTO nodes (id, name, version, draining, slots, free_slots, warm, sticky, running, held, parked, "
          "started_at, beat_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
          "name = excluded.name, version = excluded.version, draining = excluded.draining, slots = excluded.slots, "
          "free_slots = excluded.free_slots, warm = excluded.warm, sticky = excluded.sticky, "
          "running = excluded.running, held = excluded.held, parked = excluded.parked, beat_at = excluded.beat_at",
          self, its.name, its.version, its.draining, its.slots, its.free_slots, its.warm, its.sticky, its.running,
          its.held, its.parked, now, now_us);
}

void forget_silent(Connection& db, const std::vector<Beat>& silent) {
  for (const auto& [node, beat_at] : silent) {
    execute(db,
            "DELETE FROM nodes WHERE id = ? AND beat_at = ? AND NOT EXISTS (SELECT 1 FROM heads WHERE heads.node = "
            "nodes.id)",
            node, beat_at);
    if (db.change_count() > 0) execute(db, "DELETE FROM mail WHERE sender = ?", node);
  }
}

}  // namespace

const char* SqlNodes::schema() {
  return R"sql(
ALTER TABLE runs ADD COLUMN node BLOB NOT NULL DEFAULT x'00000000000000000000000000000000';
CREATE VIEW heads AS SELECT runs.id, flights.run, runs.epoch, runs.node, runs.state
  FROM flights JOIN runs ON runs.number = flights.run;
CREATE TABLE nodes (
  id BLOB PRIMARY KEY, started_at INTEGER NOT NULL, beat_at INTEGER NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
  draining INTEGER NOT NULL, slots INTEGER NOT NULL, free_slots INTEGER NOT NULL, warm INTEGER NOT NULL,
  sticky INTEGER NOT NULL, running INTEGER NOT NULL, held INTEGER NOT NULL, parked INTEGER NOT NULL
) STRICT;
CREATE TABLE mail (
  number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, sender BLOB NOT NULL, run BLOB, recipient BLOB,
  kind TEXT NOT NULL, body TEXT NOT NULL, answer TEXT
) STRICT;
CREATE TABLE agreed (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
)sql";
}

SqlNodes::SqlNodes(Database& database, Writer& writer, OpenRuns& open_runs, model::NodeId self, world::Loop& loop)
    : database_(database), writer_(writer), open_runs_(open_runs), self_(self), loop_(loop), beats_(self) {}

// A connection that failed is made anew, because what it says does no harm when it is said twice.
template <typename T, typename Attempt>
void SqlNodes::write(Done<T> done, Attempt attempt) {
  const auto nothing = [](Connection&) -> Result<Unit> { return Unit{}; };
  if (writer_.broken()) {
    writer_.submit(
        std::make_unique<Operation<Unit, decltype(nothing)>>(Work::Class::reopen, nothing, [](const Result<Unit>&) {}));
  }
  writer_.submit(std::make_unique<Operation<T, Attempt>>(Work::Class::flow, std::move(attempt), std::move(done)));
}

// ── who lives ───────────────────────────────────────────────────────────────────────────────────

void SqlNodes::beat(NodeFigures figures, int64_t forget_ms, Done<std::vector<SeenNode>> done) {
  write(std::move(done),
        [this, figures = std::move(figures), forget_ms](Connection& db) -> Result<std::vector<SeenNode>> {
          const auto now_us = loop_.monotonic_us();
          keep_beat(db, self_, figures, loop_.now(), now_us);
          forget_silent(db, beats_.silent_for(forget_ms, now_us));
          std::vector<Beat> beats;
          auto seen = read_nodes(db, beats);
          if (!db.failure()) beats_.hear(beats, now_us, now_us, seen);
          return seen;
        });
}

void SqlNodes::leave(Done<Unit> done) {
  write(std::move(done), [this](Connection& db) -> Result<Unit> {
    execute(db, "DELETE FROM nodes WHERE id = ?", self_);
    execute(db, "DELETE FROM mail WHERE sender = ?", self_);
    return Unit{};
  });
}

void SqlNodes::agree(std::string name, std::string value, Done<std::string> done) {
  write(std::move(done),
        [this, name = std::move(name), value = std::move(value)](Connection& db) -> Result<std::string> {
          execute(db,
                  "INSERT INTO agreed (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = "
                  "excluded.value WHERE EXISTS (SELECT 1 FROM nodes WHERE id = ?3) AND NOT EXISTS (SELECT 1 FROM "
                  "nodes WHERE id <> ?3 AND beat_at > ?4 - 10000000)",
                  name, value, self_, loop_.monotonic_us());
          Query query(db, "SELECT value FROM agreed WHERE name = ?", name);
          std::string agreed;
          if (query.next()) query.read(agreed);
          return agreed;
        });
}

void SqlNodes::follow(std::vector<model::RunId> runs) {
  const auto now_us = loop_.monotonic_us();
  std::erase_if(followed_, [&](const auto& wish) { return wish.second <= now_us; });
  for (const auto run : runs) followed_[run] = now_us + follow_ms * 1'000;
}

bool SqlNodes::follows(model::RunId run) const {
  const auto wish = followed_.find(run);
  return wish != followed_.end() && loop_.monotonic_us() < wish->second;
}

// ── mail ────────────────────────────────────────────────────────────────────────────────────────

void SqlNodes::post(Mail mail, Done<Unit> done) {
  write(std::move(done), [this, mail = std::move(mail)](Connection& db) -> Result<Unit> {
    execute(db,
            "INSERT INTO mail (id, sender, run, recipient, kind, body) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO NOTHING",
            mail.id, self_, mail.run, mail.to, mail.kind, mail.body);
    return Unit{};
  });
}

void SqlNodes::inbox(Done<std::vector<Mail>> done) {
  database_.read(std::move(done), [self = self_](Connection& db) -> Result<std::vector<Mail>> {
    std::vector<Mail> found;
    Query query(
        db,
        "SELECT m.id, m.sender, m.run, m.recipient, m.kind, m.body FROM mail m LEFT JOIN runs r ON r.id = m.run "
        "WHERE m.answer IS NULL AND coalesce(m.recipient, r.node) = ? ORDER BY m.number",
        self);
    while (query.next()) {
      auto& mail = found.emplace_back();
      query.read(mail.id, mail.from, mail.run, mail.to, mail.kind, mail.body);
    }
    return found;
  });
}

void SqlNodes::answer(model::MailId id, std::string body, Done<Unit> done) {
  write(std::move(done), [id, body = std::move(body)](Connection& db) -> Result<Unit> {
    // The first answer counts.
    execute(db, "UPDATE mail SET answer = coalesce(answer, ?2) WHERE id = ?1", id, body);
    if (db.change_count() > 0) return Unit{};
    return Error{ErrorKind::not_found, "nobody waits for the answer"};
  });
}

// What was given goes with the next question, so that an answer that is lost on its way is given again.
void SqlNodes::answers(Done<std::vector<MailAnswer>> done) {
  write(std::move(done), [this](Connection& db) -> Result<std::vector<MailAnswer>> {
    for (const auto id : given_) execute(db, "DELETE FROM mail WHERE id = ?", id);
    std::vector<MailAnswer> found;
    Query query(db, "SELECT id, answer FROM mail WHERE sender = ? AND answer IS NOT NULL ORDER BY number", self_);
    while (query.next()) {
      auto& answer = found.emplace_back();
      query.read(answer.id, answer.body);
    }
    if (db.failure()) return found;
    given_.clear();
    for (const auto& answer : found) given_.push_back(answer.id);
    return found;
  });
}

void SqlNodes::withdraw(model::MailId id, Done<Unit> done) {
  write(std::move(done), [this, id](Connection& db) -> Result<Unit> {
    execute(db, "DELETE FROM mail WHERE id = ? AND sender = ?", id, self_);
    return Unit{};
  });
}

// ── runs that wait ──────────────────────────────────────────────────────────────────────────────

void SqlNodes::held_elsewhere(Done<std::vector<HeldElsewhere>> done) {
  database_.read(std::move(done), [self = self_](Connection& db) { return read_held(db, self); });
}

void SqlNodes::claim(std::vector<HeldRun> wanted, Done<std::vector<model::Run>> done) {
  database_.write(std::move(done), [&open = open_runs_, self = self_, wanted = std::move(wanted)](Connection& db) {
    return sql::claim(db, open, wanted, self);
  });
}

}  // namespace sluice::store
