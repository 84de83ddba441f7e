#include "engine/recovery.h"

#include <algorithm>

#include "engine/problems.h"

namespace sluice::engine {
namespace {

constexpr int at_once = 32;
constexpr int64_t again_ms = 500;

}  // namespace

// ── what there is ───────────────────────────────────────────────────────────────────────────────

void Recovery::look(Whose whose, Callback<void(Result<Unit>)> done) {
  looks_.push_back({whose, std::move(done)});
  if (looks_.size() == 1) begin_look();
}

void Recovery::begin_look() {
  listing_ = true;
  engine_.needs_.store.unfinished_runs(while_alive([this](Result<store::UnfinishedRuns> found) {
    if (!found) return fail_look(found.error());
    // The only server's clock is the store's, also when it is put right.
    if (!engine_.peers_.alone()) engine_.store_clock_.hear(found.value().now);
    // Who lives is asked after that: a node that is not in the list then did not come meanwhile.
    engine_.peers_.ask(while_alive([this, runs = std::move(found.value().runs)](const Result<Unit>& heard) mutable {
      if (!heard) return fail_look(heard.error());
      on_unfinished(std::move(runs));
    }));
  }));
}

void Recovery::fail_look(const Error& why) {
  if (why.kind != ErrorKind::overloaded) return give_up(why);
  engine_.needs_.log.write(world::LogLevel::warn, "unfinished runs cannot be listed; trying again",
                           {{"why", why.what}});
  look_again_ = engine_.needs_.loop.after({again_ms}, [this] { begin_look(); });
}

void Recovery::on_unfinished(std::vector<model::Run> runs) {
  std::erase_if(runs, [this](const model::Run& run) { return !is_wanted(run); });
  if (!runs.empty()) {
    engine_.needs_.log.write(world::LogLevel::info, "taking up unfinished runs",
                             {{"count", static_cast<int64_t>(runs.size())}});
  }
  // Each of those who live begins elsewhere, so that they do not race for every one.
  const auto [rank, count] = engine_.peers_.rank();
  std::ranges::rotate(runs, runs.begin() + static_cast<std::ptrdiff_t>(runs.size() * rank / count));
  waiting_.insert(waiting_.end(), runs.begin(), runs.end());
  listing_ = false;
  take_next();
}

bool Recovery::is_wanted(const model::Run& run) const {
  // One that is just being accepted has its seat already, and will be entered by whoever accepts it.
  if (engine_.find(run.id) != nullptr || engine_.admission_.knows(run.id)) return false;
  if (engine_.peers_.alone()) return true;
  const auto fate = engine_.peers_.fate_of(run.node);
  if (fate == Fate::self) return looks_.front().whose == Whose::mine_too;
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
  read_up(taken, [this, run = taken.id] { engine_.admission_.forgo(run); });
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
  if (under_way_ > 0) return;
  hold_again();
  if (listing_ || looks_.empty()) return;
  auto done = std::move(looks_.front().done);
  looks_.pop_front();
  if (!looks_.empty()) begin_look();
  const auto self = self_;
  if (done) done(Unit{});
  if (*self != nullptr) engine_.postbox_.look();
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
  listing_ = false;
  const auto self = self_;
  for (auto& look : std::exchange(looks_, {})) {
    if (look.done && *self != nullptr) look.done(Error(why).in("recover"));
  }
  if (*self != nullptr && why.kind == ErrorKind::unavailable) engine_.store_fell_silent(why);
}

void Recovery::take_over(const model::Run& run) {
  if (engine_.find(run.id) != nullptr) return one_done();
  engine_.needs_.store.take_over(
      run.id, run.epoch, while_alive([this, run](Result<model::Run> taken) { on_taken(run, std::move(taken)); }));
}

void Recovery::on_taken(const model::Run& run, Result<model::Run> taken) {
  // Somebody else was quicker, or its end was.
  if (!taken && taken.error().kind == ErrorKind::conflict) return one_done();
  if (!taken) return stumble(run, taken.error());
  if (run.node != taken.value().node) {
    engine_.figures_.taken_over.add();
    engine_.needs_.log.write(world::LogLevel::info, "run taken over",
                             {{"run", run.id.text()}, {"from", run.node.text()}});
  }
  read_up(taken.value(), nullptr);
}

void Recovery::read_up(const model::Run& run, Callback<void()> then) {
  read_past(engine_.needs_.store, engine_.needs_.log, run,
            while_alive([this, run, then = std::move(then)](Result<std::shared_ptr<RunPast>> past) mutable {
              if (past) take_up(*past.value());
              if (then) then();
              past ? one_done() : stumble(run, past.error());
            }));
}

void Recovery::take_up(const RunPast& past) {
  const auto& run = past.run;
  if (auto* stale = engine_.find(run.id)) {
    if (stale->run().epoch >= run.epoch) return;
    // Another server had it for a moment, which has not been noticed here.
    engine_.lose_to_other(*stale, {ErrorKind::conflict, "another server carried the run"});
  }
  std::erase_if(held_, [&](const Held& held) { return held.run == run.id; });
  if (!step(run.state, Happening::server_restarted)) {
    return engine_.needs_.log.write(world::LogLevel::error, "run is damaged",
                                    {{"run", run.id.text()}, {"why", "no run is ever stored in its state"}});
  }
  auto& live = engine_.enter(run, past.assistant_message, past.request_id);
  engine_.admission_.enter({run.id, run.tenant_id, run.conversation_id, past.limits});
  engine_.figures_.recovered.add();
  live.remember_steps(past.steps, past.told_at);
  live.remember_resumed(past.resumed_count);
  if (!past.checkpoint.empty()) live.note_checkpoint();
  if (!past.mark.empty()) live.remember_mark();

  if (auto why = obstacle(past); !why.empty()) {
    return live.fail(problem_of(model::Slug::run_interrupted, "The server restarted" + std::move(why)));
  }
  if (run.state == RunState::parked) {
    const auto& approval = *past.approval;
    const auto lifetime = approval.expires_at.ms - approval.created_at.ms;
    live.reopen_gate(approval, {std::clamp<int64_t>(approval.expires_at.ms - engine_.store_clock_.now().ms, 0,
                                                    std::max<int64_t>(0, lifetime))});
  }
  if (run.state == RunState::held || run.state == RunState::streaming) {
    live.keep_launch(is_heard_on(past) ? past.to_hear_on() : past.to_launch());
  }
  live.restart();
}

void Recovery::queue_later(const LiveRun& live) {
  held_.push_back({live.run().created_at, live.run().id, live.launch()->told_place});
}

std::string Recovery::obstacle(const RunPast& past) const {
  if (past.run.state == RunState::finishing) return "";  // nothing of it is to be continued
  if (past.damaged) return ", and what it had written of the run is damaged.";
  if (past.run.state == RunState::parked) return "";
  if (!past.agent) return ", and the run's agent no longer exists.";
  if (past.run.state == RunState::held) return "";
  if (!past.checkpoint.empty() && !past.checkpoint_used) return "";
  if (is_heard_on(past)) return "";
  // Its box died with the server. What a command did before is not known, so it is not done again.
  if (past.steps.saw_any() || past.launched || !past.checkpoint.empty()) {
    return " while the agent was at work in its sandbox; what it did there is gone.";
  }
  if (!engine_.needs_.dispatcher.can_resume(*past.agent, past.told_text)) {
    return " after part of the answer had been told; the agent's program cannot go on from there.";
  }
  return "";
}

// Whoever works on it elsewhere may not even have noticed.
bool Recovery::is_heard_on(const RunPast& past) const {
  return past.run.state == RunState::streaming && !past.mark.empty() &&
         engine_.needs_.dispatcher.can_reattach(past.mark);
}

void Recovery::hold_again() {
  std::ranges::sort(held_);
  const int64_t span = engine_.options_.max_hold_seconds * 1'000;
  for (const auto& held : std::exchange(held_, {})) {
    if (engine_.find(held.run) == nullptr) continue;  // lost meanwhile
    // Another server's clock said when it came, which may be wrong: nobody waits longer than a fresh one.
    const auto left = std::clamp<int64_t>(held.created_at.ms + span - engine_.store_clock_.now().ms, 0, span);
    engine_.admission_.hold_again(held.run, held.told_place, {left});
  }
}

}  // namespace sluice::engine
