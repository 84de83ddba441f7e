// The life of a run, as one table.
//
// What may happen to a run is a row below; what is not a row is refused. Nothing else in the house
// decides a RunState. The rules under the table are checked by the compiler: a table that could
// lose a run, or strand one, does not build.
#pragma once

#include <cstdint>
#include <optional>

#include "model/model.h"

namespace sluice::engine {

using model::is_over;
using model::run_state_count;
using model::RunState;

enum class Happening : uint8_t {
  admitted,       // there is room for it
  pool_full,      // there is none, and the caller would rather wait
  slot_freed,     // its turn has come
  hold_expired,   // it waited as long as it may
  sandbox_ready,  // whoever works on it can begin
  sandbox_lost,   // whoever worked on it is gone, proven
  gate_raised,    // it needs a human
  approved,
  denied,
  gate_expired,
  result,  // the answer is complete
  error,   // there will be none
  cancel_requested,
  runtime_cap,  // it took longer than it may
  server_restarted,
};
inline constexpr int happening_count = 15;

// What the engine owes the world once the new state is on disk. Every duty is safe to repeat,
// because a crash between the disk and the duty makes the next server repeat it.
enum class Duty : uint8_t {
  none,
  admit,      // ask for room
  launch,     // hand the work to an agent
  go_on,      // hand it on from where the journal ends
  interrupt,  // stop whoever works on it
  reap,       // leave nothing of it behind
};

struct Row {
  RunState from;
  Happening when;
  RunState to;
  Duty then;
};

namespace table {
using enum RunState;
using enum Happening;

// clang-format off
inline constexpr Row rows[] = {
    // from     when              to         then
    {accepted,  admitted,         starting,  Duty::launch},
    {accepted,  pool_full,        held,      Duty::none},
    {accepted,  error,            failed,    Duty::none},
    {accepted,  cancel_requested, cancelled, Duty::none},
    {accepted,  runtime_cap,      failed,    Duty::none},
    {accepted,  server_restarted, accepted,  Duty::admit},

    {held,      slot_freed,       starting,  Duty::launch},
    {held,      hold_expired,     failed,    Duty::none},
    {held,      error,            failed,    Duty::none},
    {held,      cancel_requested, cancelled, Duty::none},
    {held,      runtime_cap,      failed,    Duty::none},
    {held,      server_restarted, held,      Duty::admit},

    {starting,  sandbox_ready,    streaming, Duty::go_on},
    {starting,  sandbox_lost,     failed,    Duty::reap},
    {starting,  error,            failed,    Duty::reap},
    {starting,  cancel_requested, finishing, Duty::interrupt},
    {starting,  runtime_cap,      failed,    Duty::reap},
    {starting,  server_restarted, starting,  Duty::launch},

    {streaming, gate_raised,      parked,    Duty::none},
    {streaming, result,           completed, Duty::reap},
    {streaming, error,            failed,    Duty::reap},
    {streaming, sandbox_lost,     failed,    Duty::reap},
    {streaming, cancel_requested, finishing, Duty::interrupt},
    {streaming, runtime_cap,      failed,    Duty::reap},
    {streaming, server_restarted, streaming, Duty::go_on},

    {parked,    approved,         streaming, Duty::go_on},
    {parked,    denied,           failed,    Duty::reap},
    {parked,    gate_expired,     failed,    Duty::reap},
    {parked,    error,            failed,    Duty::reap},
    {parked,    cancel_requested, finishing, Duty::interrupt},
    {parked,    runtime_cap,      failed,    Duty::reap},
    {parked,    server_restarted, parked,    Duty::none},

    {finishing, sandbox_lost,     cancelled, Duty::reap},
    {finishing, result,           cancelled, Duty::reap},   // it answered while it was being stopped
    {finishing, error,            cancelled, Duty::reap},
    {finishing, cancel_requested, finishing, Duty::none},   // the second press of the button
    {finishing, runtime_cap,      cancelled, Duty::reap},
    {finishing, server_restarted, finishing, Duty::interrupt},
};
// clang-format on
}  // namespace table

// The row for this happening, or nothing if it may not happen now.
constexpr std::optional<Row> step(RunState from, Happening when) {
  for (const Row& row : table::rows) {
    if (row.from == from && row.when == when) return row;
  }
  return std::nullopt;
}

namespace rules {

constexpr bool each_pair_has_at_most_one_row() {
  int seen[run_state_count][happening_count] = {};
  for (const Row& row : table::rows) {
    if (++seen[int(row.from)][int(row.when)] > 1) return false;
  }
  return true;
}

constexpr bool nothing_leaves_the_end() {
  for (const Row& row : table::rows) {
    if (is_over(row.from)) return false;
  }
  return true;
}

// A run can be cancelled, can time out, and survives the server, wherever it stands.
constexpr bool no_state_strands_a_run() {
  for (int s = 0; s < run_state_count; ++s) {
    const auto state = RunState(s);
    if (is_over(state)) continue;
    const auto restarted = step(state, Happening::server_restarted);
    if (!restarted || restarted->to != state) return false;
    if (!step(state, Happening::cancel_requested)) return false;
    const auto late = step(state, Happening::runtime_cap);
    if (!late || !is_over(late->to)) return false;
  }
  return true;
}

// Two presses of the button end a run, or leave it to be ended by the proof that its work is gone.
constexpr bool cancelling_leads_to_cancelled() {
  for (int s = 0; s < run_state_count; ++s) {
    const auto state = RunState(s);
    if (is_over(state)) continue;
    const auto pressed = step(state, Happening::cancel_requested);
    if (pressed->to == RunState::cancelled) continue;
    const auto gone = step(pressed->to, Happening::sandbox_lost);
    if (!gone || gone->to != RunState::cancelled) return false;
  }
  return true;
}

// Whoever had hands leaves none behind.
constexpr bool every_end_after_launch_reaps() {
  for (const Row& row : table::rows) {
    const bool had_hands = row.from != RunState::accepted && row.from != RunState::held;
    if (is_over(row.to) && had_hands && row.then != Duty::reap) return false;
  }
  return true;
}

constexpr bool every_state_is_reached() {
  bool reached[run_state_count] = {true};
  for (int round = 0; round < run_state_count; ++round) {
    for (const Row& row : table::rows) reached[int(row.to)] |= reached[int(row.from)];
  }
  for (const bool r : reached) {
    if (!r) return false;
  }
  return true;
}

// Only a decision of a human opens a gate.
constexpr bool nothing_but_approval_leaves_a_park_alive() {
  for (const Row& row : table::rows) {
    if (row.from == RunState::parked && row.to == RunState::streaming && row.when != Happening::approved) return false;
  }
  return true;
}

static_assert(each_pair_has_at_most_one_row());
static_assert(nothing_leaves_the_end());
static_assert(no_state_strands_a_run());
static_assert(cancelling_leads_to_cancelled());
static_assert(every_end_after_launch_reaps());
static_assert(every_state_is_reached());
static_assert(nothing_but_approval_leaves_a_park_alive());

}  // namespace rules
}  // namespace sluice::engine
