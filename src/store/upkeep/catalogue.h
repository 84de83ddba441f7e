// Every table of a store and what is in its columns, whichever database keeps them.
//
// It leaves out how a database finds its rows (journal_rows and the numbers of journals' rows) and who carries a run:
// that is made anew where rows arrive.
#pragma once

#include <string>
#include <vector>

#include "store/upkeep/cells.h"

namespace sluice::store {

enum class ColumnKind : uint8_t {
  number,
  text,
  json,
  bytes,
  id,      // 16 bytes
  ids,     // some of those, one after the other
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

// In the order in which they are carried: what is referred to comes first.
std::vector<TableShape> catalogue();
const TableShape& table_named(const std::vector<TableShape>& tables, std::string_view name);

// "number, id, …"
std::string column_list(const TableShape& table);

CellType cell_type_of(ColumnKind kind);
// What is wrong with the row, in words; empty when nothing is.
std::string fault_in(const TableShape& table, const RawRow& row);

}  // namespace sluice::store
