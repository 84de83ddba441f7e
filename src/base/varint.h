// Numbers as one to ten bytes, seven bits each, the least first; small numbers are short.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

void append_varint(std::string& out, uint64_t value);

// Takes bytes apart from the front. Empty when there are too few, or a number is not spelt as
// append_varint() spells it.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }

  std::optional<uint8_t> byte();
  std::optional<uint64_t> varint();
  std::optional<std::string_view> take(uint64_t size);

 private:
  std::string_view bytes_;
};

}  // namespace sluice
