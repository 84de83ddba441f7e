// Who reads the turns of chats, here: one that nobody reads any more is cancelled after a grace, unless it was
// asked to go on.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

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
  Turns(Needs needs, Millis grace);
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

  // After a restart nobody reads what is under way: whoever wants to is given the time to come back. Where servers
  // share the store, so it is with what this one has taken over from another; it looks now and then.
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

  bool is_shared() const { return needs_.store.nodes().self() != model::NodeId{}; }
  void adopt_all(const std::vector<model::Run>& runs);
  void adopt(const model::Run& run);
  // Nobody reads it here. Elsewhere somebody may: the others are asked first.
  void cancel_unless_read(model::RunId run, std::vector<store::SeenNode> others);
  void cancel_after(model::RunId run, Turn& turn, Millis delay);
  void cancel(model::RunId run);

  Needs needs_;
  const Millis grace_;
  bool closed_ = false;
  std::unordered_map<model::RunId, Turn> turns_;
  std::unordered_set<model::RunId> looked_at_;  // unfinished, and nothing to adopt
  world::Timer look_timer_;
  std::shared_ptr<Turns*> self_;  // the store's answers may come after our end
};

// What a run's first event says of the turn that it is; empty: it is none of a chat.
std::optional<model::ChatTurn> chat_turn_of(const store::CommittedBatch& journal);

}  // namespace sluice::api::assistant
