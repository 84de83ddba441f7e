// Takes up the runs that the last server left: each is fenced from its former writer by a new
// epoch, its journal is folded into what was told, and the duty of its state is repeated.
//
// Recovering twice is recovering once: a run already live here is left alone.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "engine/run_engine.h"

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
  // What the journal and the records say of one run.
  struct Past {
    model::Run run;
    std::string told_text;
    std::string told_reasoning;
    std::string request_id;
    std::string traceparent;
    model::Message assistant_message;
    std::string prompt;
    model::Position read_to;
    bool damaged = false;  // its journal cannot be read to the end
  };

  void take_next();
  void take_over(const model::Run& run);
  void read_journal(std::shared_ptr<Past> past);
  void read_messages(std::shared_ptr<Past> past);
  void read_agent(std::shared_ptr<Past> past);
  void take_up(const std::shared_ptr<Past>& past, Result<model::Agent> agent);
  void one_done();
  void give_up(const Error& why);

  template <typename F>
  auto while_alive(F then) {
    return [self = self_, then = std::move(then)](auto&&... args) mutable {
      if (*self != nullptr) then(std::forward<decltype(args)>(args)...);
    };
  }

  RunEngine& engine_;
  std::deque<model::Run> waiting_;
  int under_way_ = 0;
  Callback<void(Result<Unit>)> done_;
  std::shared_ptr<Recovery*> self_;
};

}  // namespace sluice::engine
