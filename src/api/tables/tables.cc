#include "api/guest_deeds.h"
#include "api/pages.h"
#include "api/tables/handlers.h"
#include "api/tables/table_input.h"

namespace sluice::api::tables {
namespace {

constexpr std::string_view table_names[] = {"name", "columns"};
constexpr std::string_view patch_names[] = {"name", "add_columns"};
constexpr std::string_view insert_names[] = {"rows"};

// With the table that the path names by its id or its name.
void with_table(const Asked& asked, Callback<void(const model::Table&)> then) {
  const auto name = net::percent_decode(asked->path_param(0));
  if (!name) return asked->not_found();
  asked->store().tables().find(asked->tenant().id, *name,
                               [asked, then = std::move(then)](const Result<model::Table>& table) mutable {
                                 if (!table) return asked->fail(table.error());
                                 then(table.value());
                               });
}

// A store that says `invalid` says what is one too many.
void fail(const Asked& asked, const Error& error, std::string pointer) {
  if (error.kind == ErrorKind::conflict) {
    return asked->problem(model::Slug::name_conflict, "Another table has this name.");
  }
  if (error.kind == ErrorKind::invalid) return asked->invalid(std::move(pointer), error.what);
  asked->fail(error);
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
void record_rows(const Asked& asked, const model::Table& table, Callback<void()> then) {
  std::string detail;
  json::Writer(detail).begin_object().key("name").string(table.name).end_object();
  record_guest_once(asked, "table.rows_changed", table.id.text(), std::move(detail), std::move(then));
}

std::string list_json(const std::vector<model::TableRow>& rows) {
  std::string out = "[";
  for (const auto& row : rows) {
    if (out.size() > 1) out += ',';
    model::append_json(out, row);
  }
  return out + "]";
}

std::vector<model::TableRow> read_rows(const Asked& asked, json::Value body, const model::Table& table,
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
    rows.push_back({.id = asked->ids().make<model::TableRowId>(),
                    .cells = read_cells(row, pointer, table.columns, Cells::of_row, findings),
                    .created_at = asked->now(),
                    .updated_at = asked->now()});
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
void fail_query(const Asked& asked, const Error& error) {
  if (error.kind == ErrorKind::invalid) return asked->invalid("/filter", error.what);
  if (error.kind != ErrorKind::denied) return asked->fail(error);
  asked->problem({.slug = model::Slug::rate_limited,
                  .detail = "Too many questions about tables of this workspace wait for their answer already. Send at "
                            "most a few at once, and this one again.",
                  .retry_after_seconds = 1});
}

}  // namespace

void list_tables(const Asked& asked) {
  const auto query = read_page_query<model::TableId>(asked);
  if (!query) return;
  asked->store().tables().list(
      asked->tenant().id, *query,
      [asked, query](const Result<store::Page<model::Table>>& page) { answer_page(asked, *query, page); });
}

void create_table(const Asked& asked) {
  const auto body = read_body(asked);
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
  if (refused(asked, findings)) return;
  made.id = asked->ids().make<model::TableId>();
  made.tenant_id = asked->tenant().id;
  made.created_at = made.updated_at = asked->now();
  record_guest(asked, "table.created", made.id.text(), detail_of(made.name, made.columns), [asked, made] {
    asked->store().tables().create(made, [asked, made](const Result<Unit>& kept) {
      if (!kept) return fail(asked, kept.error(), "/name");
      asked->created(asked->request().path + "/" + made.id.text(), model::to_json(made));
    });
  });
}

void get_table(const Asked& asked) {
  with_table(asked, [asked](const model::Table& table) { asked->answer_json(200, model::to_json(table)); });
}

void update_table(const Asked& asked) {
  with_table(asked, [asked](const model::Table& table) {
    const auto body = read_body(asked);
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
    if (refused(asked, findings)) return;
    auto detail = detail_of(patch.name, patch.add_columns);
    record_guest(asked, "table.updated", table.id.text(), std::move(detail),
                 [asked, id = table.id, patch = std::move(patch)]() mutable {
                   asked->store().tables().update(asked->tenant().id, id, std::move(patch), asked->now(),
                                                  [asked](const Result<model::Table>& changed) {
                                                    if (!changed) return fail(asked, changed.error(), "/add_columns");
                                                    asked->answer_json(200, model::to_json(changed.value()));
                                                  });
                 });
  });
}

void delete_table(const Asked& asked) {
  with_table(asked, [asked](const model::Table& table) {
    record_guest(asked, "table.deleted", table.id.text(), detail_of(table.name, {}), [asked, id = table.id] {
      asked->store().tables().remove(asked->tenant().id, id, [asked](const Result<Unit>& removed) {
        if (!removed) return asked->fail(removed.error());
        asked->no_content();
      });
    });
  });
}

void list_rows(const Asked& asked) {
  with_table(asked, [asked](const model::Table& table) {
    const auto query = read_page_query<model::TableRowId>(asked);
    if (!query) return;
    asked->store().tables().rows(
        asked->tenant().id, table.id, *query,
        [asked, query](const Result<store::Page<model::TableRow>>& page) { answer_page(asked, *query, page); });
  });
}

void insert_rows(const Asked& asked) {
  with_table(asked, [asked](const model::Table& table) {
    const auto body = read_body(asked);
    if (!body) return;
    Findings findings;
    auto rows = read_rows(asked, body->root(), table, findings);
    if (refused(asked, findings)) return;
    record_rows(asked, table, [asked, id = table.id, rows = std::move(rows)] {
      asked->store().tables().insert(asked->tenant().id, id, rows, [asked, rows](const Result<Unit>& kept) {
        if (!kept) return fail(asked, kept.error(), "/rows");
        asked->answer_json(201, R"({"rows":)" + list_json(rows) + "}");
      });
    });
  });
}

void update_row(const Asked& asked) {
  const auto row = asked->path_id<model::TableRowId>(1);
  if (!row) return asked->not_found();
  with_table(asked, [asked, row = *row](const model::Table& table) {
    const auto body = read_body(asked);
    if (!body) return;
    Findings findings;
    auto patch = read_cells(body->root(), "", table.columns, Cells::of_change, findings);
    if (refused(asked, findings)) return;
    record_rows(asked, table, [asked, id = table.id, row, patch = std::move(patch)]() mutable {
      asked->store().tables().change_row(asked->tenant().id, id, row, std::move(patch), asked->now(),
                                         [asked](const Result<model::TableRow>& changed) {
                                           if (!changed) return fail(asked, changed.error(), "");
                                           asked->answer_json(200, model::to_json(changed.value()));
                                         });
    });
  });
}

void delete_row(const Asked& asked) {
  const auto row = asked->path_id<model::TableRowId>(1);
  if (!row) return asked->not_found();
  with_table(asked, [asked, row = *row](const model::Table& table) {
    record_rows(asked, table, [asked, id = table.id, row] {
      asked->store().tables().remove_row(asked->tenant().id, id, row, [asked](const Result<Unit>& removed) {
        if (!removed) return asked->fail(removed.error());
        asked->no_content();
      });
    });
  });
}

void query_rows(const Asked& asked) {
  with_table(asked, [asked](const model::Table& table) {
    const auto body = read_body(asked);
    if (!body) return;
    Findings findings;
    auto query = read_query(body->root(), table.columns, findings);
    check_cost(query, table, findings);
    if (refused(asked, findings)) return;
    const auto shown_before = query.offset;
    asked->store().tables().query(asked->tenant().id, table.id, std::move(query),
                                  [asked, shown_before](const Result<store::FoundRows>& found) {
                                    if (!found) return fail_query(asked, found.error());
                                    const auto& rows = found.value().rows;
                                    const auto shown = shown_before + static_cast<int64_t>(rows.size());
                                    std::string out = R"({"object":"list","data":)" + list_json(rows);
                                    out += R"(,"total":)" + std::to_string(found.value().total) + R"(,"has_more":)";
                                    out += shown < found.value().total ? "true}" : "false}";
                                    asked->answer_json(200, std::move(out));
                                  });
  });
}

}  // namespace sluice::api::tables
