#include "app/tidy_pace.h"

#include <gtest/gtest.h>

namespace sluice::app {
namespace tidy_pace_test {

constexpr int64_t quiet = 100;
constexpr int64_t busy = 5'000;
constexpr Millis soon{200};

TEST(TidyPace, A_quiet_server_tidies_up_until_no_work_is_left) {
  EXPECT_EQ(until_next_tidying(quiet, true, {.unsealed_runs = 10}), soon);
  EXPECT_EQ(until_next_tidying(quiet, false, {.expired_rows = 10}), soon);
  EXPECT_EQ(until_next_tidying(quiet, false, {}), tidy_every);
}

TEST(TidyPace, A_busy_server_tidies_up_every_few_seconds_and_sooner_when_it_is_in_debt) {
  EXPECT_EQ(until_next_tidying(busy, true, {.unsealed_runs = 10, .oldest_seconds = 5}), tidy_every);
  EXPECT_EQ(until_next_tidying(busy, true, {.unsealed_runs = 1'000}), soon);
  EXPECT_EQ(until_next_tidying(busy, true, {.unsealed_runs = 1, .oldest_seconds = 60}), soon);
  EXPECT_EQ(until_next_tidying(busy, false, {.expired_rows = 5'000}), soon);
}

TEST(TidyPace, Journals_that_cannot_be_sealed_do_not_shorten_the_pause) {
  EXPECT_EQ(until_next_tidying(busy, false, {.unsealed_runs = 1, .oldest_seconds = 100'000}), tidy_every);
  EXPECT_EQ(until_next_tidying(quiet, false, {.unsealed_runs = 1, .oldest_seconds = 100'000}), tidy_every);
}

// The store as it is under load that never ends: each round seals what a round may.
TEST(TidyPace, The_waiting_work_stays_bounded_on_a_busy_server) {
  constexpr int64_t ended_per_second = 300;
  constexpr int64_t sealed_per_round = 256;
  int64_t waiting = 0;
  int64_t most = 0;
  for (int64_t now_ms = 0; now_ms < 3'600'000;) {
    const auto sealed = std::min(waiting, sealed_per_round);
    waiting -= sealed;
    const auto pause = until_next_tidying(busy, sealed > 0, {.unsealed_runs = waiting});
    now_ms += pause.value;
    waiting += ended_per_second * pause.value / 1'000;
    most = std::max(most, waiting);
  }
  EXPECT_LT(most, 4'000);
}

TEST(TidyPace, The_debt_is_read_from_the_gauges_of_the_store) {
  world::Metrics metrics;
  const DebtFigures figures(metrics);
  metrics.gauge("sluice_store_unsealed_runs", "").set(7);
  metrics.gauge("sluice_store_unsealed_oldest_seconds", "").set(8);
  metrics.gauge("sluice_store_expired_keys", "").set(20);
  metrics.gauge("sluice_store_expired_executions", "").set(3);
  EXPECT_EQ(figures.read().unsealed_runs, 7);
  EXPECT_EQ(figures.read().oldest_seconds, 8);
  EXPECT_EQ(figures.read().expired_rows, 23);
}

}  // namespace tidy_pace_test
}  // namespace sluice::app
