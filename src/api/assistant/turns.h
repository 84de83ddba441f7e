// The turns of chats (docs/assistant.md): who reads them on this server, and their streams.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/request/route.h"
#include "base/lifetime.h"
#include "engine/engine.h"
#include "model/model.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::api::assistant {

// Counts the readers of chats' turns on this server: a turn without a reader is cancelled after a grace period,
// unless its client asked that it continue. Used on the loop's thread.
class Turns final {
 public:
  struct Needs {
    engine::Engine& engine;
    store::Store& store;
    world::Loop& loop;
    world::Log& log;
  };
  Turns(Needs needs, Millis grace);
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // A reader has come. Each join() is followed by one leave().
  void join(const model::Run& run, bool keeps_on);
  enum class Why : uint8_t {
    over,  // the turn is over
    left,  // the reader has left, or was lost
  };
  void leave(model::RunId run, Why why);

  bool has_reader(model::RunId run) const;
  // The run has no reader and may be cancelled for that.
  bool is_left(model::RunId run) const;

  // After a restart no active turn has a reader, so clients get time to reconnect. If servers share the store, the same
  // holds for runs that this server has taken over from another one, which it looks for regularly.
  void adopt_unfinished();
  // The server stops; the next one continues the active turns.
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
  // The run has no reader here. It may have one on another node, so those are asked first.
  void cancel_unless_read(model::RunId run, std::vector<journal::SeenNode> others);
  void cancel_after(model::RunId run, Turn& turn, Millis delay);
  void cancel(model::RunId run);

  Needs needs_;
  const Millis grace_;
  bool closed_ = false;
  std::unordered_map<model::RunId, Turn> turns_;
  std::unordered_set<model::RunId> looked_at_;  // unfinished runs that need no adoption
  world::Timer look_timer_;
  Lifetime lifetime_;  // the store may answer after the destructor
};

struct TurnOpening {
  model::Run run;
  bool keeps_on = false;  // the turn continues without a reader
  int64_t after = -1;     // the last frame that the browser has
};
// Streams the frames of a turn to a browser, which counts as its reader until the stream ends.
void open_turn_stream(const RequestPtr& request, const TurnOpening& opening);

// The turn that a run's first event names; empty if the run does not belong to a chat.
std::optional<model::ChatTurn> chat_turn_of(const journal::CommittedBatch& journal);

}  // namespace sluice::api::assistant
