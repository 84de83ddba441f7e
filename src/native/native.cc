#include "native/native.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "native/retry.h"
#include "runs/runs.h"
#include "tools/tools.h"

namespace sluice::native {
namespace {

using model::EventKind;
using model::Slug;
using models::ModelEvent;

// A dispatch may ask for fewer than the runner allows, not for more.
int64_t rounds_max(const dispatch::Dispatch& dispatch, const Options& options) {
  const int64_t allowed = options.tool_rounds_max;
  return dispatch.max_rounds > 0 ? std::min(dispatch.max_rounds, allowed) : allowed;
}

}  // namespace

NativeLoop::NativeLoop(std::shared_ptr<const agents::Shared> shared, Setting setting, dispatch::Dispatch dispatch,
                       dispatch::DispatchListener& listener)
    : context_(std::move(shared)),
      setting_(setting),
      dispatch_(std::move(dispatch)),
      listener_(listener),
      output_(context_.loop(), dispatch_.secrets, listener),
      filler_(context_, dispatch_, output_, [this](std::string what) { report_filler_trouble(what); }) {
  context_.loop().defer(lifetime_.guard([this] { start(); }));
}

void NativeLoop::start() {
  auto route = context_.inference().providers.route(dispatch_.agent.model, dispatch_.secrets.get());
  if (!route) return fail(Slug::agent_misconfigured, std::move(route.error().what));
  route_ = std::move(route).take();
  const auto needs = needs_of_sandbox(dispatch_);
  if (context_.sessions().sandbox == nullptr && !needs.empty()) {
    return fail(Slug::sandbox_failed, "The run needs a sandbox for its " + std::string(needs) +
                                          ", and there is none on this server (`sluice doctor` says why).");
  }
  prompt_ = prompt_of(dispatch_);
  if (!dispatch_.checkpoint.empty()) return take_up_checkpoint();

  const bool is_offline = route_.dialect == nullptr;
  if (dispatch_.resumed && is_offline) output_.skip(runs::Replay(dispatch_.told_text, dispatch_.told_reasoning));
  if (dispatch_.resumed && !is_offline) remember_emitted();
  if (!dispatch_.told_text.empty()) filler_.note_words();
  begin_clocks();
  open_session({});
  const auto begin = [this] { open_toolbox([this] { ask(); }); };
  if (!session_ || !session_->is_needed_at_once()) return begin();
  session_->open(begin);
}

// The model says the rest: what it said before is its own turn already.
void NativeLoop::remember_emitted() {
  const auto& emitted = dispatch_.told_text;
  said_bytes_ = emitted.size();
  if (dispatch_.supplies) said_ = emitted;
  paragraphs_.note(emitted);
  continuation_.begin(emitted, prompt_.turns);
}

// The sandbox itself is opened by the first tool, so that the first word need not wait for it. One call of a model has
// none.
void NativeLoop::open_session(sessions::SessionState state) {
  if (context_.sessions().sandbox != nullptr && !dispatch_.extras.inference) {
    sessions::SessionListener& listener = *this;
    session_ = std::make_unique<sessions::SandboxSession>(context_.sessions(), context_.loop(), dispatch_,
                                                          std::move(state), output_, listener);
    session_->suspend(context_.is_suspended());
    prompt_.tools = setting_.sandbox_tools;
  }
  if (dispatch_.may_ask) {
    for (auto& tool : tools::ask_tool_specs()) prompt_.tools.push_back(std::move(tool));
  }
  own_tool_count_ = prompt_.tools.size();
  toolbox_ = tools::make_toolbox(context_.tools(), dispatch_, session_.get());
}

// The model must know what it can call before it is asked.
void NativeLoop::open_toolbox(Callback<void()> ready) {
  toolbox_->open([this](std::string_view level,
                        std::string words) { output_.emit(runs::log_line(level, inference::readable(words))); },
                 [this, ready = std::move(ready)]() mutable {
                   show_host_tools();
                   ready();
                 });
}

// After the sandbox's own and those that ask a human.
void NativeLoop::show_host_tools() {
  prompt_.tools.resize(own_tool_count_);
  for (const auto& tool : toolbox_->tools()) prompt_.tools.push_back({tool.name, tool.description, tool.parameters});
}

void NativeLoop::begin_clocks() {
  const auto seconds = dispatch_.agent.limits.max_runtime_seconds;
  runtime_began_us_ = context_.now_us();
  runtime_ = context_.loop().after(Millis{std::max<int64_t>(0, seconds * 1000 - runtime_used_ms_)}, [this, seconds] {
    fail(Slug::runtime_exceeded, "The run took longer than the agent's " + std::to_string(seconds) + " s.");
  });
  filler_.begin();
}

void NativeLoop::hold_back(bool held) {
  is_held_ = held;
  if (!held && std::exchange(wants_to_ask_, false)) ask();
}

void NativeLoop::suspend(bool suspended) {
  if (session_) session_->suspend(suspended);
  context_.suspend(suspended);
}

void NativeLoop::ask() {
  if (is_held_) return static_cast<void>(wants_to_ask_ = true);
  round_ = {};
  prompt_.system = system_words();
  call_ = inference::ask_model(context_.inference(),
                               {.route = route_,
                                .prompt = prompt_,
                                .traceparent = dispatch_.traceparent,
                                .idle_ms_max = context_.inference().options.model_idle_ms_max,
                                .total_ms_max = context_.inference().options.model_total_ms_max,
                                .replay = &output_.replay()},
                               *this);
}

std::string NativeLoop::system_words() const {
  auto words = dispatch_.agent.system_prompt;
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : "\n\n") + more; };
  if (session_) add(session_->system_words());
  if (dispatch_.extras.context.empty()) return words;
  add("What the client says of its situation:");
  for (const auto& note : dispatch_.extras.context) add(note.description + ":\n" + note.value);
  return words;
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
      route_.figures->count_failure(inference::name_of(event.failure.failure_class));
      return meet(inference::model_failure_of(route_, event.failure));
  }
}

