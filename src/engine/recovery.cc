#include "engine/recovery.h"

#include <algorithm>

#include "engine/problems.h"

namespace sluice::engine {
namespace {

constexpr int at_once = 32;
constexpr int64_t again_ms = 500;

}  // namespace

void Recovery::start(Callback<void(Result<Unit>)> done) {
  done_ = std::move(done);
  engine_.needs_.store.unfinished_runs(while_alive([this](Result<std::vector<model::Run>> runs) {
    if (!runs) return give_up(runs.error());
    waiting_.assign(runs.value().begin(), runs.value().end());
    if (!waiting_.empty()) {
      engine_.needs_.log.write(world::LogLevel::info, "taking up unfinished runs",
                               {{"count", static_cast<int64_t>(waiting_.size())}});
    }
    ++under_way_;
    one_done();
  }));
}

void Recovery::one_done() {
  --under_way_;
  take_next();
}

void Recovery::take_next() {
  while (under_way_ < at_once && !waiting_.empty()) {
    const auto run = waiting_.front();
    waiting_.pop_front();
    ++under_way_;
    take_over(run);
  }
  if (under_way_ > 0 || !done_) return;
  hold_again();
  std::exchange(done_, nullptr)(Unit{});
}

void Recovery::stumble(const model::Run& run, const Error& why) {
  if (why.kind == ErrorKind::unavailable) return give_up(why);
  if (why.kind == ErrorKind::overloaded) {
    // Nothing was done, so its turn comes again; meanwhile it counts as under way.
    waiting_.push_back(run);
    again_ = engine_.needs_.loop.after({again_ms}, [this] {
      under_way_ -= std::exchange(stumbled_, 0);
      take_next();
    });
    ++stumbled_;
    return;
  }
  // One run's damage is no reason to leave the others lying.
  engine_.needs_.log.write(world::LogLevel::error, "run cannot be taken up",
                           {{"run", run.id.text()}, {"why", why.what}});
  one_done();
}

void Recovery::give_up(const Error& why) {
  waiting_.clear();
  if (done_) std::exchange(done_, nullptr)(Error(why).in("recover"));
}

void Recovery::take_over(const model::Run& run) {
  if (engine_.find(run.id) != nullptr) return one_done();
  engine_.needs_.store.take_over(
      run.id, run.epoch, while_alive([this, run](Result<model::Run> taken) { on_taken(run, std::move(taken)); }));
}

void Recovery::on_taken(const model::Run& run, Result<model::Run> taken) {
  // Somebody else was quicker: it is theirs.
  if (!taken && taken.error().kind == ErrorKind::conflict) return one_done();
  if (!taken) return stumble(run, taken.error());
  read_past(engine_.needs_.store, engine_.needs_.log, taken.value(),
            while_alive([this, run = taken.value()](Result<std::shared_ptr<RunPast>> past) {
              if (!past) return stumble(run, past.error());
              take_up(*past.value());
              one_done();
            }));
}

void Recovery::take_up(const RunPast& past) {
  const auto& run = past.run;
  auto& live = engine_.enter(run, past.assistant_message, past.request_id);
  engine_.admission_.enter({run.id, run.tenant_id, run.conversation_id, past.limits});
  engine_.figures_.recovered.add();
  live.remember_steps(past.steps);
  live.remember_resumed(past.resumed_count);
  if (!past.checkpoint.empty()) live.note_checkpoint();

  // Cancelling was on disk already: pressing the button again repeats its duty.
  if (step(run.state, Happening::server_restarted)->then == Duty::interrupt) return live.resume_cancelling();
  if (auto why = obstacle(past); !why.empty()) {
    return live.fail(problem_of(model::Slug::run_interrupted, "The server restarted" + std::move(why)));
  }
  if (run.state == RunState::parked) {
    const auto& approval = *past.approval;
    const auto lifetime = approval.expires_at.ms - approval.created_at.ms;
    engine_.admission_.park(run.id, false);
    return live.reopen_gate(approval, {std::clamp<int64_t>(approval.expires_at.ms - engine_.needs_.loop.now().ms, 0,
                                                           std::max<int64_t>(0, lifetime))});
  }
  live.keep_launch(past.to_launch());
  if (run.state == RunState::held) return held_.push_back({run.created_at, run.id, past.told_position});
  engine_.admission_.come_back(run.id);
}

std::string Recovery::obstacle(const RunPast& past) const {
  if (past.damaged) return ", and what it had written of the run is damaged.";
  if (past.run.state == RunState::parked) return "";
  if (!past.agent) return ", and the run's agent no longer exists.";
  if (past.run.state == RunState::held) return "";
  if (!past.checkpoint.empty() && !past.checkpoint_used) return "";
  // Its box died with the server. What a command did before is not known, so it is not done again.
  if (past.steps.saw_any() || !past.checkpoint.empty()) {
    return " while the agent was at work in its sandbox; what it did there is gone.";
  }
  if (!engine_.needs_.dispatcher.can_resume(*past.agent, past.told_text)) {
    return " after part of the answer had been told; the model cannot go on from there.";
  }
  return "";
}

void Recovery::hold_again() {
  std::ranges::sort(held_);
  const int64_t span = engine_.options_.max_hold_seconds * 1'000;
  for (const auto& held : std::exchange(held_, {})) {
    // The wall clock may have jumped meanwhile: nobody waits longer than a fresh one.
    const auto left = std::clamp<int64_t>(held.created_at.ms + span - engine_.needs_.loop.now().ms, 0, span);
    engine_.admission_.hold_again(held.run, held.told_position, {left});
  }
}

}  // namespace sluice::engine
