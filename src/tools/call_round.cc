#include <algorithm>
#include <utility>

#include "runs/runs.h"
#include "tools/tools.h"

namespace sluice::tools {

namespace {

constexpr std::size_t named_paths_max = 5;
static_assert(named_paths_max < sessions::changed_paths_max, "that there are more is seen");

// Why a command that a human was asked for is not run from its start again, and what may be done about it.
std::string unrepeated_words(const CallState& state, Asked asked, const std::vector<model::RequestedItem>& items) {
  std::string words = "The command was waiting for ";
  words += asked == Asked::passage ? "leave to send requests to " + state.host
                                   : vault::placeholder(items.empty() ? "" : items[0].alias.value_or(""));
  words += " when it was ended. It had ";
  if (!state.may_run_again) words += state.changed.empty() ? "sent requests" : "sent requests and ";
  if (!state.changed.empty()) {
    words += "changed files (";
    for (std::size_t i = 0; i < std::min(state.changed.size(), named_paths_max); ++i) {
      words += (i == 0 ? "" : ", ") + state.changed[i];
    }
    words += state.changed.size() > named_paths_max ? " and more)" : ")";
  }
  words += " by then, so it was not run again. " + approved_words(items);
  if (asked == Asked::passage) words += " Requests to " + state.host + " are allowed now.";
  return words + " See what it did, then run it again or go on from there.";
}

std::string gone_words(const std::string& tool) {
  return is_sandbox_tool(tool) ? "The sandbox is not there any more." : "The tool " + tool + " is not there any more.";
}

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

CallRound::CallRound(Needs needs, CallState state, CallRoundListener& listener)
    : needs_(needs), listener_(listener), state_(std::move(state)), began_us_(needs.context.loop.monotonic_us()) {}

void CallRound::next() {
  if (state_.results.size() == state_.calls.size()) return listener_.on_answered(std::move(state_.results));
  state_.step_id = "step_" + std::to_string(++needs_.step_count);
  state_.step_used_ms = 0;
  began_us_ = needs_.context.loop.monotonic_us();
  if (!emit(runs::step_running(state_.step_id, call()))) return;
  // Once one step is known, the run's work is not done a second time.
  if (needs_.dispatch.witness == nullptr || needs_.step_count > 1) return begin_call();
  needs_.dispatch.witness->see(lifetime_.guard([this] { begin_call(); }));
}

void CallRound::begin_call() {
  if (is_ask_tool(call().name) && needs_.dispatch.may_ask) return begin_asking();
  if (is_host_call()) return obey_policy();
  if (needs_.session == nullptr || !is_sandbox_tool(call().name)) {
    const auto warning = "The model called the tool " + call().name + ", which does not exist.";
    if (!emit(runs::log_line("warn", warning))) return;
    return answer({.text = "There is no tool named " + call().name + ". Go on without it.", .failed = true});
  }
  auto plan = plan_sandbox_tool(call(), needs_.context.limits);
  if (!plan) return answer({.text = std::move(plan.error().what), .failed = true});
  plan_ = std::move(plan).take();
  obey_policy();
}

// ApprovalRequest is never asked about, but it can be denied.
void CallRound::begin_asking() {
  const auto ruling = gates::rule_on_tool(needs_.dispatch.agent.policy, call().name);
  if (ruling.effect == model::Effect::deny) return answer({.text = refusal_words(ruling), .failed = true});
  auto request = plan_approval_request(call());
  if (!request) return answer({.text = std::move(request.error().what), .failed = true});
  const auto& alias = request.value().items[0].alias;
  if (alias && needs_.dispatch.secrets && needs_.dispatch.secrets->find(*alias) != nullptr) {
    return answer({.text = alias_words(*alias)});
  }
  wait(Asked::answer, std::move(request).take());
}

void CallRound::obey_policy() {
  const auto& policy = needs_.dispatch.agent.policy;
  const auto ruling = is_host_call() ? rule_on_host_call(policy, call()) : rule_on_call(policy, call(), plan_);
  switch (ruling.effect) {
    case model::Effect::allow: return carry_out();
    case model::Effect::deny: return answer({.text = refusal_words(ruling), .failed = true});
    case model::Effect::ask: break;
  }
  if (!needs_.dispatch.may_ask) return answer({.text = unasked_words(ruling), .failed = true});
  auto request =
      is_host_call() ? tools::approval_request_for(ruling, call()) : tools::approval_request_for(ruling, call(), plan_);
  request.items[0].call = model::ClientCall{state_.step_id, call().name, call().arguments};
  wait(Asked::leave, std::move(request));
}

void CallRound::carry_out() {
  if (!is_host_call()) return carry_out_in_box();
  if (needs_.toolbox.is_of_client(call().name)) return ask_client();
  host_call_ = needs_.toolbox.call(call(), state_.step_id, *this);
}

void CallRound::carry_out_in_box() {
  needs_.session->open(lifetime_.guard([this] {
    auto command = std::move(plan_.command);
    plan_.command = {.timeout_ms = command.timeout_ms};  // what words about its end need
    if (command.background) {
      needs_.session->run_in_background(state_.step_id, std::move(command));
      return answer(background_answer());
    }
    const auto& options = needs_.context.limits;
    sent_before_ = needs_.session->sent_for_good();
    run_ = needs_.session->run(std::move(command),
                               {.kept_chars_max = options.tool_result_chars_max,
                                .emitted_bytes_max = options.tool_output_bytes_max,
                                .emits_only_cut = !plan_.is_shell},
                               *this);
  }));
}

// ── waiting for a human ─────────────────────────────────────────────────────────────────────────

void CallRound::wait(Asked asked, ApprovalRequest request) {
  if (run_ && !run_->emit()) return;
  request.reason = clean(std::move(request.reason));
  for (auto& item : request.items) {
    item.description = clean(std::move(item.description));
    if (item.call) item.call->arguments = runs::scrubbed_json(needs_.dispatch.secrets, std::move(item.call->arguments));
  }
  state_.asked = asked;
  state_.items = request.items;
  state_.changed.clear();
  state_.may_run_again = run_ == nullptr || needs_.session->sent_for_good() == sent_before_;
  const auto now_us = needs_.context.loop.monotonic_us();
  state_.step_used_ms += (now_us - std::exchange(began_us_, now_us)) / 1000;
  listener_.on_call_waits(std::move(request));
}

void CallRound::go_on(const std::vector<model::ClientResult>& results) {
  began_us_ = needs_.context.loop.monotonic_us();
  const auto asked = std::exchange(state_.asked, Asked::nothing);
  const auto items = std::exchange(state_.items, {});
  if (!report_unknown(asked == Asked::client ? items : std::vector<model::RequestedItem>(), results)) return;
  switch (asked) {
    case Asked::nothing: return;
    case Asked::leave: return run_again();
    case Asked::answer: return answer({.text = approved_words(items)});
    case Asked::client: return take_client_results(items, results);
    case Asked::passage:
    case Asked::secret: break;
  }
  if (needs_.session == nullptr) return run_again();
  if (asked == Asked::passage) needs_.session->allow_host(state_.host);
  if (run_) return look_at_questions();
  questions_.clear();
  // Where the sandbox stayed, the command may have ended only now.
  needs_.session->find_changed(lifetime_.guard([this, asked, items](const std::vector<std::string>& paths) {
    if (!paths.empty()) note_changed(paths);
    repeat_or_report(asked, items);
  }));
}

// Only what left no trace is repeated: neither outside nor in the workspace, which is as the first attempt left it.
void CallRound::repeat_or_report(Asked asked, const std::vector<model::RequestedItem>& items) {
  if (state_.may_run_again && state_.changed.empty()) return run_again();
  answer({.text = unrepeated_words(state_, asked, items), .failed = true});
}

// From its start: nothing is left of what it was.
void CallRound::run_again() {
  if (is_host_call()) return carry_out();
  auto plan = needs_.session == nullptr || !is_sandbox_tool(call().name)
                  ? Result<ToolPlan>(Error{ErrorKind::unavailable, gone_words(call().name)})
                  : plan_sandbox_tool(call(), needs_.context.limits);
  if (!plan) return answer({.text = std::move(plan.error().what), .failed = true});
  plan_ = std::move(plan).take();
  carry_out();
}

void CallRound::hear(egress::Question question) {
  if (!run_) {
    // Of something in the background, or of the setup script: no call is there to wait.
    return needs_.session->settle(question.number, false,
                                  needs_.dispatch.may_ask ? untimely_words(question, "for a command that is waited for")
                                                          : unasked_words(question));
  }
  questions_.push_back(std::move(question));
  if (!is_waiting()) look_at_questions();
}

void CallRound::look_at_questions() {
  for (; !questions_.empty(); questions_.pop_front()) {
    const auto& question = questions_.front();
    const auto& secrets = needs_.dispatch.secrets;
    const bool is_settled = question.alias.empty() ? needs_.session->is_allowed_host(question.host)
                                                   : secrets && secrets->find(question.alias) != nullptr;
    if (is_settled) {
      needs_.session->settle(question.number, true, "");
    } else if (!needs_.dispatch.may_ask) {
      needs_.session->settle(question.number, false, unasked_words(question));
    } else {
      state_.host = question.host;
      return wait(question.alias.empty() ? Asked::passage : Asked::secret, approval_request_for(question));
    }
  }
}

void CallRound::let_go() {
  run_.reset();
  host_call_.reset();
}

void CallRound::note_changed(const std::vector<std::string>& paths) {
  state_.changed.clear();
  for (const auto& path : paths) state_.changed.push_back(clean(runs::to_utf8(path)));
}

// ── how calls end ───────────────────────────────────────────────────────────────────────────────

void CallRound::on_printed(sandbox::Stream stream, std::string text) {
  emit(runs::printed(state_.step_id, stream, text));
}

void CallRound::on_ended(sandbox::Exit exit, std::string printed) {
  if (is_waiting()) {
    // It did not live to see the answer; the limit of its time does not know of humans.
    state_.may_run_again = state_.may_run_again && needs_.session->sent_for_good() == sent_before_;
    return run_.reset();
  }
  auto said = answer_of(plan_, exit, std::move(printed));
  if (exit.cause != sandbox::ExitCause::box_lost) return answer(std::move(said));
  if (end_step(said)) needs_.session->lose(exit.what);
}

void CallRound::answer(runs::ToolAnswer answer) {
  let_go();
  for (const auto& question : std::exchange(questions_, {})) {
    needs_.session->settle(question.number, false, "The command that asked is over.");
  }
  if (record(std::move(answer))) next();
}

bool CallRound::record(runs::ToolAnswer answer) {
  answer.text = clean(std::move(answer.text));
  if (!end_step(answer)) return false;
  state_.results.push_back({.call_id = call().id, .text = std::move(answer.text), .failed = answer.failed});
  return true;
}

bool CallRound::end_step(const runs::ToolAnswer& answer) {
  const auto took_ms = state_.step_used_ms + (needs_.context.loop.monotonic_us() - began_us_) / 1000;
  return emit(runs::step_ended(std::exchange(state_.step_id, {}), call().name, answer, took_ms));
}

void CallRound::break_off(const std::string& why) {
  let_go();
  const runs::ToolAnswer broken{.text = why, .failed = true};
  if (state_.asked != Asked::client) {
    if (!state_.step_id.empty()) end_step(broken);
    return;
  }
  for (const auto& item : std::exchange(state_.items, {})) {
    if (!emit(runs::step_ended(item.call->id, item.call->name, broken, state_.step_used_ms))) return;
  }
}

bool CallRound::emit(const model::EventData& event) {
  const auto alive = lifetime_.watch();
  needs_.output.emit(event);
  return !alive.is_over();
}

// ── calls that are carried out elsewhere: by tools of the host, or by the client while the round waits ──

void CallRound::on_host_custom(std::string_view name, std::string_view value) { emit(runs::custom_event(name, value)); }

void CallRound::on_host_output(std::string_view text) {
  emit(runs::printed(state_.step_id, sandbox::Stream::out, text));
}

void CallRound::ask_client() {
  if (!needs_.dispatch.may_ask) {
    return answer({.text = "The tool " + call().name + " is carried out by the client, and none can be asked here.",
                   .failed = true});
  }
  ApprovalRequest request{.items = {client_item(state_.step_id, call())}};
  for (auto at = state_.results.size() + 1; at < state_.calls.size(); ++at) {
    const auto& also = state_.calls[at];
    const bool is_allowed = rule_on_host_call(needs_.dispatch.agent.policy, also).effect == model::Effect::allow;
    if (!is_allowed || !needs_.toolbox.is_of_client(also.name)) break;
    const auto id = "step_" + std::to_string(++needs_.step_count);
    if (!emit(runs::step_running(id, also))) return;
    request.items.push_back(client_item(id, also));
  }
  request.reason = reason_for(request.items.size());
  wait(Asked::client, std::move(request));
}

void CallRound::take_client_results(const std::vector<model::RequestedItem>& items,
                                    const std::vector<model::ClientResult>& results) {
  for (const auto& item : items) {
    runs::ToolAnswer answer{.text = "The client gave no result.", .failed = true};
    const auto found = std::ranges::find(results, item.call->id, &model::ClientResult::call_id);
    if (found != results.end()) {
      runs::Excerpt excerpt(needs_.context.limits.tool_result_chars_max);
      excerpt.append(found->content);
      answer = {.text = excerpt.text(), .failed = found->failed};
    }
    state_.step_id = item.call->id;
    if (!record(std::move(answer))) return;
  }
  next();
}

bool CallRound::report_unknown(const std::vector<model::RequestedItem>& items,
                               const std::vector<model::ClientResult>& results) {
  for (const auto& result : results) {
    const auto is_its = [&](const model::RequestedItem& item) { return item.call->id == result.call_id; };
    if (std::ranges::any_of(items, is_its)) continue;
    const auto id = std::string(runs::utf8_prefix(result.call_id, shown_id_bytes_max));
    const auto warning = "The client gave a result for \"" + id + "\", which waits for none; it is ignored.";
    if (!emit(runs::log_line("warn", warning))) return false;
  }
  return true;
}

}  // namespace sluice::tools
