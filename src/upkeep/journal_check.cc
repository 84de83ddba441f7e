#include "upkeep/journal_check.h"

#include "base/bytes.h"
#include "base/json.h"

namespace sluice::upkeep {
namespace {

using enum model::EventKind;

bool needs_start(model::EventKind kind) { return kind == text || kind == filler || kind == gate || kind == resumed; }

// Texts are UTF-8. Checkpoints and marks are bytes of the dispatcher's own. Every other body is JSON.
bool is_sound(const model::EventView& event) {
  switch (event.kind) {
    case text:
    case reasoning:
    case filler: return is_utf8(event.body);
    case checkpoint:
    case mark: return true;
    case accepted:
    case started:
    case log:
    case usage:
    case completed:
    case failed:
    case cancelled:
    case step:
    case output:
    case file:
    case diff:
    case custom:
    case queued:
    case gate:
    case resumed:
    case egress:
    case replaced:
    case call:
    case subagent:
    case subagent_text:
    case answers: break;
  }
  return event.body.empty() || json::Document::parse(event.body);
}

bool fits(model::EventKind terminal, model::RunState state) {
  switch (state) {
    case model::RunState::completed: return terminal == completed;
    case model::RunState::failed: return terminal == failed;
    case model::RunState::cancelled: return terminal == cancelled;
    default: return false;
  }
}

}  // namespace

void JournalCheck::blame(std::string what) {
  if (fault_.empty()) fault_ = std::move(what);
}

bool JournalCheck::take(uint64_t last, std::string_view batch) {
  if (!fault_.empty()) return false;
  const auto before = count_;
  model::BatchPlace place;
  do {
    const auto event = model::next_in_batch(batch, place);
    if (!event) {
      blame("the row after event " + std::to_string(before) + " is not a batch of events");
      return false;
    }
    ++count_;
    see(*event);
  } while (place.offset < batch.size());
  if (count_ != last) {
    blame("the row after event " + std::to_string(before) + " should end with event " + std::to_string(last) +
          ", and ends with " + std::to_string(count_));
  }
  return fault_.empty();
}

void JournalCheck::see(const model::EventView& event) {
  const auto at = "event " + std::to_string(count_) + " (" + std::string(model::name_of(event.kind)) + ") ";
  if (!is_sound(event)) blame(at + "has a body that is not what was written");
  if (count_ == 1 && event.kind != accepted) blame(at + "should be accepted");
  if (count_ > 1 && event.kind == accepted) blame(at + "is not the first");
  if (terminal_) blame(at + "follows the run's end");
  if (needs_start(event.kind) && !started_) blame(at + "comes before started");
  if ((event.kind == started || event.kind == queued) && started_) blame(at + "comes after started");
  if (event.kind == gate && gate_is_open_) blame(at + "comes while another gate is open");
  if (event.kind == resumed && !gate_is_open_) blame(at + "follows no gate");
  if (event.kind == started) started_ = true;
  if (event.kind == gate) gate_is_open_ = true;
  if (event.kind == resumed) gate_is_open_ = false;
  if (event.kind == model::EventKind::text) text_ += event.body;
  if (event.kind == replaced) model::take_back(text_, event.body);
  if (event.kind == completed) completed_body_ = event.body;
  if (model::is_terminal(event.kind)) terminal_ = event.kind;
}

void JournalCheck::end(model::RunState state, uint64_t head) {
  if (count_ == 0) return blame("it has no events");
  if (count_ != head) {
    blame("it has " + std::to_string(count_) + " events, and the run's row says " + std::to_string(head));
  }
  if (model::is_over(state)) {
    if (!terminal_) return blame("the run is over, and nothing in it says so");
    if (!fits(*terminal_, state)) {
      blame("it ends with " + std::string(model::name_of(*terminal_)) + ", and the run's row says " +
            std::string(model::name_of(state)));
    }
  } else if (terminal_) {
    blame("it says that the run is over, and the run's row says " + std::string(model::name_of(state)));
  }
}

}  // namespace sluice::upkeep
