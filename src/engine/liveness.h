// Who lives, as far as one node can tell: a fold over its own beats and the store's answers to them. Pure: no clock,
// no I/O; times are milliseconds of the node's clock that never jumps.
//
// Two judgements, so made that the first comes before the second. A node is cut off when none of its beats got
// through for dead_ms, counted from when the last good one was sent: it lets go of what it carries. A node is dead
// when the store has not heard it for dead_ms, and only a node that beat without a gap all that time may say so: after
// an outage of the store everybody's last beat is old.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "journal/journal.h"

namespace sluice::engine {

enum class Fate : uint8_t {
  self,
  living,
  leaving,  // it lives and drains: runs that only wait are no longer its own
  unsure,   // silent; but the node that judges may have been deaf
  dead,
  gone,  // it left, or was forgotten, or never was
};

class Liveness final {
 public:
  struct Rules {
    model::NodeId self;
    int64_t beat_ms = 0;
    int64_t dead_ms = 0;
  };
  explicit Liveness(Rules rules) : rules_(rules) {}

  // A beat got through.
  void on_answer(int64_t sent_ms, int64_t now_ms, std::vector<journal::SeenNode> seen);
  // One did not.
  void on_failure() { streak_from_ms_.reset(); }

  bool is_cut_off(int64_t now_ms) const { return !good_sent_ms_ || now_ms - *good_sent_ms_ >= rules_.dead_ms; }
  // How long until it is, if nothing gets through.
  int64_t cut_off_in_ms(int64_t now_ms) const;
  // It has heard enough to say who is dead.
  bool may_judge() const { return streak_from_ms_ && *good_sent_ms_ - *streak_from_ms_ >= rules_.dead_ms; }

  // As of the last answer.
  Fate fate_of(model::NodeId node) const;
  const std::vector<journal::SeenNode>& seen() const { return seen_; }
  // How long to wait with the next beat: sooner than usual when that will tell of a death.
  int64_t next_beat_in_ms() const;

 private:
  Fate fate_of(const journal::SeenNode& node) const;

  Rules rules_;
  std::vector<journal::SeenNode> seen_;
  std::optional<int64_t> good_sent_ms_;    // when the last beat that got through was sent
  std::optional<int64_t> answered_ms_;     // when that was known
  std::optional<int64_t> streak_from_ms_;  // when the first of those without a gap was sent
};

// Whether the node that looks may take a run in this state from a node with this fate.
constexpr bool may_be_taken(Fate carrier, bool only_waits) {
  return carrier == Fate::dead || carrier == Fate::gone || (carrier == Fate::leaving && only_waits);
}
static_assert(may_be_taken(Fate::dead, false) && may_be_taken(Fate::gone, false));
static_assert(may_be_taken(Fate::leaving, true) && !may_be_taken(Fate::leaving, false));
static_assert(!may_be_taken(Fate::self, true) && !may_be_taken(Fate::living, true) &&
              !may_be_taken(Fate::unsure, true));

}  // namespace sluice::engine
