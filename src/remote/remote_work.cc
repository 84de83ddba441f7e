#include "remote/remote_work.h"

#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/limits.h"
#include "model/event_codec.h"

namespace sluice::remote {
namespace {

using model::EventKind;
using model::Slug;

constexpr Millis look_again_after{100};   // among runners whose state is known
constexpr Millis ask_again_after{1'000};  // of the one that was named, whose state is not
constexpr Millis mint_again_after{500};   // when the store could not keep the tokens
constexpr int losses_max = 3;
constexpr std::size_t resumed_bytes_max = 1024 * 1024;  // text that another runner gets with its configuration
constexpr int64_t settling_ms_max = 120'000;  // more than a run may take: bootstrap, the grace, files written back

std::string stream_body(const Minted& minted, const dispatch::Dispatch& dispatch) {
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

// A careful runner waits before these events until they are acknowledged.
bool is_awaited(const model::RunEvent& event) { return event.kind == EventKind::step || dispatch::is_launch(event); }

// Whether the event shows an effect that must not be repeated elsewhere. Text is continued instead. Files and requests
// before the first step come from a setup script, which may run in every sandbox; a runner that is not careful may have
// sent them before the step that they belong to.
bool is_effect(const model::RunEvent& event, bool is_careful) {
  using enum EventKind;
  const auto kind = event.kind;
  if (kind == file || kind == egress) return !is_careful;
  return kind == log ? dispatch::is_launch(event)
                     : kind != usage && kind != filler && kind != text && kind != reasoning;
}

bool is_debug(const model::RunEvent& event) {
  const auto log = model::event_as<model::events::Log>(event);
  return log && log->level == "debug";
}

}  // namespace

model::Problem problem_of(const dispatch::ErrorLine& line) {
  for (const auto& entry : model::problem_registry()) {
    if (dispatch::code_of(entry.name) == line.code) return {.slug = entry.slug, .detail = line.message};
  }
  const auto slug = line.code == "agent_type_unsupported" ? Slug::agent_misconfigured
                    : line.code.starts_with("model_")     ? Slug::model_error
                                                          : Slug::sandbox_failed;
  return {.slug = slug, .detail = line.code + ": " + line.message};
}

RemoteWork::RemoteWork(std::shared_ptr<Context> context, dispatch::Dispatch dispatch,
                       dispatch::DispatchListener& listener)
    : context_(std::move(context)),
      dispatch_(std::move(dispatch)),
      listener_(listener),
      named_(without_slash(dispatch_.extras.sandbox_url)),
      sent_text_(dispatch_.told_text),
      sent_reasoning_(dispatch_.told_reasoning) {
  context_->needs.loop.defer(lifetime_.guard([this] {
    if (!over_) start();
  }));
}

RemoteWork::~RemoteWork() { leave_runner(); }

void RemoteWork::start() {
  if (auto mark = read_mark(dispatch_.mark)) {
    mark_ = *std::move(mark);
    stream_ = std::make_unique<RunnerStream>(context_, mark_, static_cast<RunnerStreamListener&>(*this));
    return stream_->resume();
  }
  if (const auto why = obstacle(); !why.empty()) {
    return fail(Slug::run_interrupted, "The server restarted while a runner worked on it. " + std::string(why));
  }
  look_for_runner();
}

void RemoteWork::stop(Callback<void()> gone) {
  over_ = true;
  waiting_.cancel();
  if (stream_) return stream_->kill(std::move(gone));
  context_->needs.loop.defer(lifetime_.guard(std::move(gone)));
}

void RemoteWork::written(std::string_view text) {
  const auto mark = read_mark(text);
  if (!mark || mark->execution != mark_.execution) return;
  if (const auto minted = std::exchange(announced_, nullptr); minted && !over_) return post(*minted);
  if (!stream_) return;
  // The end of the run is written with the mark before it, or not at all.
  if (mark->last) return stream_->acknowledge_at_once(stream_->line());
  // A runner that is careful waits for this before it does the first thing.
  const bool is_awaited = awaited_line_ != 0 && mark->line >= awaited_line_;
  if (is_awaited) awaited_line_ = 0;
  is_awaited ? stream_->acknowledge_at_once(mark->line) : stream_->acknowledge(mark->line);
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
  if (!std::exchange(reported_waiting_, true)) {
    const auto life = lifetime_.watch();
    listener_.on_event(model::encode(model::events::Log{.level = "info", .text = "No runner is free; waiting for one"},
                                     context_->needs.loop.now()));
    if (life.is_over() || over_) return;
  }
  waiting_ = context_->needs.loop.after(is_named() ? ask_again_after : look_again_after, [this] { look_for_runner(); });
}

void RemoteWork::mint_for(const std::string& runner) {
  const auto& needs = context_->needs;
  auto rest = dispatch_;
  rest.resumed = has_sent_text();
  rest.told_text = sent_text_;
  rest.told_reasoning = sent_reasoning_;
  auto minted = std::make_shared<const Minted>(
      mint(rest, rest.agent.tenant_id, context_->options.mint, needs.ids, needs.entropy, needs.loop.now()));
  awaited_line_ = 0;
  is_known_ = false;
  // A partial answer is only continued by careful runners, so a runner that is lost before its first line was careful.
  mark_ = {
      .runner = runner, .execution = minted->execution.id.text(), .careful = has_sent_text(), .losses = mark_.losses};
  store::create_execution(needs.store.database(), minted->execution, sha256(minted->bearer), minted->hashed,
                          lifetime_.guard([this, minted](Result<Unit> made) {
                            if (over_) return;
                            made ? announce(minted) : on_not_minted(made.error());
                          }));
}

// Tokens of unknown outcome expire, and no runner has them.
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
  const auto life = lifetime_.watch();
  const auto now = context_->needs.loop.now();
  listener_.on_event(dispatch::phase_event("mint", "Tokens minted for " + minted->execution.id.text(),
                                           now.ms - minted->execution.created_at.ms, now));
  if (life.is_over() || over_) return;
  announced_ = std::move(minted);
  write_mark();
}

void RemoteWork::post(const Minted& minted) {
  stream_ = std::make_unique<RunnerStream>(context_, mark_, static_cast<RunnerStreamListener&>(*this));
  stream_->begin(stream_body(minted, dispatch_), dispatch_.traceparent,
                 dispatch_.agent.limits.max_runtime_seconds * 1000 + settling_ms_max, has_sent_text());
}

void RemoteWork::on_refused(int status, std::string why) {
  auto& fleet = context_->fleet;
  context_->needs.log.write(world::LogLevel::warn, "runner skipped",
                            {{"run", dispatch_.run.text()}, {"runner", mark_.runner}, {"why", why}});
  leave_runner();
  stream_.reset();
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
  if (start_elsewhere(why)) return;
  fail(Slug::runner_lost, why + " " + std::string(obstacle()));
}

std::string_view RemoteWork::obstacle() const {
  if (mark_.begun) return "What it had done in its sandbox is gone.";
  const bool is_careful = mark_.careful || (stream_ && stream_->is_careful());
  if (has_sent_text() && !mark_.runner.empty() && !is_careful) return "It may have done more than it reported.";
  if (!sent_text_.empty() && dispatch::is_program(dispatch_.agent)) {
    return "Part of the answer had been sent, and the agent's program cannot continue it.";
  }
  if (sent_text_.size() + sent_reasoning_.size() > resumed_bytes_max)
    return "The answer so far is too long to continue it.";
  return mark_.losses >= losses_max ? "So were those that had it before." : "";
}

bool RemoteWork::start_elsewhere(std::string_view why) {
  if (!obstacle().empty()) return false;
  ++mark_.losses;
  context_->started_elsewhere.add();
  lost_why_ = why;
  context_->needs.log.write(world::LogLevel::warn, "dispatch started on another runner",
                            {{"run", dispatch_.run.text()}, {"runner", mark_.runner}, {"why", why}});
  leave_runner();
  stream_->dismiss();
  stream_.reset();
  began_looking_us_ = 0;
  const auto life = lifetime_.watch();
  listener_.on_event(model::encode(
      model::events::Log{
          .level = "warn",
          .text = lost_why_ + (has_sent_text() ? " Another runner continues it." : " Another runner starts it again.")},
      context_->needs.loop.now()));
  if (!life.is_over() && !over_) look_for_runner();
  return true;
}

// ── lines of the runner ───────────────────────────────────────────────────────────────────────────────

void RemoteWork::on_lines(std::vector<dispatch::Line> lines) {
  const auto life = lifetime_.watch();
  const auto* stream = stream_.get();
  for (auto& line : lines) {
    take_line(std::move(line));
    if (life.is_over() || over_ || stream_.get() != stream) return;
  }
  write_mark();
}

void RemoteWork::write_mark() {
  if (stream_) {
    mark_.line = stream_->line();
    mark_.steps = stream_->running();
    mark_.careful = stream_->is_careful();
    if (std::exchange(is_awaited_, false)) awaited_line_ = mark_.line;
  }
  listener_.on_event({EventKind::mark, context_->needs.loop.now(), to_json(mark_)});
}

void RemoteWork::take_line(dispatch::Line line) {
  if (auto* event = std::get_if<model::RunEvent>(&line)) return take_event(std::move(*event));
  if (const auto* result = std::get_if<dispatch::ResultLine>(&line)) return finish(*result);
  take_error(std::get<dispatch::ErrorLine>(line));
}

void RemoteWork::take_event(model::RunEvent event) {
  // A debug line shows that the runner lives; the journal does not need it.
  if (is_debug(event)) return;
  if (is_effect(event, stream_->is_careful())) mark_.begun = true;
  if (is_awaited(event) && !std::exchange(is_known_, true)) is_awaited_ = true;
  if (event.kind == EventKind::text) sent_text_ += event.body;
  if (event.kind == EventKind::reasoning && sent_reasoning_.size() <= resumed_bytes_max) sent_reasoning_ += event.body;
  if (event.kind == EventKind::replaced) model::take_back(sent_text_, event.body);
  if (sent_text_.size() > limits::answer_bytes_max) {
    stream_->dismiss();
    return fail(Slug::answer_too_large, "The runner sent more text than a message may have.");
  }
  // The time is that of this server, because a journal has one clock.
  event.at = context_->needs.loop.now();
  listener_.on_event(std::move(event));
}

void RemoteWork::finish(const dispatch::ResultLine& result) {
  const auto life = lifetime_.watch();
  // A runner that knows only the plain profile sends the whole text at the end.
  if (result.message.size() > sent_text_.size() && result.message.starts_with(sent_text_)) {
    listener_.on_event({EventKind::text, context_->needs.loop.now(), result.message.substr(sent_text_.size())});
    if (life.is_over() || over_) return;
  }
  end_account();
  if (!life.is_over()) listener_.on_finished(result.usage);
}

void RemoteWork::take_error(const dispatch::ErrorLine& line) {
  // Its tokens were used up by an answer that was lost on its way, or a clock that was put let them expire: others will
  // do.
  const bool unredeemed =
      line.code == "token_invalid" || (line.code == "bootstrap_failed" && stream_->was_interrupted());
  // The runner had to go before the run could begin.
  const bool stopped = line.code == "unavailable";
  const auto life = lifetime_.watch();
  if ((unredeemed || stopped) && obstacle().empty()) {
    // A server that finds only the mark before this line would read the other lines of this batch again.
    write_mark_before_last();
    if (!life.is_over() && !over_) start_elsewhere(line.message);
    return;
  }
  end_account();
  if (!life.is_over()) listener_.on_failed(problem_of(line));
}

// A server that finds this mark without an end after it must read the last line again.
void RemoteWork::write_mark_before_last() {
  mark_.line = stream_->line() - 1;
  mark_.steps = stream_->running();
  mark_.careful = stream_->is_careful();
  listener_.on_event({EventKind::mark, context_->needs.loop.now(), to_json(mark_)});
}

// The mark is written together with the run's end.
void RemoteWork::end_account() {
  over_ = true;
  leave_runner();
  mark_.last = true;
  write_mark_before_last();
}

void RemoteWork::fail(Slug slug, std::string detail) {
  over_ = true;
  leave_runner();
  listener_.on_failed({.slug = slug, .detail = std::move(detail)});
}

namespace {

class RemoteDispatcher final : public dispatch::Dispatcher {
 public:
  explicit RemoteDispatcher(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  std::unique_ptr<dispatch::Work> dispatch(dispatch::Dispatch dispatch, dispatch::DispatchListener& listener) override {
    return std::make_unique<RemoteWork>(context_, std::move(dispatch), listener);
  }

  // Without a mark to go on from, as another runner would after one that was lost.
  bool can_resume(const model::Agent& agent, std::string_view told_text) const override {
    return told_text.empty() || !dispatch::is_program(agent);
  }

  bool can_reattach(std::string_view mark) const override { return read_mark(mark).has_value(); }

  bool reads_history(const model::Agent&) const override { return true; }

  // Boxes are the runners' own, and a run elsewhere does not park.
  void release(model::ConversationId) override {}
  void forget_parked(model::RunId, model::ConversationId) override {}
  bool keeps_boxes() const override { return false; }
  int warm_available() const override { return 0; }

 private:
  const std::shared_ptr<Context> context_;  // shared with the work, which may outlive the dispatcher
};

// Boxes that are kept, and what a restart can take up, are the home's.
class Router final : public dispatch::Dispatcher {
 public:
  Router(dispatch::Dispatcher& home, std::unique_ptr<dispatch::Dispatcher> elsewhere)
      : home_(home), elsewhere_(std::move(elsewhere)) {}

