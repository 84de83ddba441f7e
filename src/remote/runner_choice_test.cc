// Every fleet of three runners: who gets the next run.
#include "remote/fleet.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace sluice::remote {
namespace runner_choice_test {

const std::array<RunnerState, 8> all_states = {{
    {.health = Health::unknown},
    {.health = Health::well, .free = -1},
    {.health = Health::well, .free = 0},
    {.health = Health::well, .free = 1},
    {.health = Health::well, .free = 2},
    {.health = Health::draining, .free = 9},
    {.health = Health::dead, .free = 9},
    {.health = Health::well, .free = 9, .unsuitable = true},
}};

bool can_take(const RunnerState& state) {
  return !state.unsuitable && (state.health == Health::unknown || (state.health == Health::well && state.free > 0));
}

template <typename Check>
void each_fleet(Check check) {
  for (const auto& a : all_states) {
    for (const auto& b : all_states) {
      for (const auto& c : all_states) check(std::array{a, b, c});
    }
  }
}

TEST(RunnerChoice, Somebody_is_chosen_exactly_when_somebody_can_take_it) {
  each_fleet([](const auto& fleet) {
    const bool anybody = can_take(fleet[0]) || can_take(fleet[1]) || can_take(fleet[2]);
    for (std::size_t turn = 0; turn < 7; ++turn) {
      const auto chosen = choose_runner(fleet, turn);
      ASSERT_EQ(chosen.has_value(), anybody);
      if (chosen) ASSERT_TRUE(can_take(fleet[*chosen]));
    }
  });
}

TEST(RunnerChoice, Nobody_has_more_free_slots_than_the_chosen_one) {
  each_fleet([](const auto& fleet) {
    for (std::size_t turn = 0; turn < 3; ++turn) {
      const auto chosen = choose_runner(fleet, turn);
      if (!chosen) continue;
      for (const auto& other : fleet) {
        if (!can_take(other) || other.health == Health::unknown) continue;
        ASSERT_EQ(fleet[*chosen].health, Health::well) << "who says that it has room comes first";
        ASSERT_GE(fleet[*chosen].free, other.free);
      }
    }
  });
}

TEST(RunnerChoice, Equals_are_taken_in_turn) {
  each_fleet([](const auto& fleet) {
    std::array<int, 3> count{};
    for (std::size_t turn = 0; turn < 3; ++turn) {
      if (const auto chosen = choose_runner(fleet, turn)) ++count[*chosen];
    }
    if (fleet[0].health == fleet[1].health && fleet[1].health == fleet[2].health && fleet[0].free == fleet[1].free &&
        fleet[1].free == fleet[2].free && can_take(fleet[0])) {
      ASSERT_EQ(count, (std::array{1, 1, 1}));
    }
  });
}

TEST(RunnerChoice, Runs_are_shared_out_by_free_slots) {
  std::vector<RunnerState> fleet = {{.health = Health::well, .free = 30}, {.health = Health::well, .free = 10}};
  std::array<int, 2> count{};
  for (std::size_t turn = 0; turn < 40; ++turn) {
    const auto chosen = choose_runner(fleet, turn);
    ASSERT_TRUE(chosen);
    --fleet[*chosen].free;
    ++count[*chosen];
  }
  EXPECT_EQ(count, (std::array{30, 10}));
  EXPECT_FALSE(choose_runner(fleet, 0));
  EXPECT_FALSE(choose_runner({}, 5));
}

}  // namespace runner_choice_test
}  // namespace sluice::remote
