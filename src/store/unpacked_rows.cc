#include "store/unpacked_rows.h"

#include <algorithm>

namespace sluice::store {

Result<std::shared_ptr<const UnpackedRow>> UnpackedRow::from(std::string batch, model::Position last) {
  std::shared_ptr<UnpackedRow> row(new UnpackedRow());
  row->batch_ = std::move(batch);
  row->last_ = last;
  model::BatchPlace place;
  do {
    if (row->count_ % index_step == 0) row->index_.push_back(place);
    if (!model::next_in_batch(row->batch_, place)) {
      return Error{ErrorKind::corrupt, "a journal row is not a batch of events"};
    }
    ++row->count_;
  } while (place.offset < row->batch_.size());
  if (row->count_ > last.value) {
    return Error{ErrorKind::corrupt, "a row has another number of events than its position says"};
  }
  return std::shared_ptr<const UnpackedRow>(std::move(row));
}

UnpackedRow::Cursor::Cursor(const UnpackedRow& row, model::Position from) : row_(row) {
  SLUICE_CHECK(row.first() <= from && from <= row.last());
  const uint64_t before = from.value - row.first().value;
  place_ = row.index_[before / index_step];
  while (walked_ < before % index_step) next();
}

model::EventView UnpackedRow::Cursor::next() {
  const auto event = model::next_in_batch(row_.batch_, place_);
  SLUICE_CHECK(event.has_value());  // from() has seen them all
  ++walked_;
  return *event;
}

std::shared_ptr<const UnpackedRow> UnpackedRows::find(model::RunId run, model::Position position) {
  const std::lock_guard lock(mutex_);
  const auto kept = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) {
    return one.run == run && one.row->first() <= position && position <= one.row->last();
  });
  if (kept == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, kept);
  return kept->row;
}

void UnpackedRows::keep(model::RunId run, std::shared_ptr<const UnpackedRow> row) {
  const std::lock_guard lock(mutex_);
  const auto size = row->batch().size();
  if (size < row_bytes_min || size > bytes_max) return;
  if (place_of(run, *row) != kept_.end()) return;  // another reader brought it
  kept_.push_front({run, std::move(row)});
  bytes_ += size;
  while (bytes_ > bytes_max) erase(std::prev(kept_.end()));
}

void UnpackedRows::drop(model::RunId run, const UnpackedRow& row) {
  const std::lock_guard lock(mutex_);
  const auto kept = place_of(run, row);
  if (kept != kept_.end()) erase(kept);
}

void UnpackedRows::clear() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
  bytes_ = 0;
}

std::size_t UnpackedRows::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::list<UnpackedRows::Kept>::iterator UnpackedRows::place_of(model::RunId run, const UnpackedRow& row) {
  return std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) {
    return one.run == run && one.row->first() == row.first() && one.row->last() == row.last();
  });
}

void UnpackedRows::erase(std::list<Kept>::iterator kept) {
  bytes_ -= kept->row->batch().size();
  kept_.erase(kept);
}

}  // namespace sluice::store