  std::unique_ptr<dispatch::Work> dispatch(dispatch::Dispatch dispatch, dispatch::DispatchListener& listener) override {
    const bool is_home = dispatch.extras.sandbox_url.empty() && dispatch.mark.empty();
    auto& carrier = is_home ? home_ : *elsewhere_;
    return carrier.dispatch(std::move(dispatch), listener);
  }
  bool can_resume(const model::Agent& agent, std::string_view told_text) const override {
    return home_.can_resume(agent, told_text);
  }
  bool can_reattach(std::string_view mark) const override { return elsewhere_->can_reattach(mark); }
  bool reads_history(const model::Agent& agent) const override { return home_.reads_history(agent); }
  void release(model::ConversationId conversation) override { home_.release(conversation); }
  void forget_parked(model::RunId run, model::ConversationId conversation) override {
    home_.forget_parked(run, conversation);
  }
  void list_parked(Callback<void(std::vector<dispatch::ParkedRun>)> done) override {
    home_.list_parked(std::move(done));
  }
  void list_workspaces(Callback<void(std::vector<dispatch::KeptWorkspace>)> done) override {
    home_.list_workspaces(std::move(done));
  }
  void count_workspace(const dispatch::KeptWorkspace& kept, model::TenantId tenant) override {
    home_.count_workspace(kept, tenant);
  }
  void remove_workspace(model::ConversationId conversation) override { home_.remove_workspace(conversation); }
  bool keeps_boxes() const override { return home_.keeps_boxes(); }
  int warm_available() const override { return home_.warm_available(); }

 private:
  dispatch::Dispatcher& home_;
  const std::unique_ptr<dispatch::Dispatcher> elsewhere_;
};

}  // namespace

std::unique_ptr<dispatch::Dispatcher> make_router(dispatch::Dispatcher& home,
                                                  std::unique_ptr<dispatch::Dispatcher> elsewhere) {
  return std::make_unique<Router>(home, std::move(elsewhere));
}

std::unique_ptr<dispatch::Dispatcher> make_remote_dispatcher(RemoteNeeds needs, RemoteOptions options) {
  for (auto& url : options.runner_urls) {
    while (url.ends_with('/')) url.pop_back();
  }
  return std::make_unique<RemoteDispatcher>(std::make_shared<Context>(needs, std::move(options)));
}

}  // namespace sluice::remote
