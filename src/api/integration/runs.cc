#include <algorithm>

#include "api/answers/downloads.h"
#include "api/answers/pages.h"
#include "api/answers/rows.h"
#include "api/answers/streaming.h"
#include "api/integration/integration.h"
#include "api/integration/lookups.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view list_parameters[] = {"conversation_id", "agent_id", "state",          "created_after",
                                                "created_before",  "limit",    "starting_after", "ending_before"};

template <typename AnyId>
std::optional<AnyId> read_id(const Query& query, std::string_view name, std::string_view what) {
  const auto given = query.find(name);
  if (!given) return std::nullopt;
  const auto id = AnyId::parse(*given);
  if (!id) query.refuse(name, "is not the id of " + std::string(what));
  return id;
}

std::optional<Timestamp> read_time(const Query& query, std::string_view name) {
  const auto given = query.find(name);
  if (!given) return std::nullopt;
  const auto time = from_rfc3339(*given);
  if (!time) query.refuse(name, "must be a time in UTC, with or without milliseconds, such as 2026-07-02T10:00:00Z");
  return time;
}

// "failed,cancelled"; each counts once.
std::vector<model::RunState> read_states(const Query& query) {
  std::vector<model::RunState> states;
  auto rest = query.find("state");
  while (rest) {
    const auto comma = rest->find(',');
    const auto state = model::run_state_named(rest->substr(0, comma));
    if (!state) {
      query.refuse("state",
                   "must be states of runs with commas between: accepted, held, starting, streaming, parked, "
                   "finishing, completed, failed, cancelled");
      return {};
    }
    if (std::ranges::find(states, *state) == states.end()) states.push_back(*state);
    if (comma == std::string_view::npos) break;
    rest->remove_prefix(comma + 1);
  }
  return states;
}

}  // namespace

void with_run(const RequestPtr& request, Callback<void(const model::Run&)> then) {
  const auto id = request->path_id<model::RunId>();
  if (!id) return request->not_found();
  store::run(request->database(), request->tenant().id, *id,
             [request, then = std::move(then)](const Result<model::Run>& run) mutable {
               if (!run) return request->fail(run.error());
               request->set_run(run.value().id);
               then(run.value());
             });
}

void list_runs(const RequestPtr& request) {
  Findings findings;
  const Query query(request, list_parameters, findings);
  const auto page_query = read_page_query<model::RunId>(query, findings);
  const store::RunFilter filter{
      .conversation = read_id<model::ConversationId>(query, "conversation_id", "a conversation"),
      .agent = read_id<model::AgentId>(query, "agent_id", "an agent"),
      .states = read_states(query),
      .created_after = read_time(query, "created_after"),
      .created_before = read_time(query, "created_before")};
  if (refused(request, findings)) return;
  store::runs(request->database(), request->tenant().id, filter, page_query,
              [request, page_query, conversation = filter.conversation](const Result<store::Page<model::Run>>& page) {
                if (!conversation) return answer_page(request, page_query, page);
                answer_page_of(request, page_query, page, [&](auto then) {
                  store::conversation(request->database(), request->tenant().id, *conversation, std::move(then));
                });
              });
}

void get_run(const RequestPtr& request) {
  const auto id = request->path_id<model::RunId>();
  if (!id) return request->not_found();
  store::run(request->database(), request->tenant().id, *id, [request](const Result<model::Run>& run) {
    if (!run) return request->fail(run.error());
    request->set_run(run.value().id);
    request->answer_json(200, model::to_json(run.value()));
  });
}

void cancel_run(const RequestPtr& request) {
  const auto id = request->path_id<model::RunId>();
  if (!id) return request->not_found();
  cancel_run_of(request, request->tenant().id, *id);
}

void list_run_files(const RequestPtr& request) {
  const auto id = request->path_id<model::RunId>();
  if (!id) return request->not_found();
  store::files_of_run(request->database(), request->tenant().id, *id,
                      [request](Result<std::vector<model::RunFile>> files) { answer_all(request, std::move(files)); });
}

void get_file(const RequestPtr& request) { get_row<model::RunFile>(request, &store::file); }

void get_file_content(const RequestPtr& request) {
  const auto id = request->path_id<model::FileId>();
  if (!id) return request->not_found();
  store::file(request->database(), request->tenant().id, *id, [request](const Result<model::RunFile>& file) {
    if (!file) return request->fail(file.error());
    send_file(request, file.value());
  });
}

}  // namespace sluice::api::integration
