// Lists and single records: reads the cursors of a request, writes pages of rows as JSON, and has the handlers of
// records that need nothing of their own.
#pragma once

#include <charconv>
#include <string>
#include <type_traits>

#include "api/request/reading.h"
#include "api/request/request_context.h"
#include "store/store.h"

namespace sluice::api {

// Conversations move to the front of their list with each message, so their cursors contain the time at which they were
// listed, too: "con_….1782813720123". A cursor without a time continues from the present position of its row.
inline std::string cursor_of(model::ConversationId id, Timestamp last_message_at) {
  return id.text() + '.' + std::to_string(last_message_at.ms);
}
inline std::string cursor_of(const model::Conversation& row) { return cursor_of(row.id, row.last_message_at); }
template <typename Row>
std::string cursor_of(const Row& row) {
  return row.id.text();
}

// Removes the time from `cursor`; false if it is not a time.
inline bool take_time(std::string_view& cursor, std::optional<Timestamp>& at) {
  const auto dot = cursor.find('.');
  if (dot == std::string_view::npos) return true;
  const auto digits = cursor.substr(dot + 1);
  cursor = cursor.substr(0, dot);
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), at.emplace().ms);
  return failed == std::errc{} && end == digits.data() + digits.size() && at->ms >= 0;
}

template <typename AnyId>
store::PageQuery<AnyId> read_page_query(const Query& query, Findings& findings) {
  store::PageQuery<AnyId> out;
  out.limit = static_cast<int>(query.integer("limit", 1, limits::page_max).value_or(limits::page_default));
  const auto cursor = [&](std::string_view name) -> std::optional<AnyId> {
    auto text = query.find(name);
    if (!text) return std::nullopt;
    bool is_good = true;
    if constexpr (std::is_same_v<AnyId, model::ConversationId>) is_good = take_time(*text, out.cursor_at);
    const auto id = is_good ? AnyId::parse(*text) : std::nullopt;
    if (!id) query.refuse(name, "must be a next_cursor of this list, or the id of one of its rows");
    return id;
  };
  out.starting_after = cursor("starting_after");
  out.ending_before = cursor("ending_before");
  if (query.find("starting_after") && query.find("ending_before")) {
    findings.refuse("ending_before", "must not be given together with starting_after");
  }
  return out;
}

// The parameters of every list. A list with more of them has its own names.
inline constexpr std::string_view page_parameters[] = {"limit", "starting_after", "ending_before"};

// The query of a list without filters. Empty: it is invalid, and the request has been answered.
template <typename AnyId>
std::optional<store::PageQuery<AnyId>> read_page_query(const RequestPtr& request) {
  Findings findings;
  const Query query(request, page_parameters, findings);
  auto page_query = read_page_query<AnyId>(query, findings);
  if (refused(request, findings)) return std::nullopt;
  return page_query;
}

inline void append_row(std::string& out, const store::StoredMessage& row) { out += row.json; }
template <typename Row>
void append_row(std::string& out, const Row& row) {
  model::append_json(out, row);
}

// `next_cursor` names the row from which the list continues in the direction of the request.
template <typename Row, typename AnyId>
std::string page_json(const store::Page<Row>& page, const store::PageQuery<AnyId>& query) {
  std::string out = R"({"object":"list","data":[)";
  for (std::size_t i = 0; i < page.rows.size(); ++i) {
    if (i > 0) out += ',';
    append_row(out, page.rows[i]);
  }
  out += R"(],"has_more":)";
  out += page.has_more ? "true" : "false";
  out += R"(,"next_cursor":)";
  if (page.has_more && !page.rows.empty()) {
    const Row& last = query.ending_before ? page.rows.front() : page.rows.back();
    out += '"' + cursor_of(last) + '"';
  } else {
    out += "null";
  }
  return out += '}';
}

bool has_cursor(const auto& query) { return query.starting_after || query.ending_before; }

template <typename AnyId>
void refuse_cursor(const RequestPtr& request, const store::PageQuery<AnyId>& query) {
  request->invalid(query.starting_after ? "starting_after" : "ending_before", "names no row of this list");
}

// The size of a row whose length its client chose.
inline std::size_t bytes_of(const store::StoredMessage& row) { return row.json.size(); }
template <typename Row>
std::size_t bytes_of(const Row&) {
  return 0;
}

// Answers with the page. If the list itself always exists, `not_found` means the cursor.
template <typename Row, typename AnyId>
void answer_page(const RequestPtr& request, const store::PageQuery<AnyId>& query,
                 const Result<store::Page<Row>>& page) {
  if (page) {
    std::size_t bytes = 0;
    for (const auto& row : page.value().rows) bytes += bytes_of(row);
    if (request->may_answer(bytes)) request->answer_json(200, page_json(page.value(), query));
    return;
  }
  if (page.error().kind == ErrorKind::not_found && has_cursor(query)) return refuse_cursor(request, query);
  request->fail(page.error());
}

