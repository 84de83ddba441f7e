#include "programs/program_work.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "programs/program_home.h"
#include "programs/program_policy.h"
#include "programs/program_prompt.h"
#include "runs/runs.h"

namespace sluice::programs {

using harness::Answer;
using harness::Heard;
using model::Slug;

namespace {

constexpr std::size_t complaints_bytes_max = 4'000;
constexpr std::size_t unread_bytes_max = 16 << 20;  // a program that does not read what it asked for

// Waits for what `open` begins. `open` may report from inside, and the listener may then drop the work, so it is called
// outside of the frame.
Task<> opened(Callback<void(Callback<void()>)> open) {
  struct Opening {
    bool is_over = false;
    Callback<void()> then;
  };
  const auto opening = std::make_shared<Opening>();
  co_await outside([open = std::move(open), opening]() mutable {
    open([opening] {
      opening->is_over = true;
      // What is called may destroy this callback, and `opening` with it.
      if (auto then = std::exchange(opening->then, nullptr)) then();
    });
  });
  if (!opening->is_over) co_await answer<Unit>([&](auto done) { opening->then = std::move(done); });
}

}  // namespace

ProgramWork::ProgramWork(std::shared_ptr<const agents::Shared> shared, const ProgramOptions& options,
                         dispatch::Dispatch dispatch, dispatch::DispatchListener& listener, ProgramMakers makers)
    : context_(std::move(shared)),
      options_(options),
      dispatch_([&] {
        if (!dispatch.secrets) dispatch.secrets = std::make_shared<vault::Secrets>();
        return std::move(dispatch);
      }()),
      listener_(listener),
      output_(context_.loop(), dispatch_.secrets, listener),
      steps_({.output_bytes_max = context_.sessions().options.tool_output_bytes_max,
              .result_chars_max = context_.sessions().options.tool_result_chars_max,
              .open_max = limits::runner_steps_max},
             dispatch_.secrets),
      filler_(context_, dispatch_, output_,
              [this](std::string what) {
                output_.emit(runs::log_line("warn", "No filler from the small model: " + runs::to_utf8(what)));
              }),
      launch_(context_, options_, dispatch_, std::move(makers)),
      events_({context_.loop(), output_, steps_, filler_}, agent_type(), *this),
      calls_({context_.loop(), dispatch_, output_, steps_, events_, parts_}, *this),
      silence_(
          context_.loop(), options_, agent_type(), [this] { return silence_reason(); },
          [this](Slug slug, std::string detail) { fail(slug, std::move(detail)); }) {
  context_.loop().defer(lifetime_.guard([this] { start(); }));
}

// ── from nothing to a program at work ───────────────────────────────────────────────────────────

void ProgramWork::start() {
  if (dispatch_.resumed && !dispatch_.told_text.empty()) {
    return fail(Slug::run_interrupted,
                "The work was interrupted while the agent program was speaking, and it cannot go on where it stopped.");
  }
  if (context_.sessions().sandbox == nullptr) {
    return fail(Slug::sandbox_failed, "The agent program " + agent_type() +
                                          " runs in a sandbox, and there is none on this server (`sluice doctor` "
                                          "says why).");
  }
  if (auto prepared = launch_.prepare(); !prepared) {
    const bool is_of_agent = prepared.error().kind == ErrorKind::invalid;
    return fail(is_of_agent ? Slug::agent_misconfigured : Slug::sandbox_failed, std::move(prepared.error().what));
  }
  events_.set_session_id(dispatch_.extras.session_id.value_or(""));
  if (!dispatch_.checkpoint.empty() && !take_up_checkpoint()) return;
  begin_clocks();
  sessions::SessionListener& listener = *this;
  parts_.session = std::make_unique<sessions::SandboxSession>(context_.sessions(), context_.loop(), dispatch_,
                                                              std::move(session_state_), output_, listener);
  parts_.session->suspend(context_.is_suspended());
  launch_.equip(*parts_.session);
  open_sandbox();
}

void ProgramWork::begin_clocks() {
  const auto seconds = dispatch_.agent.limits.max_runtime_seconds;
  runtime_began_us_ = now_us();
  runtime_ = context_.loop().after(Millis{std::max<int64_t>(0, seconds * 1000 - runtime_used_ms_)}, [this, seconds] {
    fail(Slug::runtime_exceeded, "The run took longer than the agent's " + std::to_string(seconds) + " s.");
  });
  filler_.begin();
}

void ProgramWork::open_sandbox() {
  phase_ = Phase::opening;
  sequence_.start(prepare_program(), [this](Result<Unit> prepared) {
    if (prepared) return start_program();
    const bool is_of_agent = prepared.error().kind == ErrorKind::invalid;
    fail(is_of_agent ? Slug::agent_misconfigured : Slug::sandbox_failed, std::move(prepared.error().what));
  });
}

// The sandbox, the program's session, the tools, the program's files, and then the witness, before the program acts.
Task<Result<Unit>> ProgramWork::prepare_program() {
  co_await opened([this](Callback<void()> ready) { parts_.session->open(std::move(ready)); });
  // A session remembers the messages that this run replaces.
  const bool replaces = dispatch_.extras.agui && dispatch_.extras.agui->replaces;
  if (events_.session_id().empty() && calls_.resumed().empty() && !replaces) {
    events_.set_session_id(co_await read_session(*parts_.session, agent_type()));
  }
  parts_.toolbox = tools::make_toolbox(context_.tools(), dispatch_, parts_.session.get());
  co_await opened([this](Callback<void()> ready) {
    parts_.toolbox->open([this](std::string_view level,
                                std::string words) { output_.emit(runs::log_line(level, runs::to_utf8(words))); },
                         std::move(ready));
  });
  auto launch = launch_.plan(assignment());
  if (!launch) co_return std::move(launch.error());
  auto files = std::move(launch.value().files);
  files.push_back({.path = std::string(dispatch::program_state_dir) + "/.gitignore", .text = "*\n"});
  auto written = co_await write_home(*parts_.session, std::move(launch.value().removed), std::move(files));
  if (!written) co_return Error{ErrorKind::unavailable, "The agent program's files: " + written.error().what + "."};
  if (!dispatch_.witness) co_return Unit{};
  co_await outside([this] { output_.emit_phase(dispatch::launch_phase, "The agent program is started", 0); });
  co_await answer<Unit>([this](auto done) { dispatch_.witness->see(std::move(done)); });
  co_return Unit{};
}

harness::Assignment ProgramWork::assignment() const {
  const auto& session_id = events_.session_id();
  const auto& resumed = calls_.resumed();
  if (resumed.empty() || session_id.empty()) {
    return launch_.assignment(parts_, session_id, program_prompt(dispatch_, !session_id.empty()));
  }
  return launch_.assignment(parts_, session_id, is_deferred_ ? std::string() : resume_prompt(resumed));
}

void ProgramWork::start_program() {
  const auto given = assignment();
  auto launch = launch_.plan(given);
  if (!launch) return fail(Slug::agent_misconfigured, std::move(launch.error().what));
  tools::BridgeUser& user = *this;
  if (!given.bridge_url.empty()) {
    parts_.endpoint =
        std::make_unique<tools::McpEndpoint>(context_.loop(), *parts_.session->bridge(), given.tools, user);
  }
  parts_.dialect = launch_.make_dialect(given);
  phase_ = Phase::running;
  complaints_.clear();
  is_deferred_ = false;
  is_input_closed_ = false;
  is_turn_over_ = false;
  calls_.forget_resumed();
  sandbox::ProcessListener& listener = *this;
  parts_.process = parts_.session->start({.argv = std::move(launch.value().argv),
                                          .environment = std::move(launch.value().environment),
                                          .input = parts_.dialect->opening(),
                                          .keeps_input = true},
                                         listener);
  read_or_pause();
  silence_.begin();
}

SilenceWatch::Reason ProgramWork::silence_reason() const {
  const auto open = steps_.open_steps();
  return {.waits_for_us = calls_.is_any_waiting(),
          .tool_is_running = steps_.is_any_at_work(),
          .tool = open.empty() ? "" : output_.scrubbed(runs::to_utf8(open.back().name)) + " "};
}

void ProgramWork::read_or_pause() {
  const bool asks_human = phase_ == Phase::holding || phase_ == Phase::waiting;
  if (parts_.process) parts_.process->pause(is_held_back_ || asks_human);
}

// ── its turn ────────────────────────────────────────────────────────────────────────────────────

void ProgramWork::on_output(sandbox::Stream stream, std::string_view bytes) {
  silence_.hear();
  if (stream == sandbox::Stream::out) return hear(parts_.dialect->feed(bytes));
  complaints_ += bytes;
  if (complaints_.size() > complaints_bytes_max) complaints_.erase(0, complaints_.size() - complaints_bytes_max);
}

void ProgramWork::on_exit(sandbox::Exit exit) {
  const auto process = std::move(parts_.process);
  const bool is_lost = exit.cause == sandbox::ExitCause::box_lost;
  switch (phase_) {
    case Phase::running: break;
    case Phase::ending:
      if (is_lost) return parts_.session->lose(exit.what);
      return conclude();
    case Phase::parking:
      if (is_lost) return parts_.session->lose(exit.what);
      return hold();
    default: return;  // while a human is waited for: it is resumed when it goes on
  }
  if (is_lost) return parts_.session->lose(exit.what);
  if (exit.cause == sandbox::ExitCause::not_started) {
    return fail(Slug::agent_failed,
                "The agent program " + agent_type() + " could not be started: " + runs::to_utf8(exit.what) + ".");
  }
  const auto alive = lifetime_.watch();
  hear(parts_.dialect->end(exit_words(exit), output_.scrubbed(runs::to_utf8(complaints_))));
  if (alive.is_over() || phase_ != Phase::running || !parts_.session) return;
  fail(Slug::agent_failed,
       "The agent program " + agent_type() + " ended its turn without a result: " + exit_words(exit) + ".");
}

void ProgramWork::on_heard(Heard& heard) {
  switch (heard.kind) {
    case Heard::Kind::permission: return calls_.judge_permission(heard);
    case Heard::Kind::withdrawn:
      calls_.withdraw(ProgramQuestion::From::permission, heard.question);
      return calls_.withdraw(ProgramQuestion::From::channel, heard.question);
    case Heard::Kind::host_call:
      return calls_.begin_host_call(
          {.from = ProgramQuestion::From::channel, .number = heard.question, .call = std::move(heard.call)});
    case Heard::Kind::deferred: is_deferred_ = true; return;
    case Heard::Kind::failed: {
      const auto& refusal = events_.refusal();
      return fail(heard.slug, std::move(heard.text) + (refusal.empty() ? "" : " " + refusal));
    }
    default: break;
  }
  // It is finished. What it asked, it does not want to know any more; but a human is being asked.
  if (phase_ == Phase::holding) return static_cast<void>(is_turn_over_ = true);
  finish_turn();
}

void ProgramWork::hear(std::vector<Heard> heard) {
  const auto alive = lifetime_.watch();
  for (auto& one : heard) {
    if (!events_.fits_journal(one)) return;
    events_.hear(one, phase_ == Phase::running || phase_ == Phase::holding);
    if (alive.is_over() || !parts_.session) return;
  }
  pump();
}

void ProgramWork::pump() {
  if (!parts_.process || !parts_.dialect) return;
  if (const auto bytes = parts_.dialect->take_output(); !bytes.empty()) parts_.process->write(bytes);
  if (parts_.process->unwritten_bytes() > unread_bytes_max) {
    return fail(Slug::agent_failed, "The agent program " + agent_type() + " does not read what it is sent.");
  }
  if (parts_.dialect->is_done_writing() && !std::exchange(is_input_closed_, true)) parts_.process->close_input();
}

void ProgramWork::on_bridge_call(tools::BridgeCall call) {
  ProgramQuestion question{.from = ProgramQuestion::From::bridge,
                           .number = call.number,
                           .call = {std::move(call.call_id), std::move(call.tool), std::move(call.arguments)}};
  if (!parts_.toolbox || phase_ == Phase::ending || phase_ == Phase::parking) {
    return parts_.endpoint->answer(question.number, {.text = "The agent's turn is over.", .failed = true});
  }
  silence_.hear();
  calls_.begin_host_call(std::move(question));
}

void ProgramWork::on_bridge_call_left(uint64_t number) {
  if (phase_ == Phase::parking) return;  // it goes because we end it
  calls_.withdraw(ProgramQuestion::From::bridge, number);
}

// ── waiting for a human ─────────────────────────────────────────────────────────────────────────

void ProgramWork::on_session_question(egress::Question asked) {
  if (launch_.is_model_host(asked.host) && asked.alias.empty()) {
    return parts_.session->settle(asked.number, true, "");
  }
  calls_.judge_request(asked, phase_ == Phase::running || phase_ == Phase::holding || phase_ == Phase::waiting);
}

void ProgramWork::on_questions() {
  if (phase_ == Phase::running && calls_.ask_next()) begin_wait();
}

void ProgramWork::begin_wait() {
  phase_ = dispatch_.keeps_box ? Phase::holding : Phase::parking;
  const auto alive = lifetime_.watch();
  filler_.end();
  if (!alive.is_over()) output_.flush();
  if (alive.is_over()) return;
  runtime_used_ms_ += (now_us() - runtime_began_us_) / 1000;
  runtime_.cancel();
  silence_.stop();
  steps_.pause(now_us());
  if (!dispatch_.keeps_box) return end_for_wait();
  read_or_pause();
  hold();
}

void ProgramWork::end_for_wait() {
  const bool defers = calls_.asked()[0].from == ProgramQuestion::From::permission && launch_.can_defer();
  if (!defers) return parts_.process->stop();
  parts_.dialect->answer(calls_.asked()[0].number, {.kind = Answer::Kind::defer, .text = {}});
  pump();
  end_ = context_.loop().after(Millis{options_.end_ms_max}, [this] { parts_.process->stop(); });
}

void ProgramWork::hold() {
  end_.cancel();
  if (!dispatch_.keeps_box) {
    parts_.endpoint.reset();
    parts_.toolbox.reset();
    if (!events_.emit_steps(steps_.let_go("The agent program was ended while a human is asked.", now_us()))) return;
  }
  parts_.session->hold([this] { raise_gate(); });
}

void ProgramWork::raise_gate() {
  dispatch::Gate gate{.reason = calls_.asked()[0].request.reason,
                      .lifetime_seconds = calls_.asked()[0].request.lifetime_seconds,
                      .checkpoint = checkpoint(),
                      .keeps_box = dispatch_.keeps_box};
  for (const auto& question : calls_.asked()) {
    gate.items.insert(gate.items.end(), question.request.items.begin(), question.request.items.end());
  }
  if (gate.keeps_box) {
    phase_ = Phase::waiting;
    output_.pause();
  } else {
    stop_all();
  }
  listener_.on_gate(std::move(gate));
}

std::string ProgramWork::checkpoint() const {
  ProgramCheckpoint checkpoint{.agent_type = agent_type(),
                               .session_id = events_.session_id(),
                               .is_deferred = is_deferred_,
                               .asked = calls_.asked_calls(),
                               .decided = calls_.decided(),
                               .steps = steps_.open_steps(),
                               .session = parts_.session->state(),
                               .step_count = steps_.count(),
                               .said = events_.answer().text(),
                               .said_bytes = static_cast<int64_t>(events_.said_bytes()),
                               .has_spoken = filler_.has_words(),
                               .filler_count = filler_.count(),
                               .runtime_used_ms = runtime_used_ms_,
                               .usage = events_.usage()};
  for (auto& step : checkpoint.steps)
    step.arguments = runs::scrubbed_json(dispatch_.secrets, std::move(step.arguments));
  for (const auto& question : calls_.asked()) {
    // The run continues from this checkpoint only if it was allowed.
    if (!question.host.empty()) checkpoint.session.allowed_hosts.push_back(question.host);
  }
  return to_json(checkpoint);
}

bool ProgramWork::take_up_checkpoint() {
  auto read = program_checkpoint_from_json(dispatch_.checkpoint);
  if (read && read.value().agent_type != agent_type()) {
    read = Error{ErrorKind::corrupt, "it is of the agent program " + read.value().agent_type};
  }
  if (!read) {
    fail(Slug::run_interrupted,
         "The run was approved but cannot go on: its checkpoint cannot be read, " + read.error().what + ".");
    return false;
  }
  auto checkpoint = std::move(read).take();
  is_deferred_ = checkpoint.is_deferred;
  calls_.restore(std::move(checkpoint.asked), std::move(checkpoint.decided), dispatch_.results);
  steps_.take_up(checkpoint.steps, checkpoint.step_count, now_us());
  session_state_ = std::move(checkpoint.session);
  events_.restore(std::move(checkpoint.session_id), std::move(checkpoint.said),
                  static_cast<std::size_t>(checkpoint.said_bytes), checkpoint.usage);
  filler_.restore(checkpoint.has_spoken, checkpoint.filler_count);
  runtime_used_ms_ = checkpoint.runtime_used_ms;
  return true;
}

void ProgramWork::go_on(std::vector<model::ClientResult> results) {
  SLUICE_CHECK(phase_ == Phase::waiting);
  context_.loop().defer(lifetime_.guard([this, results = std::move(results)] {
    if (!parts_.session) return;
    parts_.session->go_on();
    const auto alive = lifetime_.watch();
    output_.go_on();
    if (alive.is_over()) return;
    begin_clocks();
    steps_.go_on(now_us());
    phase_ = Phase::running;
    if (!calls_.go_on(results)) return;
    if (!parts_.process) return resume_program();
    if (is_turn_over_) return finish_turn();
    silence_.go_on();
    read_or_pause();
    on_questions();
  }));
}

// Its process, or its sandbox, did not live to see the answer.
void ProgramWork::resume_program() {
  parts_.endpoint.reset();
  calls_.forget();
  parts_.toolbox.reset();
  const auto open = steps_.open_steps();
  if (!events_.emit_steps(steps_.let_go("The agent program ended while a human was asked.", now_us()))) return;
  steps_.take_up(open, steps_.count(), now_us());
  events_.begin_process();
  open_sandbox();
}

// ── what goes wrong, and the end ────────────────────────────────────────────────────────────────

// The process is given time to end by itself: what it still writes to its home belongs to the session.
void ProgramWork::finish_turn() {
  const auto gave_up = "The agent program ended its turn without another word after this: ";
  if (!events_.refusal().empty() && !events_.emit_steps({runs::log_line("warn", gave_up + events_.refusal())})) return;
  phase_ = Phase::ending;
  silence_.stop();
  calls_.end_turn();
  if (!parts_.process) return conclude();
  pump();
  if (!std::exchange(is_input_closed_, true)) parts_.process->close_input();
  end_ = context_.loop().after(Millis{options_.end_ms_max}, [this] { parts_.process->stop(); });
}

void ProgramWork::conclude() {
  phase_ = Phase::finishing;
  end_.cancel();
  parts_.process.reset();
  parts_.endpoint.reset();
  parts_.toolbox.reset();
  launch_.count_tokens(events_.usage_of_process());
  const auto alive = lifetime_.watch();
  filler_.end();
  if (!alive.is_over()) output_.flush();
  if (alive.is_over()) return;
  if (events_.emit_steps(steps_.break_off("The agent program did not say how this ended.", now_us()))) keep_session();
}

void ProgramWork::keep_session() {
  if (events_.session_id().empty()) return finish();
  std::vector<harness::LaunchFile> files = {session_file(agent_type(), events_.session_id())};
  sequence_.start(write_home(*parts_.session, {}, std::move(files)), [this](Result<Unit> written) {
    if (!written) return fail(Slug::writeback_failed, "The session could not be kept: " + written.error().what + ".");
    finish();
  });
}

void ProgramWork::finish() {
  parts_.session->finish(events_.answer().text(), [this] {
    const auto usage = events_.usage();
    stop_all();
    listener_.on_finished(usage);
  });
}

void ProgramWork::fail(Slug slug, std::string detail) {
  const auto alive = lifetime_.watch();
  parts_.process.reset();
  output_.flush();
  if (alive.is_over()) return;
  detail = output_.scrubbed(runs::to_utf8(detail));
  if (!events_.emit_steps(steps_.break_off(detail, now_us()))) return;
  context_.log().write(
      world::LogLevel::warn, "agent program failed",
      {{"run", dispatch_.run.text()}, {"agent_type", agent_type()}, {"problem", model::entry_of(slug).name}});
  if (parts_.session) parts_.session->forget_held();
  stop_all();
  listener_.on_failed({.slug = slug, .detail = std::move(detail)});
}

void ProgramWork::stop(Callback<void()> gone) {
  auto session = std::move(parts_.session);
  stop_all();
  if (!session) return context_.loop().defer(std::move(gone));
  session->stop(std::move(gone));
}

void ProgramWork::stop_all() {
  sequence_.drop();
  runtime_.cancel();
  silence_.stop();
  end_.cancel();
  filler_.stop();
  parts_.process.reset();
  parts_.endpoint.reset();
  calls_.stop();
  parts_.toolbox.reset();
  parts_.session.reset();
}

}  // namespace sluice::programs
