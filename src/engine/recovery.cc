#include "engine/recovery.h"

#include <algorithm>

#include "base/check.h"
#include "engine/problems.h"

namespace sluice::engine {
namespace {

constexpr int at_once = 32;
constexpr int64_t again_ms = 500;

}  // namespace

Recovery::Figures::Figures(world::Metrics& metrics)
    : recovered(metrics.counter("sluice_runs_recovered_total", "Runs taken up again after a restart.")),
      taken_over(metrics.counter("sluice_runs_taken_over_total", "Runs taken over from other servers.")) {}

// ── what there is ───────────────────────────────────────────────────────────────────────────────

void Recovery::look(Scope scope, Callback<void(Result<Unit>)> done) {
  looks_.push_back({scope, std::move(done)});
  if (looks_.size() == 1) begin_look();
}

void Recovery::begin_look() {
  SLUICE_CHECK(!looks_.empty());
  listing_ = true;
  needs_.store.unfinished_runs(lifetime_.guard([this](Result<journal::UnfinishedRuns> found) {
    if (!found) return fail_look(found.error());
    // The only server's clock is the store's, also when it is put right.
    if (!needs_.peers.alone()) needs_.clock.hear(found.value().now);
    // Who lives is asked after that: a node that is not in the list then did not come meanwhile.
    needs_.peers.ask(lifetime_.guard([this, runs = std::move(found.value().runs)](const Result<Unit>& heard) mutable {
      if (!heard) return fail_look(heard.error());
      on_unfinished(std::move(runs));
    }));
  }));
}

void Recovery::fail_look(const Error& why) {
  if (why.kind != ErrorKind::overloaded) return give_up(why);
  needs_.log.write(world::LogLevel::warn, "unfinished runs cannot be listed; trying again", {{"why", why.what}});
  look_again_ = needs_.loop.after({again_ms}, [this] { begin_look(); });
}

void Recovery::on_unfinished(std::vector<model::Run> runs) {
  std::erase_if(runs, [this](const model::Run& run) { return !is_wanted(run); });
  if (!runs.empty()) {
    needs_.log.write(world::LogLevel::info, "taking up unfinished runs",
                     {{"count", static_cast<int64_t>(runs.size())}});
  }
  // Each of those who live begins elsewhere, so that they do not race for every one.
  const auto [rank, count] = needs_.peers.rank();
  std::ranges::rotate(runs, runs.begin() + static_cast<std::ptrdiff_t>(runs.size() * rank / count));
  waiting_.insert(waiting_.end(), runs.begin(), runs.end());
  listing_ = false;
  take_next();
}

bool Recovery::is_wanted(const model::Run& run) const {
  // One that is just being accepted has its seat already, and will be entered by whoever accepts it.
  if (needs_.live.find(run.id) != nullptr || needs_.admission.knows(run.id)) return false;
  if (needs_.peers.alone()) return true;
  const auto fate = needs_.peers.fate_of(run.node);
  if (fate == Fate::self) return looks_.front().scope == Scope::own_too;
  return may_be_taken(fate, run.state == RunState::held || run.state == RunState::parked);
}

// ── one after the other ─────────────────────────────────────────────────────────────────────────

void Recovery::take(const model::Run& run) {
  waiting_.push_back(run);
  take_next();
}

void Recovery::adopt(const model::Run& taken) {
  ++under_way_;
  // A slot that was kept for it and that it does not need, because it ended or could not be read, is free.
  read(taken, [this, run = taken.id] { needs_.admission.forgo(run); });
}

void Recovery::one_done() {
  SLUICE_CHECK(under_way_ > 0);
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
  if (under_way_ > 0) return;
  hold_again();
  if (!listing_ && !looks_.empty()) end_look();
}

void Recovery::end_look() {
  SLUICE_CHECK(under_way_ == 0 && waiting_.empty());
  auto done = std::move(looks_.front().done);
  looks_.pop_front();
  if (!looks_.empty()) begin_look();
  const auto watch = lifetime_.watch();
  if (done) done(Unit{});
  if (!watch.is_over()) needs_.postbox.look();
}

void Recovery::put_off(const model::Run& run, const Error& why) {
  if (why.kind == ErrorKind::unavailable) return give_up(why);
  if (why.kind == ErrorKind::overloaded) {
    // Nothing was done, so its turn comes again; meanwhile it counts as under way.
    waiting_.push_back(run);
    again_ = needs_.loop.after({again_ms}, [this] {
      under_way_ -= std::exchange(put_off_, 0);
      take_next();
    });
    ++put_off_;
    return;
  }
  // One run's damage is no reason to leave the others lying.
  needs_.log.write(world::LogLevel::error, "run cannot be taken up", {{"run", run.id.text()}, {"why", why.what}});
  one_done();
}

void Recovery::give_up(const Error& why) {
  waiting_.clear();
  listing_ = false;
  const auto watch = lifetime_.watch();
  for (auto& look : std::exchange(looks_, {})) {
    if (look.done && !watch.is_over()) look.done(Error(why).in("recover"));
  }
  if (!watch.is_over() && why.kind == ErrorKind::unavailable) needs_.host.store_fell_silent(why);
}

void Recovery::take_over(const model::Run& run) {
  if (needs_.live.find(run.id) != nullptr) return one_done();
  needs_.store.take_over(run.id, run.epoch,
                         lifetime_.guard([this, run](Result<model::Run> taken) { on_taken(run, std::move(taken)); }));
}

void Recovery::on_taken(const model::Run& run, Result<model::Run> taken) {
  // Somebody else was quicker, or its end was.
  if (!taken && taken.error().kind == ErrorKind::conflict) return one_done();
  if (!taken) return put_off(run, taken.error());
  SLUICE_CHECK(taken.value().id == run.id && taken.value().epoch > run.epoch);
  if (run.node != taken.value().node) {
    needs_.figures.taken_over.add();
    needs_.log.write(world::LogLevel::info, "run taken over", {{"run", run.id.text()}, {"from", run.node.text()}});
  }
  read(taken.value(), nullptr);
}

void Recovery::read(const model::Run& run, Callback<void()> then) {
  read_past(needs_.store, needs_.log, run,
            lifetime_.guard([this, run, then = std::move(then)](Result<std::shared_ptr<RunPast>> past) mutable {
              if (past) recover(*past.value());
              if (then) then();
              past ? one_done() : put_off(run, past.error());
            }));
}

void Recovery::recover(const RunPast& past) {
  const auto& run = past.run;
  if (auto* stale = needs_.live.find(run.id)) {
    if (stale->run().epoch >= run.epoch) return;
    // Another server had it for a moment, which has not been noticed here.
    needs_.host.lose_to_other(*stale, {ErrorKind::conflict, "another server carried the run"});
  }
  std::erase_if(held_, [&](const Held& held) { return held.run == run.id; });
  if (!step(run.state, Happening::server_restarted)) {
    return needs_.log.write(world::LogLevel::error, "run is damaged",
                            {{"run", run.id.text()}, {"why", "no run is ever stored in its state"}});
  }
  auto& live = needs_.host.enter(run, past.assistant_message, past.request_id);
  needs_.admission.enter({run.id, run.tenant_id, run.conversation_id, past.limits});
  needs_.figures.recovered.add();
  live.writer().remember_time(past.told_at);
  live.progress().remember_steps(past.steps);
  live.progress().remember_resumed(past.resumed_count);
  if (!past.checkpoint.empty()) live.gate().note_checkpoint();
  if (!past.mark.empty()) live.progress().remember_mark();
  if (auto why = obstacle(past); !why.empty()) {
    return live.fail(problem_of(model::Slug::run_interrupted, "The server restarted" + std::move(why)));
  }
  prepare(live, past);
  live.restart();
}

// What the duty of its state needs.
void Recovery::prepare(LiveRun& live, const RunPast& past) const {
  if (past.run.state == RunState::parked) {
    const auto& approval = *past.approval;
    const auto lifetime = std::max<int64_t>(0, approval.expires_at.ms - approval.created_at.ms);
    const auto left = std::clamp<int64_t>(approval.expires_at.ms - needs_.clock.now().ms, 0, lifetime);
    live.gate().reopen(approval, {left});
  }
  if (past.run.state == RunState::held || past.run.state == RunState::streaming) {
    live.work().keep_launch(can_reattach(past) ? past.to_reattachment() : past.to_launch());
  }
}

void Recovery::queue_later(LiveRun& live) {
  SLUICE_CHECK(live.run().state == RunState::held && live.work().launch() != nullptr);
  held_.push_back({live.run().created_at, live.run().id, live.work().launch()->told_place});
}

std::string Recovery::obstacle(const RunPast& past) const {
  if (past.run.state == RunState::finishing) return "";  // nothing of it is to be continued
  if (past.damaged) return ", and what it had written of the run is damaged.";
  if (past.run.state == RunState::parked) return "";
  if (!past.agent) return ", and the run's agent no longer exists.";
  if (past.run.state == RunState::held) return "";
  if (!past.checkpoint.empty() && !past.checkpoint_used) return "";
  if (can_reattach(past)) return "";
  // Its box died with the server. What a command did before is not known, so it is not done again.
  if (past.steps.saw_any() || past.launched || !past.checkpoint.empty()) {
    return " while the agent was at work in its sandbox; what it did there is gone.";
  }
  if (!needs_.dispatcher.can_resume(*past.agent, past.told_text)) {
    return " after part of the answer had been told; the agent's program cannot go on from there.";
  }
  return "";
}

// The work goes on elsewhere, and may not have been disturbed at all.
bool Recovery::can_reattach(const RunPast& past) const {
  return past.run.state == RunState::streaming && !past.mark.empty() && needs_.dispatcher.can_reattach(past.mark);
}

void Recovery::hold_again() {
  std::ranges::sort(held_);
  const int64_t span = needs_.options.max_hold_seconds * 1'000;
  for (const auto& held : std::exchange(held_, {})) {
    if (needs_.live.find(held.run) == nullptr) continue;  // lost meanwhile
    // Another server's clock said when it came, which may be wrong: nobody waits longer than a fresh one.
    const auto left = std::clamp<int64_t>(held.created_at.ms + span - needs_.clock.now().ms, 0, span);
    needs_.admission.hold_again(held.run, held.told_place, {left});
  }
}

}  // namespace sluice::engine
