#include <algorithm>

#include "api/answers/pages.h"
#include "api/handlers.h"
#include "api/request/audit.h"
#include "api/tables/table_input.h"

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

namespace {

constexpr std::string_view table_names[] = {"name", "columns"};
constexpr std::string_view patch_names[] = {"name", "add_columns"};
constexpr std::string_view insert_names[] = {"rows"};

// With the table that the path names by its id or its name.
void with_table(const RequestPtr& request, Callback<void(const model::Table&)> then) {
  const auto name = net::percent_decode(request->path_param(0));
  if (!name) return request->not_found();
  store::find_table(request->database(), request->tenant().id, *name,
                    [request, then = std::move(then)](const Result<model::Table>& table) mutable {
                      if (!table) return request->fail(table.error());
                      then(table.value());
                    });
}

// A store that says `invalid` says what is one too many.
void fail(const RequestPtr& request, const Error& error, std::string pointer) {
  if (error.kind == ErrorKind::conflict) {
    return request->problem(model::Slug::name_conflict, "Another table has this name.");
  }
  if (error.kind == ErrorKind::invalid) return request->invalid(std::move(pointer), error.what);
  request->fail(error);
}

// What an entry of the audit chain says of a table's definition: its name, and columns that come.
std::string detail_of(const std::optional<std::string>& name, const std::vector<model::Column>& columns) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  if (name) writer.key("name").string(*name);
  writer.key("columns").begin_array();
  for (const auto& column : columns) writer.string(column.name);
  writer.end_array().end_object();
  return out;
}

// Of rows only the first change by a run is recorded, because there may be thousands.
void record_rows(const RequestPtr& request, const model::Table& table, Callback<void()> then) {
  std::string detail;
  json::Writer(detail).begin_object().key("name").string(table.name).end_object();
  record_sandbox_once(request, "table.rows_changed", table.id.text(), std::move(detail), std::move(then));
}

std::string list_json(const std::vector<model::TableRow>& rows) {
  std::string out = "[";
  for (const auto& row : rows) {
    if (out.size() > 1) out += ',';
    model::append_json(out, row);
  }
  return out + "]";
}

std::vector<model::TableRow> read_rows(const RequestPtr& request, json::Value body, const model::Table& table,
                                       Findings& findings) {
  std::vector<model::TableRow> rows;
  const Fields fields(body, "", insert_names, findings);
  const auto given = body.find("rows");
  if (!given || given->kind() != json::Kind::array || given->size() == 0 ||
      given->size() > limits::table_insert_rows_max) {
    fields.refuse("rows", "must be a list of 1 to " + std::to_string(limits::table_insert_rows_max) + " rows");
    return rows;
  }
  given->each_element([&](json::Value row) {
    const auto pointer = "/rows/" + std::to_string(rows.size());
    rows.push_back({.id = request->ids().make<model::TableRowId>(),
                    .cells = read_cells(row, pointer, table.columns, Cells::of_row, findings),
                    .created_at = request->now(),
                    .updated_at = request->now()});
  });
  return rows;
}

// What a question makes a reader of the store do, whom others wait for.
constexpr int64_t looked_at_bytes_max = 512 * 1024 * 1024;

int64_t comparisons_in(const model::Filter& filter) {
  auto count = static_cast<int64_t>(filter.values.size());
  for (const auto& part : filter.parts) count += comparisons_in(part);
  return count;
}

void check_cost(const model::TableQuery& query, const model::Table& table, Findings& findings) {
  const auto comparisons = query.filter ? comparisons_in(*query.filter) : 0;
  if (comparisons * table.size_bytes <= looked_at_bytes_max) return;
  findings.refuse("/filter", "compares too much for a table of " + std::to_string(table.size_bytes) +
                                 " bytes: at most " + std::to_string(looked_at_bytes_max / table.size_bytes) +
                                 " values");
}

// The store says `denied` of a question too many, and `invalid` of one that took too long.
void fail_query(const RequestPtr& request, const Error& error) {
  if (error.kind == ErrorKind::invalid) return request->invalid("/filter", error.what);
  if (error.kind != ErrorKind::denied) return request->fail(error);
  request->problem({.slug = model::Slug::rate_limited,
                    .detail =
                        "Too many questions about tables of this workspace wait for their answer already. Send at "
                        "most a few at once, and this one again.",
                    .retry_after_seconds = 1});
}

}  // namespace

void list_tables(const RequestPtr& request) {
  const auto query = read_page_query<model::TableId>(request);
  if (!query) return;
  store::tables(
      request->database(), request->tenant().id, *query,
      [request, query](const Result<store::Page<model::Table>>& page) { answer_page(request, *query, page); });
}

void create_table(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", table_names, findings);
  fields.require("name");
  fields.require("columns");
  model::Table made;
  made.name = fields.text("name", name_rule, Null::refused).value_or("");
  if (model::TableId::parse(made.name)) fields.refuse("name", "must not look like the id of a table");
  made.columns = read_columns(fields, "columns");
  if (made.columns.empty() && findings.errors.empty()) fields.refuse("columns", "must name at least one column");
  if (refused(request, findings)) return;
  made.id = request->ids().make<model::TableId>();
  made.tenant_id = request->tenant().id;
  made.created_at = made.updated_at = request->now();
  record_sandbox(request, "table.created", made.id.text(), detail_of(made.name, made.columns), [request, made] {
    store::create_table(request->database(), made, [request, made](const Result<Unit>& kept) {
      if (!kept) return fail(request, kept.error(), "/name");
      request->created(request->http().path + "/" + made.id.text(), model::to_json(made));
    });
  });
}

