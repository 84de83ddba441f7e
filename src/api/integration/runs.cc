#include <algorithm>

#include "api/integration/handlers.h"
#include "api/pages.h"
#include "api/run_cancel.h"

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

void list_runs(const Asked& asked) {
  Findings findings;
  const Query query(asked, list_parameters, findings);
  const auto page_query = read_page_query<model::RunId>(query, findings);
  const store::RunFilter filter{
      .conversation = read_id<model::ConversationId>(query, "conversation_id", "a conversation"),
      .agent = read_id<model::AgentId>(query, "agent_id", "an agent"),
      .states = read_states(query),
      .created_after = read_time(query, "created_after"),
      .created_before = read_time(query, "created_before")};
  if (refused(asked, findings)) return;
  asked->store().runs(
      asked->tenant().id, filter, page_query,
      [asked, page_query, conversation = filter.conversation](const Result<store::Page<model::Run>>& page) {
        if (!conversation) return answer_page(asked, page_query, page);
        answer_page_of(asked, page_query, page, [&](auto then) {
          asked->store().conversation(asked->tenant().id, *conversation, std::move(then));
        });
      });
}

void get_run(const Asked& asked) {
  const auto id = asked->path_id<model::RunId>();
  if (!id) return asked->not_found();
  asked->store().run(asked->tenant().id, *id, [asked](const Result<model::Run>& run) {
    if (!run) return asked->fail(run.error());
    asked->set_run(run.value().id);
    asked->answer_json(200, model::to_json(run.value()));
  });
}

void cancel_run(const Asked& asked) {
  const auto id = asked->path_id<model::RunId>();
  if (!id) return asked->not_found();
  cancel_run_of(asked, asked->tenant().id, *id);
}

}  // namespace sluice::api::integration
