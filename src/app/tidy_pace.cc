#include "app/tidy_pace.h"

namespace sluice::app {

namespace {

constexpr Millis tidy_again{200};
// Above this rate, sealing leaves the processors and the disk to clients that send messages, unless there is a debt.
constexpr int64_t busy_operations_per_second = 500;
// A debt is a minute's journals, or more work than a few rounds do.
constexpr int64_t unsealed_runs_max = 1'000;
constexpr int64_t oldest_seconds_max = 60;
constexpr int64_t expired_rows_max = 5'000;

bool is_debt(const TidyDebt& left) {
  return left.unsealed_runs >= unsealed_runs_max || left.oldest_seconds >= oldest_seconds_max ||
         left.expired_rows >= expired_rows_max;
}

}  // namespace

Millis until_next_tidying(int64_t operations_per_second, bool has_sealed, const TidyDebt& left) {
  // Journals that stay although a round passed over them are damaged, or another server is at it.
  if (!has_sealed && left.expired_rows == 0) return tidy_every;
  const bool is_quiet = operations_per_second <= busy_operations_per_second;
  return is_quiet || is_debt(left) ? tidy_again : tidy_every;
}

DebtFigures::DebtFigures(world::Metrics& metrics)
    : unsealed_runs_(metrics.gauge("sluice_store_unsealed_runs", "")),
      oldest_seconds_(metrics.gauge("sluice_store_unsealed_oldest_seconds", "")),
      expired_keys_(metrics.gauge("sluice_store_expired_keys", "")),
      expired_executions_(metrics.gauge("sluice_store_expired_executions", "")),
      deleted_rows_(metrics.gauge("sluice_store_deleted_rows", "")) {}

TidyDebt DebtFigures::read() const {
  return {.unsealed_runs = unsealed_runs_.value(),
          .oldest_seconds = oldest_seconds_.value(),
          .expired_rows = expired_keys_.value() + expired_executions_.value() + deleted_rows_.value()};
}

}  // namespace sluice::app
