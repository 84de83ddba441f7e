#include "store/sql_journal.h"

#include <algorithm>

#include "base/check.h"
#include "store/on_disk.h"
#include "store/sql_rows.h"

namespace sluice::store::sql {

namespace {

// A sealed row holds about this much, counted as pages count.
constexpr std::size_t sealed_row_bytes = 1024 * 1024;

std::size_t page_bytes_of(std::string_view body) { return body.size() + limits::journal_event_overhead_bytes; }

}  // namespace

int drop_keys(Connection& db, Timestamp until, int limit) {
  execute(db,
          "DELETE FROM idempotency_keys WHERE (principal, operation, key) IN "
          "(SELECT principal, operation, key FROM idempotency_keys WHERE created_at <= ? LIMIT ?)",
          until, limit);
  return db.change_count();
}

model::Position sealed_upto(Connection& db, int64_t run) {
  const auto last = find_number(db, "SELECT coalesce(max(last), 0) FROM sealed_journals WHERE run = ?", run);
  return {static_cast<uint64_t>(last.value_or(0))};
}

Error corrupt_journal(const Error& error, model::RunId run) {
  return {ErrorKind::corrupt, "the journal of run " + run.text() + " is damaged: " + error.what};
}

Result<JournalRow> SealedJournalReader::next() {
  Query query(db_, "SELECT last, batch_zstd FROM sealed_journals WHERE run = ? AND last > ? ORDER BY last LIMIT 1",
              run_, last_.value);
  if (!query.next()) return JournalRow();
  std::string packed;
  query.read(last_, packed);
  auto batch = unpack(packed);
  if (!batch) return Error{ErrorKind::corrupt, "a sealed row cannot be unpacked"};
  return UnpackedRow::from(*std::move(batch), last_);
}

// ── pages ──

PageFilling::PageFilling(JournalSlice& slice, std::size_t bytes_max) : slice_(slice), bytes_max_(bytes_max) {
  const auto head = slice.run.head.value;
  const auto after = slice.first.value - 1;
  if (after >= head) return;
  slice.events.reserve(std::min(bytes_max / limits::journal_event_overhead_bytes + 1, head - after));
}

bool PageFilling::take(const UnpackedRow& row) {
  UnpackedRow::Cursor cursor(row, next());
  while (!cursor.at_end() && (slice_.events.empty() || bytes_ < bytes_max_)) {
    const auto event = cursor.next();
    bytes_ += page_bytes_of(event.body);
    slice_.events.push_back({event.kind, event.at, std::string(event.body)});
  }
  slice_.walked += cursor.walked();
  return cursor.at_end();
}

bool PageFilling::take_kept(UnpackedRows& unpacked) {
  const auto head = slice_.run.head;
  if (next() > head) return true;
  // One beyond the head was kept by a reader who sees a later moment than we do.
  const auto row = unpacked.find(slice_.run.id, next());
  if (row == nullptr || row->last() > head) return false;
  if (!take(*row)) return true;
  unpacked.drop(slice_.run.id, *row);
  return false;
}

Result<Unit> PageFilling::take_all(JournalReader& reader, UnpackedRows& unpacked) {
  for (;;) {
    const auto row = reader.next();
    if (!row) return row.error();
    if (row.value() == nullptr) return Unit{};
    if (row.value()->first() > next()) return Error{ErrorKind::corrupt, "a row is missing"};
    slice_.walked += row.value()->event_count();
    if (take(*row.value())) continue;
    unpacked.keep(slice_.run.id, row.value());
    return Unit{};
  }
}

// ── sealing ──

Result<Unit> Sealing::add(std::string_view batch, model::Position last) {
  auto events = model::decode_batch(batch);
  if (!events) return events.error();
  if (count_ + events.value().size() != last.value) {
    return Error{ErrorKind::corrupt, "a row has another number of events than its position says"};
  }
  for (auto& event : events.value()) {
    if (row_page_bytes_ >= sealed_row_bytes) close_row();
    const auto bytes = page_bytes_of(event.body);
    row_page_bytes_ += bytes;
    page_bytes_ += bytes;
    ++count_;
    events_.push_back(std::move(event));
  }
  SLUICE_CHECK(count_ == last.value);
  return Unit{};
}

void Sealing::close_row() {
  if (events_.empty()) return;
  SLUICE_CHECK(events_.size() <= count_);
  SLUICE_CHECK(rows_.empty() || rows_.back().last.value + events_.size() == count_);
  rows_.push_back({{count_}, packer_.pack(model::encode_batch(events_))});
  events_.clear();
  row_page_bytes_ = 0;
}

std::vector<SealedRow> Sealing::rows() && {
  close_row();
  SLUICE_CHECK(rows_.empty() || rows_.back().last.value == count_);
  return std::move(rows_);
}

}  // namespace sluice::store::sql
