// Work on another thread, whose answer is dropped once the object that asked for it is gone.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/callback.h"
#include "runs/lifeline.h"
#include "world/world.h"

namespace sluice::runs {

// `work` runs on a thread of `workers`, and must touch nothing that is not its own; `then` gets its answer on the
// loop's thread, unless `alive` has expired by then. If it has, `unwanted` gets the answer on a thread of `workers`, to
// clear away what came of the work.
template <typename Answer>
void run_off_loop(world::Workers& workers, Lifeline::Watch alive, Callback<Answer()> work, Callback<void(Answer)> then,
                  Callback<void(Answer)> unwanted = nullptr) {
  // Shared by the two sides, because either may go last.
  auto answer = std::make_shared<std::optional<Answer>>();
  workers.run(
      [answer, work = std::move(work)]() mutable { answer->emplace(work()); },
      [answer, &workers, alive = std::move(alive), then = std::move(then), unwanted = std::move(unwanted)]() mutable {
        if (!alive.expired()) return then(*std::move(*answer));
        if (!unwanted) return;
        workers.run([answer, unwanted = std::move(unwanted)]() mutable { unwanted(*std::move(*answer)); }, [] {});
      });
}

}  // namespace sluice::runs
