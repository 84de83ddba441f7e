// Who reads the turns of chats, here: one that nobody reads any more is cancelled after a grace, unless it was
// asked to go on.
#pragma once

#include <memory>
#include <unordered_map>

#include "engine/engine.h"
#include "model/model.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::api::assistant {

class Turns final {
 public:
  struct Needs {
    engine::Engine& engine;
    store::Store& store;
    world::Loop& loop;
    world::Log& log;
  };
  Turns(Needs needs, Millis grace) : needs_(needs), grace_(grace), self_(std::make_shared<Turns*>(this)) {}
  ~Turns() { *self_ = nullptr; }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Somebody reads it. Each join() is followed by one leave().
  void join(const model::Run& run, bool keeps_on);
  enum class Why : uint8_t {
    over,  // the turn is
    left,  // the reader has, or was lost
  };
  void leave(model::RunId run, Why why);

  // Nobody reads it, and it may be cancelled for that.
  bool is_left(model::RunId run) const;

  // After a restart nobody reads what is under way: whoever wants to is given the time to come back.
  void adopt_unfinished();
  // The server stops: the next one takes up what is under way.
  void close() { closed_ = true; }

 private:
  struct Turn {
    model::TenantId tenant;
    bool keeps_on = false;
    int reader_count = 0;
    world::Timer leaving;
  };

  void adopt(const model::Run& run);
  void cancel_after(model::RunId run, Turn& turn, Millis delay);
  void cancel(model::RunId run);

  Needs needs_;
  const Millis grace_;
  bool closed_ = false;
  std::unordered_map<model::RunId, Turn> turns_;
  std::shared_ptr<Turns*> self_;  // the store's answers may come after our end
};

// What a run's first event says of the turn that it is; empty: it is none of a chat.
std::optional<model::ChatTurn> chat_turn_of(const store::CommittedBatch& journal);

}  // namespace sluice::api::assistant
