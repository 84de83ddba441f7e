// The only encoder and decoder between what events say (model/event.h) and the bodies that journals keep.
//
// Decoding never fails: a member that is missing or of another type is as in a struct that was just made, a member that
// is not known is left out, and a body that should be a JSON object and is not becomes events::Unreadable. A surface
// that shows bodies as they were written therefore takes them from the RunEvent. Any thread may call these functions.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "model/event.h"

namespace sluice::model {

EventKind kind_of(const EventData& data);
// What the event says. Text, reasoning, filler, checkpoint and mark are views of its body.
EventData decode(const RunEvent& event);
// The event as it is kept.
RunEvent encode(const EventData& data, Timestamp at);

// The event, if it is one of this kind and can be read.
template <typename Event>
std::optional<Event> event_as(const RunEvent& event) {
  if (event.kind != Event::kind) return std::nullopt;
  auto data = decode(event);
  auto* read = std::get_if<Event>(&data);
  return read == nullptr ? std::nullopt : std::optional<Event>(std::move(*read));
}

// Calls `visitor` with what the event says. `decoded` is called for what has to be decoded first: it returns the
// EventData, so that it can be decoded once for several readers. Text costs neither a copy nor a decoding.
template <typename Visitor, typename Decoded>
void visit_event(const RunEvent& event, Visitor&& visitor, Decoded&& decoded) {
  if (event.kind == EventKind::text) return visitor(events::Text{event.body});
  if (event.kind == EventKind::reasoning) return visitor(events::Reasoning{event.body});
  if (event.kind == EventKind::filler) return visitor(events::Filler{event.body});
  if (event.kind == EventKind::checkpoint) return visitor(events::Checkpoint{event.body});
  if (event.kind == EventKind::mark) return visitor(events::Mark{event.body});
  std::visit(std::forward<Visitor>(visitor), std::forward<Decoded>(decoded)());
}
template <typename Visitor>
void visit_event(const RunEvent& event, Visitor&& visitor) {
  visit_event(event, std::forward<Visitor>(visitor), [&] { return decode(event); });
}

// What an event says, decoded when the first reader asks and kept for the others; not for several threads at once.
// Kinds that are views are never kept: they would outlive a copy's body.
class DecodedOnce {
 public:
  void visit(const RunEvent& event, auto&& visitor) const {
    visit_event(event, visitor, [&]() -> const EventData& {
      if (!data_) data_ = std::make_shared<const EventData>(decode(event));
      return *data_;
    });
  }

 private:
  mutable std::shared_ptr<const EventData> data_;
};

// Visitors out of lambdas.
template <typename... Cases>
struct Visitor : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Visitor(Cases...) -> Visitor<Cases...>;

std::string_view name_of(events::StepStatus status);  // "running"; empty for unknown, as the next
std::string_view name_of(events::SubagentStatus status);

// For a visitor that has nothing to do with some kinds. They are named, so that a kind that is added does not compile
// until every surface has said what it does with it.
template <typename Event>
struct IgnoresOne {
  void operator()(const Event&) const {}
};
template <typename... Events>
struct Ignores : IgnoresOne<Events>... {
  using IgnoresOne<Events>::operator()...;
};

// Cuts the text so far to what `replaced` keeps of it, at a character's border. False, and nothing is cut, when there
// are not so many bytes.
bool take_back(std::string& text, const events::Replaced& replaced);

}  // namespace sluice::model
