#include "engine/liveness.h"

#include <gtest/gtest.h>

namespace sluice::engine {
namespace liveness_test {

constexpr int64_t beat_ms = 500;
constexpr int64_t dead_ms = 1'500;

model::NodeId named(uint8_t number) {
  model::NodeId id;
  id.ulid.bytes[15] = number;
  return id;
}
const auto me = [] { return named(1); };
const auto other = [] { return named(2); };

journal::SeenNode seen(model::NodeId id, int64_t silent_ms, bool draining = false) {
  journal::SeenNode node{.id = id, .silent_ms = silent_ms};
  node.figures.draining = draining;
  return node;
}

// Beats that got through every half second from `from` to `to`.
void beat(Liveness& liveness, int64_t from, int64_t to, int64_t others_last_ms) {
  for (auto at = from; at <= to; at += beat_ms)
    liveness.on_answer(at, at, {seen(me(), 0), seen(other(), at - others_last_ms)});
}

Liveness fresh() { return Liveness({me(), beat_ms, dead_ms}); }

TEST(Liveness, Who_is_not_in_the_list_is_gone_and_who_beats_lives) {
  auto liveness = fresh();
  liveness.on_answer(0, 0, {seen(me(), 0), seen(other(), 1'499), seen(named(3), 0, true)});
  EXPECT_EQ(liveness.fate_of(me()), Fate::self);
  EXPECT_EQ(liveness.fate_of(other()), Fate::living);
  EXPECT_EQ(liveness.fate_of(named(3)), Fate::leaving);
  EXPECT_EQ(liveness.fate_of(named(4)), Fate::gone);
  EXPECT_EQ(liveness.fate_of(model::NodeId{}), Fate::gone);
}

TEST(Liveness, Only_who_beat_without_a_gap_may_say_that_another_is_dead) {
  auto liveness = fresh();
  beat(liveness, 0, 1'000, -10'000);
  EXPECT_EQ(liveness.fate_of(other()), Fate::unsure);
  beat(liveness, 1'500, 1'500, -10'000);
  EXPECT_EQ(liveness.fate_of(other()), Fate::dead);
  liveness.on_failure();
  beat(liveness, 2'000, 3'000, -10'000);
  EXPECT_EQ(liveness.fate_of(other()), Fate::unsure) << "a beat that failed";
  beat(liveness, 3'500, 3'500, -10'000);
  EXPECT_EQ(liveness.fate_of(other()), Fate::dead);
  beat(liveness, 5'000, 6'000, -10'000);
  EXPECT_EQ(liveness.fate_of(other()), Fate::unsure) << "a beat that was not sent";
  beat(liveness, 6'500, 6'500, -10'000);
  EXPECT_EQ(liveness.fate_of(other()), Fate::dead);
  liveness.on_answer(6'600, 7'500, {seen(me(), 0), seen(other(), 17'000)});
  EXPECT_EQ(liveness.fate_of(other()), Fate::unsure) << "an answer that came late";
}

TEST(Liveness, It_is_cut_off_from_when_its_last_good_beat_was_sent) {
  auto liveness = fresh();
  EXPECT_TRUE(liveness.is_cut_off(0)) << "no node has heard of it";
  liveness.on_answer(100, 400, {seen(me(), 0)});
  EXPECT_FALSE(liveness.is_cut_off(1'599));
  EXPECT_EQ(liveness.cut_off_in_ms(1'000), 600);
  EXPECT_TRUE(liveness.is_cut_off(1'600));
  liveness.on_answer(200, 1'800, {seen(me(), 0)});
  EXPECT_TRUE(liveness.is_cut_off(1'800)) << "an answer that comes too late is none";
}

TEST(Liveness, The_next_beat_comes_when_a_silence_becomes_a_death) {
  auto liveness = fresh();
  liveness.on_answer(0, 0, {seen(me(), 0), seen(other(), 300)});
  EXPECT_EQ(liveness.next_beat_in_ms(), beat_ms);
  liveness.on_answer(500, 500, {seen(me(), 0), seen(other(), 1'300)});
  EXPECT_EQ(liveness.next_beat_in_ms(), 200);
  liveness.on_answer(700, 700, {seen(me(), 0), seen(other(), 1'600)});
  EXPECT_EQ(liveness.next_beat_in_ms(), beat_ms);
}

// Every way in which ten beats of two nodes get through or not: the one that says that the other is dead says so after
// the other has let go of everything.
TEST(Liveness, Nobody_is_dead_for_others_before_it_is_cut_off_for_itself) {
  constexpr int count = 10;
  int deaths = 0;
  for (unsigned mine = 0; mine < 1U << count; ++mine) {
    for (unsigned its = 0; its < 1U << count; its += 7) {
      auto judge = fresh();
      auto judged = Liveness({other(), beat_ms, dead_ms});
      int64_t last_ms = -1;
      for (int i = 0; i < count; ++i) {
        const int64_t at = i * beat_ms;
        if ((its >> i & 1) != 0) {
          judged.on_answer(at, at, {seen(other(), 0)});
          last_ms = at;
        }
        if ((mine >> i & 1) == 0) {
          judge.on_failure();
          continue;
        }
        judge.on_answer(at, at, {seen(me(), 0), seen(other(), last_ms < 0 ? 0 : at - last_ms)});
        if (judge.fate_of(other()) != Fate::dead) continue;
        ++deaths;
        ASSERT_TRUE(judged.is_cut_off(at)) << mine << " " << its << " " << i;
        ASSERT_EQ(mine >> (i - 3) & 0xF, 0xFU) << "it had heard the store all that time";
      }
    }
  }
  EXPECT_GT(deaths, 0);
}

TEST(Liveness, Only_waiting_runs_are_taken_from_who_leaves) {
  for (const auto fate : {Fate::self, Fate::living, Fate::unsure}) {
    EXPECT_FALSE(may_be_taken(fate, true) || may_be_taken(fate, false));
  }
  EXPECT_TRUE(may_be_taken(Fate::leaving, true));
  EXPECT_FALSE(may_be_taken(Fate::leaving, false));
  for (const auto fate : {Fate::dead, Fate::gone}) EXPECT_TRUE(may_be_taken(fate, true) && may_be_taken(fate, false));
}

}  // namespace liveness_test
}  // namespace sluice::engine
