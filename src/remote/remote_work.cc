#include "remote/remote_work.h"

#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/limits.h"

namespace sluice::remote {
namespace {

using model::EventKind;
using model::Slug;

constexpr Millis look_again_after{100};   // among runners whose state is known
constexpr Millis ask_again_after{1'000};  // of the one that was named, whose state is not
constexpr Millis mint_again_after{500};   // when the store could not keep the tokens
constexpr int losses_max = 3;
constexpr std::size_t resumed_bytes_max = 1024 * 1024;  // of what is told to another runner with its configuration
constexpr int64_t settling_ms_max = 120'000;  // more than a run may take: bootstrap, the grace, files written back

std::string stream_body(const Minted& minted, const harness::Dispatch& dispatch) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("agent_url").string(minted.agent_url);
  writer.key("otp_setup").string(minted.otp_setup).key("otp_run").string(minted.otp_run);
  if (dispatch.supplies && dispatch.supplies->wants_assets()) writer.key("otp_upload").string(minted.otp_upload);
  writer.key("prompt").string(dispatch.prompt).end_object();
  return body;
}

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

// Before these a careful runner waits until they are known.
bool is_awaited(const model::RunEvent& event) { return event.kind == EventKind::step || harness::is_launch(event); }

// Whether it is a sign that something is done, which is not done again. Words are said on. Files and requests before
// the first step are a setup script's, which is made to be run in every box; a runner that is not careful may have told
// them before the step that they are of.
bool is_deed(const model::RunEvent& event, bool is_careful) {
  using enum EventKind;
  const auto kind = event.kind;
  if (kind == file || kind == egress) return !is_careful;
  return kind == log ? harness::is_launch(event) : kind != usage && kind != filler && kind != text && kind != reasoning;
}

bool is_debug(const model::RunEvent& event) {
  const auto log = model::event_as<model::events::Log>(event);
  return log && log->level == "debug";
}

}  // namespace

model::Problem problem_of(const harness::ErrorLine& line) {
  for (const auto& entry : model::problem_registry()) {
    if (harness::code_of(entry.name) == line.code) return {.slug = entry.slug, .detail = line.message};
  }
  const auto slug = line.code == "agent_type_unsupported" ? Slug::agent_misconfigured
                    : line.code.starts_with("model_")     ? Slug::model_error
                                                          : Slug::sandbox_failed;
  return {.slug = slug, .detail = line.code + ": " + line.message};
}

RemoteWork::RemoteWork(std::shared_ptr<Context> context, harness::Dispatch dispatch,
                       harness::DispatchListener& listener)
    : context_(std::move(context)),
      dispatch_(std::move(dispatch)),
      listener_(listener),
      named_(without_slash(dispatch_.extras.sandbox_url)),
      told_text_(dispatch_.told_text),
      told_reasoning_(dispatch_.told_reasoning) {
  context_->needs.loop.defer([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired() && !over_) start();
  });
}

RemoteWork::~RemoteWork() { leave_runner(); }

void RemoteWork::start() {
  if (auto mark = read_mark(dispatch_.mark)) {
    mark_ = *std::move(mark);
    hearing_ = std::make_unique<Hearing>(context_, mark_, static_cast<HearingListener&>(*this));
    return hearing_->go_on();
  }
  if (const auto why = obstacle(); !why.empty()) {
    return fail(Slug::run_interrupted, "The server restarted while a runner worked on it. " + std::string(why));
  }
  look_for_runner();
}

void RemoteWork::stop(Callback<void()> gone) {
  over_ = true;
  waiting_.cancel();
  if (hearing_) return hearing_->kill(std::move(gone));
  context_->needs.loop.defer([alive = std::weak_ptr(alive_), gone = std::move(gone)]() mutable {
    if (!alive.expired()) gone();
  });
}

void RemoteWork::written(std::string_view text) {
  const auto mark = read_mark(text);
  if (!mark || mark->execution != mark_.execution) return;
  if (const auto minted = std::exchange(announced_, nullptr); minted && !over_) return post(*minted);
  if (!hearing_) return;
  // The end of the run is written with the mark before it, or not at all.
  if (mark->last) return hearing_->acknowledge_at_once(hearing_->line());
  // A runner that is careful waits for this before it does the first thing.
  const bool is_awaited = awaited_line_ != 0 && mark->line >= awaited_line_;
  if (is_awaited) awaited_line_ = 0;
  is_awaited ? hearing_->acknowledge_at_once(mark->line) : hearing_->acknowledge(mark->line);
}

// ── finding a runner ────────────────────────────────────────────────────────────────────────────

void RemoteWork::look_for_runner() {
  if (began_looking_us_ == 0) began_looking_us_ = context_->needs.loop.monotonic_us();
  if (!is_named() && context_->fleet.size() == 0) {
    return fail(Slug::runner_unavailable, "No runner is configured, and none was named.");
  }
  const auto runner = is_named() ? std::optional(named_) : context_->fleet.take(unsuitable_);
  holds_slot_ = runner.has_value();
  runner ? mint_for(*runner) : wait_for_runner();
}

