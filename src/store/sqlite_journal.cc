// Journals in SQL: read back, sealed or not, and sealed.
#include <zstd.h>

#include <algorithm>
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

// A sealed row holds about this much, counted as pages count, so that a page of a long journal need
// not unpack all of it.
constexpr std::size_t sealed_row_bytes = 1024 * 1024;
// More than any row holds: a size beyond it is damage, not a reason to allocate.
constexpr std::size_t unpacked_bytes_max = 64 * 1024 * 1024;
constexpr int zstd_level = 3;

std::size_t page_bytes_of(std::string_view body) { return body.size() + limits::journal_event_overhead_bytes; }

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

Result<std::string> batch_of(Connection& db, int64_t run, int64_t row) {
  Query query(db, "SELECT batch FROM journal WHERE number = ? AND run = ?", row, run);
  if (!query.next()) return Error{ErrorKind::corrupt, "a row is missing"};
  std::string batch;
  query.read(batch);
  return batch;
}

using Row = std::shared_ptr<const UnpackedRow>;

// Walks a journal row by row, wherever its rows are.
class JournalReader {
 public:
  virtual ~JournalReader() = default;
  // Empty at the end.
  virtual Result<Row> next() = 0;
};

class OpenJournalReader final : public JournalReader {
 public:
  OpenJournalReader(Connection& db, int64_t run, std::vector<JournalRows::Row> rows)
      : db_(db), run_(run), rows_(std::move(rows)) {}

  Result<Row> next() override {
    if (at_ == rows_.size()) return Row();
    const auto& row = rows_[at_++];
    auto batch = batch_of(db_, run_, row.number);
    if (!batch) return batch.error();
    return UnpackedRow::from(std::move(batch).take(), row.last);
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

  Result<Row> next() override {
    if (!query_.next()) return Row();
    model::Position last;
    std::string packed;
    query_.read(last, packed);
    auto batch = unpack(packed);
    if (!batch) return Error{ErrorKind::corrupt, "a sealed row cannot be unpacked"};
    return UnpackedRow::from(*std::move(batch), last);
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

// All events of a journal, in the rows they are to be sealed in. `corrupt` when one of its own is damaged.
Result<std::vector<std::vector<model::RunEvent>>> rows_to_seal(Connection& db, int64_t run, const JournalRows& where) {
  std::vector<std::vector<model::RunEvent>> sealed;
  std::size_t bytes = sealed_row_bytes;
  uint64_t count = 0;
  for (const auto& row : where.rows_after({0})) {
    const auto batch = batch_of(db, run, row.number);
    if (!batch) return batch.error();
    auto events = model::decode_batch(batch.value());
    if (!events) return events.error();
    count += events.value().size();
    if (count != row.last.value)
      return Error{ErrorKind::corrupt, "a row has another number of events than its position says"};
    for (auto& event : events.value()) {
      if (bytes >= sealed_row_bytes) {
        sealed.emplace_back();
        bytes = 0;
      }
      bytes += page_bytes_of(event.body);
      sealed.back().push_back(std::move(event));
    }
  }
  return sealed;
}

// Moves one journal; how many bytes of events it had. A damaged one stays where it is, and is empty here.
std::optional<std::size_t> seal(Connection& db, int64_t run, const JournalRows& where) {
  const auto rows = rows_to_seal(db, run, where);
  if (!rows) return std::nullopt;
  for (const auto& row : where.rows_after({0})) execute(db, "DELETE FROM journal WHERE number = ?", row.number);
  execute(db, "UPDATE runs SET journal_rows = NULL WHERE number = ?", run);
  std::size_t total = 0;
  model::Position last;
  for (const auto& events : rows.value()) {
    last.value += events.size();
    for (const auto& event : events) total += event.body.size();
    insert_sealed(db, run, events, last);
  }
  return total;
}

// A page that is being filled.
class PageFilling {
 public:
  PageFilling(JournalSlice& slice, std::size_t bytes_max) : slice_(slice), bytes_max_(bytes_max) {}

  model::Position next() const { return {slice_.first.value + slice_.events.size()}; }
  // Has `row` from next() on; was there room for all of it?
  bool take(const UnpackedRow& row) {
    UnpackedRow::Cursor cursor(row, next());
    while (!cursor.at_end() && (slice_.events.empty() || bytes_ < bytes_max_)) {
      const auto event = cursor.next();
      bytes_ += page_bytes_of(event.body);
      slice_.events.push_back({event.kind, event.at, std::string(event.body)});
    }
    slice_.walked += cursor.walked();
    return cursor.at_end();
  }

 private:
  JournalSlice& slice_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<JournalSlice> journal(Connection& db, UnpackedRows& unpacked, model::RunId run,
                             const std::optional<JournalRows>& rows, model::Position after, std::size_t bytes_max) {
  const auto located = locate(db, run, rows);
  if (!located && located.error().kind == ErrorKind::corrupt) return corrupt_journal(located.error(), run);
  if (!located) return located.error();
  const auto head = located.value().run.head;
  JournalSlice slice{located.value().run, {after.value + 1}, {}};
  if (after >= head) return slice;
  slice.events.reserve(std::min(bytes_max / limits::journal_event_overhead_bytes + 1, head.value - after.value));
  PageFilling page(slice, bytes_max);
  // One beyond the head was kept by a reader who sees a later moment than we do.
  if (const auto row = unpacked.find(run, page.next()); row != nullptr && row->last() <= head) {
    if (!page.take(*row)) return slice;
    unpacked.drop(run, *row);
  }
  const auto reader = reader_of(db, located.value(), {page.next().value - 1});
  for (;;) {
    const auto row = reader->next();
    if (!row) return corrupt_journal(row.error(), run);
    if (row.value() == nullptr) return slice;
    if (row.value()->first() > page.next()) return corrupt_journal({ErrorKind::corrupt, "a row is missing"}, run);
    slice.walked += row.value()->event_count();
    if (page.take(*row.value())) continue;
    unpacked.keep(run, row.value());
    return slice;
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
