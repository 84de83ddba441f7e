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
  std::optional<RunState> state;
  std::unique_ptr<GateRecords> gate;
  std::unique_ptr<Undecided> before;      // of a decision
  std::vector<Callback<void()>> written;  // who waits for it
  bool closed = false;                    // it was handed to the store once, so it is repeated as it was: nothing joins

  bool takes_more() const { return !before && !closed; }
};

}  // namespace sluice::engine
