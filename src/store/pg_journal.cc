#include "store/pg_journal.h"

#include "store/pg_group.h"
#include "store/pg_schema.h"
#include "store/sql_rows.h"

namespace sluice::store::pg {

namespace {

constexpr int64_t claimed_ms = 60'000;

// One that is not sealed, some rows at a time: an answer is in memory as a whole.
class OpenJournalReader final : public sql::JournalReader {
 public:
  OpenJournalReader(Connection& db, int64_t run, model::Position after) : db_(db), run_(run), asked_(after) {}

  Result<sql::JournalRow> next() override {
    if (at_ == rows_.size() && !is_end_) fetch();
    if (at_ == rows_.size()) return sql::JournalRow();
    auto& [last, batch] = rows_[at_++];
    return UnpackedRow::from(std::move(batch), last);
  }

 private:
  struct Row {
    model::Position last;
    std::string batch;
  };

  void fetch() {
    constexpr int rows_max = 64;
    Query query(db_, "SELECT last, batch FROM journal WHERE run = ? AND last > ? ORDER BY last LIMIT ?", run_,
                asked_.value, rows_max);
    rows_.clear();
    at_ = 0;
    while (query.next()) {
      auto& row = rows_.emplace_back();
      query.read(row.last, row.batch);
      asked_ = row.last;
    }
    is_end_ = rows_.size() < rows_max;
  }

  Connection& db_;
  int64_t run_;
  model::Position asked_;
  std::vector<Row> rows_;
  std::size_t at_ = 0;
  bool is_end_ = false;
};

// Moves one journal; how many bytes of events it had. A damaged one stays where it is, and is empty here.
std::optional<std::size_t> seal(Connection& db, Packer& packer, int64_t run) {
  sql::Sealing sealing(packer);
  {
    Query query(db, "SELECT last, batch FROM journal WHERE run = ? ORDER BY last", run);
    while (query.next()) {
      model::Position last;
      std::string batch;
      query.read(last, batch);
      if (!sealing.add(batch, last)) return std::nullopt;
    }
  }
  std::size_t total = 0;
  for (const auto& [last, batch_zstd, bytes] : std::move(sealing).rows()) {
    total += bytes;
    execute(db, "INSERT INTO sealed_journals (run, last, batch_zstd) VALUES (?, ?, ?)", run, last.value,
            Blob{batch_zstd});
  }
  execute(db, "DELETE FROM journal WHERE run = ?", run);
  execute(db, "UPDATE runs SET sealed = 1 WHERE number = ?", run);
  return total;
}

}  // namespace

Result<sql::JournalSlice> journal(Connection& db, UnpackedRows& unpacked, model::RunId run, model::Position after,
                                  std::size_t bytes_max) {
  sql::JournalSlice slice{{}, {after.value + 1}, {}};
  int64_t number = 0;
  bool is_sealed = false;
  {
    Query query(db,
                "SELECT r.number, " + std::string(run_columns) +
                    ", r.sealed FROM runs r LEFT JOIN heads h ON h.run = r.number WHERE r.id = ?",
                run);
    if (!query.next()) return no_such("run");
    number = read_row(query, slice.run);
    query.read(is_sealed);
  }
  return sql::fill_page(std::move(slice), unpacked, bytes_max,
                        [&](model::Position from) -> std::unique_ptr<sql::JournalReader> {
                          if (is_sealed) return std::make_unique<sql::SealedJournalReader>(db, number, from);
                          return std::make_unique<OpenJournalReader>(db, number, from);
                        });
}

Result<UnfinishedRuns> unfinished_runs(Connection& db) {
  UnfinishedRuns found;
  {
    Query query(db, "SELECT r.number, " + std::string(run_columns) +
                        " FROM heads h JOIN runs r ON r.number = h.run ORDER BY r.number");
    while (query.next()) read_row(query, found.runs.emplace_back());
  }
  found.now.ms = find_number(db, "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)").value_or(0);
  return found;
}

Result<std::vector<model::RunId>> carried_runs(Connection& db, model::NodeId node) {
  Query query(db, "SELECT id FROM heads WHERE node = ?", node);
  std::vector<model::RunId> found;
  while (query.next()) query.read(found.emplace_back());
  return found;
}

Result<int> tidy_up(Connection& db, Timestamp now) {
  const auto locked =
      find_number(db, "SELECT CAST(pg_try_advisory_xact_lock(?) AS int)", static_cast<int64_t>(PgLock::tidying));
  if (locked.value_or(0) == 0) return 0;
  sql::drop_old(db, now);
  std::vector<int64_t> finished;
  {
    Query query(db, "SELECT number FROM runs WHERE ended_at IS NOT NULL AND sealed = 0 ORDER BY ended_at LIMIT ?",
                sql::sealed_runs_max);
    while (query.next()) query.read(finished.emplace_back());
  }
  Packer packer;
  int sealed = 0;
  std::size_t bytes = 0;
  for (const auto run : finished) {
    if (bytes >= sql::sealed_bytes_max) break;
    const auto size = seal(db, packer, run);
    if (size) ++sealed;
    bytes += size.value_or(0);
  }
  return sealed;
}

Result<std::vector<DueNotice>> due_notices(Connection& db, Timestamp now, int limit) {
  Query query(
      db,
      "WITH claimed AS (SELECT number, due_at FROM notices WHERE due_at <= ?1 ORDER BY due_at, number LIMIT ?2 FOR "
      "UPDATE "
      "SKIP LOCKED), given AS (UPDATE notices n SET due_at = ?1 + ?3 FROM claimed WHERE n.number = claimed.number "
      "RETURNING n.*, claimed.due_at AS since) SELECT given.id, given.tenant_id, kind, body, given.created_at, "
      "webhook_url, attempts "
      "FROM given JOIN tenants ON tenants.id = given.tenant_id ORDER BY since, given.number",
      now, limit, claimed_ms);
  std::vector<DueNotice> due;
  while (query.next()) {
    auto& [notice, url, attempts] = due.emplace_back();
    query.read(notice.id, notice.tenant_id, notice.kind, notice.body, notice.created_at, url, attempts);
  }
  return due;
}

}  // namespace sluice::store::pg
