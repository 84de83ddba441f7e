#include "base/result.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "base/callback.h"

namespace sluice {
namespace result_test {

Result<int> half(int of) {
  if (of % 2 != 0) return Error{ErrorKind::invalid, std::to_string(of) + " is odd"};
  return of / 2;
}

TEST(Result, Is_a_value_or_the_reason_there_is_none) {
  auto good = half(4);
  ASSERT_TRUE(good);
  EXPECT_EQ(good.value(), 2);
  auto bad = half(3);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::invalid);
  EXPECT_EQ(bad.error().what, "3 is odd");
}

TEST(Result, Carries_what_can_only_be_moved) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = std::move(result).take();
  EXPECT_EQ(*taken, 5);
}

TEST(Error, Is_wrapped_with_the_verb_on_the_way_up) {
  EXPECT_EQ((Error{ErrorKind::overloaded, "disk is full"}.in("migrate").in("open store").what),
            "open store: migrate: disk is full");
}

TEST(ResultDeathTest, Looking_for_what_is_not_there_stops_the_program) {
  auto bad = half(3);
  EXPECT_DEATH((void)bad.value(), "broken invariant");
  auto good = half(4);
  EXPECT_DEATH((void)good.error(), "broken invariant");
}

TEST(Callback, Calls_what_it_holds_small_or_large) {
  int sum = 0;
  Callback<void(int)> small = [&sum](int n) { sum += n; };
  small(3);
  std::array<int, 64> many{};
  many[63] = 4;
  Callback<void(int)> large = [&sum, many](int n) { sum += n * many[63]; };
  large(10);
  EXPECT_EQ(sum, 43);
}

TEST(Callback, Holds_what_cannot_be_copied_and_gives_it_away_once) {
  Callback<int()> first = [held = std::make_unique<int>(9)] { return *held; };
  Callback<int()> second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that it is empty is the point
  EXPECT_EQ(second(), 9);
}

TEST(Callback, Drops_its_captures_when_dropped_replaced_or_reset) {
  const auto held = std::make_shared<int>(1);
  std::array<char, 64> bulk{};
  Callback<void()> small = [held] {};
  Callback<void()> large = [held, bulk] { (void)bulk; };
  EXPECT_EQ(held.use_count(), 3);
  small = nullptr;
  EXPECT_EQ(held.use_count(), 2);
  large = std::move(small);
  EXPECT_EQ(held.use_count(), 1);
  {
    Callback<void()> scoped = [held] {};
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(CallbackDeathTest, Calling_an_empty_one_stops_the_program) {
  Callback<void()> empty;
  EXPECT_DEATH(empty(), "broken invariant");
}

}  // namespace result_test
}  // namespace sluice
