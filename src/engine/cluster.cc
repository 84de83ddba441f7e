#include "engine/cluster.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr int64_t check_every_us = 1'000'000;
constexpr std::size_t checked_at_once = 64;
constexpr int64_t cut_off_patience_ms = 60'000;
constexpr Millis patience{10'000};

}  // namespace

Cluster::Cluster(Needs needs, const EngineOptions& options)
    : needs_(needs),
      options_(options),
      started_at_(needs.loop.now()),
      peers_({*this, needs.store.nodes(), needs.loop, needs.log, needs.metrics}, options),
      claims_({*this, needs.admission, needs.store.nodes(), needs.loop, needs.log, needs.metrics}),
      tails_(needs.loop) {}

// ── this node and the others ────────────────────────────────────────────────────────────────────

journal::NodeFigures Cluster::own_figures() const {
  const auto now = needs_.admission.capacity();
  return {.name = options_.node_name,
          .version = options_.node_version,
          .draining = needs_.draining.has_begun(),
          .slots = now.pool_size,
          .free_slots = needs_.admission.free_slots(),
          .warm = now.warm_available,
          .sticky = now.sticky_active,
          .running = now.running,
          .held = now.held,
          .parked = now.parked};
}

std::vector<journal::SeenNode> Cluster::nodes() const {
  std::vector<journal::SeenNode> all = {{needs_.store.nodes().self(), started_at_, 0, own_figures()}};
  auto others = peers_.others();
  std::ranges::move(others, std::back_inserter(all));
  return all;
}

Capacity Cluster::capacity() const {
  auto all = needs_.admission.capacity();
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

// Where there are no heartbeats, a change of nothing: it waits for its turn to be written, and writes nothing. One at a
// time, however often this is asked.
bool Cluster::reaches_store() {
  if (needs_.outage.is_on()) return false;
  if (!peers_.alone()) return peers_.takes_part();
  const int64_t since_us = needs_.loop.monotonic_us() - probed_us_;
  if (probing_) return since_us < options_.dead_ms * 1'000;
  if (probed_us_ != 0 && since_us < options_.beat_ms * 1'000) return true;
  probing_ = true;
  probed_us_ = needs_.loop.monotonic_us();
  store::revoke_service_key(needs_.store.database(), {}, {}, needs_.loop.now(),
                            lifetime_.guard([this](const Result<model::ServiceKey>&) { probing_ = false; }));
  return true;
}

void Cluster::tell_others(std::string_view kind, const std::string& body) {
  for (const auto& other : peers_.others()) {
    needs_.postbox.ask({.to = other.id, .kind = std::string(kind), .body = body}, patience, nullptr);
  }
}

// ── heartbeats ──────────────────────────────────────────────────────────────────────────────────

void Cluster::on_beat() {
  if (!tails_.empty()) needs_.store.nodes().follow(tails_.runs());
  needs_.postbox.look();
  check_held();
  claims_.on_beat(peers_.held_elsewhere());
}

void Cluster::on_beat_failed(const Error& why) {
  if (why.kind == ErrorKind::unavailable) needs_.outage.begin(why);
}

// Other nodes may take the runs from now on, so what works on them here must not act. It is not ended either: during an
// outage of the whole store no node can take anything. Where there are no other nodes the work continues. In both cases
// the epochs say, when the store answers, whether a run was taken meanwhile; and after a while the runs are dropped.
void Cluster::on_cut_off() {
  if (peers_.knows_others()) needs_.suspension.begin();
  cut_off_timer_ = needs_.loop.after({cut_off_patience_ms - options_.dead_ms}, [this] {
    needs_.host.drop_all({ErrorKind::unavailable, "this server cannot reach the store"});
  });
}

void Cluster::on_back() {
  needs_.log.write(world::LogLevel::info, "reaches the store", {{"node", needs_.store.nodes().self().text()}});
  cut_off_timer_.cancel();
  needs_.suspension.begin_end();
  for (const auto& [id, live] : needs_.live.all()) {
    if (!needs_.suspension.holds(id)) suspect(id);
  }
  if (!needs_.outage.is_on()) return needs_.recoveries.run();
  // The store answers the heartbeats again: no need to wait any longer before it is asked for more.
  needs_.outage.hurry();
}

void Cluster::on_unsure_of_runs() {
  tails_.wake_all();
  needs_.postbox.look();
  checked_us_ = 0;
  check_held();
  claims_.look_if_free();
}

// ── runs that other nodes carry ─────────────────────────────────────────────────────────────────

std::unique_ptr<Tail> Cluster::follow(model::RunId run, Callback<void()> look) {
  if (peers_.alone()) return nullptr;
  if (!tails_.follows(run)) needs_.store.nodes().follow({run});
  return tails_.follow(run, std::move(look));
}

void Cluster::wake_followers(model::RunId run) {
  if (!tails_.empty()) needs_.loop.defer(lifetime_.guard([this, run] { tails_.wake(run); }));
}

void Cluster::on_run_moved(model::RunId run) {
  if (needs_.live.find(run) != nullptr) return suspect(run);
  tails_.wake(run);
}

void Cluster::suspect(model::RunId run) {
  auto* live = needs_.live.find(run);
  if (peers_.alone() || live == nullptr) return;
  auto found = [this](LiveRun& still, const Result<model::Run>& stored) {
    // A renewal raises the epoch itself, and notices if another node was quicker.
    if (!stored || stored.value().epoch <= still.run().epoch || still.writer().is_renewing()) return;
    needs_.host.lose_to_other(still, taken_by_other());
  };
  store::run(needs_.store.database(), live->run().tenant_id, run, live->ref().guard(std::move(found)));
}

void Cluster::check_held() {
  const auto now_us = needs_.loop.monotonic_us();
  if (now_us - checked_us_ < check_every_us || peers_.others().empty()) return;
  checked_us_ = now_us;
  std::vector<const model::Run*> held;
  for (const auto& [id, live] : needs_.live.all()) {
    if (live->run().state == RunState::held) held.push_back(&live->run());
  }
  // Others claim those first that wait longest.
  const auto count = std::min(held.size(), checked_at_once);
  const auto older = [](const auto* a, const auto* b) { return a->created_at < b->created_at; };
  std::ranges::partial_sort(held, held.begin() + static_cast<std::ptrdiff_t>(count), older);
  held.resize(count);
  SLUICE_CHECK(held.size() <= checked_at_once);
  for (const auto* run : held) suspect(run->id);
}

void Cluster::run_of(model::TenantId tenant, model::ConversationId conversation,
                     Callback<void(Result<std::optional<model::RunId>>)> done) {
  const auto here = needs_.admission.run_of(conversation);
  if (here || peers_.alone()) return needs_.loop.defer([here, done = std::move(done)]() mutable { done(here); });
  store::RunFilter filter{.conversation = conversation};
  for (int state = 0; state < run_state_count; ++state) {
    if (!is_over(static_cast<RunState>(state))) filter.states.push_back(static_cast<RunState>(state));
  }
  store::runs(needs_.store.database(), tenant, std::move(filter), {.limit = 1},
              [done = std::move(done)](const Result<store::Page<model::Run>>& page) mutable {
                if (!page) return done(page.error());
                const auto& rows = page.value().rows;
                SLUICE_CHECK(rows.size() <= 1);
                done(rows.empty() ? std::nullopt : std::optional(rows.front().id));
              });
}

bool Cluster::may_claim() const {
  const bool may_carry_more = !needs_.draining.has_begun() && !needs_.outage.is_on();
  return peers_.takes_part() && !peers_.alone() && may_carry_more && needs_.recoveries.may_claim();
}

}  // namespace sluice::engine
