// The life of a run, as one table: what may happen to a run in each state, the state that follows, and the duty that
// the engine has once that state is on disk. Nothing else decides a state, and LiveRun::perform() is the only place
// that performs duties, while the server runs and after a restart alike.
//
// What is not a row is refused. The rules under the table are checked by the compiler: a table that could lose a run,
// or leave one without a way to its end, does not build. lifecycle_test.cc takes every row through the engine.
// Values only, for any thread. It does not know who asks for a change or how it is written.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/model.h"

namespace sluice::engine {

using model::is_over;
using model::run_state_count;
using model::RunState;

enum class Happening : uint8_t {
  admitted,      // a slot is free for it
  pool_full,     // no slot is free, and the caller would rather wait
  slot_freed,    // its turn has come
  hold_expired,  // it waited as long as it may
  gate_raised,   // it needs a human, or a tool of its client
  approved,
  denied,
  gate_expired,
  result,  // the answer is complete
  error,   // there will be no answer: the agent failed, took longer than it may, or cannot be resumed
  cancel_requested,
  work_stopped,  // it is proven that nothing works on it any more
  server_restarted,
};
inline constexpr int happening_count = 13;

// What the engine has to do once the new state is on disk. Every duty is safe to repeat, because a crash between the
// write and the duty makes the next server repeat it.
enum class Duty : uint8_t {
  none,
  admit,      // let it wait for a slot, as long as it may
  launch,     // hand the work to an agent, in the slot that it has
  park,       // keep no more of it than a run needs that waits for a human
  resume,     // get a slot if it has none, and continue from where the journal ends
  interrupt,  // stop what works on it
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

// A run is `accepted` only in memory, until its first write; RunState::starting is part of the public enumeration, and
// no run ever is in it.
// clang-format off
inline constexpr Row rows[] = {
    // from     when              to         then
    {accepted,  admitted,         streaming, Duty::launch},
    {accepted,  pool_full,        held,      Duty::admit},

    {held,      slot_freed,       streaming, Duty::launch},
    {held,      hold_expired,     failed,    Duty::reap},
    {held,      error,            failed,    Duty::reap},
    {held,      cancel_requested, cancelled, Duty::reap},
    {held,      server_restarted, held,      Duty::admit},

    {streaming, gate_raised,      parked,    Duty::park},
    {streaming, result,           completed, Duty::reap},
    {streaming, error,            failed,    Duty::reap},
    {streaming, cancel_requested, finishing, Duty::interrupt},
    {streaming, server_restarted, streaming, Duty::resume},

    {parked,    approved,         streaming, Duty::resume},
    {parked,    denied,           failed,    Duty::reap},
    {parked,    gate_expired,     failed,    Duty::reap},
    {parked,    error,            failed,    Duty::reap},
    {parked,    cancel_requested, finishing, Duty::interrupt},
    {parked,    server_restarted, parked,    Duty::park},

    {finishing, work_stopped,     cancelled, Duty::reap},
    {finishing, result,           finishing, Duty::none},   // it answered while it was being stopped
    {finishing, error,            finishing, Duty::none},
    {finishing, cancel_requested, finishing, Duty::none},   // the second press of the button
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

// Whether the duty belongs to a run in this state. A run that was to be launched, resumed or parked may have moved on
// before the write was answered: a cancel and a decision are taken while the disk is busy.
constexpr bool belongs_to(Duty duty, RunState state) {
  switch (duty) {
    case Duty::none: return true;
    case Duty::admit: return state == RunState::held;
    case Duty::launch:
    case Duty::resume:
    case Duty::park: return state != RunState::accepted && state != RunState::held;
    case Duty::interrupt: return state == RunState::finishing;
    case Duty::reap: return is_over(state);
  }
  return false;
}

constexpr std::string_view name_of(Happening what) {
  constexpr std::array<std::string_view, happening_count> names = {
      "admitted",     "pool_full", "slot_freed", "hold_expired",     "gate_raised",  "approved",        "denied",
      "gate_expired", "result",    "error",      "cancel_requested", "work_stopped", "server_restarted"};
  return names[static_cast<std::size_t>(what)];
}

namespace rules {

constexpr RunState state_at(int number) { return static_cast<RunState>(number); }
constexpr bool is_stored(RunState state) {
  for (const Row& row : table::rows) {
    if (row.to == state) return true;
  }
  return false;
}

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

// Whatever stored state a run is in, it can be cancelled, can fail, and survives the server.
constexpr bool no_state_strands_a_run() {
  for (int s = 0; s < run_state_count; ++s) {
    const auto state = state_at(s);
    if (is_over(state) || !is_stored(state)) continue;
    const auto restarted = step(state, Happening::server_restarted);
    if (!restarted || restarted->to != state || restarted->then == Duty::none) return false;
    if (!step(state, Happening::cancel_requested)) return false;
    const auto failed = step(state, Happening::error);
    if (!failed || (!is_over(failed->to) && !step(failed->to, Happening::work_stopped))) return false;
  }
  return true;
}

// A cancel ends a run that nothing works on; any other run is stopped, and ends with the proof that its work has.
constexpr bool cancelling_leads_to_cancelled() {
  for (int s = 0; s < run_state_count; ++s) {
    const auto state = state_at(s);
    if (is_over(state) || !is_stored(state)) continue;
    const auto pressed = step(state, Happening::cancel_requested);
    if (pressed->to == RunState::cancelled) continue;
    if (pressed->to != state && pressed->then != Duty::interrupt) return false;
    const auto gone = step(pressed->to, Happening::work_stopped);
    if (!gone || gone->to != RunState::cancelled) return false;
  }
  return true;
}

constexpr bool every_end_reaps_and_nothing_else_does() {
  for (const Row& row : table::rows) {
    if (is_over(row.to) != (row.then == Duty::reap)) return false;
  }
  return true;
}

// A run that any agent may be at work on is launched or resumed when it begins to stream, and never otherwise.
constexpr bool every_duty_belongs_to_its_state() {
  for (const Row& row : table::rows) {
    if (!belongs_to(row.then, row.to)) return false;
    const bool is_worked_on = row.then == Duty::launch || row.then == Duty::resume;
    if (is_worked_on != (row.to == RunState::streaming)) return false;
    if ((row.then == Duty::park) != (row.to == RunState::parked)) return false;
  }
  return true;
}

// A server that died may have left the duty of the state undone, so the next one performs the same duty. Only a launch
// is not repeated as it was: the work may have begun, and is resumed from the journal.
constexpr bool a_restart_repeats_the_duty_of_the_state() {
  for (const Row& row : table::rows) {
    if (is_over(row.to) || row.to == row.from) continue;
    const auto again = step(row.to, Happening::server_restarted)->then;
    if (again != row.then && !(row.then == Duty::launch && again == Duty::resume)) return false;
  }
  return true;
}

// Duties are performed when a new state is on disk, so a row that changes no state has one only after a restart.
constexpr bool only_changes_and_restarts_have_duties() {
  for (const Row& row : table::rows) {
    if (row.from == row.to && row.when != Happening::server_restarted && row.then != Duty::none) return false;
  }
  return true;
}

constexpr bool every_state_but_one_is_reached() {
  bool reached[run_state_count] = {true};
  for (int round = 0; round < run_state_count; ++round) {
    for (const Row& row : table::rows) reached[int(row.to)] |= reached[int(row.from)];
  }
  for (int s = 0; s < run_state_count; ++s) {
    if (reached[s] == (state_at(s) == RunState::starting)) return false;
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
static_assert(every_end_reaps_and_nothing_else_does());
static_assert(every_duty_belongs_to_its_state());
static_assert(a_restart_repeats_the_duty_of_the_state());
static_assert(only_changes_and_restarts_have_duties());
static_assert(every_state_but_one_is_reached());
static_assert(nothing_but_approval_leaves_a_park_alive());

}  // namespace rules
}  // namespace sluice::engine