void NativeLoop::hear_text(std::string text) {
  if (continuation_.is_open()) continuation_.join(text);
  if (text.empty() || !is_bounded(text.size())) return;
  const auto alive = lifetime_.watch();
  filler_.end();
  if (alive.is_over()) return;
  filler_.note_words();
  // The model is not shown the break: it is not its own.
  auto paragraph = paragraphs_.before(text);
  round_.text += text;
  round_.emitted_bytes += text.size();
  if (!paragraph.empty()) {
    if (dispatch_.supplies) said_ += paragraph;
    speak(EventKind::text, std::move(paragraph));
    if (alive.is_over()) return;
  }
  speak(EventKind::text, std::move(text));
}

void NativeLoop::hear_reasoning(std::string text) {
  if (text.empty() || !is_bounded(text.size())) return;
  // Thoughts would part the answer in the middle of a word.
  if (continuation_.is_open()) return;
  round_.emitted_bytes += text.size();
  speak(EventKind::reasoning, std::move(text));
}

void NativeLoop::speak(EventKind kind, std::string text) {
  const auto alive = lifetime_.watch();
  output_.speak(kind, std::move(text));
  if (!alive.is_over() && output_.has_diverged()) fail_replay();
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
  const auto alive = lifetime_.watch();
  output_.flush();
  if (alive.is_over()) return;
  if (output_.has_diverged() || (is_last && !output_.replay().is_over())) return fail_replay();

  if (!is_last || round_count_ > 1) report_usage();
  if (alive.is_over()) return;
  round_.text = output_.scrubbed(std::move(round_.text));
  if (dispatch_.supplies) said_ += round_.text;
  if (is_last) return finish();
  if (round_count_ > rounds_max(dispatch_, setting_.options)) {
    return fail(Slug::model_error, "The model asked for tools " + std::to_string(round_count_) +
                                       " times in a row without coming to an end.");
  }
  continuation_.end();
  auto calls = std::exchange(round_.calls, {});
  prompt_.turns.push_back({.role = model::Role::assistant, .text = std::move(round_.text), .calls = calls});
  // Only of tools that do not exist may a resumed run have emitted before: steps cannot be done again.
  if (!output_.replay().is_over()) return fail_replay();
  if (context_.sessions().sandbox == nullptr && !dispatch_.extras.inference) {
    const auto is_of_sandbox = [](const models::ToolCall& call) { return tools::is_sandbox_tool(call.name); };
    const auto found = std::ranges::find_if(calls, is_of_sandbox);
    if (found != calls.end()) return fail_without_sandbox(found->name);
  }
  take_up_calls({.calls = std::move(calls)});
  calls_->begin();
}

// An answer that goes on without the tool looks like one that used it.
void NativeLoop::fail_without_sandbox(std::string_view tool) {
  fail(Slug::sandbox_failed,
       "The agent called the tool " + std::string(tool) +
           ", which works in a sandbox, and there is none on this server: either sandbox.driver is "
           "off, or no sandbox can be made here (`sluice doctor` says why), and no runner is named "
           "in runner.urls or SANDBOX_URL.");
}

