#include "model/run_event.h"

namespace sluice::model {

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

}  // namespace sluice::model
