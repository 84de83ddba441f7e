// Rows as they are in any table: what is carried from one database to another, or looked through for damage.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace sluice::store {

// In files (docs/formats/export.md): the numbers never change.
enum class CellType : uint8_t { null = 0, integer = 1, text = 2, bytes = 3 };

struct Cell {
  CellType type = CellType::null;
  int64_t number = 0;
  std::string_view bytes;  // of text and bytes; somebody else's

  static Cell of(int64_t number) { return {CellType::integer, number, {}}; }
  static Cell text(std::string_view text) { return {CellType::text, 0, text}; }
  static Cell blob(std::string_view bytes) { return {CellType::bytes, 0, bytes}; }
  bool is_null() const { return type == CellType::null; }
};

// Good until the next one is asked for.
using RawRow = std::vector<Cell>;
// False: that was enough.
using RowTaker = std::function<bool(const RawRow&)>;

}  // namespace sluice::store
