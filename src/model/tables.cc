#include "model/tables.h"

#include <string.h>  // memmem

#include <algorithm>
#include <cmath>
#include <compare>
#include <utility>

#include "base/check.h"

namespace sluice::model {
namespace {

constexpr std::pair<ColumnType, std::string_view> column_types[] = {{ColumnType::text, "text"},
                                                                    {ColumnType::number, "number"},
                                                                    {ColumnType::boolean, "boolean"},
                                                                    {ColumnType::timestamp, "timestamp"},
                                                                    {ColumnType::json, "json"}};
constexpr std::pair<FilterOp, std::string_view> condition_ops[] = {{FilterOp::eq, "eq"},
                                                                   {FilterOp::ne, "ne"},
                                                                   {FilterOp::lt, "lt"},
                                                                   {FilterOp::lte, "lte"},
                                                                   {FilterOp::gt, "gt"},
                                                                   {FilterOp::gte, "gte"},
                                                                   {FilterOp::in, "in"},
                                                                   {FilterOp::contains, "contains"},
                                                                   {FilterOp::starts_with, "starts_with"},
                                                                   {FilterOp::is_null, "is_null"}};

// A cell, or what it is compared with. Empty: there is nothing in it.
struct Cell {
  bool empty = true;
  double number = 0;  // of numbers and booleans
  std::string text;   // of the others
};

Cell cell_of(ColumnType type, std::optional<json::Value> value) {
  if (!value || value->is_null()) return {};
  Cell cell{.empty = false};
  switch (type) {
    case ColumnType::number: cell.number = value->real().value_or(0); break;
    case ColumnType::boolean: cell.number = value->boolean().value_or(false) ? 1 : 0; break;
    case ColumnType::text:
    case ColumnType::timestamp: cell.text = value->string().value_or(""); break;
    case ColumnType::json: cell.text = value->to_text(); break;
  }
  return cell;
}

std::weak_ordering order_of(const Cell& left, const Cell& right) {
  if (left.empty || right.empty) return right.empty <=> left.empty;  // what is empty comes first
  if (left.number != right.number)
    return left.number < right.number ? std::weak_ordering::less : std::weak_ordering::greater;
  return left.text <=> right.text;
}

Cell cell_of_text(ColumnType type, const std::string& text) {
  const auto document = json::Document::parse(text);
  return document ? cell_of(type, document.value().root()) : Cell{};
}

bool holds(FilterOp op, const Cell& cell, const Cell& other) {
  const auto order = order_of(cell, other);
  switch (op) {
    case FilterOp::eq:
    case FilterOp::in: return order == 0;
    case FilterOp::ne: return order != 0;
    case FilterOp::lt: return order < 0;
    case FilterOp::lte: return order <= 0;
    case FilterOp::gt: return order > 0;
    case FilterOp::gte: return order >= 0;
    // Not find(): its time is the product of both lengths for texts that are made for it.
    case FilterOp::contains:
      return memmem(cell.text.data(), cell.text.size(), other.text.data(), other.text.size()) != nullptr;
    case FilterOp::starts_with: return cell.text.starts_with(other.text);
    case FilterOp::is_null:
    case FilterOp::all:
    case FilterOp::any:
    case FilterOp::none: break;
  }
  return false;
}

// A filter with its values parsed once, for all rows.
class Sieve {
 public:
  Sieve(const std::vector<Column>& columns, const Filter& filter) : op_(filter.op), column_(filter.column) {
    for (const auto& part : filter.parts) parts_.emplace_back(columns, part);
    const auto* const column = find_column(columns, filter.column);
    if (column == nullptr) return;
    type_ = column->type;
    for (const auto& value : filter.values) values_.push_back(cell_of_text(type_, value));
  }

  bool takes(json::Value row) const {
    const auto takes_it = [&](const Sieve& part) { return part.takes(row); };
    if (op_ == FilterOp::all) return std::ranges::all_of(parts_, takes_it);
    if (op_ == FilterOp::any) return std::ranges::any_of(parts_, takes_it);
    if (op_ == FilterOp::none) return std::ranges::none_of(parts_, takes_it);
    const auto cell = cell_of(type_, row.find(column_));
    if (op_ == FilterOp::is_null) return cell.empty;
    // Nothing is like what is not there; it only differs.
    if (cell.empty) return op_ == FilterOp::ne;
    return std::ranges::any_of(values_, [&](const Cell& value) { return holds(op_, cell, value); });
  }

 private:
  FilterOp op_;
  std::string column_;
  ColumnType type_ = ColumnType::text;
  std::vector<Cell> values_;
  std::vector<Sieve> parts_;
};

struct Candidate {
  TableRow row;
  std::vector<Cell> keys;
};

bool comes_before(const std::vector<SortKey>& order, const Candidate& left, const Candidate& right) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto compared = order_of(left.keys[i], right.keys[i]);
    if (compared != 0) return (compared < 0) != order[i].descending;
  }
  return false;
}

std::string only(json::Value row, const std::vector<std::string>& columns) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  for (const auto& name : columns) {
    if (const auto value = row.find(name)) writer.key_escaped(name).raw(value->to_text());
  }
  writer.end_object();
  return out;
}

}  // namespace

