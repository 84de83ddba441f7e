#include "engine/recovery.h"

#include <algorithm>

#include "base/check.h"
#include "engine/patience.h"

namespace sluice::engine {
namespace {

constexpr std::size_t at_once = 32;

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
  is_listing_ = true;
  listing_.start(list(), [this](Result<std::vector<model::Run>> runs) { on_listed(std::move(runs)); });
}

Task<Result<std::vector<model::Run>>> Recovery::list() {
  while (true) {
    auto found = co_await answer<Result<journal::UnfinishedRuns>>(
        [&](auto done) { needs_.store.unfinished_runs(std::move(done)); });
    // The only server's clock is the store's, also when it is put right.
    if (found && !needs_.peers.alone()) needs_.clock.hear(found.value().now);
    // Who lives is asked after that: a node that is not in the list then did not come meanwhile.
    const auto heard = found ? co_await answer<Result<Unit>>([&](auto done) { needs_.peers.ask(std::move(done)); })
                             : Result<Unit>(found.error());
    if (heard) co_return std::move(found.value().runs);
    if (heard.error().kind != ErrorKind::overloaded) co_return heard.error();
    needs_.log.write(world::LogLevel::warn, "unfinished runs cannot be listed; trying again",
                     {{"why", heard.error().what}});
    co_await pause(needs_.loop, read_again);
  }
}

void Recovery::on_listed(Result<std::vector<model::Run>> listed) {
  SLUICE_CHECK(is_listing_ && !looks_.empty());
  if (!listed) return give_up(listed.error());
  auto runs = std::move(listed).take();
  std::erase_if(runs, [this](const model::Run& run) { return !is_wanted(run); });
  if (!runs.empty()) {
    needs_.log.write(world::LogLevel::info, "taking up unfinished runs",
                     {{"count", static_cast<int64_t>(runs.size())}});
  }
  // Each living node begins at another run, so that they do not race for every one.
  const auto [rank, count] = needs_.peers.rank();
  std::ranges::rotate(runs, runs.begin() + static_cast<std::ptrdiff_t>(runs.size() * rank / count));
  waiting_.insert(waiting_.end(), runs.begin(), runs.end());
  is_listing_ = false;
  take_next();
}

bool Recovery::is_wanted(const model::Run& run) const {
  // One that is just being accepted has its seat already, and will be entered by its acceptance.
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
  // A slot that was kept for it and that it does not need, because it ended or could not be read, is free.
  begin(read(taken), taken.id, [this, run = taken.id] { needs_.admission.forgo(run); });
}

void Recovery::take_next() {
  while (under_way_.size() < at_once && !waiting_.empty()) {
    const auto run = waiting_.front();
    waiting_.pop_front();
    if (needs_.live.find(run.id) == nullptr) begin(take_over(run), run.id, nullptr);
  }
  if (!under_way_.empty()) return;
  hold_again();
  if (!is_listing_ && !looks_.empty()) end_look();
}

void Recovery::begin(Task<Result<RunPast>> reading, model::RunId run, Callback<void()> then) {
  const auto at = under_way_.emplace(under_way_.end());
  at->start(std::move(reading), [this, at, run, then = std::move(then)](const Result<RunPast>& past) mutable {
    const auto watch = lifetime_.watch();
    if (past) recover(past.value());
    if (watch.is_over()) return;
    if (then) then();
    if (!past && !on_failed(run, past.error())) return;
    if (watch.is_over()) return;
    under_way_.erase(at);
    take_next();
  });
}

void Recovery::end_look() {
  SLUICE_CHECK(under_way_.empty() && waiting_.empty());
  auto done = std::move(looks_.front().done);
  looks_.pop_front();
  if (!looks_.empty()) begin_look();
  const auto watch = lifetime_.watch();
  if (done) done(Unit{});
  if (!watch.is_over()) needs_.postbox.look();
}

bool Recovery::on_failed(model::RunId run, const Error& why) {
  if (why.kind == ErrorKind::unavailable) return give_up(why), false;
  // Another server was quicker, or the run's end was.
  if (why.kind == ErrorKind::conflict) return true;
  // One run's damage is no reason to leave the others lying.
  needs_.log.write(world::LogLevel::error, "run cannot be taken up", {{"run", run.text()}, {"why", why.what}});
  return true;
}

void Recovery::give_up(const Error& why) {
  waiting_.clear();
  listing_.drop();
  is_listing_ = false;
  const auto watch = lifetime_.watch();
  for (auto& look : std::exchange(looks_, {})) {
    if (look.done && !watch.is_over()) look.done(Error(why).in("recover"));
  }
  if (!watch.is_over() && why.kind == ErrorKind::unavailable) needs_.host.store_fell_silent(why);
}

// Nothing is done while the store is busy, so the turn of this run lasts until it is not.
Task<Result<RunPast>> Recovery::take_over(model::Run run) {
  const auto ask = [&](auto done) { needs_.store.take_over(run.id, run.epoch, std::move(done)); };
  auto taken = co_await answer<Result<model::Run>>(ask);
  while (!taken && taken.error().kind == ErrorKind::overloaded) {
    co_await pause(needs_.loop, read_again);
    taken = co_await answer<Result<model::Run>>(ask);
  }
  if (!taken) co_return taken.error();
  SLUICE_CHECK(taken.value().id == run.id && taken.value().epoch > run.epoch);
  if (run.node != taken.value().node) {
    needs_.figures.taken_over.add();
    needs_.log.write(world::LogLevel::info, "run taken over", {{"run", run.id.text()}, {"from", run.node.text()}});
  }
  co_return co_await read(std::move(taken).take());
}

Task<Result<RunPast>> Recovery::read(model::Run run) {
  auto past = co_await read_past(needs_.store, needs_.log, run);
  while (!past && past.error().kind == ErrorKind::overloaded) {
    co_await pause(needs_.loop, read_again);
    past = co_await read_past(needs_.store, needs_.log, run);
  }
  co_return std::move(past);
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
    return " after part of the answer had been sent; the agent's program cannot go on from there.";
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
    // Another server's clock said when it came, which may be wrong: no run waits longer than a fresh one.
    const auto left = std::clamp<int64_t>(held.created_at.ms + span - needs_.clock.now().ms, 0, span);
    needs_.admission.hold_again(held.run, held.told_place, {left});
  }
}

}  // namespace sluice::engine