void RemoteWork::leave_runner() {
  if (std::exchange(holds_slot_, false)) context_->fleet.give_back(mark_.runner);
}

void RemoteWork::wait_for_runner() {
  const auto waited_us = context_->needs.loop.monotonic_us() - began_looking_us_;
  const bool refused = is_named() ? unsuitable_.contains(named_) : context_->fleet.is_unsuitable(unsuitable_);
  if (refused || waited_us >= context_->options.wait_ms_max * 1000) {
    if (!lost_why_.empty()) return fail(Slug::runner_lost, lost_why_ + " No other runner took what was left to do.");
    return fail(Slug::runner_unavailable, is_named() ? "The runner at " + named_ + " did not take the run."
                                                     : "None of the " + std::to_string(context_->fleet.size()) +
                                                           " configured runners could take the run.");
  }
  if (!std::exchange(told_waiting_, true)) {
    const std::weak_ptr alive = alive_;
    listener_.on_event(model::encode(model::events::Log{.level = "info", .text = "No runner is free; waiting for one"},
                                     context_->needs.loop.now()));
    if (alive.expired() || over_) return;
  }
  waiting_ = context_->needs.loop.after(is_named() ? ask_again_after : look_again_after, [this] { look_for_runner(); });
}

void RemoteWork::mint_for(const std::string& runner) {
  const auto& needs = context_->needs;
  auto rest = dispatch_;
  rest.resumed = is_told();
  rest.told_text = told_text_;
  rest.told_reasoning = told_reasoning_;
  auto minted = std::make_shared<const Minted>(
      mint(rest, rest.agent.tenant_id, context_->options.mint, needs.ids, needs.entropy, needs.loop.now()));
  awaited_line_ = 0;
  is_known_ = false;
  // What was told in part is heard from nobody who is not careful, so whoever is lost before it spoke was.
  mark_ = {.runner = runner, .execution = minted->execution.id.text(), .careful = is_told(), .losses = mark_.losses};
  needs.store.create_execution(minted->execution, sha256(minted->bearer), minted->hashed,
                               [this, minted, alive = std::weak_ptr(alive_)](Result<Unit> made) {
                                 if (alive.expired() || over_) return;
                                 made ? announce(minted) : on_not_minted(made.error());
                               });
}

// Those of unknown fate expire, and nobody has them.
void RemoteWork::on_not_minted(const Error& why) {
  context_->needs.log.write(world::LogLevel::warn, "tokens not kept",
                            {{"run", dispatch_.run.text()}, {"why", why.what}});
  const bool may_pass = why.kind == ErrorKind::overloaded || why.kind == ErrorKind::unavailable;
  const auto waited_us = context_->needs.loop.monotonic_us() - began_looking_us_;
  if (!may_pass || waited_us >= context_->options.wait_ms_max * 1000) {
    return fail(Slug::unavailable, "The dispatch's tokens could not be kept.");
  }
  waiting_ = context_->needs.loop.after(mint_again_after, [this] { mint_for(std::string(mark_.runner)); });
}

void RemoteWork::announce(std::shared_ptr<const Minted> minted) {
  const std::weak_ptr alive = alive_;
  const auto now = context_->needs.loop.now();
  listener_.on_event(harness::phase_event("mint", "Tokens minted for " + minted->execution.id.text(),
                                          now.ms - minted->execution.created_at.ms, now));
  if (alive.expired() || over_) return;
  announced_ = std::move(minted);
  tell_mark();
}

void RemoteWork::post(const Minted& minted) {
  hearing_ = std::make_unique<Hearing>(context_, mark_, static_cast<HearingListener&>(*this));
  hearing_->begin(stream_body(minted, dispatch_), dispatch_.traceparent,
                  dispatch_.agent.limits.max_runtime_seconds * 1000 + settling_ms_max, is_told());
}

void RemoteWork::on_refused(int status, std::string why) {
  auto& fleet = context_->fleet;
  context_->needs.log.write(world::LogLevel::warn, "runner passed over",
                            {{"run", dispatch_.run.text()}, {"runner", mark_.runner}, {"why", why}});
  leave_runner();
  hearing_.reset();
  if (status == 0) {
    fleet.note_dead(mark_.runner, why);
  } else if (status == 503 || status == 429) {
    fleet.note_full(mark_.runner);
  } else {
    unsuitable_.insert(mark_.runner);
  }
  is_named() ? wait_for_runner() : look_for_runner();
}

void RemoteWork::on_forbidden(std::string why) {
  fail(Slug::runner_unavailable, "The runner at " + mark_.runner + " cannot be asked: " + why);
}

void RemoteWork::on_lost(std::string why) {
  leave_runner();
  context_->lost.add();
  if (begin_anew(why)) return;
  fail(Slug::runner_lost, why + " " + std::string(obstacle()));
}

std::string_view RemoteWork::obstacle() const {
  if (mark_.begun) return "What it had done in its sandbox is gone.";
  const bool is_careful = mark_.careful || (hearing_ && hearing_->is_careful());
  if (is_told() && !mark_.runner.empty() && !is_careful) return "It may have done more than it told.";
  if (!told_text_.empty() && harness::is_program(dispatch_.agent)) {
    return "Part of the answer had been told, and the agent's program cannot go on from there.";
  }
  if (told_text_.size() + told_reasoning_.size() > resumed_bytes_max)
    return "It had told too much to go on from there.";
  return mark_.losses >= losses_max ? "So were those that had it before." : "";
}

