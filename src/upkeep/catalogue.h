// Every table of a store and the type of each column, the same for SQLite and PostgreSQL, and rows of any table.
//
// It leaves out columns that only help one database to find rows (journal_rows and the numbers of journal rows) and the
// node that carries a run: the target of a copy computes them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::upkeep {

// The numbers are in exported files (docs/formats/export.md), so they never change.
enum class CellType : uint8_t { null = 0, integer = 1, text = 2, bytes = 3 };

struct Cell {
  CellType type = CellType::null;
  int64_t number = 0;
  std::string_view bytes;  // of text and bytes; owned by the source of the row

  static Cell of(int64_t number) { return {CellType::integer, number, {}}; }
  static Cell text(std::string_view text) { return {CellType::text, 0, text}; }
  static Cell blob(std::string_view bytes) { return {CellType::bytes, 0, bytes}; }
  bool is_null() const { return type == CellType::null; }
};

// Its bytes are valid until the source reads the next row.
using RawRow = std::vector<Cell>;
// Returns false when no further rows are wanted.
using RowTaker = std::function<bool(const RawRow&)>;

enum class ColumnKind : uint8_t {
  number,
  text,
  json,
  bytes,
  id,      // 16 bytes
  ids,     // several ids, one after the other
  digest,  // 32 bytes
};

struct ColumnShape {
  std::string name;
  ColumnKind kind;
  bool may_be_null;
};

struct TableShape {
  std::string name;
  std::vector<std::string> key;  // rows are in its order
  std::vector<ColumnShape> columns;

  std::size_t index_of(std::string_view column) const;
};

// In the order in which tables are copied: a table comes after those that it refers to.
std::vector<TableShape> catalogue();
const TableShape& table_named(const std::vector<TableShape>& tables, std::string_view name);

// "number, id, …"
std::string column_list(const TableShape& table);

CellType cell_type_of(ColumnKind kind);
// The fault of the row in words; empty if it has none.
std::string fault_in(const TableShape& table, const RawRow& row);

}  // namespace sluice::upkeep
