#include "api/tables/table_input.h"

#include <algorithm>

namespace sluice::api::tables {
namespace {

constexpr std::string_view column_names[] = {"name", "type", "required"};
constexpr std::string_view query_names[] = {"filter", "order", "columns", "limit", "offset"};
constexpr std::string_view order_names[] = {"column", "direction"};
constexpr std::string_view condition_names[] = {"column", "op", "value"};
constexpr TextRule column_rule{.chars_min = 1, .chars_max = 64};
constexpr std::string_view ops = "eq, ne, lt, lte, gt, gte, contains, starts_with, in, is_null";
constexpr int64_t limit_max = 1'000;

// All the columns in each of many errors would be an answer much larger than the request.
constexpr std::size_t columns_named_max = 5;

std::string no_such_column(std::string_view name, const std::vector<model::Column>& columns) {
  std::string out = "names no column: there is no \"" + std::string(name) + "\". There are";
  for (std::size_t i = 0; i < std::min(columns.size(), columns_named_max); ++i) out += " " + columns[i].name;
  if (columns.size() > columns_named_max) out += " and " + std::to_string(columns.size() - columns_named_max) + " more";
  return out;
}

bool compares_text(model::FilterOp op) { return op == model::FilterOp::contains || op == model::FilterOp::starts_with; }

bool compares_order(model::FilterOp op) {
  return op == model::FilterOp::lt || op == model::FilterOp::lte || op == model::FilterOp::gt ||
         op == model::FilterOp::gte;
}

// Reads a filter, which others may be in.
class FilterReading {
 public:
  FilterReading(const std::vector<model::Column>& columns, Findings& findings)
      : columns_(columns), findings_(findings) {}

  model::Filter read(json::Value value, const std::string& pointer, int depth) {
    if (depth > limits::filter_depth_max) {
      return refuse(pointer, "is nested more than " + std::to_string(limits::filter_depth_max) + " deep");
    }
    if (value.kind() != json::Kind::object) return refuse(pointer, "must be an object");
    if (const auto parts = value.find("and")) return of_parts(model::FilterOp::all, *parts, pointer + "/and", depth);
    if (const auto parts = value.find("or")) return of_parts(model::FilterOp::any, *parts, pointer + "/or", depth);
    if (const auto part = value.find("not")) {
      return {model::FilterOp::none, "", {}, {read(*part, pointer + "/not", depth + 1)}};
    }
    if (++condition_count_ > limits::filter_conditions_max) {
      return refuse(pointer, "is one condition too many: at most " + std::to_string(limits::filter_conditions_max));
    }
    return condition(value, pointer);
  }

 private:
  model::Filter refuse(const std::string& pointer, std::string message) {
    findings_.refuse(pointer, std::move(message));
    return {};
  }

  model::Filter of_parts(model::FilterOp op, json::Value parts, const std::string& pointer, int depth) {
    if (parts.kind() != json::Kind::array || parts.size() == 0) return refuse(pointer, "must be a list of filters");
    model::Filter out{.op = op};
    std::size_t index = 0;
    parts.each_element([&](json::Value part) {
      if (index > limits::filter_conditions_max) return;
      out.parts.push_back(read(part, pointer + "/" + std::to_string(index++), depth + 1));
    });
    return out;
  }

  model::Filter condition(json::Value value, const std::string& pointer) {
    const Fields fields(value, pointer, condition_names, findings_);
    fields.require("column");
    fields.require("op");
    const auto name = fields.text("column", {}, Null::refused);
    const auto op = fields.word("op", model::filter_op_named, ops);
    if (!name || !op) return {};
    const auto* const column = model::find_column(columns_, *name);
    if (column == nullptr) return refuse(fields.pointer("column"), no_such_column(*name, columns_));
    const bool is_text = column->type == model::ColumnType::text;
    if (compares_text(*op) && !is_text) return refuse(fields.pointer("op"), "is for columns of type text");
    if (compares_order(*op) && column->type == model::ColumnType::json) {
      return refuse(fields.pointer("op"), "is not for columns of type json");
    }
    model::Filter out{.op = *op, .column = *name};
    read_values(value.find("value"), fields.pointer("value"), *column, out);
    return out;
  }

  void read_values(std::optional<json::Value> value, const std::string& pointer, const model::Column& column,
                   model::Filter& out) {
    if (out.op == model::FilterOp::is_null) {
      if (value && !value->is_null()) refuse(pointer, "is not for is_null");
      return;
    }
    if (out.op != model::FilterOp::in) return read_value(value.value_or(json::Value()), pointer, column, out);
    if (!value || value->kind() != json::Kind::array || value->size() > limits::filter_conditions_max) {
      refuse(pointer, "must be a list of at most " + std::to_string(limits::filter_conditions_max) + " values");
      return;
    }
    std::size_t index = 0;
    value->each_element(
        [&](json::Value item) { read_value(item, pointer + "/" + std::to_string(index++), column, out); });
  }

