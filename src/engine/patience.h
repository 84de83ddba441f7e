// How a sequence of waits (base/task.h) waits for a store that cannot answer now, and for a run to be this node's
// alone.
#pragma once

#include <utility>

#include "base/task.h"
#include "engine/live_run.h"
#include "engine/problems.h"

namespace sluice::engine {

inline constexpr Millis read_again{500};

// The answer to `ask`, which is asked again every half second while its failure may pass.
template <typename T, typename Ask>
Task<Result<T>> patiently(world::Loop& loop, Ask ask) {
  while (true) {
    auto found = co_await answer<Result<T>>(ask);
    if (found || !may_pass(found.error())) co_return std::move(found);
    co_await pause(loop, read_again);
  }
}

// Raises the run's epoch, so that no node can take it which was asked to, or judged this one, before.
inline Task<> renew(world::Loop& loop, LiveRun& live) {
  constexpr Millis renew_again{50};
  const auto ask = [&live](auto done) {
    // False while something of it is being written.
    if (!live.writer().renew([done]() mutable { done(true); })) done(false);
  };
  while (!co_await answer<bool>(ask)) co_await pause(loop, renew_again);
}

}  // namespace sluice::engine
