// Calls that are carried out elsewhere: by the host's tools while the round goes on, by the client while it waits.
#include <algorithm>
#include <utility>

#include "runner/call_round.h"
#include "runner/output_text.h"
#include "runner/told.h"

namespace sluice::runner {

using model::EventKind;

namespace {

constexpr std::size_t shown_id_bytes_max = 100;

model::RequestedItem client_item(const std::string& step_id, const models::ToolCall& call) {
  return {.kind = model::ItemKind::client_tool,
          .description = "The client carries out " + call.name + ".",
          .call = model::ClientCall{step_id, call.name, call.arguments}};
}

std::string reason_for(std::size_t count) {
  return "The client carries out " + (count == 1 ? "a tool call." : std::to_string(count) + " tool calls.");
}

}  // namespace

void CallRound::on_host_custom(std::string_view name, std::string_view value) {
  tell(EventKind::custom, custom_body(name, value));
}

void CallRound::on_host_output(std::string_view text) {
  tell(EventKind::output, printed_body(state_.step_id, sandbox::Stream::out, text));
}

void CallRound::ask_client() {
  if (!needs_.dispatch.may_ask) {
    return answer({.text = "The tool " + call().name + " is carried out by the client, and none can be asked here.",
                   .failed = true});
  }
  Asking asking{.items = {client_item(state_.step_id, call())}};
  for (auto at = state_.results.size() + 1; at < state_.calls.size(); ++at) {
    const auto& also = state_.calls[at];
    const bool is_allowed = rule_on_host_call(needs_.dispatch.agent.policy, also).effect == model::Effect::allow;
    if (!is_allowed || !needs_.toolbox.is_of_client(also.name)) break;
    const auto id = "step_" + std::to_string(++needs_.step_count);
    if (!tell(EventKind::step, step_running(id, also))) return;
    asking.items.push_back(client_item(id, also));
  }
  asking.reason = reason_for(asking.items.size());
  wait(Asked::client, std::move(asking));
}

void CallRound::take_client_results(const std::vector<model::RequestedItem>& items,
                                    const std::vector<model::ClientResult>& results) {
  for (const auto& item : items) {
    ToolAnswer answer{.text = "The client gave no result.", .failed = true};
    const auto found = std::ranges::find(results, item.call->id, &model::ClientResult::call_id);
    if (found != results.end()) {
      Excerpt excerpt(needs_.context.options.hands.tool_result_chars_max);
      excerpt.append(found->content);
      answer = {.text = excerpt.text(), .failed = found->failed};
    }
    state_.step_id = item.call->id;
    if (!record(std::move(answer))) return;
  }
  next();
}

bool CallRound::tell_unknown(const std::vector<model::RequestedItem>& items,
                             const std::vector<model::ClientResult>& results) {
  for (const auto& result : results) {
    const auto is_its = [&](const model::RequestedItem& item) { return item.call->id == result.call_id; };
    if (std::ranges::any_of(items, is_its)) continue;
    const auto id = std::string(utf8_prefix(result.call_id, shown_id_bytes_max));
    const auto warning = "The client gave a result for \"" + id + "\", which waits for none; it is ignored.";
    if (!tell(EventKind::log, log_body("warn", warning))) return false;
  }
  return true;
}

}  // namespace sluice::runner
