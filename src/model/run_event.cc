#include "model/run_event.h"

#include "base/varint.h"
#include "model/batch_walk.h"

namespace sluice::model {
namespace {

// Small magnitudes of either sign become small numbers: a clock may step back between two events.
uint64_t zigzag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }

}  // namespace

std::string_view name_of(EventKind kind) {
  switch (kind) {
    case EventKind::accepted: return "accepted";
    case EventKind::started: return "started";
    case EventKind::text: return "text";
    case EventKind::reasoning: return "reasoning";
    case EventKind::filler: return "filler";
    case EventKind::log: return "log";
    case EventKind::usage: return "usage";
    case EventKind::completed: return "completed";
    case EventKind::failed: return "failed";
    case EventKind::cancelled: return "cancelled";
    case EventKind::step: return "step";
    case EventKind::output: return "output";
    case EventKind::file: return "file";
    case EventKind::diff: return "diff";
    case EventKind::custom: return "custom";
    case EventKind::queued: return "queued";
    case EventKind::gate: return "gate";
    case EventKind::resumed: return "resumed";
    case EventKind::egress: return "egress";
    case EventKind::checkpoint: return "checkpoint";
    case EventKind::replaced: return "replaced";
    case EventKind::call: return "call";
    case EventKind::subagent: return "subagent";
    case EventKind::subagent_text: return "subagent_text";
    case EventKind::answers: return "answers";
    case EventKind::mark: return "mark";
  }
  return "unknown";
}

void append_batch(std::string& out, const std::vector<RunEvent>& events) {
  out += batch_version;
  Timestamp before;
  for (const auto& event : events) {
    out += static_cast<char>(event.kind);
    append_varint(out,
                  zigzag(static_cast<int64_t>(static_cast<uint64_t>(event.at.ms) - static_cast<uint64_t>(before.ms))));
    append_varint(out, event.body.size());
    out += event.body;
    before = event.at;
  }
}

std::string encode_batch(const std::vector<RunEvent>& events) {
  std::string out;
  std::size_t size = 1;
  for (const auto& event : events) size += event.body.size() + 8;
  out.reserve(size);
  append_batch(out, events);
  return out;
}

Result<std::vector<RunEvent>> decode_batch(std::string_view bytes) {
  std::vector<RunEvent> events;
  if (bytes == std::string_view(&batch_version, 1)) return events;
  BatchPlace place;
  do {
    const auto event = next_in_batch(bytes, place);
    if (!event) return Error{ErrorKind::corrupt, "a journal row is not a batch of events"};
    events.push_back({event->kind, event->at, std::string(event->body)});
  } while (place.offset < bytes.size());
  return events;
}

}  // namespace sluice::model