void NativeLoop::take_up_calls(tools::CallState state) {
  tools::CallRoundListener& listener = *this;
  calls_ = std::make_unique<tools::CallRound>(
      tools::CallRound::Needs{context_.tools(), dispatch_, session_.get(), *toolbox_, output_, step_count_},
      std::move(state), listener);
}

void NativeLoop::on_answered(std::vector<models::ToolResult> results) {
  prompt_.turns.push_back({.role = model::Role::user, .results = std::move(results)});
  ++round_count_;
  attempt_ = 1;
  paragraphs_.end_round();
  toolbox_->renew([this](bool have_changed) {
    if (have_changed) show_host_tools();
    ask();
  });
}

void NativeLoop::finish() {
  const auto end = [this] {
    stop_all();
    listener_.on_finished(usage_);
  };
  toolbox_.reset();  // what it runs in the sandbox must not be there when that is kept
  if (!session_) return end();
  session_->finish(std::move(said_), end);
}

// ── waiting for a human ─────────────────────────────────────────────────────────────────────────

void NativeLoop::on_call_waits(tools::ApprovalRequest request) {
  request_ = std::move(request);
  const auto alive = lifetime_.watch();
  filler_.end();
  if (!alive.is_over()) output_.flush();
  if (alive.is_over()) return;
  runtime_used_ms_ += (context_.now_us() - runtime_began_us_) / 1000;
  runtime_.cancel();
  if (!dispatch_.keeps_box) {
    calls_->let_go();
    toolbox_.reset();
  }
  if (!session_) return raise_gate();
  session_->hold([this] {
    calls_->note_changed(session_->held_changed());
    raise_gate();
  });
}

std::string NativeLoop::checkpoint() const {
  LoopCheckpoint checkpoint{.calls = calls_->state(),
                            .round_count = round_count_,
                            .step_count = step_count_,
                            .said_bytes = static_cast<int64_t>(said_bytes_),
                            .has_spoken = filler_.has_words(),
                            .filler_count = filler_.count(),
                            .runtime_used_ms = runtime_used_ms_,
                            .usage = usage_};
  const auto first = prompt_.turns.begin() + static_cast<std::ptrdiff_t>(dispatch_.history.size() + 1);
  checkpoint.turns.assign(first, prompt_.turns.end());
  for (auto& turn : checkpoint.turns) {
    for (auto& call : turn.calls) call.arguments = runs::scrubbed_json(dispatch_.secrets, std::move(call.arguments));
  }
  if (session_) checkpoint.session = session_->state();
  return to_json(checkpoint);
}

void NativeLoop::raise_gate() {
  dispatch::Gate gate{.reason = std::move(request_.reason),
                      .items = std::move(request_.items),
                      .lifetime_seconds = request_.lifetime_seconds,
                      .checkpoint = checkpoint(),
                      .keeps_box = dispatch_.keeps_box};
  is_waiting_ = gate.keeps_box;
  if (is_waiting_) {
    output_.pause();
  } else {
    stop_all();
  }
  listener_.on_gate(std::move(gate));
}

void NativeLoop::go_on(std::vector<model::ClientResult> results) {
  SLUICE_CHECK(std::exchange(is_waiting_, false));
  context_.loop().defer([this, alive = lifetime_.watch(), results = std::move(results)] {
    if (alive.is_over() || !calls_) return;
    if (session_) session_->go_on();
    output_.go_on();
    if (alive.is_over()) return;
    begin_clocks();
    calls_->go_on(results);
  });
}

void NativeLoop::take_up_checkpoint() {
  auto read = checkpoint_from_json(dispatch_.checkpoint);
  if (!read) {
    return fail(Slug::run_interrupted,
                "The run was approved but cannot go on: its checkpoint cannot be read, " + read.error().what + ".");
  }
  auto checkpoint = std::move(read).take();
  for (auto& turn : checkpoint.turns) {
    if (turn.role == model::Role::assistant) {
      const auto paragraph = paragraphs_.before(turn.text);
      if (dispatch_.supplies) said_ += paragraph + turn.text;
      paragraphs_.end_round();
    }
    prompt_.turns.push_back(std::move(turn));
  }
  round_count_ = static_cast<int>(checkpoint.round_count);
  step_count_ = static_cast<int>(checkpoint.step_count);
  said_bytes_ = static_cast<std::size_t>(checkpoint.said_bytes);
  filler_.restore(checkpoint.has_spoken, checkpoint.filler_count);
  runtime_used_ms_ = checkpoint.runtime_used_ms;
  usage_ = checkpoint.usage;
  open_session(std::move(checkpoint.session));
  begin_clocks();
  take_up_calls(std::move(checkpoint.calls));
  open_toolbox([this] { calls_->go_on(dispatch_.results); });
}

