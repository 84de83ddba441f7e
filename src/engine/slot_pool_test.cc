#include "engine/slot_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace sluice::engine {
namespace slot_pool_test {

model::TenantId tenant(uint8_t n) {
  model::TenantId id;
  id.ulid.bytes[15] = n;
  return id;
}

model::RunId run(uint32_t n) {
  model::RunId id;
  for (std::size_t i = 0; i < 4; ++i) id.ulid.bytes[12 + i] = static_cast<uint8_t>(n >> (8 * (3 - i)));
  return id;
}

model::TenantLimits weighing(int64_t weight, int64_t max_running = 0) {
  model::TenantLimits limits;
  limits.weight = weight;
  limits.max_running = max_running;
  return limits;
}

constexpr SlotPool::Limits one_slot{.max_running = 1, .max_sticky = 0, .max_held = 10'000};

TEST(SlotPool, Gives_as_many_slots_as_there_are_and_no_more_I_12) {  // I-12
  SlotPool pool({.max_running = 2, .max_sticky = 0, .max_held = 1});
  EXPECT_TRUE(pool.take(tenant(1), {}));
  EXPECT_TRUE(pool.take(tenant(2), {}));
  EXPECT_FALSE(pool.take(tenant(3), {}));
  EXPECT_FALSE(pool.next().has_value());
  pool.give_back(tenant(1));
  EXPECT_TRUE(pool.take(tenant(3), {}));
  EXPECT_EQ(pool.taken(), 2);
}

TEST(SlotPool, Gives_a_tenant_no_more_than_its_own_limit) {
  SlotPool pool({.max_running = 5, .max_sticky = 0, .max_held = 10});
  const auto limits = weighing(1, 2);
  EXPECT_TRUE(pool.take(tenant(1), limits));
  EXPECT_TRUE(pool.take(tenant(1), limits));
  EXPECT_FALSE(pool.take(tenant(1), limits));
  EXPECT_TRUE(pool.take(tenant(2), limits));
}

TEST(SlotPool, Bounds_the_queue_and_each_tenants_part_of_it) {
  SlotPool pool({.max_running = 1, .max_sticky = 0, .max_held = 3});
  model::TenantLimits two;
  two.max_held = 2;
  ASSERT_TRUE(pool.take(tenant(1), two));
  pool.hold(run(1), tenant(1), two);
  EXPECT_TRUE(pool.has_room_to_wait(tenant(1), two));
  pool.hold(run(2), tenant(1), two);
  EXPECT_FALSE(pool.has_room_to_wait(tenant(1), two));
  EXPECT_TRUE(pool.has_room_to_wait(tenant(2), two));
  pool.hold(run(3), tenant(2), two);
  EXPECT_FALSE(pool.has_room_to_wait(tenant(2), two)) << "the whole queue is full";
  EXPECT_TRUE(pool.forget(run(1)));
  EXPECT_TRUE(pool.has_room_to_wait(tenant(1), two));
}

TEST(SlotPool, Calls_those_of_one_tenant_in_the_order_in_which_they_came) {
  SlotPool pool(one_slot);
  ASSERT_TRUE(pool.take(tenant(1), {}));
  for (uint32_t n = 0; n < 20; ++n) EXPECT_EQ(pool.hold(run(n), tenant(1), {}), n + 1);
  EXPECT_TRUE(pool.forget(run(7)));
  EXPECT_FALSE(pool.forget(run(7)));
  for (uint32_t n = 0; n < 20; ++n) {
    if (n == 7) continue;
    pool.give_back(tenant(1));
    EXPECT_EQ(pool.next(), run(n));
  }
  EXPECT_EQ(pool.held(), 0);
}

TEST(SlotPool, Passes_over_a_tenant_at_its_limit_and_calls_it_when_it_may_work_again) {
  SlotPool pool({.max_running = 2, .max_sticky = 0, .max_held = 10});
  const auto one = weighing(1, 1);
  ASSERT_TRUE(pool.take(tenant(1), one));
  ASSERT_TRUE(pool.take(tenant(2), {}));
  pool.hold(run(1), tenant(1), one);
  EXPECT_EQ(pool.hold(run(2), tenant(2), {}), 1) << "a run that is passed over is not counted before it";
  EXPECT_EQ(pool.first_in_line(9), (std::vector<SlotPool::Placed>{{run(2), 1}, {run(1), 2}}));
  pool.give_back(tenant(2));
  EXPECT_EQ(pool.next(), run(2));
  EXPECT_FALSE(pool.next().has_value());
  pool.give_back(tenant(1));
  EXPECT_EQ(pool.next(), run(1));
}

TEST(SlotPool, Calls_those_who_return_before_those_who_are_held) {
  SlotPool pool(one_slot);
  ASSERT_TRUE(pool.take(tenant(1), {}));
  pool.hold(run(1), tenant(1), {});
  pool.await_return(run(2), tenant(2), {});
  pool.await_return(run(3), tenant(1), {});
  pool.await_return(run(4), tenant(1), {});
  EXPECT_TRUE(pool.forget(run(3)));
  EXPECT_EQ(pool.returning(), 2);
  for (const auto& [left, called] : {std::pair{1, 2U}, {2, 4U}, {1, 1U}}) {
    pool.give_back(tenant(static_cast<uint8_t>(left)));
    EXPECT_EQ(pool.next(), run(called));
  }
}

TEST(SlotPool, Shares_by_weight_within_one_turn_each) {
  SlotPool pool(one_slot);
  const int64_t weights[] = {1, 2, 5};
  ASSERT_TRUE(pool.take(tenant(9), {}));
  std::map<model::RunId, std::size_t> whose;
  for (uint32_t n = 0; n < 900; ++n) {
    whose[run(n)] = n % 3;
    pool.hold(run(n), tenant(static_cast<uint8_t>(n % 3)), weighing(weights[n % 3]));
  }
  auto working = tenant(9);
  int64_t turns[3] = {};
  for (int64_t turn = 1; turn <= 400; ++turn) {
    pool.give_back(working);
    const auto called = pool.next();
    ASSERT_TRUE(called.has_value());
    working = tenant(static_cast<uint8_t>(whose[*called]));
    ++turns[whose[*called]];
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(static_cast<double>(turns[i]), static_cast<double>(turn * weights[i]) / 8.0, 2.0) << turn;
    }
  }
}

// What waits on other nodes, of one tenant.
journal::HeldElsewhere elsewhere(uint8_t whose, const model::TenantLimits& limits, std::vector<uint32_t> runs) {
  journal::HeldElsewhere held{.tenant = tenant(whose), .limits = limits, .count = std::ssize(runs), .oldest = {}};
  for (const auto n : runs) held.oldest.push_back({run(n), model::Epoch{1}});
  return held;
}

std::vector<uint32_t> numbers(uint32_t first, uint32_t count) {
  std::vector<uint32_t> all;
  for (uint32_t n = 0; n < count; ++n) all.push_back(first + n);
  return all;
}

uint32_t number_of(model::RunId id) {
  uint32_t n = 0;
  for (std::size_t i = 12; i < 16; ++i) n = n << 8 | id.ulid.bytes[i];
  return n;
}

TEST(SlotPool, I_12_shares_by_weight_with_tenants_that_wait_on_other_nodes) {
  SlotPool pool(one_slot);
  ASSERT_TRUE(pool.take(tenant(9), {}));
  for (const auto n : numbers(1'000, 40)) pool.hold(run(n), tenant(1), weighing(1));
  auto working = tenant(9);
  uint32_t turns[4] = {};
  for (int turn = 0; turn < 36; ++turn) {
    if (turn % 4 == 0) {  // each beat brings another list
      pool.set_elsewhere({elsewhere(2, weighing(3), numbers(2'000 + turns[2], 30)),
                          elsewhere(3, weighing(5), numbers(3'000 + turns[3], 30))});
    }
    pool.give_back(working);
    const auto called = pool.next();
    ASSERT_TRUE(called);
    const auto whose = number_of(*called) / 1'000;
    EXPECT_EQ(number_of(*called), whose * 1'000 + turns[whose]) << "within a tenant the oldest first";
    working = tenant(static_cast<uint8_t>(whose));
    ++turns[whose];
  }
  EXPECT_NEAR(turns[1], 4, 1);
  EXPECT_NEAR(turns[2], 12, 1);
  EXPECT_NEAR(turns[3], 20, 1);
}

TEST(SlotPool, Passes_over_a_tenant_at_its_limit_whose_runs_wait_on_other_nodes) {
  SlotPool pool({.max_running = 3, .max_sticky = 0, .max_held = 10});
  const auto one = weighing(1, 1);
  ASSERT_TRUE(pool.take(tenant(1), one));
  pool.set_elsewhere({elsewhere(1, one, {1, 2}), elsewhere(2, one, {3, 4})});
  EXPECT_EQ(pool.next(), run(3));
  EXPECT_FALSE(pool.next()) << "the third slot is for neither of them";
  EXPECT_EQ(pool.taken(), 2);
  pool.give_back(tenant(1));
  EXPECT_EQ(pool.next(), run(1));
}

TEST(SlotPool, I_12_counts_the_turns_of_runs_on_other_nodes_in_a_position) {
  SlotPool pool(one_slot);
  ASSERT_TRUE(pool.take(tenant(9), {}));
  pool.set_elsewhere({elsewhere(2, weighing(2), numbers(10, 3))});
  EXPECT_EQ(pool.hold(run(1), tenant(1), weighing(1)), 2);
  EXPECT_EQ(pool.hold(run(2), tenant(1), weighing(1)), 5);
  EXPECT_EQ(pool.first_in_line(9), (std::vector<SlotPool::Placed>{{run(1), 2}, {run(2), 5}}));
  auto working = tenant(9);
  for (const uint32_t n : {10, 1, 11, 12, 2}) {
    pool.give_back(working);
    EXPECT_EQ(pool.next(), run(n));
    working = tenant(n < 10 ? 1 : 2);
  }
}

TEST(SlotPool, Calls_what_waits_on_another_node_for_much_longer_before_what_waits_here) {
  SlotPool pool(one_slot);
  ASSERT_TRUE(pool.take(tenant(9), {}));
  auto others = elsewhere(1, {}, {11, 12, 13, 14});
  others.overdue = 3;
  pool.set_elsewhere({others});
  EXPECT_EQ(pool.hold(run(1), tenant(1), {}), 4);
  EXPECT_EQ(pool.hold(run(2), tenant(1), {}), 5);
  pool.unlist(tenant(1), run(12));
  EXPECT_EQ(pool.first_in_line(9), (std::vector<SlotPool::Placed>{{run(1), 3}, {run(2), 4}}));
  auto working = tenant(9);
  for (const uint32_t n : {11, 13, 1, 2, 14}) {
    pool.give_back(working);
    EXPECT_EQ(pool.next(), run(n));
    working = tenant(1);
  }
}

TEST(SlotPool, Forgets_what_waits_on_other_nodes_when_it_waits_no_more) {
  SlotPool pool(one_slot);
  pool.set_elsewhere({elsewhere(1, {}, {1, 2}), elsewhere(2, {}, {3})});
  EXPECT_TRUE(pool.lists_elsewhere());
  pool.unlist(tenant(1), run(1));
  pool.set_elsewhere({elsewhere(1, {}, {2})});
  EXPECT_EQ(pool.next(), run(2));
  EXPECT_FALSE(pool.lists_elsewhere());
  pool.set_elsewhere({});
  pool.give_back(tenant(1));
  EXPECT_FALSE(pool.next());
}

TEST(SlotPool, Lets_nobody_starve_behind_a_tenant_that_never_stops_sending) {
  SlotPool pool(one_slot);
  ASSERT_TRUE(pool.take(tenant(1), {}));
  uint32_t sent = 0;
  for (; sent < 100; ++sent) pool.hold(run(sent), tenant(1), weighing(1'000));
  pool.hold(run(1'000'000), tenant(2), weighing(1));
  int turns = 0;
  for (std::optional<model::RunId> called; called != run(1'000'000); ++turns) {
    pool.give_back(tenant(1));
    called = pool.next();
    pool.hold(run(++sent), tenant(1), weighing(1'000));
    ASSERT_LT(turns, 1'002);
  }
}

TEST(SlotPool, Does_not_make_a_tenant_pay_for_places_that_it_gave_up) {
  SlotPool pool(one_slot);
  ASSERT_TRUE(pool.take(tenant(9), {}));
  for (uint32_t n = 0; n < 100; ++n) pool.hold(run(n), tenant(1), {});
  for (uint32_t n = 0; n < 100; ++n) pool.forget(run(n));
  for (uint32_t n = 200; n < 210; ++n) pool.hold(run(n), tenant(2), {});
  EXPECT_LE(pool.hold(run(300), tenant(1), {}), 2);
}

TEST(SlotPool, Pins_no_more_than_the_pool_and_the_tenant_may_I_21) {  // I-21
  SlotPool pool({.max_running = 9, .max_sticky = 2, .max_held = 0});
  model::TenantLimits one;
  one.max_concurrent_sticky = 1;
  for (uint8_t n = 1; n <= 3; ++n) ASSERT_TRUE(pool.take(tenant(n), one));
  ASSERT_TRUE(pool.take(tenant(1), one));
  EXPECT_TRUE(pool.pin(tenant(1), one));
  EXPECT_FALSE(pool.pin(tenant(1), one)) << "the tenant's cap";
  EXPECT_TRUE(pool.pin(tenant(2), one));
  EXPECT_FALSE(pool.may_pin(tenant(3), one)) << "the pool's cap";
  EXPECT_FALSE(pool.pin(tenant(3), one));
  pool.unpin(tenant(1));
  EXPECT_TRUE(pool.pin(tenant(3), one));
  EXPECT_EQ(pool.pinned(), 2);
}

TEST(SlotPool, Guesses_the_wait_from_how_long_runs_took) {
  SlotPool pool({.max_running = 4, .max_sticky = 0, .max_held = 0});
  constexpr int64_t now = 1'000'000'000;
  const auto end_after = [&](int64_t us) {
    pool.begin_work(now - us);
    pool.end_work(now - us, now, true);
  };
  EXPECT_GE(pool.hint_seconds(1, now), 1);
  end_after(8'000'000);
  EXPECT_EQ(pool.hint_seconds(1, now), 2);
  EXPECT_EQ(pool.hint_seconds(3, now), 6);
  EXPECT_EQ(pool.hint_seconds(5, now), 10);
  pool.begin_work(now - 3'600'000'000);
  pool.end_work(now - 3'600'000'000, now, false);
  EXPECT_EQ(pool.hint_seconds(1, now), 2) << "what came to nothing says nothing";
  for (int i = 0; i < 200; ++i) end_after(1'000);
  EXPECT_EQ(pool.hint_seconds(1, now), 1) << "never less than a second";
}

TEST(SlotPool, Guesses_a_longer_wait_while_all_slots_are_taken_by_longer_runs_than_before) {
  SlotPool pool({.max_running = 3, .max_sticky = 0, .max_held = 0});
  int64_t now = 1'000'000'000;
  for (int i = 0; i < 20; ++i) {
    pool.begin_work(now - 100'000);
    pool.end_work(now - 100'000, now, true);
  }
  const auto began = now;
  for (int i = 0; i < 3; ++i) pool.begin_work(began);
  EXPECT_EQ(pool.hint_seconds(1, now), 1);
  int64_t last = 1;
  for (const int64_t minutes : {1, 5, 30}) {
    now = began + minutes * 60'000'000;
    const auto hint = pool.hint_seconds(1, now);
    EXPECT_GT(hint, last) << minutes;
    last = hint;
  }
  EXPECT_GT(last, 200) << "half an hour without an end";
  for (int i = 0; i < 3; ++i) pool.end_work(began, began + 1'000'000, true);
  EXPECT_EQ(pool.hint_seconds(1, now), 1);
}

TEST(SlotPool, the_wait_is_not_guessed_shorter_than_the_youngest_run_at_work_suggests) {
  SlotPool pool({.max_running = 3, .max_sticky = 0, .max_held = 0});
  int64_t now = 1'000'000'000;
  for (int i = 0; i < 20; ++i) {
    pool.begin_work(now - 100'000);
    pool.end_work(now - 100'000, now, true);
  }
  const auto began = now;
  for (int i = 0; i < 3; ++i) pool.begin_work(began);
  EXPECT_EQ(pool.hint_seconds(1, now), 1);
  now = began + 12'000'000;
  EXPECT_EQ(pool.hint_seconds(1, now), 4) << "three slots, and each of the runs has taken 12 s already";
  EXPECT_EQ(pool.hint_seconds(2, now), 8);
  pool.end_work(began, now, false);
  pool.begin_work(now);
  EXPECT_EQ(pool.hint_seconds(1, now), 2) << "slots become free again, so that only the mean counts";
}

// A pool, and beside it the plainest account of what it must say.
class Story {
 public:
  explicit Story(uint32_t seed)
      : random_(seed), limits_{.max_running = 1 + pick(4), .max_sticky = pick(3), .max_held = 50}, pool_(limits_) {
    for (uint8_t n = 0; n < 4; ++n) {
      tenants_[n] = weighing(1 + pick(3), pick(3));
      tenants_[n].max_concurrent_sticky = 1;
    }
  }

  void something_happens() {
    const auto who = static_cast<uint8_t>(pick(4));
    const auto& mine = tenants_[who];
    const auto action = pick(9);
    if (action == 0 && pool_.take(tenant(who), mine)) {
      ++taken_[who];
    } else if (action == 1 && taken_[who] > pinned_[who]) {
      pool_.give_back(tenant(who));
      --taken_[who];
    } else if (action <= 3 && pool_.has_room_to_wait(tenant(who), mine)) {
      const auto position = pool_.hold(run(++made_), tenant(who), mine);
      waiting_[run(made_)] = who;
      const auto line = pool_.first_in_line(1'000);
      ASSERT_NE(std::ranges::find(line, SlotPool::Placed{run(made_), position}), line.end());
    } else if (action == 4) {
      pool_.await_return(run(++made_), tenant(who), mine);
      waiting_[run(made_)] = who;
      returning_.insert(run(made_));
    } else if (action == 5 && !waiting_.empty()) {
      const auto gone = std::next(waiting_.begin(), pick(static_cast<int64_t>(waiting_.size())))->first;
      ASSERT_TRUE(pool_.forget(gone));
      waiting_.erase(gone);
    } else if (action == 6 && taken_[who] > pinned_[who] && pool_.pin(tenant(who), mine)) {
      ++pinned_[who];
    } else if (action == 7 && pinned_[who] > 0) {
      pool_.unpin(tenant(who));
      --pinned_[who];
    } else if (action == 8) {
      hear_of_others();
    }
  }

  void hear_of_others() {
    elsewhere_.clear();
    std::vector<journal::HeldElsewhere> held;
    for (uint8_t n = 0; n < 4; ++n) {
      if (pick(2) == 0) continue;
      held.push_back(elsewhere(n, tenants_[n], numbers(made_ + 1, 3)));
      held.back().overdue = pick(4);
      for (int i = 0; i < 3; ++i) elsewhere_[run(++made_)] = n;
    }
    pool_.set_elsewhere(held);
  }

  void call_everyone() {
    while (const auto called = pool_.next()) {
      if (const auto away = elsewhere_.extract(*called); !away.empty()) {
        const auto whose = away.mapped();
        ++taken_[whose];
        ASSERT_TRUE(tenants_[whose].max_running == 0 || taken_[whose] <= tenants_[whose].max_running);
        continue;
      }
      const auto whose = waiting_.at(*called);
      if (!returning_.contains(*called)) {
        ASSERT_TRUE(last_called_[whose] < *called) << "first come, first served";
        last_called_[whose] = *called;
      }
      waiting_.erase(*called);
      ++taken_[whose];
      ASSERT_TRUE(tenants_[whose].max_running == 0 || taken_[whose] <= tenants_[whose].max_running);
    }
  }

  void check() {
    int64_t taken = 0;
    int64_t pins = 0;
    for (const auto& [id, count] : taken_) taken += count;
    for (const auto& [id, count] : pinned_) pins += count;
    ASSERT_EQ(pool_.taken(), taken);
    ASSERT_LE(taken, limits_.max_running);
    ASSERT_EQ(pool_.pinned(), pins);
    ASSERT_LE(pins, limits_.max_sticky);
    ASSERT_EQ(pool_.held() + pool_.returning(), static_cast<int64_t>(waiting_.size()));
    ASSERT_EQ(pool_.first_in_line(1'000).size(), static_cast<std::size_t>(pool_.held()));
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  std::mt19937 random_;
  SlotPool::Limits limits_;
  SlotPool pool_;
  std::map<uint8_t, model::TenantLimits> tenants_;
  std::map<uint8_t, int64_t> taken_;
  std::map<uint8_t, int64_t> pinned_;
  std::map<model::RunId, uint8_t> elsewhere_;
  std::map<model::RunId, uint8_t> waiting_;
  std::map<uint8_t, model::RunId> last_called_;
  std::set<model::RunId> returning_;
  uint32_t made_ = 0;
};

// Whatever happens in whatever order: the counts hold, and what hold() says of a place is what the line says.
TEST(SlotPool, Keeps_its_counts_through_any_story) {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    Story story(seed);
    for (int step = 0; step < 600; ++step) {
      story.something_happens();
      story.call_everyone();
      story.check();
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace slot_pool_test
}  // namespace sluice::engine
