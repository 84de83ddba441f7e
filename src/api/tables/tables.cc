#include "api/tables/tables.h"
#include "api/answers/pages.h"
#include "api/request/audit.h"
#include "api/tables/table_input.h"

namespace sluice::api::tables {
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
