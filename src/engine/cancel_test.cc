// How long a caller that cancels a run waits, and what becomes of the run meanwhile.
#include "engine/engine_fixture.h"

namespace sluice::engine {
namespace cancel_test {

using model::RunState;
using model::Slug;

class CancelTest : public EngineTest {
 protected:
  // The answer, when there is one.
  using Answer = std::shared_ptr<std::optional<std::variant<model::Run, model::Problem>>>;
  Answer ask(const model::Run& run) {
    auto answer = std::make_shared<std::optional<std::variant<model::Run, model::Problem>>>();
    engine->cancel(tenant.id, run.id,
                   [answer](std::variant<model::Run, model::Problem> outcome) { *answer = outcome; });
    loop.settle();
    return answer;
  }
  static void expect_put_off(const Answer& answer, const model::Run& run) {
    ASSERT_TRUE(*answer);
    const auto* problem = std::get_if<model::Problem>(&**answer);
    ASSERT_NE(problem, nullptr);
    EXPECT_EQ(problem->slug, Slug::unavailable);
    EXPECT_TRUE(problem->retry_after_seconds);
    EXPECT_NE(problem->detail.find(run.id.text()), std::string::npos) << problem->detail;
    EXPECT_NE(problem->detail.find("sk again"), std::string::npos) << problem->detail;
  }
  static void expect_cancelled(const Answer& answer) {
    ASSERT_TRUE(*answer);
    ASSERT_TRUE(std::holds_alternative<model::Run>(**answer));
    EXPECT_EQ(std::get<model::Run>(**answer).state, RunState::cancelled);
  }
  void fill_disk(int writes) {
    for (int n = 0; n < writes; ++n) disk.fail_write(n, store::Fault::full);
  }
};

// S-10: what is not on disk is not done, but nothing is lost by an agent that stops too early.
TEST_F(CancelTest, A_cancel_that_meets_a_full_disk_stops_the_work_and_is_answered) {
  const auto run = send_ok(message("hello"));
  fill_disk(10);
  const auto first = ask(run);
  loop.advance({2'000});
  EXPECT_EQ(dispatcher.working(), 0) << "the agent does not work on";
  EXPECT_EQ(stored_run(run).state, RunState::streaming);
  loop.advance({12'900});
  EXPECT_FALSE(*first);
  loop.advance({100});
  expect_put_off(first, run);
  const auto second = ask(run);
  loop.advance({60'000});
  expect_cancelled(second);
  EXPECT_EQ(stored_run(run).state, RunState::cancelled);
  EXPECT_EQ(count_lines(read_all(run)), 2);
  expect_cancelled(ask(run));
}

TEST_F(CancelTest, Work_that_is_stopped_before_the_cancel_is_written_is_stopped_once) {
  dispatcher.proves_at_once = false;
  const auto run = send_ok(message("hello"));
  fill_disk(8);
  const auto answer = ask(run);
  loop.advance({2'000});
  EXPECT_EQ(dispatcher.unproven.size(), 1u);
  loop.advance({22'900});
  EXPECT_EQ(stored_run(run).state, RunState::finishing) << "there is room again";
  EXPECT_EQ(dispatcher.unproven.size(), 1u);
  dispatcher.prove_gone();
  loop.settle();
  EXPECT_EQ(stored_run(run).state, RunState::cancelled);
}

TEST_F(CancelTest, A_cancel_whose_work_is_not_proven_gone_is_answered_and_goes_on) {
  dispatcher.proves_at_once = false;
  const auto run = send_ok(message("hello"));
  const auto first = ask(run);
  loop.advance({10'000});
  const auto second = ask(run);
  loop.advance({14'900});
  EXPECT_FALSE(*first);
  loop.advance({100});
  expect_put_off(first, run);
  expect_put_off(second, run);
  EXPECT_EQ(stored_run(run).state, RunState::finishing);
  const auto third = ask(run);
  dispatcher.prove_gone();
  loop.settle();
  expect_cancelled(third);
}

TEST_F(CancelTest, A_store_that_answers_nothing_keeps_neither_the_caller_nor_the_work) {
  const auto run = send_ok(message("hello"));
  disk.hold_answers(true);
  const auto answer = ask(run);
  loop.advance({2'000});
  EXPECT_EQ(dispatcher.working(), 0);
  loop.advance({13'000});
  expect_put_off(answer, run);
  disk.hold_answers(false);
  loop.settle();
  EXPECT_EQ(stored_run(run).state, RunState::cancelled);
}

TEST_F(CancelTest, A_store_that_answers_nothing_is_said_not_to_be_reached_until_it_does) {
  EXPECT_TRUE(engine->reaches_store());
  loop.advance({options.beat_ms});
  disk.hold_answers(true);
  EXPECT_TRUE(engine->reaches_store()) << "it has only just been asked";
  loop.advance({options.dead_ms - 1});
  EXPECT_TRUE(engine->reaches_store());
  loop.advance({1});
  EXPECT_FALSE(engine->reaches_store());
  disk.hold_answers(false);
  loop.settle();
  EXPECT_TRUE(engine->reaches_store());
}

}  // namespace cancel_test
}  // namespace sluice::engine