bool RemoteWork::begin_anew(std::string_view why) {
  if (!obstacle().empty()) return false;
  ++mark_.losses;
  context_->begun_anew.add();
  lost_why_ = why;
  context_->needs.log.write(world::LogLevel::warn, "dispatch begun anew",
                            {{"run", dispatch_.run.text()}, {"runner", mark_.runner}, {"why", why}});
  leave_runner();
  hearing_->dismiss();
  hearing_.reset();
  began_looking_us_ = 0;
  const std::weak_ptr alive = alive_;
  listener_.on_event(model::encode(
      model::events::Log{.level = "warn",
                         .text = lost_why_ + (is_told() ? " Another goes on from here." : " Another begins it anew.")},
      context_->needs.loop.now()));
  if (!alive.expired() && !over_) look_for_runner();
  return true;
}

// ── what it tells ───────────────────────────────────────────────────────────────────────────────

void RemoteWork::on_lines(std::vector<harness::Line> lines) {
  const std::weak_ptr alive = alive_;
  const auto* hearing = hearing_.get();
  for (auto& line : lines) {
    hear(std::move(line));
    if (alive.expired() || over_ || hearing_.get() != hearing) return;
  }
  tell_mark();
}

void RemoteWork::tell_mark() {
  if (hearing_) {
    mark_.line = hearing_->line();
    mark_.steps = hearing_->running();
    mark_.careful = hearing_->is_careful();
    if (std::exchange(is_awaited_, false)) awaited_line_ = mark_.line;
  }
  listener_.on_event({EventKind::mark, context_->needs.loop.now(), to_json(mark_)});
}

void RemoteWork::hear(harness::Line line) {
  if (auto* event = std::get_if<model::RunEvent>(&line)) return hear_event(std::move(*event));
  if (const auto* result = std::get_if<harness::ResultLine>(&line)) return finish(*result);
  hear_failure(std::get<harness::ErrorLine>(line));
}

void RemoteWork::hear_event(model::RunEvent event) {
  // A debug line says that the runner lives; the journal need not know.
  if (is_debug(event)) return;
  if (is_deed(event, hearing_->is_careful())) mark_.begun = true;
  if (is_awaited(event) && !std::exchange(is_known_, true)) is_awaited_ = true;
  if (event.kind == EventKind::text) told_text_ += event.body;
  if (event.kind == EventKind::reasoning && told_reasoning_.size() <= resumed_bytes_max) told_reasoning_ += event.body;
  if (event.kind == EventKind::replaced) model::take_back(told_text_, event.body);
  if (told_text_.size() > limits::answer_bytes_max) {
    hearing_->dismiss();
    return fail(Slug::answer_too_large, "The runner told more text than a message may have.");
  }
  // Its clock is not ours, and a journal has one.
  event.at = context_->needs.loop.now();
  listener_.on_event(std::move(event));
}

void RemoteWork::finish(const harness::ResultLine& result) {
  const std::weak_ptr alive = alive_;
  // A runner that knows only the plain profile tells the whole text at the end.
  if (result.message.size() > told_text_.size() && result.message.starts_with(told_text_)) {
    listener_.on_event({EventKind::text, context_->needs.loop.now(), result.message.substr(told_text_.size())});
    if (alive.expired() || over_) return;
  }
  end_account();
  if (!alive.expired()) listener_.on_finished(result.usage);
}

void RemoteWork::hear_failure(const harness::ErrorLine& line) {
  // Its tokens were used up by an answer that was lost on its way, or a clock that was put let them expire: others will
  // do.
  const bool unredeemed =
      line.code == "token_invalid" || (line.code == "bootstrap_failed" && hearing_->was_interrupted());
  // The runner had to go before the run could begin.
  const bool stopped = line.code == "unavailable";
  const std::weak_ptr alive = alive_;
  if ((unredeemed || stopped) && obstacle().empty()) {
    // What came along with this line would be heard again by whoever finds only the mark before it.
    tell_mark_before_last();
    if (!alive.expired() && !over_) begin_anew(line.message);
    return;
  }
  end_account();
  if (!alive.expired()) listener_.on_failed(problem_of(line));
}

// Whoever finds this mark without an end behind it has to hear the last line again.
void RemoteWork::tell_mark_before_last() {
  mark_.line = hearing_->line() - 1;
  mark_.steps = hearing_->running();
  mark_.careful = hearing_->is_careful();
  listener_.on_event({EventKind::mark, context_->needs.loop.now(), to_json(mark_)});
}

// The mark is written together with the run's end.
void RemoteWork::end_account() {
  over_ = true;
  leave_runner();
  mark_.last = true;
  tell_mark_before_last();
}

void RemoteWork::fail(Slug slug, std::string detail) {
  over_ = true;
  leave_runner();
  listener_.on_failed({.slug = slug, .detail = std::move(detail)});
}

}  // namespace sluice::remote
