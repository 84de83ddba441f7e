#include <utility>

#include "dispatch/envelope.h"
#include "model/event_codec.h"
#include "runs/runs.h"

namespace sluice::runs {

using model::EventKind;

EventOutput::EventOutput(world::Loop& loop, SharedSecrets secrets, dispatch::DispatchListener& listener)
    : loop_(loop), secrets_(std::move(secrets)), listener_(listener), words_(secrets_) {}

void EventOutput::speak(EventKind kind, std::string text) {
  if (speaking_ != kind) {
    const auto alive = lifetime_.watch();
    flush();
    if (alive.is_over()) return;
    speaking_ = kind;
  }
  say(kind, words_.push(std::move(text)));
}

void EventOutput::flush() {
  if (!speaking_) return;
  const auto kind = *std::exchange(speaking_, std::nullopt);
  say(kind, words_.finish());
}

void EventOutput::say(EventKind kind, std::string text) {
  if (text.empty() || has_diverged_) return;
  // Fillers are not part of the answer, so none of them is in what is replayed.
  if (kind != EventKind::filler && !replay_.is_over()) {
    const auto rest = kind == EventKind::text ? replay_.text(text) : replay_.reasoning(text);
    has_diverged_ = !rest;
    if (!rest || rest->empty()) return;
    text = std::string(*rest);
  }
  give({.kind = kind, .at = loop_.now(), .body = std::move(text)});
}

void EventOutput::emit(const model::EventData& event) {
  const auto alive = lifetime_.watch();
  flush();
  if (alive.is_over()) return;
  auto encoded = model::encode(event, loop_.now());
  encoded.body = scrubbed_json(secrets_, std::move(encoded.body));
  give(std::move(encoded));
}

void EventOutput::emit_phase(std::string_view phase, std::string_view words, int64_t duration_ms) {
  const auto alive = lifetime_.watch();
  flush();
  if (alive.is_over()) return;
  give(dispatch::phase_event(phase, scrubbed(std::string(words)), duration_ms, loop_.now()));
}

void EventOutput::give(model::RunEvent event) {
  // A client that sees the gate of a waiting run must not see events behind it.
  if (is_paused_) return waiting_.push_back(std::move(event));
  listener_.on_event(std::move(event));
}

void EventOutput::go_on() {
  is_paused_ = false;
  const auto alive = lifetime_.watch();
  for (auto& event : std::exchange(waiting_, {})) {
    listener_.on_event(std::move(event));
    if (alive.is_over()) return;
  }
}

}  // namespace sluice::runs
