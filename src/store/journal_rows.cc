#include "store/journal_rows.h"

#include "base/check.h"
#include "base/varint.h"

namespace sluice::store {

void JournalRows::add(int64_t number, uint64_t event_count) {
  SLUICE_CHECK(number > last_number_ && event_count > 0);
  append_varint(bytes_, static_cast<uint64_t>(number - last_number_));
  append_varint(bytes_, event_count);
  last_number_ = number;
  head_.value += event_count;
}

std::vector<JournalRows::Row> JournalRows::rows_after(model::Position after) const {
  std::vector<Row> rows;
  Row row{0, {0}};
  for (ByteReader reader(bytes_); !reader.at_end();) {
    row.number += static_cast<int64_t>(*reader.varint());
    row.last.value += *reader.varint();
    if (row.last > after) rows.push_back(row);
  }
  return rows;
}

std::optional<JournalRows> JournalRows::from_bytes(std::string_view bytes) {
  JournalRows rows;
  for (ByteReader reader(bytes); !reader.at_end();) {
    const auto step = reader.varint();
    const auto event_count = reader.varint();
    if (!step || !event_count || *step == 0 || *event_count == 0) return std::nullopt;
    const auto number = static_cast<int64_t>(static_cast<uint64_t>(rows.last_number_) + *step);
    if (number <= rows.last_number_) return std::nullopt;
    rows.add(number, *event_count);
  }
  return rows;
}

void JournalRows::go_back(const Mark& mark) {
  bytes_.resize(mark.size);
  last_number_ = mark.last_number;
  head_ = mark.head;
}

}  // namespace sluice::store
