#include "store/journal_rows.h"

#include <algorithm>

#include "base/check.h"
#include "base/varint.h"

namespace sluice::store {

void JournalRows::add(int64_t number, uint64_t event_count) {
  SLUICE_CHECK(number > end_.last_number && event_count > 0);
  append_varint(bytes_, static_cast<uint64_t>(number - end_.last_number));
  append_varint(bytes_, event_count);
  end_ = {bytes_.size(), end_.row_count + 1, number, {end_.head.value + event_count}};
  if (end_.row_count % index_step == 0) index_.push_back(end_);
  SLUICE_CHECK(index_.size() == end_.row_count / index_step);
}

std::vector<JournalRows::Mark>::const_iterator JournalRows::index_after(model::Position after) const {
  return std::ranges::upper_bound(index_, after, {}, &Mark::head);
}

std::vector<JournalRows::Row> JournalRows::rows_after(model::Position after) const {
  const auto next = index_after(after);
  const Mark from = next == index_.begin() ? Mark() : *std::prev(next);
  std::vector<Row> rows;
  Row row{from.last_number, from.head};
  for (ByteReader reader(std::string_view(bytes_).substr(from.size)); !reader.at_end();) {
    row.number += static_cast<int64_t>(*reader.varint());
    row.last.value += *reader.varint();
    if (row.last > after) rows.push_back(row);
  }
  SLUICE_CHECK(row.number == end_.last_number && row.last == end_.head);
  return rows;
}

JournalRows JournalRows::part_after(model::Position after, std::size_t row_count) const {
  const auto next = index_after(after);
  const Mark from = next == index_.begin() ? Mark() : *std::prev(next);
  const auto steps = static_cast<std::ptrdiff_t>(row_count / index_step + 1);
  const Mark until = index_.end() - next > steps ? *(next + steps) : end_;
  JournalRows part;
  Row row{from.last_number, from.head};
  for (ByteReader reader(std::string_view(bytes_).substr(from.size, until.size - from.size)); !reader.at_end();) {
    row.number += static_cast<int64_t>(*reader.varint());
    row.last.value += *reader.varint();
    if (row.last > after) part.add(row.number, row.last.value - part.head().value);
  }
  SLUICE_CHECK(row.number == until.last_number && row.last == until.head);
  return part;
}

std::optional<JournalRows> JournalRows::from_bytes(std::string_view bytes) {
  JournalRows rows;
  for (ByteReader reader(bytes); !reader.at_end();) {
    const auto step = reader.varint();
    const auto event_count = reader.varint();
    if (!step || !event_count || *step == 0 || *event_count == 0) return std::nullopt;
    const auto number = static_cast<int64_t>(static_cast<uint64_t>(rows.last_number()) + *step);
    if (number <= rows.last_number()) return std::nullopt;
    rows.add(number, *event_count);
  }
  return rows;
}

void JournalRows::go_back(const Mark& mark) {
  SLUICE_CHECK(mark.size <= bytes_.size());
  SLUICE_CHECK(mark.row_count <= end_.row_count);
  SLUICE_CHECK(mark.head <= end_.head);
  bytes_.resize(mark.size);
  end_ = mark;
  while (!index_.empty() && index_.back().row_count > mark.row_count) index_.pop_back();
}

}  // namespace sluice::store
