#include "runner/call_round.h"

#include <algorithm>
#include <utility>

#include "runner/egress_asking.h"
#include "runner/told.h"

namespace sluice::runner {

using model::EventKind;

namespace {

constexpr std::size_t named_paths_max = 5;
static_assert(named_paths_max < changed_paths_max, "that there are more is seen");

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
  return is_tool(tool) ? "The sandbox is not there any more." : "The tool " + tool + " is not there any more.";
}

}  // namespace

CallRound::CallRound(Needs needs, CallState state, CallRoundListener& listener)
    : needs_(needs), listener_(listener), state_(std::move(state)), began_us_(needs.context.loop.monotonic_us()) {}

void CallRound::next() {
  if (state_.results.size() == state_.calls.size()) return listener_.on_answered(std::move(state_.results));
  state_.step_id = "step_" + std::to_string(++needs_.step_count);
  state_.step_used_ms = 0;
  began_us_ = needs_.context.loop.monotonic_us();
  if (!tell(EventKind::step, step_running(state_.step_id, call()))) return;
  // Once one step is known, nobody does the run's work a second time.
  if (needs_.dispatch.witness == nullptr || needs_.step_count > 1) return begin_call();
  needs_.dispatch.witness->see([this, alive = lifeline_.watch()] {
    if (!alive.expired()) begin_call();
  });
}

void CallRound::begin_call() {
  if (is_ask_tool(call().name) && needs_.dispatch.may_ask) return begin_asking();
  if (is_host_call()) return obey_policy();
  if (needs_.hands == nullptr || !is_tool(call().name)) {
    const auto warning = "The model called the tool " + call().name + ", which does not exist.";
    if (!tell(EventKind::log, log_body("warn", warning))) return;
    return answer({.text = "There is no tool named " + call().name + ". Go on without it.", .failed = true});
  }
  auto plan = plan_tool(call(), needs_.context.options.hands);
  if (!plan) return answer({.text = std::move(plan.error().what), .failed = true});
  plan_ = std::move(plan).take();
  obey_policy();
}

// Asking is never asked about, but it can be denied.
void CallRound::begin_asking() {
  const auto ruling = gates::rule_on_tool(needs_.dispatch.agent.policy, call().name);
  if (ruling.effect == model::Effect::deny) return answer({.text = refusal_words(ruling), .failed = true});
  auto asking = plan_asking(call());
  if (!asking) return answer({.text = std::move(asking.error().what), .failed = true});
  const auto& alias = asking.value().items[0].alias;
  if (alias && needs_.dispatch.secrets && needs_.dispatch.secrets->find(*alias) != nullptr) {
    return answer({.text = alias_words(*alias)});
  }
  wait(Asked::answer, std::move(asking).take());
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
  auto asking = is_host_call() ? runner::asking_about(ruling, call()) : runner::asking_about(ruling, call(), plan_);
  asking.items[0].call = model::ClientCall{state_.step_id, call().name, call().arguments};
  wait(Asked::leave, std::move(asking));
}

void CallRound::carry_out() {
  if (!is_host_call()) return carry_out_in_box();
  if (needs_.toolbox.is_of_client(call().name)) return ask_client();
  host_call_ = needs_.toolbox.call(call(), state_.step_id, *this);
}

void CallRound::carry_out_in_box() {
  needs_.hands->open([this, alive = lifeline_.watch()] {
    if (alive.expired()) return;
    auto command = std::move(plan_.command);
    plan_.command = {.timeout_ms = command.timeout_ms};  // what words about its end need
    if (command.background) {
      needs_.hands->run_in_background(state_.step_id, std::move(command));
      return answer(background_answer());
    }
    const auto& options = needs_.context.options.hands;
    sent_before_ = needs_.hands->sent_for_good();
    run_ = needs_.hands->run(std::move(command),
                             {.kept_chars_max = options.tool_result_chars_max,
                              .told_bytes_max = options.tool_output_bytes_max,
                              .tells_only_cut = !plan_.is_shell},
                             *this);
  });
}

// ── waiting for a human ─────────────────────────────────────────────────────────────────────────

void CallRound::wait(Asked asked, Asking asking) {
  if (run_ && !run_->tell()) return;
  asking.reason = clean(std::move(asking.reason));
  for (auto& item : asking.items) {
    item.description = clean(std::move(item.description));
    if (item.call) item.call->arguments = scrubbed_json(needs_.dispatch.secrets, std::move(item.call->arguments));
  }
  state_.asked = asked;
  state_.items = asking.items;
  state_.changed.clear();
  state_.may_run_again = run_ == nullptr || needs_.hands->sent_for_good() == sent_before_;
  const auto now_us = needs_.context.loop.monotonic_us();
  state_.step_used_ms += (now_us - std::exchange(began_us_, now_us)) / 1000;
  listener_.on_call_waits(std::move(asking));
}