const Column* find_column(const std::vector<Column>& columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

std::string_view fault_of_cell(ColumnType type, json::Value value) {
  if (value.is_null()) return "";
  switch (type) {
    case ColumnType::text: return value.string() ? "" : "must be text";
    case ColumnType::number: return value.real() && std::isfinite(*value.real()) ? "" : "must be a number";
    case ColumnType::boolean: return value.boolean() ? "" : "must be true or false";
    case ColumnType::timestamp:
      return value.string() && from_rfc3339(*value.string()) ? "" : "must be a time in UTC, as in 2026-01-31T12:00:00Z";
    case ColumnType::json: break;
  }
  return "";
}

std::string cell_text(ColumnType type, json::Value value) {
  if (type != ColumnType::timestamp || !value.string()) return value.to_text();
  std::string out;
  json::append_string(out, to_rfc3339(from_rfc3339(*value.string()).value_or(Timestamp{})));
  return out;
}

struct TableSearch::State {
  const std::vector<Column>& columns;
  const TableQuery& query;
  std::optional<Sieve> sieve;
  std::vector<Candidate> found;
};

TableSearch::TableSearch(const std::vector<Column>& columns, const TableQuery& query)
    : state_(new State{columns, query, std::nullopt, {}}) {
  if (query.filter) state_->sieve.emplace(columns, *query.filter);
}
TableSearch::~TableSearch() = default;

void TableSearch::look_at(TableRow row) {
  const auto& query = state_->query;
  const auto document = json::Document::parse(row.cells);
  if (!document) return;
  const auto cells = document.value().root();
  if (state_->sieve && !state_->sieve->takes(cells)) return;
  Candidate candidate;
  for (const auto& key : query.order) {
    const auto* const column = find_column(state_->columns, key.column);
    candidate.keys.push_back(column == nullptr ? Cell{} : cell_of(column->type, cells.find(key.column)));
  }
  if (!query.columns.empty()) row.cells = only(cells, query.columns);
  candidate.row = std::move(row);
  state_->found.push_back(std::move(candidate));
}

Selection TableSearch::finish() {
  const auto& query = state_->query;
  auto& found = state_->found;
  std::ranges::stable_sort(found,
                           [&](const auto& left, const auto& right) { return comes_before(query.order, left, right); });
  Selection out{.rows = {}, .total = static_cast<int64_t>(found.size())};
  const auto end = query.offset + std::min(query.limit, out.total);
  for (int64_t i = query.offset; i < std::min(end, out.total); ++i) {
    out.rows.push_back(std::move(found[static_cast<std::size_t>(i)].row));
  }
  return out;
}

std::string merge_cells(std::string_view cells, std::string_view patch) {
  const auto before = json::Document::parse(cells);
  const auto change = json::Document::parse(patch);
  SLUICE_CHECK(before && change);
  const auto changed = change.value().root();
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  before.value().root().each_member([&](std::string_view name, json::Value value) {
    if (!changed.find(name)) writer.key_escaped(name).raw(value.to_text());
  });
  changed.each_member([&](std::string_view name, json::Value value) {
    if (!value.is_null()) writer.key_escaped(name).raw(value.to_text());
  });
  writer.end_object();
  return out;
}

std::string_view name_of(ColumnType type) { return column_types[static_cast<std::size_t>(type)].second; }

std::optional<ColumnType> column_type_named(std::string_view name) {
  for (const auto& [type, its_name] : column_types) {
    if (name == its_name) return type;
  }
  return std::nullopt;
}

std::optional<FilterOp> filter_op_named(std::string_view name) {
  for (const auto& [op, its_name] : condition_ops) {
    if (name == its_name) return op;
  }
  return std::nullopt;
}

std::string columns_text(const std::vector<Column>& columns) {
  std::string out;
  json::Writer writer(out);
  writer.begin_array();
  for (const auto& column : columns) {
    writer.begin_object().key("name").string(column.name).key("type").string(name_of(column.type));
    writer.key("required").boolean(column.required).end_object();
  }
  writer.end_array();
  return out;
}

std::vector<Column> columns_from_json(json::Value value) {
  std::vector<Column> columns;
  value.each_element([&](json::Value item) {
    const auto name = item.find("name");
    const auto type = item.find("type");
    const auto required = item.find("required");
    columns.push_back({std::string(name ? name->string().value_or("") : ""),
                       column_type_named(type ? type->string().value_or("") : "").value_or(ColumnType::text),
                       required && required->boolean().value_or(false)});
  });
  return columns;
}

void append_json(std::string& out, const Table& table) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("table").key("id").string(table.id.text());
  writer.key("tenant_id").string(table.tenant_id.text()).key("name").string(table.name);
  writer.key("columns").raw(columns_text(table.columns)).key("row_count").integer(table.row_count);
  writer.key("size_bytes").integer(table.size_bytes);
  writer.key("created_at").string(to_rfc3339(table.created_at));
  writer.key("updated_at").string(to_rfc3339(table.updated_at)).end_object();
}

void append_json(std::string& out, const TableRow& row) {
  json::Writer writer(out);
  writer.begin_object().key("object").string("table_row").key("id").string(row.id.text());
  writer.key("values").raw(row.cells).key("created_at").string(to_rfc3339(row.created_at));
  writer.key("updated_at").string(to_rfc3339(row.updated_at)).end_object();
}

}  // namespace sluice::model
