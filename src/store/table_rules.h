// What both kinds of store refuse of tables, in the same words.
#pragma once

#include "base/limits.h"
#include "store/tables.h"

namespace sluice::store {

inline Error too_much(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

inline Error too_many_tables() {
  return too_much("a workspace has at most " + std::to_string(limits::tables_per_tenant_max) + " tables");
}

// Adds the rows to the table's figures, or says why they do not fit.
inline std::optional<Error> add_rows(model::Table& table, const std::vector<model::TableRow>& rows) {
  table.row_count += static_cast<int64_t>(rows.size());
  for (const auto& row : rows) table.size_bytes += static_cast<int64_t>(row.cells.size());
  if (table.row_count > limits::table_rows_max) {
    return too_much("a table has at most " + std::to_string(limits::table_rows_max) + " rows");
  }
  if (table.size_bytes > limits::table_bytes_max) {
    return too_much("a table has at most " + std::to_string(limits::table_bytes_max) + " bytes");
  }
  return std::nullopt;
}

// Changes the row and the table's figures, or says why it does not fit.
inline std::optional<Error> change(model::Table& table, model::TableRow& row, std::string_view patch, Timestamp at) {
  auto cells = model::merge_cells(row.cells, patch);
  if (cells.size() > limits::table_row_bytes_max) {
    return too_much("a row has at most " + std::to_string(limits::table_row_bytes_max) + " bytes");
  }
  table.row_count -= 1;
  table.size_bytes -= static_cast<int64_t>(row.cells.size());
  row.cells = std::move(cells);
  row.updated_at = at;
  return add_rows(table, {row});
}

inline std::optional<Error> apply(const TablePatch& patch, Timestamp at, model::Table& table) {
  if (patch.name) table.name = *patch.name;
  for (const auto& column : patch.add_columns) {
    if (model::find_column(table.columns, column.name) != nullptr) {
      return too_much("the table has a column \"" + column.name + "\" already");
    }
    table.columns.push_back(column);
  }
  if (table.columns.size() > limits::table_columns_max) {
    return too_much("a table has at most " + std::to_string(limits::table_columns_max) + " columns");
  }
  table.updated_at = at;
  return std::nullopt;
}

}  // namespace sluice::store
