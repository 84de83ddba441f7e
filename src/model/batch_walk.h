// Goes through a batch of events one at a time, copying none of them.
#pragma once

#include "model/run_event.h"

namespace sluice::model {

// An event where it lies in its batch.
struct EventView {
  EventKind kind = EventKind::log;
  Timestamp at;
  std::string_view body;
};

// Where an event of a batch begins; as made, the first.
struct BatchPlace {
  std::size_t offset = 0;
  Timestamp before;  // the time of the event before it
};

// The event at `place`, which then is that of the next, or the end: an offset of batch.size(). Empty
// when the bytes are not what append_batch() writes, and at the end.
std::optional<EventView> next_in_batch(std::string_view batch, BatchPlace& place);

}  // namespace sluice::model
