// Takes up the runs that nobody carries: after a restart those that the last server left, later those of nodes that
// died or left. Each is fenced from its former writer by a new epoch, its journal is folded into what was told, and the
// duty of its state is repeated.
//
// Recovering twice is recovering once: a run already live here is left alone, and so is one that somebody else was
// quicker to take.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/run_engine.h"
#include "engine/run_past.h"

namespace sluice::engine {

class Recovery {
 public:
  explicit Recovery(RunEngine& engine) : engine_(engine), self_(std::make_shared<Recovery*>(this)) {}
  ~Recovery() { *self_ = nullptr; }
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  enum class Whose : uint8_t {
    mine_too,  // nobody's, and those of this node that it dropped
    nobodys,
  };
  // `done` when every run of these is live again or over. One look after the other.
  void look(Whose whose, Callback<void(Result<Unit>)> done);
  // This one, whoever carries it.
  void take(const model::Run& run);
  // It was taken over just now.
  void adopt(const model::Run& taken);
  // Runs that nobody carries are being looked for or taken up: they come before those that wait on other nodes.
  bool is_looking() const { return !looks_.empty(); }
  bool is_idle() const { return under_way_ == 0 && waiting_.empty() && looks_.empty(); }
  // This run waits for a slot; it queues when all that wait are known.
  void queue_later(const LiveRun& live);
  // Those who waited queue again, in their old order.
  void hold_again();

 private:
  struct Look {
    Whose whose;
    Callback<void(Result<Unit>)> done;
  };
  void begin_look();
  void fail_look(const Error& why);
  void on_unfinished(std::vector<model::Run> runs);
  bool is_wanted(const model::Run& run) const;
  void take_next();
  void take_over(const model::Run& run);
  void on_taken(const model::Run& run, Result<model::Run> taken);
  void read_up(const model::Run& run, Callback<void()> then);
  void take_up(const RunPast& past);
  // The reason why it cannot be carried on; empty: it can.
  std::string obstacle(const RunPast& past) const;
  bool is_heard_on(const RunPast& past) const;
  void one_done();
  // This run cannot be taken up: later, not at all, or nothing can.
  void stumble(const model::Run& run, const Error& why);
  void give_up(const Error& why);

  template <typename F>
  auto while_alive(F then) {
    return [self = self_, then = std::move(then)](auto&&... args) mutable {
      if (*self != nullptr) then(std::forward<decltype(args)>(args)...);
    };
  }

  RunEngine& engine_;
  std::deque<model::Run> waiting_;
  struct Held {
    Timestamp created_at;
    model::RunId run;
    Place told_place;
    auto operator<=>(const Held&) const = default;
  };
  std::vector<Held> held_;  // they queue again when all are known, in their old order
  int under_way_ = 0;
  int stumbled_ = 0;  // of them: waiting for room on the disk
  world::Timer again_;
  world::Timer look_again_;
  std::deque<Look> looks_;  // the first is under way
  bool listing_ = false;    // it does not know yet what there is
  std::shared_ptr<Recovery*> self_;
};

}  // namespace sluice::engine
