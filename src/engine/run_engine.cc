#include "engine/run_engine.h"

#include <algorithm>

#include "base/check.h"
#include "engine/problems.h"
#include "engine/recovery.h"

namespace sluice::engine {
namespace {

constexpr std::size_t looked_at_once = 64;
constexpr Millis look_again{500};
// For so long those who work are kept while the store says nothing: a database that fails over takes less.
constexpr Millis silence_max{60'000};

Error server_stops() { return {ErrorKind::unavailable, "the server stops; the next one goes on with the run"}; }

}  // namespace

RunEngine::Figures::Figures(world::Metrics& metrics)
    : live(metrics.gauge("sluice_runs_live", "Runs that are not over.")),
      accepted(metrics.counter("sluice_runs_accepted_total", "Messages accepted.")),
      completed(metrics.counter("sluice_runs_ended_total", "Runs that are over.", R"(state="completed")")),
      failed(metrics.counter("sluice_runs_ended_total", "Runs that are over.", R"(state="failed")")),
      cancelled(metrics.counter("sluice_runs_ended_total", "Runs that are over.", R"(state="cancelled")")),
      recovered(metrics.counter("sluice_runs_recovered_total", "Runs taken up again after a restart.")),
      taken_over(metrics.counter("sluice_runs_taken_over_total", "Runs taken over from other servers.")),
      duration(metrics.histogram("sluice_run_seconds", "From acceptance to the end.")),
      violations(metrics.counter("sluice_agui_violations_total",
                                 "Events that would have broken AG-UI's rules, by the streams that had them.")) {}

RunEngine::RunEngine(EngineNeeds needs, EngineOptions options)
    : needs_(needs),
      options_(std::move(options)),
      figures_(needs.metrics),
      run_figures_(needs.metrics),
      admission_({*this, needs.loop, needs.metrics, needs.dispatcher}, options_),
      claims_({*this, admission_, needs.store.nodes(), needs.loop, needs.log, needs.metrics}),
      store_clock_(needs.loop),
      peers_({*this, needs.store.nodes(), needs.loop, needs.log, needs.metrics}, options_),
      postbox_(*this, needs.store.nodes(), needs.loop, needs.ids),
      tails_(needs.loop),
      kept_workspaces_(needs.store, needs.dispatcher, needs.loop,
                       [this](model::TenantId tenant, model::ConversationId conversation,
                              Callback<void(Result<std::optional<model::RunId>>)> done) {
                         run_of(tenant, conversation, std::move(done));
                       }),
      store_watch_({*this, needs.store, needs.loop, needs.log}),
      suspension_({[this](model::RunId run) { return find(run); }, needs.loop, needs.log, needs.metrics}),
      unattended_({*this, needs.store, needs.loop, needs.log, needs.metrics}),
      self_(std::make_shared<RunEngine*>(this)) {}

RunEngine::~RunEngine() { *self_ = nullptr; }

std::unique_ptr<Engine> make_engine(EngineNeeds needs, EngineOptions options) {
  return std::make_unique<RunEngine>(needs, std::move(options));
}

LiveRun& RunEngine::enter(const model::Run& run, model::Message message, std::string request_id) {
  const LiveRun::Needs needs{*this, needs_.store, needs_.loop, store_clock_, needs_.ids, run_figures_, options_};
  auto live = std::make_unique<LiveRun>(needs, run, std::move(message), std::move(request_id));
  auto& entered = *live;
  const bool fresh = live_.emplace(run.id, std::move(live)).second;
  SLUICE_CHECK(fresh);
  figures_.live.set(static_cast<int64_t>(live_.size()));
  // Who read it from afar reads it here.
  if (!tails_.empty()) needs_.loop.defer(while_alive([this, id = run.id] { tails_.wake(id); }));
  return entered;
}

// ── runs tell the engine ────────────────────────────────────────────────────────────────────────

LiveRun* RunEngine::find(model::RunId run) {
  const auto found = live_.find(run);
  return found == live_.end() ? nullptr : found->second.get();
}

void RunEngine::on_step(const model::Run& run, const Row& row) {
  if (!needs_.log.wants(world::LogLevel::debug)) return;
  needs_.log.write(world::LogLevel::debug, "run stepped",
                   {{"run", run.id.text()},
                    {"from", model::name_of(row.from)},
                    {"when", name_of(row.when)},
                    {"to", model::name_of(row.to)}});
}

void RunEngine::on_dirty(model::RunId run) {
  dirty_.push_back(run);
  if (dirty_.size() == 1) needs_.loop.defer(while_alive([this] { flush_dirty(); }));
}

void RunEngine::flush_dirty() {
  for (const auto& run : std::exchange(dirty_, {})) {
    if (auto* live = find(run)) live->flush();
  }
}

void RunEngine::on_over(LiveRun& run) {
  const auto& record = run.run();
  auto& ended = record.state == RunState::completed ? figures_.completed
                : record.state == RunState::failed  ? figures_.failed
                                                    : figures_.cancelled;
  ended.add();
  figures_.duration.observe_us(needs_.loop.monotonic_us() - run.accepted_us());
  if (needs_.log.wants(world::LogLevel::info)) {
    needs_.log.write(world::LogLevel::info, "run ended",
                     {{"run", record.id.text()},
                      {"state", model::name_of(record.state)},
                      {"problem", run.problem_name().empty() ? "-" : run.problem_name()},
                      {"tenant", record.tenant_id.text()},
                      {"request_id", run.request_id()}});
  }
  const auto id = record.id;
  const auto conversation = record.conversation_id;
  const auto epoch = record.epoch;
  const bool at_gate = run.at_gate();
  const bool was_stopped = record.state == RunState::cancelled;
  live_.erase(id);
  suspension_.forget(id);
  // Somebody who had the run before, or was stopped, may have kept something for a gate that was never written.
  if (at_gate || was_stopped || epoch > model::Epoch{1}) needs_.dispatcher.forget_parked(id, conversation);
  admission_.leave(id, true);
  kept_workspaces_.on_run_over(conversation);
  note_left();
}

void RunEngine::note_left() {
  figures_.live.set(static_cast<int64_t>(live_.size()));
  if (draining_ && drained_ && !admission_.anyone_at_work()) return end_drain();
  if (peers_.held_elsewhere() && !admission_.lists_elsewhere()) claims_.look_if_free();
}

void RunEngine::on_unsure(LiveRun& run, const Error& why) {
  needs_.log.write(world::LogLevel::warn, "it is not known whether the run was written",
                   {{"run", run.run().id.text()}, {"why", why.what}});
  store_fell_silent(why);
}

void RunEngine::on_lost(LiveRun& run, const Error& why) {
  if (why.kind == ErrorKind::conflict && !peers_.alone()) return lose_to_other(run, why);
  needs_.log.write(world::LogLevel::error, "run cannot be written", {{"run", run.run().id.text()}, {"why", why.what}});
  // Fenced out: another server carries it on. Corrupt: a human must look. Either way not ours to tell.
  auto lost = std::move(live_.extract(run.run().id).mapped());
  suspension_.forget(lost->run().id);
  lost->abandon(why);
  admission_.forsake(lost->run().id);
  note_left();
}

// ── readers ─────────────────────────────────────────────────────────────────────────────────────

std::unique_ptr<Reading> RunEngine::read(const model::Run& run, const wire::View& view, Reader& reader) {
  return std::make_unique<JournalReading>(JournalReading::Needs{*this, needs_.store, needs_.loop, figures_.violations},
                                          run, view, reader);
}

namespace {

class EndWaiting final : public Waiting {
 public:
  explicit EndWaiting(std::shared_ptr<EndWaiter> waiter) : waiter_(std::move(waiter)) {}

