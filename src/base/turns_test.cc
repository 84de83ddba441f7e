#include "base/turns.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice {
namespace turns_test {

std::vector<std::string> drained(Turns<char, std::string>& turns) {
  std::vector<std::string> order;
  while (!turns.empty()) order.push_back(turns.pop());
  return order;
}

TEST(Turns, The_only_item_of_a_tenant_waits_for_one_item_of_another_tenant_and_not_for_all_of_them) {
  Turns<char, std::string> turns;
  for (int i = 1; i <= 80; ++i) turns.push('a', "a" + std::to_string(i));
  turns.push('b', "b1");
  EXPECT_EQ(turns.pop(), "a1");
  EXPECT_EQ(turns.pop(), "b1");
  EXPECT_EQ(turns.pop(), "a2");
}

TEST(Turns, Items_of_one_tenant_keep_their_order) {
  Turns<char, std::string> turns;
  for (const auto* item : {"a1", "a2", "a3"}) turns.push('a', item);
  for (const auto* item : {"b1", "b2"}) turns.push('b', item);
  EXPECT_EQ(drained(turns), (std::vector<std::string>{"a1", "b1", "a2", "b2", "a3"}));
}

TEST(Turns, Items_that_are_put_back_are_taken_again_as_if_they_had_never_been) {
  Turns<char, std::string> turns;
  for (const auto* item : {"a1", "a2", "a3"}) turns.push('a', item);
  for (const auto* item : {"b1", "b2"}) turns.push('b', item);
  turns.push('c', "c1");
  std::vector<std::pair<char, std::string>> taken;
  for (int i = 0; i < 4; ++i) {
    const char lane = turns.front_lane();
    taken.emplace_back(lane, turns.pop());
  }
  turns.push('d', "d1");
  for (std::size_t at = taken.size(); at-- > 1;) turns.push_front(taken[at].first, taken[at].second);
  EXPECT_EQ(turns.size(), 6U);
  EXPECT_EQ(drained(turns), (std::vector<std::string>{"b1", "c1", "a2", "d1", "b2", "a3"}));
}

TEST(Turns, A_tenant_that_was_just_served_comes_after_one_that_waits) {
  Turns<char, std::string> turns;
  turns.push('a', "a1");
  EXPECT_EQ(turns.pop(), "a1");
  turns.push('b', "b1");
  turns.push('a', "a2");
  turns.push('c', "c1");
  EXPECT_EQ(drained(turns), (std::vector<std::string>{"b1", "a2", "c1"}));
}

TEST(Turns, A_tenant_that_may_not_go_is_passed_over_and_keeps_its_turn) {
  Turns<char, std::string> turns;
  turns.push('a', "a1");
  turns.push('b', "b1");
  const auto not_a = [](char lane) { return lane != 'a'; };
  EXPECT_EQ(turns.pop_if(not_a), std::pair('b', std::string("b1")));
  EXPECT_EQ(turns.pop_if(not_a), std::nullopt);
  turns.push('b', "b2");
  EXPECT_EQ(drained(turns), (std::vector<std::string>{"a1", "b2"}));
}

TEST(Turns, What_waits_is_counted_by_tenant_and_in_all) {
  Turns<char, std::unique_ptr<int>> turns;
  turns.push('a', std::make_unique<int>(1));
  turns.push('a', std::make_unique<int>(2));
  turns.push('b', std::make_unique<int>(3));
  EXPECT_EQ(turns.size(), 3U);
  EXPECT_EQ(turns.waiting_in('a'), 2U);
  EXPECT_EQ(*turns.front(), 1);
  turns.pop();
  EXPECT_EQ(turns.waiting_in('a'), 1U);
  EXPECT_EQ(turns.waiting_in('c'), 0U);
}

}  // namespace turns_test
}  // namespace sluice
