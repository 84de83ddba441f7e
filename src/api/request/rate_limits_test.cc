#include "api/request/rate_limits.h"

#include <gtest/gtest.h>

namespace sluice::api {
namespace rate_limits_test {

constexpr int64_t second = 1'000'000;

TEST(TokenBuckets, Let_a_burst_pass_and_then_one_an_interval) {
  TokenBuckets buckets({.per_second = 10, .burst = 3});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(buckets.take("a", 0), 0) << i;
  EXPECT_EQ(buckets.take("a", 0), second / 10);
  EXPECT_EQ(buckets.take("a", second / 10 - 1), 1);
  EXPECT_EQ(buckets.take("a", second / 10), 0);
  EXPECT_EQ(buckets.take("a", second / 10), second / 10);
}

TEST(TokenBuckets, A_refused_request_does_not_make_the_wait_longer) {
  TokenBuckets buckets({.per_second = 1, .burst = 1});
  EXPECT_EQ(buckets.take("a", 0), 0);
  for (int64_t now = 1; now < 1000; ++now) EXPECT_EQ(buckets.take("a", now), second - now);
  EXPECT_EQ(buckets.take("a", second), 0);
}

TEST(TokenBuckets, Each_has_its_own) {
  TokenBuckets buckets({.per_second = 1, .burst = 1});
  EXPECT_EQ(buckets.take("a", 0), 0);
  EXPECT_EQ(buckets.take("b", 0), 0);
  EXPECT_GT(buckets.take("a", 0), 0);
  EXPECT_GT(buckets.take("b", 0), 0);
}

TEST(TokenBuckets, A_pause_fills_it_to_the_brim_and_not_beyond) {
  TokenBuckets buckets({.per_second = 100, .burst = 5});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(buckets.take("a", 0), 0);
  const int64_t later = 3600 * second;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(buckets.take("a", later), 0) << i;
  EXPECT_EQ(buckets.take("a", later), second / 100);
}

TEST(TokenBuckets, Over_any_time_no_more_pass_than_the_rate_and_one_burst) {
  for (const double rate : {0.5, 1.0, 7.0, 1000.0}) {
    for (const int64_t burst : {1, 2, 10}) {
      TokenBuckets buckets({.per_second = rate, .burst = burst});
      int64_t passed = 0;
      const int64_t span = 10 * second;
      for (int64_t now = 0; now < span; now += 777) passed += buckets.take("a", now) == 0 ? 1 : 0;
      EXPECT_LE(passed, static_cast<int64_t>(rate * 10) + burst + 1);
      EXPECT_GE(passed, static_cast<int64_t>(rate * 10 * 0.5));
    }
  }
}

TEST(TokenBuckets, Without_a_rate_everybody_passes_and_nothing_is_kept) {
  TokenBuckets buckets({.per_second = 0, .burst = 1});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(buckets.take("a", 0), 0);
  EXPECT_EQ(buckets.size(), 0U);
}

TEST(TokenBuckets, The_number_of_buckets_is_bounded_and_full_ones_make_room) {
  TokenBuckets buckets({.per_second = 1, .burst = 2});
  for (std::size_t i = 0; i < TokenBuckets::count_max + 100; ++i) {
    EXPECT_EQ(buckets.take(std::to_string(i), 0), 0) << "no caller is shut out because others are many";
  }
  EXPECT_EQ(buckets.size(), TokenBuckets::count_max);
  EXPECT_EQ(buckets.take("late", 2 * second), 0);
  EXPECT_EQ(buckets.size(), 1U);
}

TEST(TokenBuckets, An_empty_one_is_kept_when_room_is_made) {
  TokenBuckets buckets({.per_second = 0.001, .burst = 1});
  EXPECT_EQ(buckets.take("a", 0), 0);
  for (std::size_t i = 0; i < TokenBuckets::count_max + 100; ++i) buckets.take(std::to_string(i), second);
  EXPECT_GT(buckets.take("a", 2 * second), 0);
}

}  // namespace rate_limits_test
}  // namespace sluice::api
