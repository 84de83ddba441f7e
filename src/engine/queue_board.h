// Tells those who are held their places, which never get worse (I-12), at a price that does not
// grow with the queue and never comes before a freed slot's next run: the first ten hear of every change
// a moment later, the others a few at a time, those first whose place improved most. A place is sent again when the
// wait is at least twice the one that was sent with it, so at most as often as a wait can double.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/slot_pool.h"
#include "world/world.h"

namespace sluice::engine {

struct Place {
  int64_t position = 0;  // 1 is next
  int64_t hint_seconds = 0;
  auto operator<=>(const Place&) const = default;
};
// Of the `queued` event.
std::string body_of(Place place);

class QueueBoard final {
 public:
  // True when the run reported it.
  using Tell = Callback<bool(model::RunId, Place)>;
  QueueBoard(const SlotPool& pool, world::Loop& loop, Tell tell);

  // It knows this place already.
  void add(model::RunId run, Place sent);
  void remove(model::RunId run);
  // Somebody came, left or was called.
  void note_change();

 private:
  struct Improvement {
    model::RunId run;
    int64_t position;
    double by;  // the greater, the sooner it is sent
  };

  void tell_first();
  void tell_others();
  // Walks the whole queue.
  void find_improvements();
  // The place to send to a run that was sent one before; nothing when it is much the same.
  std::optional<Place> news(Place sent, int64_t position) const;
  // True when there was something to tell.
  bool tell(model::RunId run, int64_t position);
  void tell_others_after(Millis span);
  // Waits grow without a change of the queue, while slots are not given back.
  void look_at_waits();

  const SlotPool& pool_;
  world::Loop& loop_;
  Tell tell_;
  std::unordered_map<model::RunId, Place> sent_;
  bool first_due_ = false;
  bool others_due_ = false;
  bool waits_due_ = false;
  std::vector<Improvement> improvements_;  // those still to be reported, the greatest last
  world::Timer first_timer_;
  world::Timer others_timer_;
  world::Timer waits_timer_;
};

}  // namespace sluice::engine
