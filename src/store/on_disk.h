// The parts of the store's format on disk that are the same for a server and for the programs which look through a
// whole store, copy it or check it (src/upkeep): who may write, which schema is current, how rows of a sealed journal
// are packed and how entries of the audit chain follow each other. docs/formats/store.md describes the tables.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "model/model.h"
#include "store/journal_rows.h"
#include "store/pg_schema.h"
#include "store/sqlite_schema.h"

struct ZSTD_CCtx_s;

namespace sluice::store {

// ── SQLite ──

// Takes PATH.lock, which every process that writes to the database file PATH must hold, because the writer remembers
// the state of the runs. The kernel releases it however the process ends. Readers need no lock. `conflict` if another
// process holds it.
Result<OwnedFd> lock_database(const std::string& path);
// Creates the tables of the current schema in the file PATH, which is empty.
Result<Unit> make_sqlite(const std::string& path);

// ── sealed journals ──

// Packs batches of events as rows of a sealed journal: zstd with a checksum. One object packs many batches, because
// allocating zstd's tables anew for each would triple the time that a small batch takes.
class Packer final {
 public:
  Packer();
  std::string pack(std::string_view batch);

 private:
  std::unique_ptr<ZSTD_CCtx_s, void (*)(ZSTD_CCtx_s*)> zstd_;
};

// Empty if these bytes were not made by a Packer.
std::optional<std::string> unpack(std::string_view packed);

// ── the audit chain ──

// The last entry of the chain. Before the first entry the hash is empty.
struct ChainEnd {
  int64_t number = 0;
  std::string sha256;
};
// The entry with its number, the hash of the entry before it, and its own hash.
model::AuditEntry next_link(model::AuditEntry entry, const ChainEnd& end);

// ── messages ──

// The status of a message's row after the user replaced it. Its JSON stays as it was.
inline constexpr std::string_view replaced_status = "replaced";

// ── damaged tables ──

// Rows are stored in the order of their numbers, so a damaged page makes a range of numbers unreadable. If the row
// right after `at` cannot be read, this finds the least number after which rows can be read again or the table ends;
// empty if there is none. It takes growing steps until one is readable and then halves the last step.
template <typename IsReadableAfter>
std::optional<int64_t> end_of_gap(int64_t at, IsReadableAfter is_readable_after) {
  constexpr int64_t beyond_all = std::numeric_limits<int64_t>::max() / 4;
  int64_t step = 1;
  while (!is_readable_after(at + step)) {
    if (at + step > beyond_all) return std::nullopt;
    step *= 2;
  }
  int64_t unreadable = at + step / 2;
  int64_t readable = at + step;
  while (readable - unreadable > 1) {
    const auto middle = unreadable + (readable - unreadable) / 2;
    (is_readable_after(middle) ? readable : unreadable) = middle;
  }
  return readable;
}

}  // namespace sluice::store
