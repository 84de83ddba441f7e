// Columns, cells and questions as callers write them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/request/fields.h"
#include "model/tables.h"

namespace sluice::api::tables {

// `name` is a list of {name, type, required?}.
std::vector<model::Column> read_columns(const Fields& fields, std::string_view name);

// Whose cells are read: all that a row has, or those that change.
enum class Cells : uint8_t { of_row, of_change };
// The object at `pointer` as it is kept; what is wrong with it is in the findings. Null means that there is nothing in
// the cell: a row leaves such cells out, a change keeps the word, because it empties one.
std::string read_cells(json::Value object, const std::string& pointer, const std::vector<model::Column>& columns,
                       Cells which, Findings& findings);

model::TableQuery read_query(json::Value body, const std::vector<model::Column>& columns, Findings& findings);

}  // namespace sluice::api::tables
