// Tables that people and agents keep in a workspace, and questions about their rows. Values only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/ids.h"

namespace sluice::model {

enum class ColumnType : uint8_t { text, number, boolean, timestamp, json };

struct Column {
  std::string name;
  ColumnType type = ColumnType::text;
  bool required = false;
  bool operator==(const Column&) const = default;
};

struct Table {
  TableId id;
  TenantId tenant_id;
  std::string name;  // unique within the tenant
  std::vector<Column> columns;
  int64_t row_count = 0;
  int64_t size_bytes = 0;  // of all its cells
  Timestamp created_at;
  Timestamp updated_at;
};

struct TableRow {
  TableRowId id;
  std::string cells = "{}";  // JSON: an object whose members are columns; those that are empty are left out
  Timestamp created_at;
  Timestamp updated_at;
};

// ── questions ──
enum class FilterOp : uint8_t { eq, ne, lt, lte, gt, gte, contains, starts_with, in, is_null, all, any, none };

// A condition on one column, or several of them taken together (all, any, none).
struct Filter {
  FilterOp op = FilterOp::all;
  std::string column;               // of a condition
  std::vector<std::string> values;  // of a condition: JSON, several only for `in`
  std::vector<Filter> parts;        // of the others
};

struct SortKey {
  std::string column;
  bool descending = false;
};

struct TableQuery {
  std::optional<Filter> filter;
  std::vector<SortKey> order;        // rows that are equal by it: oldest first
  std::vector<std::string> columns;  // to be shown; empty: all
  int64_t limit = 100;
  int64_t offset = 0;
};

const Column* find_column(const std::vector<Column>& columns, std::string_view name);

// What is wrong with `value` in a column of that type, in words; empty when nothing is. Null is in order.
std::string_view fault_of_cell(ColumnType type, json::Value value);
// The cell as it is kept: times in one spelling, so that their order is that of their text.
std::string cell_text(ColumnType type, json::Value value);

// Which of `rows` are asked for, in order; `total` is how many there are without limit and offset.
struct Selection {
  std::vector<TableRow> rows;
  int64_t total = 0;
};

// Answers a query row by row, so that the caller need not have all rows at once and can stop in between.
class TableSearch final {
 public:
  // Both must outlive this.
  TableSearch(const std::vector<Column>& columns, const TableQuery& query);
  ~TableSearch();
  TableSearch(const TableSearch&) = delete;
  TableSearch& operator=(const TableSearch&) = delete;

  void look_at(TableRow row);
  // Once, after the last row.
  Selection finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The cells after a change: members of `patch` replace those of the same name, null empties one.
std::string merge_cells(std::string_view cells, std::string_view patch);

std::string_view name_of(ColumnType type);
std::optional<ColumnType> column_type_named(std::string_view name);
std::optional<FilterOp> filter_op_named(std::string_view name);  // of a condition

std::string columns_text(const std::vector<Column>& columns);
std::vector<Column> columns_from_json(json::Value value);
void append_json(std::string& out, const Table& table);
void append_json(std::string& out, const TableRow& row);

}  // namespace sluice::model
