// The loop of one simulated server. It shares time with the others, but can stand still for a while, have a clock that
// is wrong, and die, after which nothing of it ever runs again.
#pragma once

#include <deque>
#include <map>

#include "tests/sim/chance.h"
#include "world/fake_world.h"

namespace sluice::sim {

class NodeLoop final : public world::Loop, private world::Timer::Keeper {
 public:
  explicit NodeLoop(world::FakeLoop& base) : base_(base) {}

  Timestamp now() const override { return {base_.now().ms + skew_ms_}; }
  int64_t monotonic_us() const override { return base_.monotonic_us(); }
  world::Timer after(Millis delay, Callback<void()> then) override;
  void defer(Callback<void()> then) override;
  void post(Callback<void()> then) override;

  void jump(int64_t ms) { skew_ms_ += ms; }
  // What becomes due meanwhile happens, in its order, when it wakes.
  void stall() { stalled_ = true; }
  void wake();
  bool is_stalled() const { return stalled_; }
  // May be called from inside one of its own callbacks, so nothing is destroyed yet.
  void die() { dead_ = true; }
  bool is_dead() const { return dead_; }

 private:
  struct Waiting {
    world::Timer timer;
    Callback<void()> then;
  };
  struct Late {
    uint64_t ticket;  // of its timer; 0: it has none
    Callback<void()> then;
  };
  void forget(uint64_t ticket) override;
  void run(uint64_t ticket, Callback<void()> then);
  void fire(uint64_t ticket);

  world::FakeLoop& base_;
  int64_t skew_ms_ = 0;
  bool stalled_ = false;
  bool dead_ = false;
  uint64_t next_ticket_ = 1;
  std::map<uint64_t, Waiting> timers_;
  std::deque<Late> late_;
};

// The way between a server and its store: answers and news come in order, but perhaps late.
class Link final : public world::Loop {
 public:
  Link(world::FakeLoop& base, NodeLoop& node, Chance chance) : base_(base), node_(node), chance_(chance) {}

  Timestamp now() const override { return base_.now(); }
  int64_t monotonic_us() const override { return base_.monotonic_us(); }
  world::Timer after(Millis delay, Callback<void()> then) override { return node_.after(delay, std::move(then)); }
  void defer(Callback<void()> then) override { node_.defer(std::move(then)); }
  void post(Callback<void()> then) override;

  // Each answer takes up to so long; 0: none of it.
  void be_slow(int64_t ms_max) { ms_max_ = ms_max; }

 private:
  struct Under {
    int64_t due_us;
    world::Timer timer;
    Callback<void()> then;
  };

  world::FakeLoop& base_;
  NodeLoop& node_;
  Chance chance_;
  int64_t ms_max_ = 0;
  std::deque<Under> under_way_;
};

}  // namespace sluice::sim
