// How runners elsewhere are looked after: asked every two seconds, passed over and taken back.
#include "remote/fleet.h"

#include <gtest/gtest.h>

#include "net/fake_client.h"
#include "world/fake_world.h"

namespace sluice::remote {
namespace fleet_test {

using net::FakeAnswer;

class FleetTest : public testing::Test {
 protected:
  // What both say when they are asked next.
  void check(FakeAnswer one, FakeAnswer two) {
    client_.answer(std::move(one));
    client_.answer(std::move(two));
    loop_.advance(Millis{2'000});
  }
  static FakeAnswer well(int free) {
    return FakeAnswer::whole(200, R"({"status":"ok","slots":9,"free":)" + std::to_string(free) + "}");
  }
  std::string take() { return fleet_.take({}).value_or("none"); }

  world::FakeLoop loop_;
  world::FakeLog log_;
  world::Metrics metrics_;
  net::FakeClient client_{loop_};
  RunnerRequests requests_{client_, loop_};
  Fleet fleet_{{"http://one", "http://two"}, requests_, loop_, log_, metrics_};
};

TEST_F(FleetTest, Before_anybody_was_asked_they_are_taken_in_turn) {
  EXPECT_EQ(take() + take() + take(), "http://onehttp://twohttp://one");
}

TEST_F(FleetTest, Each_is_asked_every_two_seconds_and_not_twice_at_once) {
  check(well(1), FakeAnswer());
  EXPECT_EQ(client_.requests.size(), 2u);
  EXPECT_EQ(client_.requests[0].url, "http://one/healthz");
  EXPECT_EQ(client_.requests[0].total_ms_max, 2'000);
  loop_.advance(Millis{1'999});
  EXPECT_EQ(client_.requests.size(), 2u);
}

TEST_F(FleetTest, Slots_are_counted_between_two_questions) {
  check(well(2), well(1));
  EXPECT_EQ(take(), "http://one");
  EXPECT_EQ(take().substr(0, 7), "http://");
  EXPECT_EQ(take().substr(0, 7), "http://");
  EXPECT_EQ(take(), "none");
  fleet_.give_back("http://two");
  EXPECT_EQ(take(), "http://two");
  fleet_.note_full("http://two");
  EXPECT_EQ(take(), "none");
  check(well(0), well(5));
  EXPECT_EQ(take(), "http://two");
}

TEST_F(FleetTest, The_dead_and_the_draining_are_passed_over_until_they_are_well_again) {
  check(FakeAnswer::connection_refused(), well(1));
  EXPECT_EQ(take(), "http://two");
  EXPECT_EQ(take(), "none");
  EXPECT_NE(metrics_.to_text().find("sluice_runners_alive 1"), std::string::npos);
  check(well(3), FakeAnswer::whole(200, R"({"status":"draining","slots":9,"free":0})"));
  EXPECT_EQ(take(), "http://one");
  EXPECT_NE(metrics_.to_text().find("sluice_runner_slots_free{runner=\"http://one\"} 2"), std::string::npos);
  check(well(3), well(4));
  EXPECT_EQ(take(), "http://two");
  fleet_.note_dead("http://two", "reset");
  EXPECT_EQ(take(), "http://one");
}

TEST_F(FleetTest, One_that_does_not_answer_in_time_is_dead) {
  check(FakeAnswer(), well(1));
  loop_.advance(Millis{2'000});
  EXPECT_EQ(take(), "none") << "the second was asked again and did not answer";
  check(well(1), FakeAnswer::connection_refused());
  EXPECT_EQ(take(), "http://one");
}

TEST_F(FleetTest, One_that_says_nothing_of_slots_lives) {
  check(FakeAnswer::whole(404, "<html>"), FakeAnswer::connection_refused());
  EXPECT_EQ(take() + take(), "http://onehttp://one");
}

TEST_F(FleetTest, Who_refused_a_run_is_not_asked_to_carry_it_again) {
  check(well(5), well(1));
  EXPECT_EQ(fleet_.take({"http://one"}), "http://two");
  EXPECT_FALSE(fleet_.is_unsuitable({"http://one"}));
  EXPECT_TRUE(fleet_.is_unsuitable({"http://one", "http://two"}));
}

}  // namespace fleet_test
}  // namespace sluice::remote
