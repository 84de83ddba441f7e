// What a server knows of runs that left it or came to it: marks of work elsewhere, what it kept for a gate, its
// figures.
#include "engine/mail_words.h"
#include "engine/nodes_fixture.h"

namespace sluice::engine {
namespace takeover_test {

using model::EventKind;
using model::RunState;

class TakeoverTest : public NodesTest {
 protected:
  static constexpr const char* first_mark = R"({"runner":"r","line":1})";
  static constexpr const char* second_mark = R"({"runner":"r","line":2})";

  dispatch::Gate gate() {
    dispatch::Gate gate;
    gate.reason = "May I?";
    gate.items = {{model::ItemKind::action, "It", {}, {}, {}}};
    gate.checkpoint = "{}";
    return gate;
  }
};

TEST_F(TakeoverTest, Work_is_told_of_the_last_mark_that_is_written_and_of_none_before_it_is) {
  start_nodes(1);
  accepted_by(node(0), message("hello"));
  disk.hold_answers(true);
  says(node(0), "One ");
  says(node(0), first_mark, EventKind::mark);
  says(node(0), "two.");
  says(node(0), second_mark, EventKind::mark);
  EXPECT_TRUE(node(0).dispatcher.acknowledged.empty());
  disk.hold_answers(false);
  loop.settle();
  ASSERT_FALSE(node(0).dispatcher.acknowledged.empty());
  EXPECT_EQ(node(0).dispatcher.acknowledged.back(), second_mark);
}

TEST_F(TakeoverTest, The_mark_that_comes_with_the_end_is_acknowledged) {
  start_nodes(1);
  const auto run = accepted_by(node(0), message("hello"));
  auto& worker = *worker_of(node(0));
  worker.on_event({EventKind::text, loop.now(), "One."});
  worker.on_event({EventKind::mark, loop.now(), first_mark});
  worker.on_finished({3, 4});
  loop.settle();
  EXPECT_EQ(stored_run(run).state, RunState::completed);
  EXPECT_EQ(node(0).dispatcher.acknowledged, std::vector<std::string>{first_mark});
}

TEST_F(TakeoverTest, Whoever_takes_a_run_over_hears_its_work_on_from_the_last_mark) {
  start_nodes(2);
  node(1).dispatcher.reattaches = true;
  const auto run = accepted_by(node(0), message("hello"));
  const auto far = read_on(node(1), run);
  says(node(0), "One ");
  says(node(0), first_mark, EventKind::mark);
  says(node(0), "two ");
  says(node(0), second_mark, EventKind::mark);
  kill(0);
  pass(2'000);
  ASSERT_EQ(node(1).dispatcher.jobs.size(), 1U);
  EXPECT_EQ(node(1).dispatcher.jobs.back()->dispatch.mark, second_mark);
  says(node(1), "three.");
  finishes(node(1));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
  EXPECT_NE(stored_message(run.message_id).find("One two three."), std::string::npos);
  EXPECT_TRUE(is_one_story(far->reader.text));
  EXPECT_EQ(far->reader.text.find("runner"), std::string::npos) << "a mark is for its own work only";
}

TEST_F(TakeoverTest, A_mark_that_was_forsaken_is_given_to_nobody) {
  start_nodes(3);
  node(1).dispatcher.resumable = node(2).dispatcher.resumable = true;
  const auto run = accepted_by(node(0), message("hello"));
  says(node(0), "One ");
  says(node(0), first_mark, EventKind::mark);
  kill(0);
  pass(2'000);
  const std::size_t heir = node(1).dispatcher.working() == 1 ? 1 : 2;
  const std::size_t last = 3 - heir;
  ASSERT_EQ(node(heir).dispatcher.working(), 1);
  EXPECT_EQ(node(heir).dispatcher.jobs.back()->dispatch.mark, "") << "it cannot hear it on, so it began anew";
  node(last).dispatcher.reattaches = true;
  kill(heir);
  pass(2'000);
  ASSERT_EQ(node(last).dispatcher.working(), 1);
  EXPECT_EQ(node(last).dispatcher.jobs.back()->dispatch.mark, "") << "what it marks is not the run's work any more";
  finishes(node(last));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(TakeoverTest, What_was_kept_for_a_gate_is_removed_when_the_run_ended_elsewhere) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  worker_of(node(0))->on_gate(gate());
  loop.settle();
  node(0).loop.stop();
  pass(2'100);
  ASSERT_EQ(stored_run(run).node, node(1).id);
  node(0).loop.wake();
  pass(1'000);
  EXPECT_TRUE(node(0).dispatcher.forgotten.empty()) << "it still waits, and may come back";
  bool denied = false;
  node(1).engine->decide(decision(false), [&](const DecideOutcome&) { denied = true; });
  pass(1'000);
  ASSERT_TRUE(denied);
  ASSERT_EQ(stored_run(run).state, RunState::failed);
  EXPECT_EQ(node(0).dispatcher.forgotten, std::vector{run.id});
}

TEST_F(TakeoverTest, What_may_have_been_kept_for_a_gate_that_was_never_written_is_removed_too) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  node(0).loop.stop();
  pass(2'100);
  ASSERT_EQ(node(1).dispatcher.working(), 1);
  finishes(node(1));
  worker_of(node(0))->on_gate(gate());
  node(0).loop.wake();
  pass(1'000);
  EXPECT_EQ(stored_run(run).state, RunState::completed);
  EXPECT_EQ(node(0).dispatcher.forgotten, std::vector{run.id});
}

TEST_F(TakeoverTest, A_server_that_was_cut_off_for_long_counts_no_live_runs) {
  start_nodes(2);
  accepted_by(node(0), message("hello"));
  EXPECT_NE(node(0).metrics.to_text().find("sluice_runs_live 1"), std::string::npos);
  disk.hold_answers(true);
  pass(62'000);
  EXPECT_NE(node(0).metrics.to_text().find("sluice_runs_live 0"), std::string::npos);
  disk.hold_answers(false);
}

// Another server had it for a moment, of which its news were lost.
TEST_F(TakeoverTest, A_run_that_comes_back_takes_the_place_of_what_is_left_of_it_here) {
  start_nodes(1);
  disk.lose_news(true);
  node(0).dispatcher.resumable = true;
  const auto where = make_conversation(sticky());
  const auto run = accepted_by(node(0), message_in(where, "hello"));
  says(node(0), "One ");
  const auto near = read_on(node(0), run);
  store::SimulatedStore other(disk, loop, ids.make<model::NodeId>());
  other.take_over(run.id, run.epoch, [](const Result<model::Run>& taken) { ASSERT_TRUE(taken); });
  const mail::TakeRequest request{tenant.id, run.id, {run.epoch.value + 1}};
  other.nodes().post({.id = ids.make<model::MailId>(),
                      .to = node(0).id,
                      .kind = std::string(mail::to_take),
                      .body = mail::to_json(request)},
                     [](const Result<Unit>& posted) { ASSERT_TRUE(posted); });
  pass(1'000);
  EXPECT_EQ(stored_run(run).epoch.value, run.epoch.value + 2);
  EXPECT_EQ(node(0).dispatcher.jobs.size(), 2U);
  ASSERT_EQ(node(0).dispatcher.working(), 1);
  says(node(0), "two.");
  finishes(node(0));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
  EXPECT_TRUE(near->reader.ended);
  EXPECT_TRUE(is_one_story(near->reader.text));
}

// I-21: the conversation went on elsewhere while this server was taken for dead, so its box is of the past.
TEST_F(TakeoverTest, I_21_a_box_that_missed_a_run_of_its_conversation_is_not_used) {
  start_nodes(2);
  const auto where = make_conversation(sticky());
  accepted_by(node(0), message_in(where, "first"));
  finishes(node(0));
  node(0).loop.stop();
  pass(2'100);
  accepted_by(node(1), message_in(where, "second"));
  ASSERT_EQ(node(1).dispatcher.working(), 1) << "its home was dead";
  finishes(node(1));
  node(0).loop.wake();
  pass(2'000);
  kill(1);
  pass(2'000);
  EXPECT_TRUE(node(0).dispatcher.released.empty());
  accepted_by(node(0), message_in(where, "third"));
  EXPECT_EQ(node(0).dispatcher.working(), 1);
  EXPECT_EQ(node(0).dispatcher.released, std::vector{where});
}

// I-21: what it did in its box is done again elsewhere.
TEST_F(TakeoverTest, I_21_a_run_that_is_lost_takes_its_conversations_box_with_it) {
  start_nodes(2);
  const auto where = make_conversation(sticky());
  accepted_by(node(0), message_in(where, "first"));
  node(0).loop.stop();
  pass(2'100);
  node(0).loop.wake();
  pass(500);
  EXPECT_EQ(node(0).engine->sandbox_of(where).state, model::SandboxState::none);
  EXPECT_EQ(node(0).dispatcher.released, std::vector{where});
  EXPECT_EQ(node(1).dispatcher.working(), 1);
}

// ── whose clock counts ──

constexpr int64_t wrong_by_ms = 20 * 60'000;

TEST_F(TakeoverTest, I_14_a_gate_that_is_taken_over_expires_by_the_stores_clock_however_wrong_the_takers_is) {
  for (const int64_t wrong_ms : {wrong_by_ms, -wrong_by_ms}) {
    SCOPED_TRACE(wrong_ms);
    nodes.clear();
    loop.settle();
    start_nodes(2);
    node(1).loop.be_ahead(wrong_ms);
    const auto run = accepted_by(node(0), message_in(make_conversation(), "hello"));
    dispatch::Gate gate;
    gate.reason = "May I?";
    gate.items = {{model::ItemKind::action, "It", {}, {}, {}}};
    gate.lifetime_seconds = 900;
    gate.checkpoint = "{}";
    worker_of(node(0))->on_gate(std::move(gate));
    loop.settle();
    pass(300'000);
    kill(0);
    pass(2'500);
    EXPECT_EQ(stored_run(run).node, node(1).id);
    pass(590'000);
    EXPECT_EQ(stored_run(run).state, RunState::parked) << "some seconds are left";
    pass(10'000);
    EXPECT_EQ(stored_run(run).state, RunState::failed);
  }
}

TEST_F(TakeoverTest, I_12_a_run_that_is_taken_over_is_held_by_the_stores_clock_however_wrong_the_takers_is) {
  options.max_running = 1;
  start_nodes(2);
  node(1).loop.be_ahead(wrong_by_ms);
  for (auto& each : nodes) accepted_by(*each, message_in(make_conversation(), "busy"));
  auto what = message_in(make_conversation(), "wait");
  what.hold = true;
  const auto run = accepted_by(node(0), std::move(what));
  pass(10'000);
  kill(0);
  pass(2'500);
  EXPECT_EQ(stored_run(run).node, node(1).id);
  pass(100'000);
  EXPECT_EQ(stored_run(run).state, RunState::held);
  pass(10'000);
  EXPECT_EQ(stored_run(run).state, RunState::failed);
}

TEST_F(TakeoverTest, I_14_a_gate_that_is_taken_over_expires_by_the_stores_clock_however_wrong_the_writers_was) {
  for (const int64_t wrong_ms : {wrong_by_ms, -wrong_by_ms}) {
    SCOPED_TRACE(wrong_ms);
    nodes.clear();
    loop.settle();
    start_nodes(2);
    node(0).loop.be_ahead(wrong_ms);
    const auto run = accepted_by(node(0), message_in(make_conversation(), "hello"));
    auto raised = gate();
    raised.lifetime_seconds = 900;
    worker_of(node(0))->on_gate(std::move(raised));
    loop.settle();
    pass(300'000);
    kill(0);
    pass(2'500);
    EXPECT_EQ(stored_run(run).node, node(1).id);
    pass(590'000);
    EXPECT_EQ(stored_run(run).state, RunState::parked) << "some seconds are left";
    pass(10'000);
    EXPECT_EQ(stored_run(run).state, RunState::failed);
  }
}

TEST_F(TakeoverTest, I_12_a_run_that_is_taken_over_is_held_by_the_stores_clock_however_wrong_the_writers_was) {
  options.max_running = 1;
  start_nodes(2);
  node(0).loop.be_ahead(-wrong_by_ms);
  for (auto& each : nodes) accepted_by(*each, message_in(make_conversation(), "busy"));
  auto what = message_in(make_conversation(), "wait");
  what.hold = true;
  const auto run = accepted_by(node(0), std::move(what));
  pass(10'000);
  kill(0);
  pass(2'500);
  EXPECT_EQ(stored_run(run).node, node(1).id);
  pass(100'000);
  EXPECT_EQ(stored_run(run).state, RunState::held);
  pass(10'000);
  EXPECT_EQ(stored_run(run).state, RunState::failed);
}

// ── writes of unknown outcome ────────────────────────────────────────────────────────────────────

TEST_F(TakeoverTest, A_decision_that_is_written_late_is_not_taken_for_the_end_of_the_run) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  auto asked = gate();
  asked.lifetime_seconds = 3;
  worker_of(node(0))->on_gate(std::move(asked));
  loop.settle();
  disk.fail_write(0, store::Fault::late);
  DecideOutcome outcome = model::Approval{};
  node(0).engine->decide(decision(), [&](DecideOutcome answer) { outcome = std::move(answer); });
  loop.settle();
  EXPECT_TRUE(std::holds_alternative<model::Problem>(outcome)) << "nothing was written by then";
  disk.land();
  pass(15'000);  // the server that believed it to be parked lets it expire, and finds the journal ahead
  ASSERT_EQ(stored_run(run).state, RunState::streaming);
  for (auto* where : {&node(0), &node(1)}) {
    if (where->dispatcher.working() > 0) finishes(*where);
  }
  const auto sent = told_at_the_end(node(1), run);
  EXPECT_TRUE(is_one_story(sent)) << sent;
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(TakeoverTest, A_write_that_comes_through_while_it_is_repeated_costs_no_work) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  disk.hold_answers(true);
  for (const auto* text : {"One ", "two ", "three."}) {
    says(node(0), text);
    pass(5);
  }
  disk.fail_write(0, store::Fault::late);
  disk.hold_answers(false);
  loop.settle();
  EXPECT_EQ(node(0).dispatcher.working(), 1);
  pass(1'000);
  finishes(node(0));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
  EXPECT_NE(told_at_the_end(node(1), run).find("One two three."), std::string::npos);
}

TEST_F(TakeoverTest, A_refused_write_costs_no_work_while_the_journal_cannot_be_read) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  says(node(0), "One ");
  disk.fail_write(0, store::Fault::collides);
  disk.refuse_reads(1);
  says(node(0), "two.");
  EXPECT_EQ(node(0).dispatcher.working(), 1);
  pass(1'000);
  finishes(node(0));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
  EXPECT_NE(told_at_the_end(node(1), run).find("One two."), std::string::npos);
}

}  // namespace takeover_test
}  // namespace sluice::engine
