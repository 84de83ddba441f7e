// A job on a worker thread that makes a result. Called from the loop's thread, where the result arrives too.
// The workers bound how many jobs run at once; a bound on how many wait is up to the caller.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "world/world.h"

namespace sluice::world {

// `work` runs on a thread of `workers` and must touch nothing that another thread uses; `then` gets its result on the
// loop's thread.
template <typename T>
void run_job(Workers& workers, Callback<T()> work, Callback<void(T)> then) {
  // Shared by both callbacks, because either may be destroyed last.
  auto result = std::make_shared<std::optional<T>>();
  workers.run([result, work = std::move(work)]() mutable { result->emplace(work()); },
              [result, then = std::move(then)]() mutable { then(*std::move(*result)); });
}

// The same for a caller that may be gone before the result is there: `then` is not called once `caller` has expired.
// `discard`, if given, then gets the result on a worker thread, to remove what the job left behind.
template <typename T>
void run_job(Workers& workers, std::weak_ptr<const void> caller, Callback<T()> work, Callback<void(T)> then,
             Callback<void(T)> discard = nullptr) {
  run_job<T>(
      workers, std::move(work),
      [&workers, caller = std::move(caller), then = std::move(then), discard = std::move(discard)](T result) mutable {
        if (!caller.expired()) return then(std::move(result));
        if (!discard) return;
        workers.run(
            [result = std::move(result), discard = std::move(discard)]() mutable { discard(std::move(result)); },
            [] {});
      });
}

}  // namespace sluice::world