void NativeLoop::on_session_question(egress::Question question) {
  if (calls_) return calls_->hear(std::move(question));
  session_->settle(question.number, false, "No human can be asked at this point.");
}

// ── what goes wrong ─────────────────────────────────────────────────────────────────────────────

void NativeLoop::on_unanswered(net::CallFailure failure, std::string what) {
  route_.figures->count_failure(inference::name_of(failure));
  const auto fault = inference::model_failure_of(route_, failure, what);
  fault.may_retry ? meet(fault) : give_up(fault, fault.slug, fault.what);
}

void NativeLoop::meet(const inference::ModelFailure& fault) {
  call_.reset();
  const auto decided = decide_retry(fault, attempt_, round_.emitted_bytes, setting_.options, context_.entropy());
  if (const auto* end = std::get_if<GiveUp>(&decided)) return give_up(fault, end->slug, end->detail);
  const auto wait_ms = std::get<Retry>(decided).wait_ms;
  retry_ = context_.loop().after(Millis{wait_ms}, [this] { ask(); });
  context_.log().write(world::LogLevel::warn, "model call failed",
                       {{"run", dispatch_.run.text()},
                        {"provider", route_.provider},
                        {"class", fault.failure_class},
                        {"attempt", int64_t{attempt_}},
                        {"retry_in_ms", wait_ms}});
  log_words(fault.what);
  output_.emit(retry_warning(fault.what, attempt_++, wait_ms));
}

void NativeLoop::give_up(const inference::ModelFailure& fault, Slug slug, std::string detail) {
  context_.log().write(world::LogLevel::warn, "model call failed",
                       {{"run", dispatch_.run.text()},
                        {"provider", route_.provider},
                        {"class", fault.failure_class},
                        {"attempt", int64_t{attempt_}}});
  log_words(fault.what);
  fail(slug, std::move(detail), fault.retry_after_ms);
}

// The words may quote the prompt, and a prompt is no business of a log.
void NativeLoop::log_words(std::string_view what) const {
  if (!context_.log().wants(world::LogLevel::debug)) return;
  context_.log().write(world::LogLevel::debug, "model call failed, in words",
                       {{"run", dispatch_.run.text()}, {"words", what}});
}

void NativeLoop::fail_replay() {
  fail(Slug::run_interrupted,
       "The work was interrupted while the model was speaking, and the model cannot go on where it stopped.");
}

// ── reports ─────────────────────────────────────────────────────────────────────────────────

void NativeLoop::report_filler_trouble(const std::string& what) {
  context_.log().write(
      world::LogLevel::warn, "filler model failed",
      {{"run", dispatch_.run.text()}, {"provider", context_.inference().options.filler.model_provider}});
  log_words(what);
  output_.emit(runs::log_line("warn", "No filler from the small model: " + std::string(inference::readable(what))));
}

void NativeLoop::report_usage() {
  if (!output_.replay().is_over()) return;
  output_.emit(model::events::UsageSum{.input_tokens = usage_.input_tokens, .output_tokens = usage_.output_tokens});
}

void NativeLoop::fail(Slug slug, std::string detail, std::optional<int64_t> retry_after_ms) {
  const auto alive = lifetime_.watch();
  output_.flush();
  if (alive.is_over()) return;
  if (calls_) calls_->break_off(output_.scrubbed(detail));
  if (alive.is_over()) return;
  if (session_) session_->forget_held();
  stop_all();
  model::Problem problem{.slug = slug, .detail = output_.scrubbed(std::move(detail))};
  if (retry_after_ms) problem.retry_after_seconds = (*retry_after_ms + 999) / 1000;
  listener_.on_failed(std::move(problem));
}

void NativeLoop::stop(Callback<void()> gone) {
  auto session = std::move(session_);
  stop_all();
  if (!session) return context_.loop().defer(std::move(gone));
  session->stop(std::move(gone));
}

void NativeLoop::stop_all() {
  wants_to_ask_ = false;
  runtime_.cancel();
  retry_.cancel();
  filler_.stop();
  call_.reset();
  calls_.reset();
  toolbox_.reset();
  session_.reset();
}

}  // namespace sluice::native
