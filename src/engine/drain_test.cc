#include "engine/gate_fixture.h"

namespace sluice::engine {
namespace drain_test {

using model::RunState;

class DrainTest : public GateTest {
 protected:
  void drain() {
    engine->drain({5'000}, [this] { drained = true; });
    loop.settle();
  }
  bool drained = false;
};

TEST_F(DrainTest, At_the_deadline_work_is_dropped_and_the_run_left_to_the_next_server) {
  const auto run = send_ok(message("hello"));
  RememberingReader ana;
  const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, ana);
  int heard = 0;
  const auto waiting = engine->wait_for_end(run, [&](const Result<wire::Ending>& ending) { heard += ending ? 0 : 1; });
  drain();
  loop.advance({4'999});
  EXPECT_EQ(dispatcher.working(), 1);
  EXPECT_EQ(ana.lost, "");
  const int writes = disk.write_count();
  loop.advance({1});
  EXPECT_TRUE(drained);
  EXPECT_EQ(dispatcher.working(), 0) << "nothing is at work when the sandboxes are closed";
  EXPECT_NE(ana.lost, "");
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(disk.write_count(), writes);
  EXPECT_EQ(stored_run(run).state, RunState::streaming);
  restart_server();
  agent_finishes();
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(DrainTest, A_message_that_is_accepted_past_the_deadline_is_not_begun) {
  disk.hold_answers(true);
  engine->send(message("hello"), [](const SendOutcome&) {});
  drain();
  loop.advance({5'000});
  EXPECT_TRUE(drained);
  disk.hold_answers(false);
  loop.settle();
  EXPECT_EQ(dispatcher.working(), 0);
  restart_server();
  EXPECT_EQ(dispatcher.working(), 1);
}

TEST_F(DrainTest, Whoever_reads_a_run_that_waits_is_let_go_at_once) {
  options.max_running = 2;
  restart_server();
  std::vector<model::Run> waiting = {send_ok(message_in(make_conversation(sticky()), "parked in its box"))};
  agent_asks();
  waiting.push_back(send_ok(message_in(make_conversation(), "parked")));
  agent_asks();
  const auto working = send_ok(message_in(make_conversation(), "at work"));
  auto held = message_in(make_conversation(), "held");
  held.hold = true;
  waiting.push_back(send_ok(std::move(held)));

  std::vector<RememberingReader> readers(3);
  std::vector<std::unique_ptr<Reading>> readings;
  std::vector<std::unique_ptr<Waiting>> waits;
  int heard = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    readings.push_back(engine->read(waiting[i], {.format = wire::Format::ndjson, .after = -1}, readers[i]));
    waits.push_back(engine->wait_for_end(waiting[i], [&](const Result<wire::Ending>& end) { heard += end ? 0 : 1; }));
  }
  RememberingReader bob;
  const auto bobs = engine->read(working, {.format = wire::Format::ndjson, .after = -1}, bob);
  loop.settle();
  drain();
  EXPECT_FALSE(drained);
  for (const auto& reader : readers) EXPECT_NE(reader.lost, "");
  EXPECT_EQ(heard, 3);
  EXPECT_EQ(bob.lost, "") << "it is being sent";
  EXPECT_EQ(dispatcher.working(), 1) << "a box that waits is not kept for a server that goes";

  RememberingReader late;
  const auto lates = engine->read(waiting[1], {.format = wire::Format::ndjson, .after = -1}, late);
  const auto wait = engine->wait_for_end(waiting[1], [&](const Result<wire::Ending>& end) { heard += end ? 0 : 1; });
  loop.settle();
  EXPECT_NE(late.text.find("approval_required"), std::string::npos) << "a reader that comes now gets what there is";
  EXPECT_NE(late.lost, "");
  EXPECT_EQ(heard, 4);

  agent_asks();
  EXPECT_NE(bob.text.find("approval_required"), std::string::npos);
  EXPECT_NE(bob.lost, "") << "and so is the reader of a run that parks now";
  EXPECT_TRUE(drained);
}

TEST_F(DrainTest, A_run_that_waits_for_a_human_does_not_keep_a_server_from_stopping) {
  const auto where = make_conversation(sticky());
  send_ok(message_in(where, "done"));
  agent_finishes();
  send_ok(message("parked"));
  agent_asks();
  drain();
  EXPECT_TRUE(drained);
  EXPECT_EQ(dispatcher.released, std::vector{where}) << "leases are released";
  const auto outcome = decide(decision());
  EXPECT_TRUE(std::holds_alternative<model::Approval>(outcome)) << "a decision is kept";
  EXPECT_EQ(dispatcher.working(), 0) << "but nothing begins";
  restart_server();
  EXPECT_EQ(dispatcher.working(), 1);
}

TEST_F(DrainTest, A_box_that_waited_is_not_gone_on_in_by_a_server_that_stops) {
  const auto run = send_ok(message_in(make_conversation(sticky()), "hello"));
  agent_asks();
  drain();
  EXPECT_TRUE(drained);
  EXPECT_TRUE(std::holds_alternative<model::Approval>(decide(decision())));
  EXPECT_EQ(stored_run(run).state, RunState::streaming);
  EXPECT_EQ(dispatcher.went_on, 0);
  EXPECT_EQ(dispatcher.working(), 0);
  restart_server();
  ASSERT_EQ(dispatcher.working(), 1);
  EXPECT_EQ(last_dispatch().checkpoint, R"({"round":1})");
}

}  // namespace drain_test
}  // namespace sluice::engine