  void read_value(json::Value value, const std::string& pointer, const model::Column& column, model::Filter& out) {
    if (value.is_null()) {
      refuse(pointer, "is needed; for empty cells there is the op is_null");
    } else if (const auto fault = model::fault_of_cell(column.type, value); !fault.empty()) {
      refuse(pointer, std::string(fault));
    } else {
      out.values.push_back(model::cell_text(column.type, value));
    }
  }

  const std::vector<model::Column>& columns_;
  Findings& findings_;
  std::size_t condition_count_ = 0;
};

void read_order(const Fields& fields, const std::vector<model::Column>& columns, model::TableQuery& out) {
  const auto keys = fields.objects("order", order_names, 8);
  if (!keys) return;
  for (const auto& key : *keys) {
    key.require("column");
    const auto name = key.text("column", {}, Null::refused);
    const auto direction = key.text("direction", {}, Null::refused).value_or("asc");
    if (direction != "asc" && direction != "desc") key.refuse("direction", "must be one of asc, desc");
    if (name && model::find_column(columns, *name) == nullptr) key.refuse("column", no_such_column(*name, columns));
    if (name) out.order.push_back({*name, direction == "desc"});
  }
}

}  // namespace

std::vector<model::Column> read_columns(const Fields& fields, std::string_view name) {
  std::vector<model::Column> out;
  const auto given = fields.objects(name, column_names, limits::table_columns_max);
  if (!given) return out;
  for (const auto& column : *given) {
    column.require("name");
    column.require("type");
    model::Column made;
    made.name = column.text("name", column_rule, Null::refused).value_or("");
    made.type = column.word("type", model::column_type_named, "text, number, boolean, timestamp, json")
                    .value_or(model::ColumnType::text);
    made.required = column.boolean("required").value_or(false);
    if (model::find_column(out, made.name) != nullptr) column.refuse("name", "is there twice");
    out.push_back(std::move(made));
  }
  return out;
}

std::string read_cells(json::Value object, const std::string& pointer, const std::vector<model::Column>& columns,
                       Cells which, Findings& findings) {
  std::string out;
  if (object.kind() != json::Kind::object) {
    findings.refuse(pointer, "must be an object: a value for each column");
    return out;
  }
  json::Writer writer(out);
  writer.begin_object();
  object.each_member([&](std::string_view name, json::Value value) {
    if (findings.errors.has_more()) return;
    const auto* const column = model::find_column(columns, name);
    const std::string at = model::pointer_to(pointer, name);
    if (column == nullptr) return findings.refuse(at, no_such_column(name, columns));
    const auto fault = model::fault_of_cell(column->type, value);
    if (!fault.empty()) return findings.refuse(at, std::string(fault));
    if (value.is_null() && column->required) return findings.refuse(at, "is required");
    if (value.is_null() && which == Cells::of_row) return;
    writer.key_escaped(name).raw(model::cell_text(column->type, value));
  });
  writer.end_object();
  if (findings.errors.has_more()) return out;
  for (const auto& column : columns) {
    if (which == Cells::of_row && column.required && !object.find(column.name)) {
      findings.refuse(pointer + "/" + column.name, "is required");
    }
  }
  if (out.size() > limits::table_row_bytes_max) {
    findings.refuse(pointer, "has more than " + std::to_string(limits::table_row_bytes_max) + " bytes");
  }
  return out;
}

model::TableQuery read_query(json::Value body, const std::vector<model::Column>& columns, Findings& findings) {
  model::TableQuery out;
  const Fields fields(body, "", query_names, findings);
  if (const auto filter = body.find("filter"); filter && !filter->is_null()) {
    out.filter = FilterReading(columns, findings).read(*filter, "/filter", 1);
  }
  read_order(fields, columns, out);
  out.columns = fields.texts("columns", limits::table_columns_max).value_or(std::vector<std::string>{});
  for (std::size_t i = 0; i < out.columns.size(); ++i) {
    if (model::find_column(columns, out.columns[i]) == nullptr) {
      fields.refuse_at("columns/" + std::to_string(i), no_such_column(out.columns[i], columns));
    }
  }
  out.limit = fields.integer("limit", 1, limit_max).value_or(out.limit);
  out.offset = fields.integer("offset", 0, limits::table_rows_max).value_or(0);
  return out;
}

}  // namespace sluice::api::tables
