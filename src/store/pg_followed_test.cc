#include "store/pg_followed.h"

#include <gtest/gtest.h>

#include "store/questions.h"

namespace sluice::store {
namespace pg_followed_test {

constexpr int64_t second_us = 1'000'000;
constexpr int64_t begin_us = 100 * second_us;

model::RunId run_numbered(uint8_t number) {
  model::RunId run;
  run.ulid.bytes[0] = number;
  return run;
}

PgNews wish_for(std::vector<model::RunId> runs) {
  PgNews wish{.is_wish = true};
  wish.runs = std::move(runs);
  return wish;
}

TEST(PgFollowed, What_nobody_follows_is_told_to_nobody) {
  PgFollowed followed;
  followed.want(wish_for({run_numbered(1)}), begin_us);
  EXPECT_TRUE(followed.writes(run_numbered(1), begin_us));
  EXPECT_FALSE(followed.writes(run_numbered(2), begin_us));
  EXPECT_TRUE(followed.owed().empty()) << "nothing was written before the wish";
}

TEST(PgFollowed, A_wish_holds_for_its_time_and_anew_when_it_is_said_again) {
  PgFollowed followed;
  const auto run = run_numbered(1);
  const int64_t span_us = journal::follow_ms * 1'000;
  followed.want(wish_for({run}), begin_us);
  EXPECT_TRUE(followed.writes(run, begin_us + span_us - 1));
  followed.want(wish_for({run}), begin_us + span_us - 1);
  EXPECT_TRUE(followed.writes(run, begin_us + span_us));
  EXPECT_TRUE(followed.writes(run, begin_us + 2 * span_us - 2));
  EXPECT_FALSE(followed.writes(run, begin_us + 2 * span_us - 1));
}

TEST(PgFollowed, What_was_written_while_the_wish_was_under_way_is_owed_until_it_is_told) {
  PgFollowed followed;
  followed.writes(run_numbered(1), begin_us);
  followed.writes(run_numbered(2), begin_us);
  followed.want(wish_for({run_numbered(1), run_numbered(3)}), begin_us + second_us / 2);
  followed.want(wish_for({run_numbered(1)}), begin_us + second_us / 2);
  EXPECT_EQ(followed.owed(), std::vector{run_numbered(1)});
  followed.settle();
  EXPECT_TRUE(followed.owed().empty());
}

TEST(PgFollowed, What_was_written_long_before_the_wish_is_not_owed) {
  PgFollowed followed;
  followed.writes(run_numbered(1), begin_us);
  followed.writes(run_numbered(2), begin_us + 1);
  followed.want(wish_for({run_numbered(2)}), begin_us + second_us);
  EXPECT_EQ(followed.owed(), std::vector{run_numbered(2)});
  followed.settle();
  followed.want(wish_for({run_numbered(1)}), begin_us + 3 * second_us);
  EXPECT_TRUE(followed.owed().empty());
}

TEST(PgFollowed, Whoever_follows_more_than_it_can_name_is_told_of_everything) {
  PgFollowed followed;
  std::vector<model::RunId> many(1'000, run_numbered(1));
  const auto wish = PgNews::read(wish_for(many).spelt());
  EXPECT_TRUE(wish.is_wish);
  followed.want(wish, begin_us);
  EXPECT_TRUE(followed.writes(run_numbered(9), begin_us));
  EXPECT_FALSE(followed.writes(run_numbered(9), begin_us + journal::follow_ms * 1'000));
}

TEST(PgNews, A_wish_is_read_as_it_was_spelt) {
  auto wish = wish_for({run_numbered(1), run_numbered(2)});
  wish.from.ulid.bytes[0] = 7;
  const auto read = PgNews::read(wish.spelt());
  EXPECT_TRUE(read.is_wish);
  EXPECT_EQ(read.from, wish.from);
  EXPECT_EQ(read.runs, wish.runs);
  EXPECT_FALSE(PgNews::read(PgNews{.runs = wish.runs}.spelt()).is_wish);
}

}  // namespace pg_followed_test
}  // namespace sluice::store
