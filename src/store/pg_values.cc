#include "store/pg_values.h"

#include <limits>

namespace sluice::store {

namespace {

constexpr std::size_t no_offset = std::numeric_limits<std::size_t>::max();

template <typename Word>
void append_big_endian(std::string& out, Word value) {
  for (int shift = static_cast<int>(sizeof(Word)) * 8 - 8; shift >= 0; shift -= 8) {
    out += static_cast<char>(value >> shift & 0xff);
  }
}

uint32_t array_of(PgType element) {
  switch (element) {
    case PgType::bytes: return 1001;
    case PgType::number: return 1016;
    case PgType::text: return 1009;
  }
  return 0;
}

}  // namespace

PgArray::PgArray(PgType element) : element_(element) {}

void PgArray::add(int64_t value) {
  ++size_;
  append_big_endian(items_, uint32_t{sizeof value});
  append_big_endian(items_, static_cast<uint64_t>(value));
}

void PgArray::add(std::string_view value) {
  ++size_;
  append_big_endian(items_, static_cast<uint32_t>(value.size()));
  items_ += value;
}

void PgArray::add_null() {
  ++size_;
  has_null_ = true;
  append_big_endian(items_, ~uint32_t{0});
}

std::string PgArray::encoded() const {
  std::string out;
  append_big_endian(out, uint32_t{size_ == 0 ? 0U : 1U});  // dimensions
  append_big_endian(out, uint32_t{has_null_ ? 1U : 0U});
  append_big_endian(out, static_cast<uint32_t>(element_));
  if (size_ == 0) return out;
  append_big_endian(out, size_);
  append_big_endian(out, uint32_t{1});  // where counting begins
  return out += items_;
}

PgValues& PgValues::add(uint32_t type, std::string_view value) {
  types_.push_back(type);
  offsets_.push_back(data_.size());
  sizes_.push_back(static_cast<int>(value.size()));
  data_ += value;
  return *this;
}

PgValues& PgValues::number(int64_t value) {
  std::string spelt;
  append_big_endian(spelt, static_cast<uint64_t>(value));
  return add(static_cast<uint32_t>(PgType::number), spelt);
}

PgValues& PgValues::null(PgType type) {
  types_.push_back(static_cast<uint32_t>(type));
  offsets_.push_back(no_offset);
  sizes_.push_back(0);
  return *this;
}

PgValues& PgValues::array(const PgArray& array) { return add(array_of(array.element()), array.encoded()); }

std::vector<const char*> PgValues::addresses() const {
  std::vector<const char*> found;
  found.reserve(offsets_.size());
  for (const auto offset : offsets_) found.push_back(offset == no_offset ? nullptr : data_.data() + offset);
  return found;
}

}  // namespace sluice::store