// Answers with a list that is short enough for one page.
template <typename Row>
void answer_all(const RequestPtr& request, Result<std::vector<Row>> rows) {
  if (!rows) return request->fail(rows.error());
  using AnyId = decltype(Row::id);
  request->answer_json(200, page_json(store::Page<Row>{std::move(rows).take()}, store::PageQuery<AnyId>{}));
}

// Answers with a page of a list whose owner may be missing: `look` asks the store for the owner.
template <typename Row, typename AnyId, typename Look>
void answer_page_of(const RequestPtr& request, const store::PageQuery<AnyId>& query,
                    const Result<store::Page<Row>>& page, Look look) {
  if (page || page.error().kind != ErrorKind::not_found || !has_cursor(query)) {
    return page ? answer_page(request, query, page) : request->fail(page.error());
  }
  look([request, query](const auto& whole) {
    return whole ? refuse_cursor(request, query) : request->fail(whole.error());
  });
}

// ── handlers of records: each takes the operation of the store that does it, list_rows<model::Skill>(request,
// &store::skills). `hide` removes from a row what the caller may not see. ──

template <typename Row, typename List>
void list_rows(const RequestPtr& request, List list, void (*hide)(const RequestPtr&, Row&) = nullptr) {
  const auto query = read_page_query<decltype(Row::id)>(request);
  if (!query) return;
  list(request->database(), request->tenant().id, *query, [request, query, hide](Result<store::Page<Row>> page) {
    if (page && hide != nullptr) {
      for (auto& row : page.value().rows) hide(request, row);
    }
    answer_page(request, *query, page);
  });
}

// Calls `then` with the row that the path names, or answers 404.
template <typename Row, typename Get>
void with_row(const RequestPtr& request, Get get, Callback<void(Row)> then) {
  const auto id = request->path_id<decltype(Row::id)>();
  if (!id) return request->not_found();
  get(request->database(), request->tenant().id, *id, [request, then = std::move(then)](Result<Row> row) mutable {
    row ? then(std::move(row).take()) : request->fail(row.error());
  });
}

template <typename Row, typename Get>
void get_row(const RequestPtr& request, Get get, void (*hide)(const RequestPtr&, Row&) = nullptr) {
  with_row<Row>(request, get, [request, hide](Row row) {
    if (hide != nullptr) hide(request, row);
    request->answer_json(200, model::to_json(row));
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
void answer_name_conflict(const RequestPtr& request, List list, std::string name, std::string_view detail,
                          std::optional<decltype(Row::id)> after = {}) {
  const store::PageQuery<decltype(Row::id)> query{.limit = limits::page_max, .starting_after = after};
  list(request->database(), request->tenant().id, query,
       [request, list, name, detail](const Result<store::Page<Row>>& page) {
         if (!page) return request->fail(page.error());
         model::Problem problem{.slug = model::Slug::name_conflict, .detail = std::string(detail)};
         for (const auto& row : page.value().rows) {
           if (row.name == name) problem.conflicting_resource_id = row.id.text();
         }
         const bool look_on = !problem.conflicting_resource_id && page.value().has_more;
         if (look_on) return answer_name_conflict<Row>(request, list, name, detail, page.value().rows.back().id);
         request->problem(problem);
       });
}

template <typename Row, typename List>
void fail_to_name(const RequestPtr& request, List list, const Error& error, const std::string& name,
                  std::string_view detail = "Another one has this name.") {
  if (error.kind == ErrorKind::conflict) return answer_name_conflict<Row>(request, list, name, detail);
  request->fail(error);
}

// Reads a row from the body and creates it. `list` finds the row that has the name already.
template <typename Row, typename Create, typename List>
void create_row(const RequestPtr& request, NameList names, Row (*read)(const Fields&), Create create, List list,
                std::string_view path) {
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  Row made = read(Fields(body->root(), "", names, findings));
  if (refused(request, findings)) return;
  made.id = request->ids().make<decltype(Row::id)>();
  made.tenant_id = request->tenant().id;
  made.created_at = made.updated_at = request->now();
  create(request->database(), made, [request, list, path, made](const Result<Unit>& kept) {
    if (!kept) return fail_to_name<Row>(request, list, kept.error(), made.name);
    request->created(std::string(path) + made.id.text(), model::to_json(made));
  });
}

template <typename Row, typename Patch, typename Update, typename List>
void update_row(const RequestPtr& request, NameList names, Patch (*read)(const Fields&), Update update, List list) {
  const auto id = request->path_id<decltype(Row::id)>();
  if (!id) return request->not_found();
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  auto patch = read(Fields(body->root(), "", names, findings));
  if (refused(request, findings)) return;
  const std::string name = patch.name.value_or("");
  update(request->database(), request->tenant().id, *id, std::move(patch), request->now(),
         [request, list, name](const Result<Row>& changed) {
           if (!changed) return fail_to_name<Row>(request, list, changed.error(), name);
           request->answer_json(200, model::to_json(changed.value()));
         });
}

}  // namespace sluice::api
