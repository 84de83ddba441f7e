#include "engine/liveness.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::engine {

void Liveness::on_answer(int64_t sent_ms, int64_t now_ms, std::vector<journal::SeenNode> seen) {
  SLUICE_CHECK(sent_ms <= now_ms && (!good_sent_ms_ || *good_sent_ms_ <= sent_ms));
  // A store that answers late, or a node that was stopped for a while, is a gap as good as a failure.
  const int64_t gap_ms = std::max(rules_.dead_ms / 2, rules_.beat_ms + rules_.beat_ms / 2);
  const bool goes_on = streak_from_ms_ && answered_ms_ && now_ms - *answered_ms_ <= gap_ms;
  if (!goes_on) streak_from_ms_ = sent_ms;
  if (now_ms - sent_ms > gap_ms) streak_from_ms_.reset();
  good_sent_ms_ = sent_ms;
  answered_ms_ = now_ms;
  seen_ = std::move(seen);
  // Who may judge has heard something at all, so a node is cut off before it is declared dead.
  SLUICE_CHECK(!streak_from_ms_ || *streak_from_ms_ <= *good_sent_ms_);
}

int64_t Liveness::cut_off_in_ms(int64_t now_ms) const {
  if (!good_sent_ms_) return rules_.dead_ms;
  return std::max<int64_t>(0, *good_sent_ms_ + rules_.dead_ms - now_ms);
}

Fate Liveness::fate_of(model::NodeId node) const {
  if (node == rules_.self) return Fate::self;
  const auto found = std::ranges::find(seen_, node, &journal::SeenNode::id);
  return found == seen_.end() ? Fate::gone : fate_of(*found);
}

Fate Liveness::fate_of(const journal::SeenNode& node) const {
  if (node.id == rules_.self) return Fate::self;
  if (node.silent_ms >= rules_.dead_ms) return may_judge() ? Fate::dead : Fate::unsure;
  return node.figures.draining ? Fate::leaving : Fate::living;
}

int64_t Liveness::next_beat_in_ms() const {
  constexpr int64_t shortest_ms = 10;
  int64_t wait = rules_.beat_ms;
  for (const auto& node : seen_) {
    const auto left = rules_.dead_ms - node.silent_ms;
    if (node.id == rules_.self || left <= 0) continue;
    wait = std::min(wait, std::max(left, shortest_ms));
  }
  return wait;
}

}  // namespace sluice::engine
