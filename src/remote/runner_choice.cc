#include "remote/runner_choice.h"

namespace sluice::remote {
namespace {

// How much speaks for it; 0: it cannot take the run.
int64_t weight_of(const RunnerState& runner) {
  constexpr int64_t some = 1;
  if (runner.unsuitable) return 0;
  if (runner.health == Health::unknown) return some;
  return runner.health == Health::well && runner.free > 0 ? some + runner.free : 0;
}

}  // namespace

std::optional<std::size_t> choose_runner(std::span<const RunnerState> runners, std::size_t turn) {
  std::optional<std::size_t> best;
  int64_t best_weight = 0;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    const auto place = (turn + i) % runners.size();
    const auto weight = weight_of(runners[place]);
    if (weight <= best_weight) continue;
    best = place;
    best_weight = weight;
  }
  return best;
}

}  // namespace sluice::remote
