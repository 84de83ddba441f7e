// What handlers of records have in common: list, get, delete, and telling whose a taken name is.
// Each is told the operation of the store that does it: list_rows<model::Skill>(asked, &store::Store::skills). What not
// everybody who may ask is shown of a row, `hide` takes out of it.
#pragma once

#include <string>

#include "api/answers/pages.h"

namespace sluice::api {

template <typename Row>
void hide_nothing(const RequestPtr&, Row&) {}

template <typename Row, typename List>
void list_rows(const RequestPtr& request, List list, void (*hide)(const RequestPtr&, Row&) = hide_nothing<Row>) {
  const auto query = read_page_query<decltype(Row::id)>(request);
  if (!query) return;
  (request->store().*list)(request->tenant().id, *query, [request, query, hide](Result<store::Page<Row>> page) {
    if (page) {
      for (auto& row : page.value().rows) hide(request, row);
    }
    answer_page(request, *query, page);
  });
}

template <typename Row, typename Get>
void get_row(const RequestPtr& request, Get get, void (*hide)(const RequestPtr&, Row&) = hide_nothing<Row>) {
  const auto id = request->path_id<decltype(Row::id)>();
  if (!id) return request->not_found();
  (request->store().*get)(request->tenant().id, *id, [request, hide](Result<Row> row) {
    if (!row) return request->fail(row.error());
    hide(request, row.value());
    request->answer_json(200, model::to_json(row.value()));
  });
}

// `in_use` is what a refusal to delete means.
template <typename Row, typename Delete>
void delete_row(const RequestPtr& request, Delete remove, std::string_view in_use) {
  const auto id = request->path_id<decltype(Row::id)>();
  if (!id) return request->not_found();
  (request->store().*remove)(request->tenant().id, *id, [request, in_use](const Result<Unit>& deleted) {
    if (deleted) return request->no_content();
    if (deleted.error().kind != ErrorKind::conflict) return request->fail(deleted.error());
    request->problem(model::Slug::resource_in_use, in_use);
  });
}

// Looks for the row that has the name, page by page, so that the caller can go on with that one.
template <typename Row, typename List>
void tell_name_is_taken(const RequestPtr& request, List list, std::string name,
                        std::optional<decltype(Row::id)> after = {}) {
  const store::PageQuery<decltype(Row::id)> query{.limit = limits::page_max, .starting_after = after};
  (request->store().*list)(request->tenant().id, query, [request, list, name](const Result<store::Page<Row>>& page) {
    if (!page) return request->fail(page.error());
    model::Problem problem{.slug = model::Slug::name_conflict, .detail = "Another one has this name."};
    for (const auto& row : page.value().rows) {
      if (row.name == name) problem.conflicting_resource_id = row.id.text();
    }
    const bool look_on = !problem.conflicting_resource_id && page.value().has_more;
    if (look_on) return tell_name_is_taken<Row>(request, list, name, page.value().rows.back().id);
    request->problem(problem);
  });
}

template <typename Row, typename List>
void fail_to_name(const RequestPtr& request, List list, const Error& error, const std::string& name) {
  if (error.kind == ErrorKind::conflict) return tell_name_is_taken<Row>(request, list, name);
  request->fail(error);
}

}  // namespace sluice::api
