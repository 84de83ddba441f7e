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
    model::Message user_message;
    std::optional<std::string> repository_id;  // the conversation's
    OpenSteps steps;
    model::Position read_to;
    bool damaged = false;  // something of it cannot be read
  };

  void take_next();
  void take_over(const model::Run& run);
  void on_taken(const model::Run& run, Result<model::Run> taken);
  void read_journal(const std::shared_ptr<Past>& past);
  void on_journal(const std::shared_ptr<Past>& past, const Result<store::JournalPage>& page);
  static void read_accepted(Past& past, std::string_view body);
  void read_assistant_message(const std::shared_ptr<Past>& past);
  void read_user_message(const std::shared_ptr<Past>& past);
  void read_message(const std::shared_ptr<Past>& past, model::MessageId id, Callback<void(model::Message)> then);
  void read_conversation(const std::shared_ptr<Past>& past);
  void read_agent(const std::shared_ptr<Past>& past);
  void take_up(const std::shared_ptr<Past>& past, Result<model::Agent> agent);
  bool note_damage(Past& past, const Error& why);
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
  int under_way_ = 0;
  int stumbled_ = 0;  // of them: waiting for room on the disk
  world::Timer again_;
  Callback<void(Result<Unit>)> done_;
  std::shared_ptr<Recovery*> self_;
};

}  // namespace sluice::engine
