// Reads columns, cells and queries of tables from requests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/request/fields.h"
#include "model/tables.h"

namespace sluice::api::tables {

// `name` is a list of {name, type, required?}.
std::vector<model::Column> read_columns(const Fields& fields, std::string_view name);

// A new row has all its cells; a change has only the cells that change.
enum class Cells : uint8_t { of_row, of_change };
// The object at `pointer` in the form in which it is stored; what is invalid is in the findings. Null is an empty cell:
// a row leaves it out, a change keeps it, because it empties the cell.
std::string read_cells(json::Value object, const std::string& pointer, const std::vector<model::Column>& columns,
                       Cells which, Findings& findings);

model::TableQuery read_query(json::Value body, const std::vector<model::Column>& columns, Findings& findings);

}  // namespace sluice::api::tables
