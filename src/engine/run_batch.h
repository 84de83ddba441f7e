// What one append of a run carries.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/gate_records.h"
#include "engine/open_steps.h"
#include "engine/run_lifecycle.h"

namespace sluice::engine {

// What a human's decision changed before it was on disk.
struct Undecided {
  model::Approval approval;
  OpenSteps steps;
};

// An approval is made by one and resolved by a later one; a human's decision has one for itself, because it is taken
// back when the disk is full.
struct RunBatch {
  std::vector<model::RunEvent> events;
  std::size_t event_bytes = 0;  // of their bodies
  std::optional<RunState> state;
  Duty duty = Duty::none;  // of that state: it is performed when this is on disk
  std::unique_ptr<GateRecords> gate;
  std::unique_ptr<Undecided> before;      // of a decision
  std::vector<Callback<void()>> written;  // who waits for it
  bool closed = false;                    // it was handed to the store once, so it is repeated as it was: nothing joins

  void add(model::RunEvent event) {
    event_bytes += event.body.size();
    events.push_back(std::move(event));
  }
  bool takes_more() const { return !before && !closed; }
};

// What a run may have in memory while the store is slow, or refuses because its disk is full.
inline constexpr std::size_t unwritten_events_max = 1'000;
inline constexpr std::size_t unwritten_event_bytes_max = 16 * 1024 * 1024;

inline bool is_too_much(const std::vector<RunBatch>& unwritten) {
  std::size_t events = 0, bytes = 0;
  for (const auto& batch : unwritten) {
    events += batch.events.size();
    bytes += batch.event_bytes;
  }
  return events >= unwritten_events_max || bytes >= unwritten_event_bytes_max;
}

}  // namespace sluice::engine
