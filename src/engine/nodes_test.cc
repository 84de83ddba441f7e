// Runs on several servers: read anywhere, taken over when their server dies, lost by one that was stopped.
#include "engine/nodes_fixture.h"

namespace sluice::engine {
namespace nodes_test {

using model::RunState;
using store::Fault;

TEST_F(NodesTest, A_stream_is_the_same_on_every_node_while_it_runs_and_after) {
  start_nodes(3);
  const auto run = accepted_by(node(0), message("hello"));
  std::vector<std::unique_ptr<Seat>> seats;
  for (auto& each : nodes) seats.push_back(read_on(*each, run));
  says(node(0), "One ");
  for (const auto& seat : seats) EXPECT_EQ(count_lines(seat->reader.text), 2) << "sent on the news, without any wait";
  says(node(0), "two.");
  finishes(node(0));
  for (const auto& seat : seats) {
    EXPECT_TRUE(seat->reader.ended);
    EXPECT_EQ(seat->reader.text, seats[0]->reader.text);
  }
  for (auto& each : nodes) EXPECT_EQ(told_at_the_end(*each, run), seats[0]->reader.text);
}

TEST_F(NodesTest, Lost_news_cost_a_second_and_nothing_else) {
  start_nodes(2);
  disk.lose_news(true);
  const auto run = accepted_by(node(0), message("hello"));
  const auto far = read_on(node(1), run);
  says(node(0), "One.");
  finishes(node(0));
  EXPECT_FALSE(far->reader.ended);
  pass(1'000);
  EXPECT_TRUE(far->reader.ended);
  EXPECT_EQ(far->reader.text, told_at_the_end(node(0), run));
}

TEST_F(NodesTest, A_reader_that_waits_for_long_is_still_told_by_news) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  const auto far = read_on(node(1), run);
  pass(10 * journal::follow_ms);
  says(node(0), "One.");
  EXPECT_EQ(count_lines(far->reader.text), 2) << "without any wait";
}

TEST_F(NodesTest, A_slow_reader_of_another_nodes_run_misses_nothing) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  const auto far = read_on(node(1), run);
  far->reader.fills_at_each_take = true;
  says(node(0), "One ");
  says(node(0), "two ");
  says(node(0), "three.");
  finishes(node(0));
  EXPECT_FALSE(far->reader.ended);
  far->reader.fills_at_each_take = far->reader.is_full = false;
  far->reading->more();
  loop.settle();
  EXPECT_TRUE(far->reader.ended);
  EXPECT_EQ(far->reader.text, told_at_the_end(node(0), run));
}

TEST_F(NodesTest, Who_waits_for_the_end_hears_it_from_any_node) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  int heard = 0;
  const auto waiting = node(1).engine->wait_for_end(run, [&](const Result<wire::Ending>& end) {
    ASSERT_TRUE(end);
    ++heard;
  });
  pass(3'000);
  EXPECT_EQ(heard, 0);
  finishes(node(0));
  EXPECT_EQ(heard, 1);
}

TEST_F(NodesTest, A_dead_nodes_runs_are_taken_over_within_two_seconds_and_their_readers_do_not_notice) {
  start_nodes(3);
  for (auto& each : nodes) each->dispatcher.resumable = true;
  const auto run = accepted_by(node(0), message("hello"));
  const auto far = read_on(node(1), run);
  says(node(0), "One ");
  kill(0);
  pass(2'000);
  EXPECT_EQ(node(1).dispatcher.working() + node(2).dispatcher.working(), 1) << "one of them, and only one";
  auto& heir = node(1).dispatcher.working() == 1 ? node(1) : node(2);
  EXPECT_EQ(heir.dispatcher.jobs.back()->dispatch.told_text, "One ");
  says(heir, "two.");
  finishes(heir);
  EXPECT_TRUE(far->reader.ended);
  EXPECT_TRUE(is_one_story(far->reader.text));
  EXPECT_EQ(far->reader.text, told_at_the_end(node(2), run));
  EXPECT_NE(stored_message(run.message_id).find("One two."), std::string::npos);
}

TEST_F(NodesTest, A_restarted_server_takes_up_what_its_former_self_left) {
  start_nodes(1);
  const auto run = accepted_by(node(0), message("hello"));
  kill(0);
  start_node();
  EXPECT_EQ(node(1).dispatcher.working(), 0) << "the former one may only be slow";
  pass(2'100);
  EXPECT_EQ(node(1).dispatcher.working(), 1);
  finishes(node(1));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(NodesTest, A_node_that_starts_takes_nothing_from_those_who_live) {
  start_nodes(1);
  const auto run = accepted_by(node(0), message("hello"));
  start_node();
  pass(10'000);
  EXPECT_EQ(node(1).dispatcher.working(), 0);
  says(node(0), "still mine");
  finishes(node(0));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(NodesTest, A_stopped_node_that_wakes_is_fenced_out_and_its_readers_read_on) {
  start_nodes(2);
  node(1).dispatcher.resumable = true;
  const auto run = accepted_by(node(0), message("hello"));
  says(node(0), "One ");
  const auto near = read_on(node(0), run);
  int heard = 0;
  const auto waiting = node(0).engine->wait_for_end(run, [&](const Result<wire::Ending>& end) { heard += bool(end); });
  node(0).loop.stop();
  pass(2'100);
  EXPECT_EQ(node(1).dispatcher.working(), 1);
  says(node(1), "two ");
  // Its agent's words were on their way when it was stopped.
  if (auto* ghost = worker_of(node(0))) ghost->on_event({model::EventKind::text, loop.now(), "a ghost speaks"});
  node(0).loop.wake();
  loop.settle();
  pass(1'000);
  EXPECT_EQ(node(0).dispatcher.working(), 0) << "its work is stopped";
  says(node(1), "three.");
  finishes(node(1));
  EXPECT_TRUE(near->reader.ended);
  EXPECT_EQ(heard, 1);
  EXPECT_TRUE(is_one_story(near->reader.text));
  EXPECT_EQ(near->reader.text.find("ghost"), std::string::npos);
  EXPECT_EQ(near->reader.text, told_at_the_end(node(1), run));
}

TEST_F(NodesTest, A_node_without_an_answer_from_the_store_for_long_lets_go_and_takes_part_again_when_one_comes) {
  start_nodes(2);
  node(0).dispatcher.resumable = true;
  const auto run = accepted_by(node(0), message("hello"));
  const auto near = read_on(node(0), run);
  disk.hold_answers(true);
  pass(59'000);
  EXPECT_EQ(node(0).dispatcher.working(), 1);
  pass(3'000);
  EXPECT_EQ(node(0).dispatcher.working(), 0);
  EXPECT_TRUE(
      std::holds_alternative<model::Problem>(send_to(node(0), message_in(ids.make<model::ConversationId>(), ""))));
  disk.hold_answers(false);
  pass(2'000);
  EXPECT_EQ(node(0).dispatcher.working(), 1);
  finishes(node(0));
  EXPECT_TRUE(near->reader.ended);
  EXPECT_EQ(near->reader.text, told_at_the_end(node(0), run));
}

TEST_F(NodesTest, A_node_that_has_the_store_for_itself_works_on_through_an_outage) {
  start_nodes(1);
  const auto run = accepted_by(node(0), message("hello"));
  const auto near = read_on(node(0), run);
  says(node(0), "One ");
  disk.hold_answers(true);
  pass(30'000);
  EXPECT_EQ(node(0).dispatcher.working(), 1);
  says(node(0), "two.");
  disk.hold_answers(false);
  pass(2'000);
  EXPECT_EQ(node(0).dispatcher.jobs.size(), 1U) << "no other node was there, so nothing was stopped";
  finishes(node(0));
  EXPECT_TRUE(near->reader.ended);
  EXPECT_TRUE(is_one_story(near->reader.text));
  EXPECT_EQ(stored_run(run).epoch, model::Epoch{1});
}

TEST_F(NodesTest, A_node_that_had_the_store_for_itself_stops_when_it_hears_that_its_runs_were_taken) {
  start_nodes(1);
  const auto run = accepted_by(node(0), message("hello"));
  node(0).loop.stop();
  auto& newcomer = start_node();
  newcomer.dispatcher.resumable = true;
  pass(5'000);
  ASSERT_EQ(newcomer.dispatcher.working(), 1);
  node(0).loop.wake();
  pass(1'000);
  EXPECT_EQ(node(0).dispatcher.working(), 0);
  finishes(newcomer);
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(NodesTest, An_outage_of_the_store_takes_nothing_from_those_who_live) {
  start_nodes(3);
  std::vector<model::Run> runs;
  for (auto& each : nodes) {
    each->dispatcher.resumable = true;
    runs.push_back(accepted_by(*each, message_in(make_conversation(), "hello")));
  }
  disk.hold_answers(true);
  pass(7'000);
  disk.hold_answers(false);
  pass(5'000);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(stored_run(runs[i]).node, node(i).id);
    EXPECT_EQ(node(i).dispatcher.working(), 1);
    finishes(node(i));
    EXPECT_EQ(stored_run(runs[i]).state, RunState::completed);
  }
}

TEST_F(NodesTest, A_write_whose_fate_is_unknown_does_not_part_readers_from_their_run) {
  start_nodes(2);
  for (auto& each : nodes) each->dispatcher.resumable = true;
  const auto run = accepted_by(node(0), message("hello"));
  const auto near = read_on(node(0), run);
  disk.fail_write(0, Fault::after_write);
  says(node(0), "One ");
  pass(1'000);
  EXPECT_EQ(node(0).dispatcher.working(), 1);
  says(node(0), "two.");
  finishes(node(0));
  EXPECT_TRUE(near->reader.ended) << near->reader.lost;
  EXPECT_TRUE(is_one_story(near->reader.text));
  EXPECT_EQ(near->reader.text, told_at_the_end(node(1), run));
}

TEST_F(NodesTest, A_look_for_unfinished_runs_is_begun_again_when_the_word_of_who_lives_comes_too_late) {
  start_nodes(1);
  node(0).dispatcher.resumable = true;
  disk.fail_write(0, Fault::after_write);
  disk.hold_answers(true);
  send_to(node(0), message("hello"));
  // The acceptance is in doubt, the store is reopened, and unfinished runs are listed, with a beat after that.
  for (int answered = 0; answered < 3; ++answered) {
    disk.hold_answers(false);
    disk.hold_answers(true);
    loop.settle();
  }
  pass(3'000);  // no node knows whether the others think it dead
  disk.hold_answers(false);
  pass(6'000);
  ASSERT_EQ(node(0).dispatcher.working(), 1) << "the run that was accepted is carried";
  finishes(node(0));
}

TEST_F(NodesTest, A_node_that_stops_leaves_its_runs_to_the_others_at_once) {
  start_nodes(2);
  node(1).dispatcher.resumable = true;
  const auto run = accepted_by(node(0), message("hello"));
  const auto far = read_on(node(1), run);
  bool drained = false;
  node(0).engine->drain({1'000}, [&] { drained = true; });
  pass(1'000);
  EXPECT_TRUE(drained);
  pass(500);
  EXPECT_EQ(node(1).dispatcher.working(), 1) << "its next beat tells, not the silence";
  finishes(node(1));
  EXPECT_TRUE(far->reader.ended);
}

TEST_F(NodesTest, What_waits_for_a_human_on_a_node_that_drains_is_taken_before_it_is_gone) {
  start_nodes(2);
  const auto parked = accepted_by(node(0), message("hello"));
  dispatch::Gate gate;
  gate.reason = "May I?";
  gate.items = {{model::ItemKind::action, "It", {}, {}, {}}};
  gate.checkpoint = "{}";
  worker_of(node(0))->on_gate(std::move(gate));
  loop.settle();
  accepted_by(node(0), message_in(make_conversation(), "busy"));
  node(0).engine->drain({60'000}, [] {});
  pass(1'000);
  EXPECT_EQ(stored_run(parked).node, node(1).id);
  EXPECT_EQ(stored_run(parked).state, RunState::parked);
}

// The owner dies with its n-th write, or right before it; a reader on another node gets one story to its end.
TEST_F(NodesTest, I_9_the_owner_may_die_at_any_write) {
  start_nodes(2);
  for (const auto fault : {Fault::before_write, Fault::after_write}) {
    for (int n = 0; n < 8; ++n) {
      SCOPED_TRACE(std::to_string(n) + (fault == Fault::after_write ? " after" : " before"));
      auto& owner = start_node();
      const auto index = nodes.size() - 1;
      pass(1'600);
      owner.dispatcher.resumable = node(1).dispatcher.resumable = node(0).dispatcher.resumable = true;
      const auto run = accepted_by(owner, message_in(make_conversation(), "hello"));
      const auto far = read_on(node(1), run);
      disk.fail_write(n, fault);
      for (const auto* text : {"a ", "b ", "c ", "d ", "e ", "f "}) {
        if (worker_of(owner) == nullptr) break;
        owner.dispatcher.jobs.back()->listener->on_event({model::EventKind::text, loop.now(), text});
        loop.step();
        loop.step();
      }
      if (auto* worker = worker_of(owner)) worker->on_finished({3, 4});
      loop.step();
      kill(index);
      pass(3'000);
      for (std::size_t i = 0; i < 2; ++i) {
        if (node(i).dispatcher.working() > 0) finishes(node(i));
      }
      pass(1'000);
      EXPECT_TRUE(far->reader.ended) << far->reader.text << far->reader.lost;
      EXPECT_TRUE(is_one_story(far->reader.text));
      EXPECT_EQ(far->reader.text, told_at_the_end(node(0), run));
      EXPECT_TRUE(model::is_over(stored_run(run).state));
    }
  }
}

}  // namespace nodes_test
}  // namespace sluice::engine
