#include "runner/call_round.h"

#include <utility>

#include "runner/told.h"

namespace sluice::runner {

using model::EventKind;

CallRound::CallRound(const Context& context, Hands* hands, std::vector<models::ToolCall> calls, int& step_count,
                     CallRoundListener& listener)
    : context_(context), hands_(hands), calls_(std::move(calls)), step_count_(step_count), listener_(listener) {}

void CallRound::next() {
  if (results_.size() == calls_.size()) return listener_.on_answered(std::move(results_));
  step_id_ = "step_" + std::to_string(++step_count_);
  step_began_us_ = context_.loop.monotonic_us();
  if (!tell(EventKind::step, step_running(step_id_, call()))) return;
  if (hands_ == nullptr || !is_tool(call().name)) {
    const auto warning = "The model called the tool " + call().name + ", which does not exist.";
    if (!tell(EventKind::log, log_body("warn", warning))) return;
    return answer({.text = "There is no tool named " + call().name + ". Go on without it.", .failed = true});
  }
  auto plan = plan_tool(call(), context_.options.hands);
  if (!plan) return answer({.text = std::move(plan.error().what), .failed = true});
  carry_out(std::move(plan).take());
}

void CallRound::carry_out(ToolPlan plan) {
  plan_ = std::move(plan);
  hands_->open([this, alive = lifeline_.watch()] {
    if (alive.expired()) return;
    auto command = std::move(plan_.command);
    plan_.command = {.timeout_ms = command.timeout_ms};  // what words about its end need
    if (command.background) {
      hands_->run_in_background(step_id_, std::move(command));
      return answer(background_answer());
    }
    const auto& options = context_.options.hands;
    CommandListener& listener = *this;
    run_ = std::make_unique<CommandRun>(*hands_->box(), std::move(command),
                                        CommandBounds{.kept_chars_max = options.tool_result_chars_max,
                                                      .told_bytes_max = options.tool_output_bytes_max,
                                                      .tells_only_cut = !plan_.is_shell},
                                        context_.loop, listener);
  });
}

void CallRound::on_printed(sandbox::Stream stream, std::string text) {
  tell(EventKind::output, printed_body(step_id_, stream, text));
}

void CallRound::on_ended(sandbox::Exit exit, std::string printed) {
  auto said = answer_of(plan_, exit, std::move(printed));
  if (exit.cause != sandbox::ExitCause::box_lost) return answer(std::move(said));
  if (end_step(said)) hands_->lose(exit.what);
}

void CallRound::answer(ToolAnswer answer) {
  if (!end_step(answer)) return;
  results_.push_back({.call_id = call().id, .text = std::move(answer.text), .failed = answer.failed});
  next();
}

bool CallRound::end_step(const ToolAnswer& answer) {
  const auto took_ms = (context_.loop.monotonic_us() - step_began_us_) / 1000;
  return tell(EventKind::step, step_ended(std::exchange(step_id_, {}), call().name, answer, took_ms));
}

void CallRound::break_off(const std::string& why) {
  run_.reset();
  if (!step_id_.empty()) end_step({.text = why, .failed = true});
}

bool CallRound::tell(EventKind kind, std::string body) {
  const auto alive = lifeline_.watch();
  listener_.on_call_event(kind, std::move(body));
  return !alive.expired();
}

}  // namespace sluice::runner
