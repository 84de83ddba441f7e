// Journals in SQL: read back, sealed or not, and sealed.
#include <zstd.h>

#include <memory>

#include "store/sqlite_objects.h"
#include "store/sqlite_rows.h"
#include "store/sqlite_runs.h"

namespace sluice::store::sql {

namespace {

// What one call of tidy_up() may do: the writer has others to serve.
constexpr int sealed_runs_max = 256;
constexpr std::size_t sealed_bytes_max = 4 * 1024 * 1024;
constexpr int dropped_keys_max = 10'000;

// A sealed row holds about this much, so that a page of a long journal need not unpack all of it.
constexpr std::size_t sealed_row_bytes = 1024 * 1024;
// More than any row holds: a size beyond it is damage, not a reason to allocate.
constexpr std::size_t unpacked_bytes_max = 64 * 1024 * 1024;
constexpr int zstd_level = 3;

std::string pack(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const auto size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), zstd_level);
  SLUICE_CHECK(ZSTD_isError(size) == 0);
  packed.resize(size);
  return packed;
}

std::optional<std::string> unpack(std::string_view packed) {
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > unpacked_bytes_max) return {};
  std::string bytes(size, '\0');
  if (ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) != size) return {};
  return bytes;
}

// The events of one row, of which the last has position `last`.
Result<std::vector<model::RunEvent>> events_of(std::string_view batch, model::Position last) {
  auto events = model::decode_batch(batch);
  if (events && (events.value().empty() || events.value().size() > last.value)) {
    return Error{ErrorKind::corrupt, "a row has another number of events than its position says"};
  }
  return events;
}

// Walks a journal row by row, wherever its rows are.
class JournalReader {
 public:
  virtual ~JournalReader() = default;
  // The events of the next row; empty at the end.
  virtual Result<std::vector<model::RunEvent>> next(model::Position& last) = 0;
};

class OpenJournalReader final : public JournalReader {
 public:
  OpenJournalReader(Connection& db, int64_t run, std::vector<JournalRows::Row> rows)
      : db_(db), run_(run), rows_(std::move(rows)) {}

  Result<std::vector<model::RunEvent>> next(model::Position& last) override {
    if (at_ == rows_.size()) return std::vector<model::RunEvent>();
    const auto& row = rows_[at_++];
    last = row.last;
    Query query(db_, "SELECT batch FROM journal WHERE number = ? AND run = ?", row.number, run_);
    if (!query.next()) return Error{ErrorKind::corrupt, "a row is missing"};
    std::string batch;
    query.read(batch);
    return events_of(batch, last);
  }

 private:
  Connection& db_;
  int64_t run_;
  std::vector<JournalRows::Row> rows_;
  std::size_t at_ = 0;
};

class SealedJournalReader final : public JournalReader {
 public:
  SealedJournalReader(Connection& db, int64_t run, model::Position after)
      : query_(db, "SELECT last, batch_zstd FROM sealed_journals WHERE run = ? AND last > ? ORDER BY last", run,
               after.value) {}

  Result<std::vector<model::RunEvent>> next(model::Position& last) override {
    if (!query_.next()) return std::vector<model::RunEvent>();
    std::string packed;
    query_.read(last, packed);
    const auto batch = unpack(packed);
    if (!batch) return Error{ErrorKind::corrupt, "a sealed row cannot be unpacked"};
    return events_of(*batch, last);
  }

 private:
  Query query_;
};

// A run as its row has it, and where its journal is; no rows when it is sealed.
struct Located {
  model::Run run;
  int64_t number = 0;
  std::optional<JournalRows> rows;
};

// Rows that were written since the run's own row was; without an index, so only for runs that this
// server does not carry on.
void find_later_rows(Connection& db, Located& located) {
  Query query(db, "SELECT number, last FROM journal WHERE number > ? AND run = ? ORDER BY number",
              located.rows->last_number(), located.number);
  while (query.next()) {
    int64_t number = 0;
    model::Position last;
    query.read(number, last);
    if (last > located.rows->head()) located.rows->add(number, last.value - located.rows->head().value);
  }
}

Result<Located> locate(Connection& db, model::RunId run, const std::optional<JournalRows>& known) {
  Located located;
  std::optional<std::string> rows;
  {
    Query query(db, "SELECT * FROM runs WHERE id = ?", run);
    if (!query.next()) return no_such("run");
    int64_t conversation = 0;
    int64_t message = 0;
    located.number = read_row(query, located.run);
    query.read(conversation, message, rows);
  }
  if (!rows) return located;
  located.rows = JournalRows::from_bytes(*rows);
  if (!located.rows) return Error{ErrorKind::corrupt, "the list of its rows is damaged"};
  if (model::is_over(located.run.state)) return located;
  if (known) {
    located.rows = known;
  } else {
    find_later_rows(db, located);
  }
  located.run.head = located.rows->head();
  return located;
}

