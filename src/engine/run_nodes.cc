// What an engine has to do with others on the same store: runs that come from them, and runs that go to them.
#include <algorithm>
#include <iterator>

#include "engine/mail_words.h"
#include "engine/problems.h"
#include "engine/recovery.h"
#include "engine/run_engine.h"

namespace sluice::engine {
namespace {

constexpr int64_t check_every_us = 1'000'000;
constexpr std::size_t checked_at_once = 64;
constexpr Millis home_patience{3'000};
constexpr Millis renew_again{50};
constexpr int64_t cut_off_patience_ms = 60'000;

Error taken_by_other() { return {ErrorKind::conflict, "another server carries the run"}; }

}  // namespace

// ── this node and the others ────────────────────────────────────────────────────────────────────

store::NodeFigures RunEngine::own_figures() const {
  const auto now = admission_.capacity();
  return {.name = options_.node_name,
          .version = options_.node_version,
          .draining = draining_,
          .slots = now.pool_size,
          .free_slots = admission_.free_slots(),
          .warm = now.warm_available,
          .sticky = now.sticky_active,
          .running = now.running,
          .held = now.held,
          .parked = now.parked};
}

std::vector<store::SeenNode> RunEngine::nodes() const {
  std::vector<store::SeenNode> all = {{needs_.store.nodes().self(), started_at_, 0, own_figures()}};
  auto others = peers_.others();
  std::ranges::move(others, std::back_inserter(all));
  return all;
}

// Where there are no beats, a change that is none: it waits for its turn to be written, and writes nothing. One at a
// time, however often somebody asks.
bool RunEngine::reaches_store() {
  if (store_silent_) return false;
  if (!peers_.alone()) return peers_.takes_part();
  const int64_t since_us = needs_.loop.monotonic_us() - probed_us_;
  if (probing_) return since_us < options_.dead_ms * 1'000;
  if (probed_us_ != 0 && since_us < options_.beat_ms * 1'000) return true;
  probing_ = true;
  probed_us_ = needs_.loop.monotonic_us();
  needs_.store.revoke_service_key({}, {}, needs_.loop.now(),
                                  while_alive([this](const Result<model::ServiceKey>&) { probing_ = false; }));
  return true;
}

bool RunEngine::is_gone(model::NodeId node) const { return may_be_taken(peers_.fate_of(node), false); }

Capacity RunEngine::capacity() const {
  auto all = admission_.capacity();
  for (const auto& other : peers_.others()) {
    const auto& figures = other.figures;
    all.pool_size += figures.slots;
    all.warm_available += figures.warm;
    all.sticky_active += figures.sticky;
    all.max_sticky += options_.max_sticky;
    all.running += figures.running;
    all.held += figures.held;
    all.parked += figures.parked;
    all.at_capacity = all.at_capacity && figures.free_slots <= 0;
  }
  return all;
}

void RunEngine::on_beat() {
  if (!tails_.empty()) needs_.store.nodes().follow(tails_.runs());
  postbox_.look();
  check_held();
  claims_.on_beat(peers_.held_elsewhere());
}

void RunEngine::on_beat_failed(const Error& why) {
  if (why.kind == ErrorKind::unavailable) store_fell_silent(why);
}

// Other nodes may take the runs from now on, so what works on them here must not act. It is not ended either: during an
// outage of the whole store no node can take anything. Where there are no other nodes the work goes on. In both cases
// the epochs say, when the store answers, whether a run was taken meanwhile; and after a while the runs are dropped.
void RunEngine::on_cut_off() {
  if (peers_.knows_others()) suspension_.begin(live_);
  cut_off_timer_ = needs_.loop.after({cut_off_patience_ms - options_.dead_ms}, [this] {
    drop_all({ErrorKind::unavailable, "this server cannot reach the store"});
    note_left();
  });
}

void RunEngine::on_back() {
  needs_.log.write(world::LogLevel::info, "reaches the store", {{"node", needs_.store.nodes().self().text()}});
  cut_off_timer_.cancel();
  suspension_.begin_end();
  for (const auto& [id, live] : live_) {
    if (!suspension_.holds(id)) suspect(id);
  }
  if (!store_silent_) return run_recovery();
  // The store answers the beats again: no need to wait any longer before it is asked for more.
  store_watch_.hurry();
}

void RunEngine::on_orphans() {
  if (draining_ || store_silent_ || recovery_ == nullptr) return;
  recovery_->look(Recovery::Whose::nobodys, [this](const Result<Unit>& taken) {
    if (!taken && taken.error().kind == ErrorKind::unavailable) store_fell_silent(taken.error());
  });
}

void RunEngine::on_unsure_of_runs() {
  tails_.wake_all();
  postbox_.look();
  checked_us_ = 0;
  check_held();
  claims_.look_if_free();
}

// ── runs that another node carries ──────────────────────────────────────────────────────────────

std::unique_ptr<Tail> RunEngine::follow(model::RunId run, Callback<void()> look) {
  if (peers_.alone()) return nullptr;
  if (!tails_.follows(run)) needs_.store.nodes().follow({run});
  return tails_.follow(run, std::move(look));
}

void RunEngine::on_run_moved(model::RunId run) {
  if (find(run) != nullptr) return suspect(run);
  tails_.wake(run);
}

void RunEngine::suspect(model::RunId run) {
  auto* live = find(run);
  if (peers_.alone() || live == nullptr) return;
  needs_.store.run(live->run().tenant_id, run,
                   while_carried(*live, [this](LiveRun& still, const Result<model::Run>& found) {
                     // A renewal raises the epoch itself, and hears of it if another node was quicker.
                     if (!found || found.value().epoch <= still.run().epoch || still.is_renewing()) return;
                     lose_to_other(still, taken_by_other());
                   }));
}

void RunEngine::check_held() {
  const auto now_us = needs_.loop.monotonic_us();
  if (now_us - checked_us_ < check_every_us || peers_.others().empty()) return;
  checked_us_ = now_us;
  std::vector<const model::Run*> held;
  for (const auto& [id, live] : live_) {
    if (live->run().state == RunState::held) held.push_back(&live->run());
  }
  // Others claim those first that wait longest.
  const auto count = std::min(held.size(), checked_at_once);
  const auto older = [](const auto* a, const auto* b) { return a->created_at < b->created_at; };
  std::ranges::partial_sort(held, held.begin() + static_cast<std::ptrdiff_t>(count), older);
  held.resize(count);
  for (const auto* run : held) suspect(run->id);
}

void RunEngine::lose_to_other(LiveRun& run, const Error& why) {
  needs_.log.write(world::LogLevel::info, "run is carried on by another server", {{"run", run.run().id.text()}});
  const auto lost = std::move(live_.extract(run.run().id).mapped());
  suspension_.forget(lost->run().id);
  // Told before its slot is given away, so that nothing of it acts beside whoever comes next.
  const auto waiters = lost->hand_on(why);
  for (const auto& waiter : waiters) look_for_end(waiter);
  admission_.forsake(lost->run().id);
  watch_leftover({lost->run().id, lost->run().conversation_id});
  note_left();
}

void RunEngine::run_of(model::TenantId tenant, model::ConversationId conversation,
                       Callback<void(Result<std::optional<model::RunId>>)> done) {
  const auto here = admission_.run_of(conversation);
  if (here || peers_.alone()) return needs_.loop.defer([here, done = std::move(done)]() mutable { done(here); });
  store::RunFilter filter{.conversation = conversation};
  for (int state = 0; state < run_state_count; ++state) {
    if (!is_over(static_cast<RunState>(state))) filter.states.push_back(static_cast<RunState>(state));
  }
  needs_.store.runs(tenant, std::move(filter), {.limit = 1},
                    [done = std::move(done)](const Result<store::Page<model::Run>>& page) mutable {
                      if (!page) return done(page.error());
                      const auto& rows = page.value().rows;
                      done(rows.empty() ? std::nullopt : std::optional(rows.front().id));
                    });
}

// ── runs that come here ─────────────────────────────────────────────────────────────────────────

bool RunEngine::may_claim() const {
  return peers_.takes_part() && !peers_.alone() && !draining_ && !store_silent_ && recovery_ != nullptr &&
         !recovery_->is_looking();
}

void RunEngine::on_claimed(const model::Run& run, bool is_late) {
  if (recovery_ == nullptr) return;  // it is taken up with all else of this node
  // Whoever looked for all else may have looked too early.
  is_late ? recovery_->take(run) : recovery_->adopt(run);
}

void RunEngine::on_claim_failed(const Error& why) {
  if (why.kind == ErrorKind::unavailable) store_fell_silent(why);
}

// ── a sticky conversation's home ────────────────────────────────────────────────────────────────

void RunEngine::find_home(LiveRun& live, Launch launch) {
  const auto& record = live.run();
  auto found = [this, launch = std::move(launch)](LiveRun& still, const Result<store::Page<model::Run>>& page) mutable {
    if (still.run().state != RunState::streaming) return;
    if (!page && may_pass(page.error())) {
      return try_again(
          still, [this, launch = std::move(launch)](LiveRun& later) mutable { find_home(later, std::move(launch)); });
    }
    const auto rows = page ? page.value().rows : std::vector<model::Run>();
    const auto before = std::ranges::find_if(rows, [&](const auto& run) { return run.id != still.run().id; });
    const auto fate = before == rows.end() ? Fate::self : peers_.fate_of(before->node);
    // The conversation went on there: a box that is still here knows nothing of it.
    if (fate != Fate::self) needs_.dispatcher.release(still.run().conversation_id);
    if (fate == Fate::living) return ask_home(still, before->node, std::move(launch));
    launch_here(still, std::move(launch));
  };
  needs_.store.runs(record.tenant_id, {.conversation = record.conversation_id}, {.limit = 2},
                    while_carried(live, std::move(found)));
}

void RunEngine::ask_home(LiveRun& live, model::NodeId home, Launch launch) {
  const mail::TakeRequest request{live.run().tenant_id, live.run().id, live.run().epoch};
  auto answered = [this, launch = std::move(launch)](LiveRun& still, const Result<std::string>& answer) mutable {
    if (still.run().state != RunState::streaming) return;
    if (answer && mail::text_in(answer.value(), "taken") == "yes") return lose_to_other(still, taken_by_other());
    stay_here(still, std::move(launch));
  };
  postbox_.ask({.to = home, .kind = std::string(mail::to_take), .body = mail::to_json(request)}, home_patience,
               while_carried(live, std::move(answered)));
}

void RunEngine::stay_here(LiveRun& live, Launch launch) {
  if (live.run().state != RunState::streaming) return;
  auto kept = std::make_shared<Launch>(std::move(launch));
  if (live.renew([this, &live, kept] { launch_here(live, std::move(*kept)); })) return;
  auto again = [this, kept](LiveRun& still) {
    const auto timer = std::move(begin_retries_.extract(still.run().id).mapped());
    stay_here(still, std::move(*kept));
  };
  begin_retries_[live.run().id] = needs_.loop.after(renew_again, while_carried(live, std::move(again)));
}

}  // namespace sluice::engine
