// Takes up the runs that the last server left: each is fenced from its former writer by a new
// epoch, its journal is folded into what was told, and the duty of its state is repeated.
//
// Recovering twice is recovering once: a run already live here is left alone.
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

  // `done` when every unfinished run is live again or over.
  void start(Callback<void(Result<Unit>)> done);

 private:
  void take_next();
  void take_over(const model::Run& run);
  void on_taken(const model::Run& run, Result<model::Run> taken);
  void take_up(const RunPast& past);
  // The reason why it cannot be carried on; empty: it can.
  std::string obstacle(const RunPast& past) const;
  void hold_again();
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
    int64_t told_position;
    auto operator<=>(const Held&) const = default;
  };
  std::vector<Held> held_;  // they queue again when all are known, in their old order
  int under_way_ = 0;
  int stumbled_ = 0;  // of them: waiting for room on the disk
  world::Timer again_;
  Callback<void(Result<Unit>)> done_;
  std::shared_ptr<Recovery*> self_;
};

}  // namespace sluice::engine
