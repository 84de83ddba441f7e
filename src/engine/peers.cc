#include "engine/peers.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr int64_t forget_ms = 30'000;
// A dead node that still is in the list after that carries something: its runs are looked for again.
constexpr int64_t look_again_ms = 5'000;
constexpr Millis leave_at_most{1'000};

bool is_alive(Fate fate) { return fate == Fate::self || fate == Fate::living || fate == Fate::leaving; }

std::string_view told_of(Fate fate) {
  if (fate == Fate::dead) return "node is dead";
  return fate == Fate::leaving ? "node is leaving" : "node left";
}

}  // namespace

Peers::Figures::Figures(world::Metrics& metrics)
    : alive(metrics.gauge("sluice_nodes_alive", "Servers that share the store and live, this one included.")),
      missed(metrics.counter("sluice_node_beats_missed_total", "Beats of this server that did not get through.")) {}

Peers::Peers(Needs needs, const EngineOptions& options)
    : needs_(needs),
      options_(options),
      figures_(needs.metrics),
      alone_(needs.nodes.self() == model::NodeId{}),
      liveness_({needs.nodes.self(), options.beat_ms, options.dead_ms}) {
  figures_.alive.set(1);
  if (!alone_) needs_.nodes.tell(this);
}

Peers::~Peers() {
  if (!alone_) needs_.nodes.tell(nullptr);
}

// ── beats ───────────────────────────────────────────────────────────────────────────────────────

void Peers::start() {
  if (alone_ || std::exchange(started_, true)) return;
  beat();
}

void Peers::ask(Callback<void(Result<Unit>)> done) {
  if (alone_) return done(Unit{});
  waiting_.push_back(std::move(done));
  started_ = true;
  beat();
}

void Peers::beat() {
  if (under_way_ || left_) return;
  const auto life = lifetime_.watch();
  check_cut_off();
  if (life.is_over() || under_way_ || left_) return;
  SLUICE_CHECK(asked_.empty());
  under_way_ = true;
  asked_ = std::exchange(waiting_, {});
  needs_.nodes.beat(needs_.host.own_figures(), forget_ms,
                    lifetime_.guard([this, sent_ms = now_ms()](Result<std::vector<journal::SeenNode>> seen) {
                      on_answer(sent_ms, std::move(seen));
                    }));
}

void Peers::on_answer(int64_t sent_ms, Result<std::vector<journal::SeenNode>> seen) {
  SLUICE_CHECK(under_way_);
  under_way_ = false;
  if (left_) return;
  const auto life = lifetime_.watch();
  auto asked = std::exchange(asked_, {});
  if (!seen) {
    figures_.missed.add();
    liveness_.on_failure();
    beat_in(options_.beat_ms / 4);
    check_cut_off();
    for (auto& done : asked) {
      if (!life.is_over()) done(seen.error());
    }
    if (!life.is_over()) needs_.host.on_beat_failed(seen.error());
    return;
  }
  liveness_.on_answer(sent_ms, now_ms(), std::move(seen).take());
  beat_in(waiting_.empty() ? liveness_.next_beat_in_ms() : 0);
  watch();
  const bool orphans = note_changes();
  // An answer that comes too late is none.
  if (!liveness_.is_cut_off(now_ms())) takes_part_ = true;
  if (check_cut_off()) {
    // Those who asked hear so, or they would wait for ever: recovery takes up no run while it waits.
    const Error late{ErrorKind::overloaded, "the store said too late which nodes live"};
    for (auto& done : asked) {
      if (!life.is_over()) done(late);
    }
    return;
  }
  const bool back = std::exchange(was_cut_off_, false);
  for (auto& done : asked) {
    if (!life.is_over()) done(Unit{});
  }
  if (!life.is_over() && back) needs_.host.on_back();
  if (!life.is_over() && orphans) needs_.host.on_orphans();
  if (!life.is_over()) needs_.host.on_beat();
}

void Peers::beat_in(int64_t span_ms) {
  SLUICE_CHECK(span_ms >= 0);
  beat_timer_ = needs_.loop.after({span_ms}, [this] { beat(); });
}

void Peers::watch() {
  watch_timer_ = needs_.loop.after({liveness_.cut_off_in_ms(now_ms())}, [this] { check_cut_off(); });
}

bool Peers::check_cut_off() {
  if (!takes_part_ || !liveness_.is_cut_off(now_ms())) return !takes_part_;
  takes_part_ = false;
  was_cut_off_ = true;
  needs_.log.write(world::LogLevel::error, "cut off from the store",
                   {{"ms", options_.dead_ms}, {"node", needs_.nodes.self().text()}});
  needs_.host.on_cut_off();
  return true;
}

void Peers::on_unsure() {
  if (started_) beat();
  needs_.host.on_unsure_of_runs();
}

// ── who lives ───────────────────────────────────────────────────────────────────────────────────

bool Peers::note_changes() {
  std::unordered_map<model::NodeId, Fate> now;
  int64_t alive = 0;
  bool orphans = false;
  held_elsewhere_ = false;
  const bool looks_again = now_ms() - looked_ms_ >= look_again_ms;
  const auto changed = [&](model::NodeId node, Fate fate, std::string_view name) {
    const auto before = known_.find(node);
    if (before != known_.end() && before->second == fate) return;
    if (fate == Fate::dead) needs_.nodes.end_sessions(node);
    needs_.log.write(fate == Fate::dead ? world::LogLevel::warn : world::LogLevel::info, told_of(fate),
                     {{"node", node.text()}, {"name", name}});
    orphans = true;
  };
  for (const auto& node : liveness_.seen()) {
    const auto fate = liveness_.fate_of(node.id);
    now.emplace(node.id, fate);
    alive += is_alive(fate) ? 1 : 0;
    held_elsewhere_ = held_elsewhere_ || (is_alive(fate) && fate != Fate::self && node.figures.held > 0);
    if (fate == Fate::dead || fate == Fate::leaving) changed(node.id, fate, node.figures.name);
    if (fate == Fate::dead && node.silent_ms > forget_ms && looks_again) orphans = true;
  }
  for (const auto& [node, fate] : known_) {
    if (!now.contains(node)) changed(node, Fate::gone, "");
  }
  known_ = std::move(now);
  figures_.alive.set(alive);
  if (orphans) looked_ms_ = now_ms();
  return orphans;
}

std::vector<journal::SeenNode> Peers::others() const {
  std::vector<journal::SeenNode> living;
  for (const auto& node : liveness_.seen()) {
    const auto fate = liveness_.fate_of(node.id);
    if (is_alive(fate) && fate != Fate::self) living.push_back(node);
  }
  return living;
}

std::pair<std::size_t, std::size_t> Peers::rank() const {
  const auto living = others();
  const auto before = std::ranges::count_if(living, [&](const auto& node) { return node.id < needs_.nodes.self(); });
  SLUICE_CHECK(before <= std::ssize(living));
  return {static_cast<std::size_t>(before), living.size() + 1};
}

void Peers::leave(Callback<void()> done) {
  beat_timer_.cancel();
  watch_timer_.cancel();
  const bool joined = started_ && !std::exchange(left_, true);
  if (!joined) return needs_.loop.defer(std::move(done));
  needs_.nodes.tell(nullptr);
  auto once = std::make_shared<Callback<void()>>(std::move(done));
  const auto end = [once] {
    if (*once) std::exchange(*once, nullptr)();
  };
  leave_timer_ = needs_.loop.after(leave_at_most, end);
  needs_.nodes.leave([end](const Result<Unit>&) { end(); });
}

}  // namespace sluice::engine