std::unique_ptr<JournalReader> reader_of(Connection& db, const Located& located, model::Position after) {
  if (!located.rows) return std::make_unique<SealedJournalReader>(db, located.number, after);
  return std::make_unique<OpenJournalReader>(db, located.number, located.rows->rows_after(after));
}

Error corrupt_journal(const Error& error, model::RunId run) {
  return {ErrorKind::corrupt, "the journal of run " + run.text() + " is damaged: " + error.what};
}

void insert_sealed(Connection& db, int64_t run, const std::vector<model::RunEvent>& events, model::Position last) {
  execute(db, "INSERT INTO sealed_journals VALUES (NULL, ?, ?, ?)", run, last.value,
          Blob{pack(model::encode_batch(events))});
}

// Moves one journal; how many bytes of events it had. A damaged one stays where it is, and is empty here.
std::optional<std::size_t> seal(Connection& db, int64_t run, const JournalRows& where) {
  std::vector<std::pair<model::Position, std::vector<model::RunEvent>>> rows;
  std::size_t total = 0;
  {
    OpenJournalReader reader(db, run, where.rows_after({0}));
    std::size_t bytes = sealed_row_bytes;
    for (model::Position last;;) {
      auto events = reader.next(last);
      if (!events) return std::nullopt;
      if (events.value().empty()) break;
      if (bytes >= sealed_row_bytes) {
        rows.emplace_back();
        bytes = 0;
      }
      rows.back().first = last;
      for (auto& event : events.value()) {
        bytes += event.body.size();
        total += event.body.size();
        rows.back().second.push_back(std::move(event));
      }
    }
  }
  for (const auto& row : where.rows_after({0})) execute(db, "DELETE FROM journal WHERE number = ?", row.number);
  execute(db, "UPDATE runs SET journal_rows = NULL WHERE number = ?", run);
  for (const auto& [last, events] : rows) insert_sealed(db, run, events, last);
  return total;
}

}  // namespace

Result<JournalSlice> journal(Connection& db, model::RunId run, const std::optional<JournalRows>& rows,
                             model::Position after, std::size_t bytes_max) {
  const auto located = locate(db, run, rows);
  if (!located && located.error().kind == ErrorKind::corrupt) return corrupt_journal(located.error(), run);
  if (!located) return located.error();
  JournalSlice slice{located.value().run, {after.value + 1}, {}};
  const auto reader = reader_of(db, located.value(), after);
  std::size_t bytes = 0;
  for (model::Position last;;) {
    auto row = reader->next(last);
    if (!row) return corrupt_journal(row.error(), run);
    auto& events = row.value();
    if (events.empty()) return slice;
    const uint64_t wanted = after.value + slice.events.size() + 1;
    const uint64_t first = last.value - events.size() + 1;
    if (first > wanted) return corrupt_journal({ErrorKind::corrupt, "a row is missing"}, run);
    for (auto at = wanted - first; at < events.size(); ++at) {
      if (!slice.events.empty() && bytes >= bytes_max) return slice;
      bytes += events[at].body.size() + limits::journal_event_overhead_bytes;
      slice.events.push_back(std::move(events[at]));
    }
  }
}

Result<int> tidy_up(Connection& db, Timestamp now) {
  execute(db,
          "DELETE FROM idempotency_keys WHERE (principal, operation, key) IN "
          "(SELECT principal, operation, key FROM idempotency_keys WHERE created_at <= ? LIMIT ?)",
          now.ms - limits::idempotency_ms, dropped_keys_max);
  drop_executions(db, {now.ms - limits::idempotency_ms});
  std::vector<std::pair<int64_t, JournalRows>> finished;
  {
    Query query(db,
                "SELECT number, journal_rows FROM runs WHERE ended_at IS NOT NULL AND journal_rows IS NOT NULL "
                "ORDER BY ended_at LIMIT ?",
                sealed_runs_max);
    while (query.next()) {
      int64_t run = 0;
      std::string rows;
      query.read(run, rows);
      if (auto where = JournalRows::from_bytes(rows)) finished.emplace_back(run, *std::move(where));
    }
  }
  int sealed = 0;
  std::size_t bytes = 0;
  for (const auto& [run, where] : finished) {
    if (bytes >= sealed_bytes_max) break;
    const auto size = seal(db, run, where);
    if (size) ++sealed;
    bytes += size.value_or(0);
  }
  return sealed;
}

}  // namespace sluice::store::sql
