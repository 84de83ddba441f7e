// Journals in SQL: read back, sealed or not, and sealed.
#include <zstd.h>

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

// Walks a journal from some position on, whichever table its rows are in.
class JournalReader {
 public:
  JournalReader(Connection& db, int64_t run, model::Position after)
      : query_(db,
               "SELECT last, batch, 0 FROM journal WHERE run = ?1 AND last > ?2 UNION ALL "
               "SELECT last, batch_zstd, 1 FROM sealed_journals WHERE run = ?1 AND last > ?2 ORDER BY last",
               run, after.value) {}

  // The events of the next row, of which the last has position `last`; empty at the end.
  Result<std::vector<model::RunEvent>> next(model::Position& last) {
    if (!query_.next()) return std::vector<model::RunEvent>();
    std::string bytes;
    bool is_sealed = false;
    query_.read(last, bytes, is_sealed);
    if (is_sealed) {
      auto unpacked = unpack(bytes);
      if (!unpacked) return Error{ErrorKind::corrupt, "a sealed row cannot be unpacked"};
      bytes = *std::move(unpacked);
    }
    auto events = model::decode_batch(bytes);
    if (events && (events.value().empty() || events.value().size() > last.value)) {
      return Error{ErrorKind::corrupt, "a row has another number of events than its position says"};
    }
    return events;
  }

 private:
  Query query_;
};

Error corrupt_journal(const Error& error, model::RunId run) {
  return {ErrorKind::corrupt, "the journal of run " + run.text() + " is damaged: " + error.what};
}

void insert_sealed(Connection& db, int64_t run, const std::vector<model::RunEvent>& events, model::Position last) {
  execute(db, "INSERT INTO sealed_journals VALUES (NULL, ?, ?, ?)", run, last.value,
          Blob{pack(model::encode_batch(events))});
}

// Moves one journal; how many bytes of events it had. A damaged one stays where it is, and is empty here.
std::optional<std::size_t> seal(Connection& db, int64_t run) {
  std::vector<std::pair<model::Position, std::vector<model::RunEvent>>> rows;
  std::size_t total = 0;
  {
    JournalReader reader(db, run, {0});
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
  execute(db, "DELETE FROM journal WHERE run = ?", run);
  for (const auto& [last, events] : rows) insert_sealed(db, run, events, last);
  return total;
}

}  // namespace

Result<JournalSlice> journal(Connection& db, model::RunId run, model::Position after, std::size_t bytes_max) {
  JournalSlice slice{{}, {after.value + 1}, {}};
  int64_t number = 0;
  {
    Query query(db, "SELECT * FROM runs WHERE id = ?", run);
    if (!query.next()) return no_such("run");
    number = read_row(query, slice.run);
  }
  JournalReader reader(db, number, after);
  std::size_t bytes = 0;
  for (model::Position last;;) {
    auto row = reader.next(last);
    if (!row) return corrupt_journal(row.error(), run);
    auto& events = row.value();
    if (events.empty()) return slice;
    const uint64_t wanted = after.value + slice.events.size() + 1;
    const uint64_t first = last.value - events.size() + 1;
    if (first > wanted) return corrupt_journal({ErrorKind::corrupt, "a row is missing"}, run);
    for (auto at = wanted - first; at < events.size(); ++at) {
      if (!slice.events.empty() && bytes >= bytes_max) return slice;
      bytes += events[at].body.size();
      slice.events.push_back(std::move(events[at]));
    }
  }
}

Result<int> tidy_up(Connection& db, Timestamp now) {
  execute(db,
          "DELETE FROM idempotency_keys WHERE (principal, operation, key) IN "
          "(SELECT principal, operation, key FROM idempotency_keys WHERE created_at <= ? LIMIT ?)",
          now.ms - limits::idempotency_ms, dropped_keys_max);
  std::vector<int64_t> finished;
  {
    Query query(db, "SELECT DISTINCT run FROM journal WHERE run NOT IN (SELECT run FROM flights) LIMIT ?",
                sealed_runs_max);
    while (query.next()) query.read(finished.emplace_back());
  }
  int sealed = 0;
  std::size_t bytes = 0;
  for (const auto run : finished) {
    if (bytes >= sealed_bytes_max) break;
    const auto size = seal(db, run);
    if (size) ++sealed;
    bytes += size.value_or(0);
  }
  return sealed;
}

}  // namespace sluice::store::sql