void CallRound::go_on(const std::vector<model::ClientResult>& results) {
  began_us_ = needs_.context.loop.monotonic_us();
  const auto asked = std::exchange(state_.asked, Asked::nothing);
  const auto items = std::exchange(state_.items, {});
  if (!tell_unknown(asked == Asked::client ? items : std::vector<model::RequestedItem>(), results)) return;
  switch (asked) {
    case Asked::nothing: return;
    case Asked::leave: return run_again();
    case Asked::answer: return answer({.text = approved_words(items)});
    case Asked::client: return take_client_results(items, results);
    case Asked::passage:
    case Asked::secret: break;
  }
  if (needs_.hands == nullptr) return run_again();
  if (asked == Asked::passage) needs_.hands->allow_host(state_.host);
  if (run_) return look_at_questions();
  questions_.clear();
  // Where the box stayed, the command may have ended only now.
  needs_.hands->find_changed([this, asked, items, alive = lifeline_.watch()](const std::vector<std::string>& paths) {
    if (alive.expired()) return;
    if (!paths.empty()) note_changed(paths);
    repeat_or_tell(asked, items);
  });
}

// Only what left no trace is repeated: neither outside nor in the workspace, which is as the first attempt left it.
void CallRound::repeat_or_tell(Asked asked, const std::vector<model::RequestedItem>& items) {
  if (state_.may_run_again && state_.changed.empty()) return run_again();
  answer({.text = unrepeated_words(state_, asked, items), .failed = true});
}

// From its start: nothing is left of what it was.
void CallRound::run_again() {
  if (is_host_call()) return carry_out();
  auto plan = needs_.hands == nullptr || !is_tool(call().name)
                  ? Result<ToolPlan>(Error{ErrorKind::unavailable, gone_words(call().name)})
                  : plan_tool(call(), needs_.context.options.hands);
  if (!plan) return answer({.text = std::move(plan.error().what), .failed = true});
  plan_ = std::move(plan).take();
  carry_out();
}

void CallRound::hear(egress::Question question) {
  if (!run_) {
    // Of something in the background, or of the setup script: no call is there to wait.
    return needs_.hands->settle(question.number, false,
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
    const bool is_settled = question.alias.empty() ? needs_.hands->is_allowed_host(question.host)
                                                   : secrets && secrets->find(question.alias) != nullptr;
    if (is_settled) {
      needs_.hands->settle(question.number, true, "");
    } else if (!needs_.dispatch.may_ask) {
      needs_.hands->settle(question.number, false, unasked_words(question));
    } else {
      state_.host = question.host;
      return wait(question.alias.empty() ? Asked::passage : Asked::secret, asking_about(question));
    }
  }
}

void CallRound::let_go() {
  run_.reset();
  host_call_.reset();
}

void CallRound::note_changed(const std::vector<std::string>& paths) {
  state_.changed.clear();
  for (const auto& path : paths) state_.changed.push_back(clean(to_utf8(path)));
}

// ── how calls end ───────────────────────────────────────────────────────────────────────────────

void CallRound::on_printed(sandbox::Stream stream, std::string text) {
  tell(EventKind::output, printed_body(state_.step_id, stream, text));
}

void CallRound::on_ended(sandbox::Exit exit, std::string printed) {
  if (is_waiting()) {
    // It did not live to see the answer; the limit of its time does not know of humans.
    state_.may_run_again = state_.may_run_again && needs_.hands->sent_for_good() == sent_before_;
    return run_.reset();
  }
  auto said = answer_of(plan_, exit, std::move(printed));
  if (exit.cause != sandbox::ExitCause::box_lost) return answer(std::move(said));
  if (end_step(said)) needs_.hands->lose(exit.what);
}

void CallRound::answer(ToolAnswer answer) {
  let_go();
  for (const auto& question : std::exchange(questions_, {})) {
    needs_.hands->settle(question.number, false, "The command that asked is over.");
  }
  if (record(std::move(answer))) next();
}

bool CallRound::record(ToolAnswer answer) {
  answer.text = clean(std::move(answer.text));
  if (!end_step(answer)) return false;
  state_.results.push_back({.call_id = call().id, .text = std::move(answer.text), .failed = answer.failed});
  return true;
}

bool CallRound::end_step(const ToolAnswer& answer) {
  const auto took_ms = state_.step_used_ms + (needs_.context.loop.monotonic_us() - began_us_) / 1000;
  return tell(EventKind::step, step_ended(std::exchange(state_.step_id, {}), call().name, answer, took_ms));
}

void CallRound::break_off(const std::string& why) {
  let_go();
  const ToolAnswer broken{.text = why, .failed = true};
  if (state_.asked != Asked::client) {
    if (!state_.step_id.empty()) end_step(broken);
    return;
  }
  for (const auto& item : std::exchange(state_.items, {})) {
    if (!tell(EventKind::step, step_ended(item.call->id, item.call->name, broken, state_.step_used_ms))) return;
  }
}

bool CallRound::tell(EventKind kind, std::string body) {
  const auto alive = lifeline_.watch();
  listener_.on_call_event(kind, std::move(body));
  return !alive.expired();
}

}  // namespace sluice::runner
