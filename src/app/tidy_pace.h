// Decides when the store is tidied up next. Pure: it knows neither a clock nor the store, so a test can pass both
// values.
#pragma once

#include "base/time.h"
#include "world/metrics.h"

namespace sluice::app {

// The work that tidying up has left to do.
struct TidyDebt {
  int64_t unsealed_runs = 0;
  int64_t oldest_seconds = 0;  // since the first of these runs ended
  int64_t expired_rows = 0;    // keys, executions and the rows of deleted tables
};

inline constexpr Millis tidy_every{5'000};

// The pause after a round of tidying up. A round delays writers by milliseconds only, so there is one every few seconds
// however busy the server is. While the server is quiet, or the debt is large, the next round follows soon.
Millis until_next_tidying(int64_t operations_per_second, bool has_sealed, const TidyDebt& left);

// Reads the debt from the gauges that the store keeps.
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