void get_table(const RequestPtr& request) {
  with_table(request, [request](const model::Table& table) { request->answer_json(200, model::to_json(table)); });
}

void update_table(const RequestPtr& request) {
  with_table(request, [request](const model::Table& table) {
    const auto body = read_body(request);
    if (!body) return;
    Findings findings;
    const Fields fields(body->root(), "", patch_names, findings);
    store::TablePatch patch;
    patch.name = fields.text("name", name_rule, Null::refused);
    if (patch.name && model::TableId::parse(*patch.name)) fields.refuse("name", "must not look like the id of a table");
    patch.add_columns = read_columns(fields, "add_columns");
    for (std::size_t i = 0; i < patch.add_columns.size(); ++i) {
      if (!patch.add_columns[i].required || table.row_count == 0) continue;
      fields.refuse_at("add_columns/" + std::to_string(i) + "/required", "must be false: there are rows without it");
    }
    if (refused(request, findings)) return;
    auto detail = detail_of(patch.name, patch.add_columns);
    record_sandbox(request, "table.updated", table.id.text(), std::move(detail),
                   [request, id = table.id, patch = std::move(patch)]() mutable {
                     store::update_table(request->database(), request->tenant().id, id, std::move(patch),
                                         request->now(), [request](const Result<model::Table>& changed) {
                                           if (!changed) return fail(request, changed.error(), "/add_columns");
                                           request->answer_json(200, model::to_json(changed.value()));
                                         });
                   });
  });
}

void delete_table(const RequestPtr& request) {
  with_table(request, [request](const model::Table& table) {
    record_sandbox(request, "table.deleted", table.id.text(), detail_of(table.name, {}), [request, id = table.id] {
      store::delete_table(request->database(), request->tenant().id, id, [request](const Result<Unit>& removed) {
        if (!removed) return request->fail(removed.error());
        request->no_content();
      });
    });
  });
}

void list_rows(const RequestPtr& request) {
  with_table(request, [request](const model::Table& table) {
    const auto query = read_page_query<model::TableRowId>(request);
    if (!query) return;
    store::table_rows(
        request->database(), request->tenant().id, table.id, *query,
        [request, query](const Result<store::Page<model::TableRow>>& page) { answer_page(request, *query, page); });
  });
}

void insert_rows(const RequestPtr& request) {
  with_table(request, [request](const model::Table& table) {
    const auto body = read_body(request);
    if (!body) return;
    Findings findings;
    auto rows = read_rows(request, body->root(), table, findings);
    if (refused(request, findings)) return;
    record_rows(request, table, [request, id = table.id, rows = std::move(rows)] {
      store::insert_rows(request->database(), request->tenant().id, id, rows,
                         [request, rows](const Result<Unit>& kept) {
                           if (!kept) return fail(request, kept.error(), "/rows");
                           request->answer_json(201, R"({"rows":)" + list_json(rows) + "}");
                         });
    });
  });
}

void update_row(const RequestPtr& request) {
  const auto row = request->path_id<model::TableRowId>(1);
  if (!row) return request->not_found();
  with_table(request, [request, row = *row](const model::Table& table) {
    const auto body = read_body(request);
    if (!body) return;
    Findings findings;
    auto patch = read_cells(body->root(), "", table.columns, Cells::of_change, findings);
    if (refused(request, findings)) return;
    record_rows(request, table, [request, id = table.id, row, patch = std::move(patch)]() mutable {
      store::change_row(request->database(), request->tenant().id, id, row, std::move(patch), request->now(),
                        [request](const Result<model::TableRow>& changed) {
                          if (!changed) return fail(request, changed.error(), "");
                          request->answer_json(200, model::to_json(changed.value()));
                        });
    });
  });
}

void delete_row(const RequestPtr& request) {
  const auto row = request->path_id<model::TableRowId>(1);
  if (!row) return request->not_found();
  with_table(request, [request, row = *row](const model::Table& table) {
    record_rows(request, table, [request, id = table.id, row] {
      store::delete_row(request->database(), request->tenant().id, id, row, [request](const Result<Unit>& removed) {
        if (!removed) return request->fail(removed.error());
        request->no_content();
      });
    });
  });
}

void query_rows(const RequestPtr& request) {
  with_table(request, [request](const model::Table& table) {
    const auto body = read_body(request);
    if (!body) return;
    Findings findings;
    auto query = read_query(body->root(), table.columns, findings);
    check_cost(query, table, findings);
    if (refused(request, findings)) return;
    const auto shown_before = query.offset;
    store::query_table(request->database(), request->tenant().id, table.id, std::move(query),
                       [request, shown_before](const Result<store::FoundRows>& found) {
                         if (!found) return fail_query(request, found.error());
                         const auto& rows = found.value().rows;
                         const auto shown = shown_before + static_cast<int64_t>(rows.size());
                         std::string out = R"({"object":"list","data":)" + list_json(rows);
                         out += R"(,"total":)" + std::to_string(found.value().total) + R"(,"has_more":)";
                         out += shown < found.value().total ? "true}" : "false}";
                         request->answer_json(200, std::move(out));
                       });
  });
}

}  // namespace sluice::api::tables
