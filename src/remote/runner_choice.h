// Which runner gets the next run: the one with most free slots, of equals the next in turn. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace sluice::remote {

enum class Health : uint8_t {
  unknown,   // not asked yet, or it does not say how much it can take
  well,      // `free` counts
  draining,  // takes no more
  dead,      // did not answer
};

struct RunnerState {
  Health health = Health::unknown;
  int64_t free = 0;         // slots, as far as is known
  bool unsuitable = false;  // refused this very run before
};

// Those with free slots come first, then those of which nothing is known. `turn` is where equals begin to be looked at.
// Empty if no runner can take it now.
std::optional<std::size_t> choose_runner(std::span<const RunnerState> runners, std::size_t turn);

}  // namespace sluice::remote
