#include "runner/native_loop.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.h"
#include "base/json.h"
#include "base/limits.h"
#include "harness/envelope.h"
#include "runner/tools.h"

namespace sluice::runner {
namespace {

using model::EventKind;
using model::Slug;
using models::FailureClass;
using models::ModelEvent;

models::Prompt prompt_of(const harness::Dispatch& dispatch) {
  models::Prompt prompt{.model = dispatch.agent.model.name,
                        .system = dispatch.agent.system_prompt,
                        .max_output_tokens = dispatch.agent.limits.max_output_tokens};
  for (const auto& turn : dispatch.history) prompt.turns.push_back({.role = turn.role, .text = turn.content});
  prompt.turns.push_back({.role = model::Role::user, .text = dispatch.prompt});
  return prompt;
}

// Words from outside, for a JSON string and for a person.
std::string_view readable(std::string_view words) { return is_utf8(words) ? words : "(not readable as text)"; }

std::string warning(std::string_view text) {
  std::string body;
  json::Writer(body).begin_object().key("level").string("warn").key("text").string(readable(text)).end_object();
  return body;
}

std::string retry_warning(std::string_view text, int attempt, int64_t retry_in_ms) {
  std::string body;
  json::Writer(body)
      .begin_object()
      .key("level")
      .string("warn")
      .key("text")
      .string(readable(text))
      .key("attempt")
      .integer(attempt)
      .key("retry_in_ms")
      .integer(retry_in_ms)
      .end_object();
  return body;
}

std::string sentence(std::string words) {
  if (!words.ends_with('.') && !words.ends_with('!') && !words.ends_with('?')) words += '.';
  return words;
}

uint64_t chance(world::Entropy& entropy) {
  std::array<uint8_t, 8> noise{};
  entropy.fill(noise);
  uint64_t value = 0;
  for (const uint8_t byte : noise) value = value << 8 | byte;
  return value;
}

// A dispatch may ask for fewer than the runner allows, not for more.
int64_t rounds_max(const harness::Dispatch& dispatch, const RunnerOptions& options) {
  const int64_t allowed = options.tool_rounds_max;
  return dispatch.max_rounds > 0 ? std::min(dispatch.max_rounds, allowed) : allowed;
}

// Variables alone are of no use without a sandbox, but nobody waits for what they do.
bool needs_sandbox(const harness::Materials& materials) {
  return materials.repository.has_value() || !materials.skills.empty() || !materials.setup_script.empty();
}

}  // namespace

NativeLoop::NativeLoop(std::shared_ptr<const Context> context, harness::Dispatch dispatch,
                       harness::DispatchListener& listener)
    : context_(std::move(context)), dispatch_(std::move(dispatch)), listener_(listener) {
  context_->loop.defer([this, alive = lifeline_.watch()] {
    if (!alive.expired()) start();
  });
}

void NativeLoop::start() {
  auto route = context_->providers.route(dispatch_.agent.model);
  if (!route) return fail(Slug::agent_misconfigured, std::move(route.error().what));
  route_ = std::move(route).take();
  const bool is_offline = route_.dialect == nullptr;
  if (dispatch_.resumed && is_offline) replay_ = Replay(dispatch_.told_text, dispatch_.told_reasoning);
  if (dispatch_.resumed && !is_offline && !dispatch_.told_text.empty()) return fail_replay();

  if (context_->sandbox == nullptr && needs_sandbox(dispatch_.materials)) {
    return fail(Slug::sandbox_failed,
                "The run needs a sandbox for its repository, skills or setup script, and there is none on this server "
                "(`sluice doctor` says why).");
  }

  prompt_ = prompt_of(dispatch_);
  runtime_ = context_->loop.after(Millis{dispatch_.agent.limits.max_runtime_seconds * 1000}, [this] {
    fail(Slug::runtime_exceeded,
         "The run took longer than the agent's " + std::to_string(dispatch_.agent.limits.max_runtime_seconds) + " s.");
  });
  if (dispatch_.filler && dispatch_.told_text.empty()) {
    FillerListener& listener = *this;
    filler_ = std::make_unique<Filler>(*context_, dispatch_.prompt, dispatch_.traceparent, listener);
  }
  if (context_->sandbox == nullptr) return ask();
  take_up_hands();
}

// The box itself is opened by the first tool, so that the first word need not wait for it.
void NativeLoop::take_up_hands() {
  HandsListener& listener = *this;
  hands_ = std::make_unique<Hands>(*context_, dispatch_, listener);
  prompt_.tools = tool_specs();
  if (!hands_->are_needed_at_once()) return ask();
  hands_->open([this] { ask(); });
}

void NativeLoop::ask() {
  round_ = {};
  if (hands_) {
    const auto& own = dispatch_.agent.system_prompt;
    prompt_.system = own + (own.empty() ? "" : "\n\n") + hands_->system_words();
  }
  call_ = ask_model(*context_,
                    {.route = route_,
                     .prompt = prompt_,
                     .traceparent = dispatch_.traceparent,
                     .idle_ms_max = context_->options.model_idle_ms_max,
                     .total_ms_max = context_->options.model_total_ms_max,
                     .replay = &replay_},
                    *this);
}

// ── what the model says ─────────────────────────────────────────────────────────────────────────

void NativeLoop::on_model_event(ModelEvent event) {
  switch (event.kind) {
    case ModelEvent::Kind::text: return hear_text(std::move(event.text));
    case ModelEvent::Kind::reasoning: return hear_reasoning(std::move(event.text));
    case ModelEvent::Kind::tool_call:
      if (!is_bounded(event.call.name.size() + event.call.arguments.size())) return;
      round_.calls.push_back(std::move(event.call));
      return;
    case ModelEvent::Kind::usage: round_.usage = event.usage; return;
    case ModelEvent::Kind::stop: return end_round();
    case ModelEvent::Kind::failure:
      route_.figures->count_failure(name_of(event.failure.failure_class));
      return meet(setback_of(std::move(event.failure)));
  }
}

void NativeLoop::hear_text(std::string text) {
  if (text.empty() || !is_bounded(text.size())) return;
  if (filler_) {
    const bool is_mid_phrase = filler_->is_mid_phrase();
    filler_.reset();
    const auto alive = lifeline_.watch();
    if (is_mid_phrase) tell(EventKind::filler, " ");
    if (alive.expired()) return;
  }
  round_.text += text;
  round_.told_bytes += text.size();
  const auto rest = replay_.text(text);
  if (!rest) return fail_replay();
  if (rest->size() == text.size()) return tell(EventKind::text, std::move(text));
  if (!rest->empty()) tell(EventKind::text, std::string(*rest));
}

void NativeLoop::hear_reasoning(std::string text) {
  if (text.empty() || !is_bounded(text.size())) return;
  round_.told_bytes += text.size();
  const auto rest = replay_.reasoning(text);
  if (!rest) return fail_replay();
  if (!rest->empty()) tell(EventKind::reasoning, std::string(*rest));
}

bool NativeLoop::is_bounded(std::size_t more_bytes) {
  said_bytes_ += more_bytes;
  if (said_bytes_ <= limits::answer_bytes_max) return true;
  fail(Slug::answer_too_large,
       "The model's answer is longer than " + std::to_string(limits::answer_bytes_max) + " bytes.");
  return false;
}

void NativeLoop::end_round() {
  call_.reset();
  route_.figures->count_tokens(round_.usage);
  usage_.input_tokens += round_.usage.input_tokens;
  usage_.output_tokens += round_.usage.output_tokens;
  const bool is_last = round_.calls.empty();
  if (is_last && !replay_.is_over()) return fail_replay();

  const auto alive = lifeline_.watch();
  if (!is_last || round_count_ > 1) tell_usage();
  if (alive.expired()) return;
  if (dispatch_.supplies) said_ += round_.text;
  if (is_last) return finish();
  if (round_count_ > rounds_max(dispatch_, context_->options)) {
    return fail(Slug::model_error, "The model asked for tools " + std::to_string(round_count_) +
                                       " times in a row without coming to an end.");
  }
  auto calls = std::exchange(round_.calls, {});
  prompt_.turns.push_back({.role = model::Role::assistant, .text = std::move(round_.text), .calls = calls});
  answer_calls(std::move(calls));
}

void NativeLoop::answer_calls(std::vector<models::ToolCall> calls) {
  // Only of tools that do not exist may a resumed run have told before: steps cannot be done again.
  if (!replay_.is_over()) return fail_replay();
  CallRoundListener& listener = *this;
  calls_ = std::make_unique<CallRound>(*context_, hands_.get(), std::move(calls), step_count_, listener);
  calls_->begin();
}

void NativeLoop::on_answered(std::vector<models::ToolResult> results) {
  prompt_.turns.push_back({.role = model::Role::user, .results = std::move(results)});
  ++round_count_;
  attempt_ = 1;
  ask();
}

void NativeLoop::finish() {
  const auto end = [this] {
    stop_all();
    listener_.on_finished(usage_);
  };
  if (!hands_) return end();
  hands_->finish(std::move(said_), end);
}

// ── what goes wrong ─────────────────────────────────────────────────────────────────────────────

NativeLoop::Setback NativeLoop::setback_of(models::Failure failure) const {
  const std::string who = "The model provider \"" + route_.provider + "\"";
  const std::string said = ": " + std::string(readable(failure.what));
  const bool may_retry = models::may_retry(failure.failure_class);
  const auto name = name_of(failure.failure_class);
  switch (failure.failure_class) {
    case FailureClass::unauthorized: {
      std::string what = who + " does not accept the server's key";
      if (route_.dialect != nullptr) what += " (" + std::string(route_.dialect->key_variable()) + ")";
      if (route_.key_withheld) what += ", which is not sent to the base_url that the agent names";
      return {name, Slug::agent_misconfigured, what + said};
    }
    case FailureClass::rate_limited:
      return {name, Slug::model_error, who + " limits the rate of requests" + said, may_retry, failure.retry_after_ms};
    case FailureClass::overloaded:
      return {name, Slug::model_error, who + " is overloaded" + said, may_retry, failure.retry_after_ms};
    case FailureClass::server_error:
      return {name, Slug::model_error, who + " failed" + said, may_retry, failure.retry_after_ms};
    case FailureClass::cut: return {name, Slug::model_error, who + " broke off its answer" + said, may_retry};
    case FailureClass::rejected: return {name, Slug::model_error, who + " refused" + said};
    case FailureClass::garbled: break;
  }
  return {name, Slug::model_error, who + " answered what cannot be understood" + said};
}

void NativeLoop::on_unanswered(net::CallFailure failure, std::string what) {
  route_.figures->count_failure(name_of(failure));
  const std::string who = "The model provider \"" + route_.provider + "\" ";
  const std::string said = ": " + std::string(readable(what));
  const auto name = name_of(failure);
  switch (failure) {
    // Not asked again: it has cost minutes already.
    case net::CallFailure::timed_out: {
      const auto detail = who + "did not answer in time" + said;
      return give_up({name, Slug::model_timeout, detail}, detail);
    }
    case net::CallFailure::refused: {
      const auto detail = who + "cannot be asked" + said;
      return give_up({name, Slug::agent_misconfigured, detail}, detail);
    }
    case net::CallFailure::unreachable:
    case net::CallFailure::cut: break;
  }
  meet({name, Slug::model_error, who + "cannot be reached" + said, true});
}

void NativeLoop::meet(const Setback& setback) {
  call_.reset();
  if (round_.told_bytes > 0) {
    auto cut = setback;
    cut.slug = Slug::model_stream_cut;
    return give_up(cut, "After " + std::to_string(round_.told_bytes) + " bytes of its answer were told: " + cut.what);
  }
  if (!setback.may_retry) return give_up(setback, setback.what);
  const auto& options = context_->options;
  if (attempt_ > options.retry_count_max) {
    return give_up(setback, "Gave up after " + std::to_string(attempt_) + " attempts. " + setback.what);
  }
  if (setback.retry_after_ms.value_or(0) > options.retry_wait_ms_max) {
    return give_up(setback, sentence(setback.what) + " It asks to be left alone for " +
                                std::to_string(*setback.retry_after_ms / 1000) + " s, longer than the " +
                                std::to_string(options.retry_wait_ms_max / 1000) + " s that this server waits.");
  }
  retry_later(setback);
}

void NativeLoop::give_up(const Setback& setback, std::string detail) {
  context_->log.write(world::LogLevel::warn, "model call failed",
                      {{"run", dispatch_.run.text()},
                       {"provider", route_.provider},
                       {"class", setback.failure_class},
                       {"attempt", int64_t{attempt_}}});
  log_words(setback.what);
  fail(setback.slug, std::move(detail), setback.retry_after_ms);
}

// The words may quote the prompt, and a prompt is no business of a log.
void NativeLoop::log_words(std::string_view what) const {
  if (!context_->log.wants(world::LogLevel::debug)) return;
  context_->log.write(world::LogLevel::debug, "model call failed, in words",
                      {{"run", dispatch_.run.text()}, {"words", what}});
}

void NativeLoop::retry_later(const Setback& setback) {
  const auto& options = context_->options;
  int64_t wait_ms = options.retry_first_ms;
  for (int i = 1; i < attempt_ && wait_ms < options.retry_wait_ms_max; ++i) wait_ms *= 2;
  wait_ms = std::min(wait_ms, options.retry_wait_ms_max);
  // Everybody who was turned away comes back at a different moment.
  wait_ms += static_cast<int64_t>(chance(context_->entropy) % static_cast<uint64_t>(wait_ms / 4 + 1));
  wait_ms = std::max(wait_ms, setback.retry_after_ms.value_or(0));
  retry_ = context_->loop.after(Millis{wait_ms}, [this] { ask(); });
  context_->log.write(world::LogLevel::warn, "model call failed",
                      {{"run", dispatch_.run.text()},
                       {"provider", route_.provider},
                       {"class", setback.failure_class},
                       {"attempt", int64_t{attempt_}},
                       {"retry_in_ms", wait_ms}});
  log_words(setback.what);
  tell(EventKind::log, retry_warning(setback.what, attempt_++, wait_ms));
}

void NativeLoop::fail_replay() {
  fail(Slug::run_interrupted,
       "The server restarted while the model was speaking, and the model cannot go on where it stopped.");
}

// ── what is told ────────────────────────────────────────────────────────────────────────────────

void NativeLoop::on_filler(std::string text) { tell(EventKind::filler, std::move(text)); }

void NativeLoop::on_filler_trouble(std::string what) {
  context_->log.write(world::LogLevel::warn, "filler model failed",
                      {{"run", dispatch_.run.text()}, {"provider", context_->options.filler.model_provider}});
  log_words(what);
  tell(EventKind::log, warning("No filler from the small model: " + std::string(readable(what))));
}

void NativeLoop::on_hands_phase(std::string_view phase, std::string_view words, int64_t duration_ms) {
  listener_.on_event(harness::phase_event(phase, readable(words), duration_ms, context_->loop.now()));
}

void NativeLoop::tell(EventKind kind, std::string body) {
  listener_.on_event({.kind = kind, .at = context_->loop.now(), .body = std::move(body)});
}

void NativeLoop::tell_usage() {
  if (!replay_.is_over()) return;
  std::string body;
  json::Writer(body)
      .begin_object()
      .key("input_tokens")
      .integer(usage_.input_tokens)
      .key("output_tokens")
      .integer(usage_.output_tokens)
      .end_object();
  tell(EventKind::usage, std::move(body));
}

void NativeLoop::fail(Slug slug, std::string detail, std::optional<int64_t> retry_after_ms) {
  if (calls_) {
    const auto alive = lifeline_.watch();
    calls_->break_off(detail);
    if (alive.expired()) return;
  }
  stop_all();
  model::Problem problem{.slug = slug, .detail = std::move(detail)};
  if (retry_after_ms) problem.retry_after_seconds = (*retry_after_ms + 999) / 1000;
  listener_.on_failed(std::move(problem));
}

void NativeLoop::stop(Callback<void()> gone) {
  auto hands = std::move(hands_);
  stop_all();
  if (!hands) return context_->loop.defer(std::move(gone));
  hands->stop(std::move(gone));
}

void NativeLoop::stop_all() {
  runtime_.cancel();
  retry_.cancel();
  filler_.reset();
  call_.reset();
  calls_.reset();
  hands_.reset();
}

}  // namespace sluice::runner