 private:
  std::shared_ptr<EndWaiter> waiter_;
};

}  // namespace

std::unique_ptr<Waiting> RunEngine::wait_for_end(const model::Run& run, Callback<void(Result<wire::Ending>)> done) {
  auto waiter = std::make_shared<EndWaiter>(EndWaiter{run.tenant_id, run.id, std::move(done), nullptr});
  auto* live = find(run.id);
  live != nullptr ? join_waiters(*live, waiter) : look_for_end(waiter);
  return std::make_unique<EndWaiting>(std::move(waiter));
}

void RunEngine::look_for_end(const std::weak_ptr<EndWaiter>& waiter) {
  const auto asking = waiter.lock();
  if (!asking) return;
  needs_.store.run(
      asking->tenant, asking->run, while_alive([this, waiter](const Result<model::Run>& found) {
        const auto still = waiter.lock();
        if (!still) return;
        if (!found) return wait_on(still, found.error());
        if (auto* live = find(found.value().id)) return join_waiters(*live, still);
        if (!is_over(found.value().state)) {
          return wait_on(still, {ErrorKind::unavailable, "the run is not being carried on by this server"});
        }
        read_end(found.value(), still);
      }));
}

void RunEngine::read_end(const model::Run& run, std::weak_ptr<EndWaiter> waiter) {
  auto read = [this, waiter = std::move(waiter)](const Result<store::JournalPage>& page) {
    const auto still = waiter.lock();
    if (!still) return;
    if (!page) return wait_on(still, page.error());
    auto ending = page.value().events.empty() ? std::nullopt : wire::ending_of(page.value().events.back());
    if (!ending) return still->done(Error{ErrorKind::corrupt, "a finished run's journal has no end"});
    still->tail.reset();
    still->done(std::move(*ending));
  };
  needs_.store.journal(run.id, {run.head.value - 1}, 1, while_alive(std::move(read)));
}

void RunEngine::wait_on(const std::shared_ptr<EndWaiter>& waiter, Error why) {
  const bool may_pass = why.kind == ErrorKind::unavailable || why.kind == ErrorKind::overloaded;
  if (may_pass && !waiter->tail) {
    waiter->tail = follow(waiter->run, [this, weak = std::weak_ptr(waiter)] { look_for_end(weak); });
  }
  if (!may_pass || !waiter->tail) waiter->done(std::move(why));
}

void RunEngine::join_waiters(LiveRun& live, std::weak_ptr<EndWaiter> waiter) {
  if (const auto still = waiter.lock()) still->tail.reset();
  const auto id = live.run().id;
  live.wait_for_end(std::move(waiter));
  if (!is_left_to_next_server(id)) return;
  needs_.loop.defer(while_alive([this, id] {
    if (auto* left = find(id)) let_go(*left);
  }));
}

void RunEngine::cancel(model::TenantId tenant, model::RunId run, Cancelled done) {
  // One that is carried here is known without the store, which may be what does not answer.
  if (const auto* live = find(run); live != nullptr && live->run().tenant_id == tenant) {
    return cancel_found(live->run(), std::move(done), 1);
  }
  needs_.store.run(tenant, run, while_alive([this, done = std::move(done)](Result<model::Run> found) mutable {
                     if (!found) return done(problem_of_store(found.error()));
                     cancel_found(std::move(found).take(), std::move(done), 1);
                   }));
}

void RunEngine::cancel_found(model::Run run, Cancelled done, int looks_left) {
  const auto answer = [](Cancelled& tell, const model::Run& ended) {
    if (ended.state == RunState::cancelled) return tell(ended);
    tell(problem_of(model::Slug::run_finished, "The run ended as " + std::string(model::name_of(ended.state)) + "."));
  };
  if (auto* live = find(run.id)) {
    auto told = [this, answer, tenant = run.tenant_id, id = run.id,
                 done = std::move(done)](const Result<model::Run>& ended) mutable {
      if (ended) return answer(done, ended.value());
      if (ended.error().kind == ErrorKind::overloaded) return done(unavailable(ended.error().what));
      if (ended.error().kind == ErrorKind::conflict && !peers_.alone()) return cancel(tenant, id, std::move(done));
      done(problem_of_store(ended.error()));
    };
    return live->cancel(while_alive(std::move(told)));
  }
  if (is_over(run.state)) return answer(done, run);
  // It may have ended between the look at the disk and the look here.
  if (looks_left == 0 && !peers_.alone()) return cancel_elsewhere(run, std::move(done));
  if (looks_left == 0) return done(unavailable("The run is not being carried on by this server right now."));
  needs_.store.run(run.tenant_id, run.id,
                   while_alive([this, looks_left, done = std::move(done)](Result<model::Run> found) mutable {
                     if (!found) return done(problem_of_store(found.error()));
                     cancel_found(std::move(found).take(), std::move(done), looks_left - 1);
                   }));
}

// ── the store falls silent; the server stops ────────────────────────────────────────────────────

void RunEngine::store_fell_silent(const Error& why) {
  if (std::exchange(store_silent_, true)) return;
  needs_.log.write(world::LogLevel::error, "store fell silent", {{"why", why.what}});
  // Not from inside a callback of what is ended here. Runs are kept: each learns from its journal what became of it.
  needs_.loop.defer(while_alive([this, why] {
    end_recovery();
    if (!std::exchange(patient_, true)) {
      patience_timer_ = needs_.loop.after(silence_max, [this, why] { lose_patience(why); });
    }
    store_watch_.reopen();
  }));
}

void RunEngine::lose_patience(const Error& why) {
  patient_ = false;
  if (store_silent_) {
    drop_all(why);
    return note_left();
  }
  std::vector<LiveRun*> doubted;
  for (const auto& [id, live] : live_) {
    if (live->is_doubted()) doubted.push_back(live.get());
  }
  for (auto* live : doubted) on_lost(*live, why);
}

bool RunEngine::answers() const {
  return !store_silent_ && std::ranges::none_of(live_, [](const auto& live) { return live.second->is_doubted(); });
}

void RunEngine::on_sure() {
  if (!answers()) return;
  store_watch_.note_answers();
  patience_timer_.cancel();
  patient_ = false;
}

void RunEngine::end_recovery() {
  ++life_;
  claims_.drop();
  // Those that are live already, and were to queue when all are known, queue now.
  if (recovery_ != nullptr) recovery_->hold_again();
  recovery_.reset();
}

// Nothing is written: whoever reads the store next takes them up. Where that may be another node, who reads along or
// waits need not notice.
void RunEngine::drop_all(const Error& why) {
  ++life_;
  recovery_.reset();
  begin_retries_.clear();
  suspension_.forget_all();
  const bool others_go_on = !peers_.alone() && !draining_;
  for (auto& [id, run] : std::exchange(live_, {})) {
    watch_leftover({id, run->run().conversation_id});
    std::vector<std::weak_ptr<EndWaiter>> waiters;
    others_go_on ? waiters = run->hand_on(why) : (run->abandon(why), waiters);
    run.reset();
    admission_.forsake(id);
    for (const auto& waiter : waiters) look_for_end(waiter);
  }
  claims_.drop();
}

// A record, or the store itself, was written with an unknown outcome: no run is in doubt for that.
void RunEngine::on_store_broken() { store_fell_silent({ErrorKind::unavailable, "the outcome of a write is unknown"}); }

// Writes of runs whose outcome was not known are looked for in the journal.
void RunEngine::on_store_reopened() {
  store_silent_ = false;
  for (auto& [id, live] : live_) live->settle();
  run_recovery();
}

void RunEngine::recover(Callback<void(Result<Unit>)> done) {
  recovered_ = std::move(done);
  peers_.start();
  store_watch_.start();
  find_leftovers();
  kept_workspaces_.look_at_all();
  run_recovery();
}

void RunEngine::run_recovery() {
  if (closed_) return;
  if (recovery_ == nullptr) recovery_ = std::make_unique<Recovery>(*this);
  recovery_->look(Recovery::Whose::mine_too, [this](Result<Unit> recovered) {
    if (!recovered && recovered.error().kind == ErrorKind::unavailable) return store_fell_silent(recovered.error());
    if (recovered) on_sure();
    if (recovered) unattended_.start();
    if (recovered_) std::exchange(recovered_, nullptr)(std::move(recovered));
  });
}

bool RunEngine::may_look() const {
  return recovery_ != nullptr && recovery_->is_idle() && !store_silent_ && !draining_ && peers_.takes_part();
}

void RunEngine::take_up_unattended() { run_recovery(); }

// ── what was kept for runs that went on elsewhere ───────────────────────────────────────────────

// Runs that a server before this one had, or that were let go of here, be it for a gate that was never written: nobody
// else knows what is kept here for their going on. Only the store says that one is over, whoever carried it to its end.
void RunEngine::find_leftovers() {
  needs_.dispatcher.list_parked(while_alive([this](const std::vector<harness::ParkedRun>& kept) {
    for (const auto& run : kept) watch_leftover(run);
    forget_ended();
  }));
}

void RunEngine::watch_leftover(harness::ParkedRun kept) {
  leftovers_.push_back(kept);
  look_later();
}

void RunEngine::look_later() {
  if (std::exchange(looks_later_, true)) return;
  look_timer_ = needs_.loop.after(look_again, [this] {
    looks_later_ = false;
    forget_ended();
  });
}

void RunEngine::forget_ended() {
  for (auto count = std::min(leftovers_.size(), looked_at_once); count > 0; --count) {
    const auto kept = leftovers_.front();
    leftovers_.pop_front();
    if (find(kept.run) != nullptr) continue;  // its end sees to it
    // Its first event is not wanted, but what the page says of the run, whosever it is.
    needs_.store.journal(kept.run, {}, 1, while_alive([this, kept](const Result<store::JournalPage>& page) {
                           judge_leftover(kept, page);
                         }));
  }
  if (!leftovers_.empty()) look_later();
}

void RunEngine::judge_leftover(const harness::ParkedRun& kept, const Result<store::JournalPage>& page) {
  if (page && is_over(page.value().run.state)) {
    return needs_.dispatcher.forget_parked(kept.run, kept.conversation);
  }
  // Damaged, or not known: that may be a server on another's database. A human must look, and may want it.
  const bool is_unclear =
      !page && (page.error().kind == ErrorKind::corrupt || page.error().kind == ErrorKind::not_found);
  if (is_unclear) return;
  // Nobody but this server ends it, so it is taken up here, or cannot be.
  if (page && peers_.alone()) return;
  watch_leftover(kept);
}

void RunEngine::drain(Millis deadline, Callback<void()> done) {
  draining_ = true;
  admission_.stop();
  drained_ = std::move(done);
  // Whoever waits, for a slot or a human, is on disk as such: the next server goes on with it.
  std::vector<model::RunId> left;
  for (const auto& [id, run] : live_) {
    if (is_left_to_next_server(id)) left.push_back(id);
  }
  for (const auto& id : left) {
    if (auto* run = find(id)) let_go(*run);
  }
  drain_timer_ = needs_.loop.after(deadline, [this] {
    // Whoever still works must not see the boxes go: it would take that for an answer.
    drop_all(server_stops());
    end_drain();
  });
  peers_.ask([](const Result<Unit>&) {});
  note_left();
}

void RunEngine::end_drain() {
  closed_ = true;
  drain_timer_.cancel();
  peers_.leave(std::exchange(drained_, nullptr));
}

bool RunEngine::is_left_to_next_server(model::RunId run) const {
  return draining_ && (closed_ || !admission_.is_at_work(run));
}

void RunEngine::let_go(LiveRun& run) {
  // A box that was kept for its going on goes as well; its checkpoint does not.
  if (run.run().state == RunState::parked) admission_.park(run.run().id, false);
  run.let_go(server_stops());
}

}  // namespace sluice::engine
