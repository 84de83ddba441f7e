// When the store is tidied up next. Without a clock and without the store, so that a test can say what they see.
#pragma once

#include "base/time.h"
#include "world/metrics.h"

namespace sluice::app {

// What waits to be tidied up.
struct TidyDebt {
  int64_t unsealed_runs = 0;
  int64_t oldest_seconds = 0;  // since the first of these runs ended
  int64_t expired_rows = 0;    // keys, executions and the rows of deleted tables
};

inline constexpr Millis tidy_every{5'000};

// After a round of tidying up. Each round keeps those who write waiting for milliseconds only, so there is one every
// few seconds however busy the server is; while it is quiet, or in debt, the next round follows soon.
Millis until_next_tidying(int64_t operations_per_second, bool has_sealed, const TidyDebt& left);

// The debt as the store says it in its figures.
class DebtFigures {
 public:
  explicit DebtFigures(world::Metrics& metrics);
  TidyDebt read() const;

 private:
  const world::Gauge& unsealed_runs_;
  const world::Gauge& oldest_seconds_;
  const world::Gauge& expired_keys_;
  const world::Gauge& expired_executions_;
  const world::Gauge& deleted_rows_;
};

}  // namespace sluice::app
