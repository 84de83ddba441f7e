// Tells those who are held their places, which only ever improve (I-12), at a price that does not
// grow with the queue: the first ten hear of every change, the others a few at a time, those first
// whose place improved most.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "engine/slot_pool.h"
#include "world/world.h"

namespace sluice::engine {

struct Place {
  int64_t position = 0;  // 1 is next
  int64_t hint_seconds = 0;
};
// Of the `queued` event.
std::string body_of(Place place);

class QueueBoard final {
 public:
  // True when it was told.
  using Tell = Callback<bool(model::RunId, Place)>;
  QueueBoard(const SlotPool& pool, world::Loop& loop, Tell tell);
  ~QueueBoard();
  QueueBoard(const QueueBoard&) = delete;
  QueueBoard& operator=(const QueueBoard&) = delete;

  // It knows this place already.
  void add(model::RunId run, int64_t told_position);
  void remove(model::RunId run);
  // Somebody came, left or was called.
  void note_change();

 private:
  void tell_first();
  void tell_others();
  // True when there was something to tell.
  bool tell(model::RunId run, int64_t position);
  void tell_others_later();

  const SlotPool& pool_;
  world::Loop& loop_;
  Tell tell_;
  std::unordered_map<model::RunId, int64_t> told_;
  bool first_due_ = false;
  bool others_due_ = false;
  world::Timer others_timer_;
  std::shared_ptr<QueueBoard*> self_;  // a deferred call may come after this is gone
};

}  // namespace sluice::engine
