#include "engine/gate_fixture.h"

namespace sluice::engine {
namespace checkpoint_test {

using model::RunState;

// A checkpoint can be resumed only once: what a command did after it is not done again.
class CheckpointTest : public GateTest {
 protected:
  void expect_interrupted(const model::Run& run) {
    EXPECT_EQ(dispatcher.working(), 0);
    EXPECT_EQ(stored_run(run).state, RunState::failed);
    EXPECT_NE(read_all(run).find("run-interrupted"), std::string::npos);
  }
};

TEST_F(CheckpointTest, Work_that_was_resumed_from_a_checkpoint_is_not_repeated_after_a_crash) {
  const auto run = send_ok(message("hello"));
  agent_asks();
  decide(decision());
  ASSERT_EQ(dispatcher.working(), 1) << "from here on it may act, though it has reported nothing yet";
  restart_server();
  expect_interrupted(run);
  EXPECT_EQ(dispatcher.forgotten, std::vector{run.id});
}

TEST_F(CheckpointTest, Work_that_waited_in_its_sandbox_and_was_resumed_is_not_repeated_after_a_crash) {
  const auto run = send_ok(message_in(make_conversation(sticky()), "hello"));
  agent_asks();
  const auto made = decision();
  const int writes = disk.write_count();
  decide(made);
  EXPECT_EQ(disk.write_count(), writes + 1) << "that it was resumed, and that it may act, are one append";
  EXPECT_EQ(dispatcher.went_on, 1);
  restart_server();
  expect_interrupted(run);
}

TEST_F(CheckpointTest, An_approved_run_that_had_no_slot_yet_goes_on_after_a_crash) {
  options.max_running = 1;
  restart_server();
  const auto run = send_ok(message("hello"));
  agent_says("Let me see. ");
  agent_asks();
  const auto busy = send_ok(message_in(make_conversation(), "busy"));
  decide(decision());
  const auto before = read_all(run);
  EXPECT_EQ(last_dispatch().run, busy.id);
  options.max_running = 2;
  restart_server();
  ASSERT_EQ(dispatcher.working(), 2);
  const auto job = std::ranges::find_if(
      dispatcher.jobs, [&](const auto& made) { return made->listener != nullptr && made->dispatch.run == run.id; });
  ASSERT_NE(job, dispatcher.jobs.end());
  EXPECT_EQ((*job)->dispatch.checkpoint, R"({"round":1})");
  EXPECT_EQ(read_all(run), before) << "no reader sees the mark";
  restart_server();
  EXPECT_NE(read_all(run).find("run-interrupted"), std::string::npos) << "now it may have acted";
}

TEST_F(CheckpointTest, Nothing_is_dispatched_before_it_is_written_that_it_may_act) {
  const auto run = send_ok(message("hello"));
  agent_asks();
  const auto made = decision();
  disk.fail_write(1, store::Fault::full);
  decide(made);
  EXPECT_EQ(stored_run(run).state, RunState::streaming);
  EXPECT_EQ(dispatcher.working(), 0);
  loop.advance({1'000});
  EXPECT_EQ(dispatcher.working(), 1);

  agent_asks(0, R"({"round":2})");
  const auto again = decision();
  disk.fail_write(1, store::Fault::full);
  decide(again);
  EXPECT_EQ(cancel(run), 0U);
  loop.advance({1'000});
  EXPECT_EQ(stored_run(run).state, RunState::cancelled);
  EXPECT_EQ(dispatcher.jobs.size(), 2U) << "cancelled before it could begin";
}

TEST_F(CheckpointTest, A_run_that_parks_again_goes_on_from_there) {
  const auto run = send_ok(message("hello"));
  agent_asks();
  decide(decision());
  agent_asks(0, R"({"round":2})");
  restart_server();
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  decide(decision());
  ASSERT_EQ(dispatcher.working(), 1);
  EXPECT_EQ(last_dispatch().checkpoint, R"({"round":2})");
}

TEST_F(CheckpointTest, What_was_kept_for_a_gate_that_was_never_written_is_forgotten_with_the_run) {
  const auto run = send_ok(message("go"));
  agent_begins_step();
  disk.fail_write(0, store::Fault::full);
  agent_asks();
  restart_server();
  EXPECT_EQ(stored_run(run).state, RunState::failed) << "interrupted at its step";
  EXPECT_EQ(dispatcher.forgotten, std::vector{run.id});
}

}  // namespace checkpoint_test
}  // namespace sluice::engine
