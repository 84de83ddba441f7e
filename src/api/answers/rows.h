// Handlers of records: list, get, delete, and the answer to a taken name. Each takes the operation of the store that
// does it: list_rows<model::Skill>(request, &store::skills). `hide` removes from a row what the caller may not
// see.
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
  list(request->database(), request->tenant().id, *query, [request, query, hide](Result<store::Page<Row>> page) {
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
  get(request->database(), request->tenant().id, *id, [request, hide](Result<Row> row) {
    if (!row) return request->fail(row.error());
    hide(request, row.value());
    request->answer_json(200, model::to_json(row.value()));
  });
}

// `in_use` is the detail of the problem if the store refuses to delete.
template <typename Row, typename Delete>
void delete_row(const RequestPtr& request, Delete remove, std::string_view in_use) {
  const auto id = request->path_id<decltype(Row::id)>();
  if (!id) return request->not_found();
  remove(request->database(), request->tenant().id, *id, [request, in_use](const Result<Unit>& deleted) {
    if (deleted) return request->no_content();
    if (deleted.error().kind != ErrorKind::conflict) return request->fail(deleted.error());
    request->problem(model::Slug::resource_in_use, in_use);
  });
}

// Answers with the id of the row that has the name, so that the client can use that row. Reads the list page by page.
template <typename Row, typename List>
void answer_name_conflict(const RequestPtr& request, List list, std::string name,
                          std::optional<decltype(Row::id)> after = {}) {
  const store::PageQuery<decltype(Row::id)> query{.limit = limits::page_max, .starting_after = after};
  list(request->database(), request->tenant().id, query, [request, list, name](const Result<store::Page<Row>>& page) {
    if (!page) return request->fail(page.error());
    model::Problem problem{.slug = model::Slug::name_conflict, .detail = "Another one has this name."};
    for (const auto& row : page.value().rows) {
      if (row.name == name) problem.conflicting_resource_id = row.id.text();
    }
    const bool look_on = !problem.conflicting_resource_id && page.value().has_more;
    if (look_on) return answer_name_conflict<Row>(request, list, name, page.value().rows.back().id);
    request->problem(problem);
  });
}

template <typename Row, typename List>
void fail_to_name(const RequestPtr& request, List list, const Error& error, const std::string& name) {
  if (error.kind == ErrorKind::conflict) return answer_name_conflict<Row>(request, list, name);
  request->fail(error);
}

}  // namespace sluice::api
