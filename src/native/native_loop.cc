#include "native/native_loop.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/limits.h"
#include "runs/runs.h"
#include "tools/tools.h"

namespace sluice::native {
namespace {

using model::EventKind;
using model::Slug;
using models::ModelEvent;

models::Prompt prompt_of(const harness::Dispatch& dispatch) {
  models::Prompt prompt{.model = dispatch.agent.model.name,
                        .max_output_tokens = dispatch.agent.limits.max_output_tokens};
  for (const auto& turn : dispatch.history) prompt.turns.push_back({.role = turn.role, .text = turn.content});
  prompt.turns.push_back({.role = model::Role::user, .text = dispatch.prompt});
  return prompt;
}

constexpr std::string_view white_space = " \t\r\n";

// Not a beginning of the answer put into the model's mouth: not every provider lets it go on from one.
constexpr std::string_view go_on_words =
    "Your answer was cut off after these words by a technical fault, and all of them have reached the reader. "
    "Go on with the very next character. Do not repeat anything, do not begin again, and do not mention that you were "
    "cut off. If the answer was complete, say nothing.";

std::string retry_warning(std::string_view text, int attempt, int64_t retry_in_ms) {
  std::string body;
  json::Writer(body)
      .begin_object()
      .key("level")
      .string("warn")
      .key("text")
      .string(inference::readable(text))
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
int64_t rounds_max(const harness::Dispatch& dispatch, const Options& options) {
  const int64_t allowed = options.tool_rounds_max;
  return dispatch.max_rounds > 0 ? std::min(dispatch.max_rounds, allowed) : allowed;
}

// Variables alone are of no use without a sandbox, but nobody waits for what they do.
bool are_for_sandbox(const harness::Materials& materials) {
  return materials.repository.has_value() || !materials.skills.empty() || !materials.files.empty() ||
         !materials.setup_script.empty();
}

// What works in a sandbox of what the dispatch brings along, in words; empty: nothing.
std::string_view needs_of_sandbox(const harness::Dispatch& dispatch) {
  const auto& kit = dispatch.agent.kit;
  if (are_for_sandbox(dispatch.materials)) return "repository, skills, files or setup script";
  if (dispatch.extras.inference) return "";  // one call of a model, which has no tools
  if (kit.code_mode) return "tool run_script (code_mode)";
  const auto is_in_sandbox = [](const model::McpServer& server) { return server.url.empty(); };
  return std::ranges::any_of(kit.mcp_servers, is_in_sandbox) ? "MCP server without a url" : "";
}

}  // namespace

NativeLoop::NativeLoop(std::shared_ptr<const agents::Shared> shared, Setting setting, harness::Dispatch dispatch,
                       harness::DispatchListener& listener)
    : context_(std::move(shared)),
      setting_(setting),
      dispatch_(std::move(dispatch)),
      listener_(listener),
      output_(context_.loop(), dispatch_.secrets, listener) {
  context_.loop().defer([this, alive = lifeline_.watch()] {
    if (!alive.expired()) start();
  });
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
  if (dispatch_.resumed && !is_offline) remember_told();
  has_spoken_ = !dispatch_.told_text.empty();
  begin_clocks();
  open_session({});
  const auto begin = [this] { open_toolbox([this] { ask(); }); };
  if (!session_ || !session_->is_needed_at_once()) return begin();
  session_->open(begin);
}

// The model says the rest: what it said before is its own turn already.
void NativeLoop::remember_told() {
  const auto& told = dispatch_.told_text;
  said_bytes_ = told.size();
  if (dispatch_.supplies) said_ = told;
  paragraphs_.note(told);
  // Providers refuse a turn that is empty but for white space.
  const auto end = told.find_last_not_of(white_space);
  if (end == std::string::npos) return;
  is_mid_answer_ = true;
  unshown_ = told.substr(end + 1);
  prompt_.turns.push_back({.role = model::Role::assistant, .text = told.substr(0, end + 1)});
  prompt_.turns.push_back({.role = model::Role::user, .text = std::string(go_on_words)});
}

// The box itself is opened by the first tool, so that the first word need not wait for it. One call of a model has
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
  toolbox_->open(
      [this](std::string_view level, std::string words) {
        output_.emit(EventKind::log, runs::log_body(level, inference::readable(words)));
      },
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
  if (!dispatch_.filler || has_spoken_) return;
  inference::FillerListener& listener = *this;
  filler_ = std::make_unique<inference::Filler>(
      context_.inference(), inference::Filler::Setting{dispatch_.prompt, dispatch_.traceparent, filler_count_},
      listener);
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
  if (is_mid_answer_) join(text);
  if (text.empty() || !is_bounded(text.size())) return;
  const auto alive = lifeline_.watch();
  end_filler();
  if (alive.expired()) return;
  has_spoken_ = true;
  // The model is not shown the break: it is not its own.
  auto paragraph = paragraphs_.before(text);
  round_.text += text;
  round_.told_bytes += text.size();
  if (!paragraph.empty()) {
    if (dispatch_.supplies) said_ += paragraph;
    speak(EventKind::text, std::move(paragraph));
    if (alive.expired()) return;
  }
  speak(EventKind::text, std::move(text));
}

// The white space at the end of what was told was not shown to the model, which may say it again. What it says beyond
// that is its own: the next line may be indented.
void NativeLoop::join(std::string& text) {
  if (text.find_first_not_of(white_space) != std::string::npos) is_mid_answer_ = false;
  const auto said_again = static_cast<std::size_t>(std::ranges::mismatch(text, unshown_).in1 - text.begin());
  unshown_ = said_again == text.size() ? unshown_.substr(said_again) : "";
  text.erase(0, said_again);
}

void NativeLoop::hear_reasoning(std::string text) {
  if (text.empty() || !is_bounded(text.size())) return;
  // Thoughts would part the answer in the middle of a word.
  if (is_mid_answer_) return;
  round_.told_bytes += text.size();
  speak(EventKind::reasoning, std::move(text));
}

void NativeLoop::speak(EventKind kind, std::string text) {
  const auto alive = lifeline_.watch();
  output_.speak(kind, std::move(text));
  if (!alive.expired() && output_.has_diverged()) fail_replay();
}

void NativeLoop::end_filler() {
  if (!filler_) return;
  const bool is_mid_phrase = filler_->is_mid_phrase();
  filler_count_ = filler_->phrase_count();
  filler_.reset();
  if (is_mid_phrase) output_.speak(EventKind::filler, " ");
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
  const auto alive = lifeline_.watch();
  output_.flush();
  if (alive.expired()) return;
  if (output_.has_diverged() || (is_last && !output_.replay().is_over())) return fail_replay();

  if (!is_last || round_count_ > 1) tell_usage();
  if (alive.expired()) return;
  round_.text = output_.scrubbed(std::move(round_.text));
  if (dispatch_.supplies) said_ += round_.text;
  if (is_last) return finish();
  if (round_count_ > rounds_max(dispatch_, setting_.options)) {
    return fail(Slug::model_error, "The model asked for tools " + std::to_string(round_count_) +
                                       " times in a row without coming to an end.");
  }
  is_mid_answer_ = false;
  auto calls = std::exchange(round_.calls, {});
  prompt_.turns.push_back({.role = model::Role::assistant, .text = std::move(round_.text), .calls = calls});
  // Only of tools that do not exist may a resumed run have told before: steps cannot be done again.
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
  toolbox_.reset();  // what it runs in the box must not be there when that is kept
  if (!session_) return end();
  session_->finish(std::move(said_), end);
}

// ── what goes wrong ─────────────────────────────────────────────────────────────────────────────

void NativeLoop::on_unanswered(net::CallFailure failure, std::string what) {
  route_.figures->count_failure(inference::name_of(failure));
  const auto fault = inference::model_failure_of(route_, failure, what);
  fault.may_retry ? meet(fault) : give_up(fault, fault.what);
}

void NativeLoop::meet(const inference::ModelFailure& fault) {
  call_.reset();
  if (round_.told_bytes > 0) {
    auto cut = fault;
    cut.slug = Slug::model_stream_cut;
    return give_up(cut, "After " + std::to_string(round_.told_bytes) + " bytes of its answer were told: " + cut.what);
  }
  if (!fault.may_retry) return give_up(fault, fault.what);
  const auto& options = setting_.options;
  if (attempt_ > options.retry_count_max) {
    return give_up(fault, "Gave up after " + std::to_string(attempt_) + " attempts. " + fault.what);
  }
  if (fault.retry_after_ms.value_or(0) > options.retry_wait_ms_max) {
    return give_up(fault, sentence(fault.what) + " It asks to be left alone for " +
                              std::to_string(*fault.retry_after_ms / 1000) + " s, longer than the " +
                              std::to_string(options.retry_wait_ms_max / 1000) + " s that this server waits.");
  }
  retry_later(fault);
}

void NativeLoop::give_up(const inference::ModelFailure& fault, std::string detail) {
  context_.log().write(world::LogLevel::warn, "model call failed",
                       {{"run", dispatch_.run.text()},
                        {"provider", route_.provider},
                        {"class", fault.failure_class},
                        {"attempt", int64_t{attempt_}}});
  log_words(fault.what);
  fail(fault.slug, std::move(detail), fault.retry_after_ms);
}

// The words may quote the prompt, and a prompt is no business of a log.
void NativeLoop::log_words(std::string_view what) const {
  if (!context_.log().wants(world::LogLevel::debug)) return;
  context_.log().write(world::LogLevel::debug, "model call failed, in words",
                       {{"run", dispatch_.run.text()}, {"words", what}});
}

void NativeLoop::retry_later(const inference::ModelFailure& fault) {
  const auto& options = setting_.options;
  int64_t wait_ms = options.retry_first_ms;
  for (int i = 1; i < attempt_ && wait_ms < options.retry_wait_ms_max; ++i) wait_ms *= 2;
  wait_ms = std::min(wait_ms, options.retry_wait_ms_max);
  // Everybody who was turned away comes back at a different moment.
  wait_ms += static_cast<int64_t>(chance(context_.entropy()) % static_cast<uint64_t>(wait_ms / 4 + 1));
  wait_ms = std::max(wait_ms, fault.retry_after_ms.value_or(0));
  retry_ = context_.loop().after(Millis{wait_ms}, [this] { ask(); });
  context_.log().write(world::LogLevel::warn, "model call failed",
                       {{"run", dispatch_.run.text()},
                        {"provider", route_.provider},
                        {"class", fault.failure_class},
                        {"attempt", int64_t{attempt_}},
                        {"retry_in_ms", wait_ms}});
  log_words(fault.what);
  output_.emit(EventKind::log, retry_warning(fault.what, attempt_++, wait_ms));
}

void NativeLoop::fail_replay() {
  fail(Slug::run_interrupted,
       "The work was interrupted while the model was speaking, and the model cannot go on where it stopped.");
}

// ── what is told ────────────────────────────────────────────────────────────────────────────────

void NativeLoop::on_filler(std::string text) { output_.speak(EventKind::filler, std::move(text)); }

void NativeLoop::on_filler_trouble(std::string what) {
  context_.log().write(
      world::LogLevel::warn, "filler model failed",
      {{"run", dispatch_.run.text()}, {"provider", context_.inference().options.filler.model_provider}});
  log_words(what);
  output_.emit(EventKind::log,
               runs::log_body("warn", "No filler from the small model: " + std::string(inference::readable(what))));
}

void NativeLoop::tell_usage() {
  if (!output_.replay().is_over()) return;
  std::string body;
  json::Writer(body)
      .begin_object()
      .key("input_tokens")
      .integer(usage_.input_tokens)
      .key("output_tokens")
      .integer(usage_.output_tokens)
      .end_object();
  output_.emit(EventKind::usage, std::move(body));
}

void NativeLoop::fail(Slug slug, std::string detail, std::optional<int64_t> retry_after_ms) {
  const auto alive = lifeline_.watch();
  output_.flush();
  if (alive.expired()) return;
  if (calls_) calls_->break_off(output_.scrubbed(detail));
  if (alive.expired()) return;
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
  filler_.reset();
  call_.reset();
  calls_.reset();
  toolbox_.reset();
  session_.reset();
}

}  // namespace sluice::native
