// A node that cannot reach the store, while other nodes may take its runs: their work stands still, and resumes or is
// dropped when it is known whose they are.
#include "engine/nodes_fixture.h"

namespace sluice::engine {
namespace suspension_test {

using model::EventKind;
using model::RunState;

constexpr auto step = R"({"id":"step_1","tool":"bash","status":"running","args":{}})";

// The way of single nodes to the store can be cut.
class SuspensionTest : public NodesTest, private store::DatabaseWatch {
 protected:
  SuspensionTest() { disk.be_watched(this); }
  ~SuspensionTest() override {
    cut_off_.reset();
    disk.hold_answers(false);
    for (auto& node : nodes) node.reset();
    disk.be_watched(nullptr);
  }

  void cut_off(std::size_t index) { cut_off_ = node(index).id; }
  void mend() { cut_off_.reset(); }
  // The store takes its time to answer when this node next renews a run.
  void delay_renewal_of(std::size_t index) { delayed_ = &node(index); }

  // A run that has used a tool: it cannot be begun anew anywhere.
  model::Run run_with_step(Node& where) {
    auto run = accepted_by(where, message_in(make_conversation(), "hello"));
    says(where, step, EventKind::step);
    return run;
  }
  static ScriptedDispatcher::Job& job_of(Node& where) { return *where.dispatcher.jobs.back(); }
  static bool has(const Node& where, const std::string& figure) {
    return where.metrics.to_text().find(figure) != std::string::npos;
  }

 private:
  std::optional<store::Fault> on_write(model::NodeId) override { return std::nullopt; }
  bool reaches(model::NodeId node) override { return cut_off_ != node; }
  int news_copies(model::NodeId) override { return 1; }
  void on_moved(model::NodeId by, const model::Run&) override {
    if (delayed_ != nullptr && delayed_->id == by) std::exchange(delayed_, nullptr)->store_side.delay_next_answer();
  }

  std::optional<model::NodeId> cut_off_;
  Node* delayed_ = nullptr;
};

TEST_F(SuspensionTest, An_outage_of_the_store_ends_no_work_of_several_nodes) {
  start_nodes(2);
  std::vector<model::Run> runs;
  for (auto& each : nodes) runs.push_back(run_with_step(*each));
  const auto near = read_on(node(0), runs[0]);
  disk.hold_answers(true);
  pass(1'400);
  EXPECT_FALSE(job_of(node(0)).is_suspended) << "no node may say yet that it is dead";
  pass(200);
  for (auto& each : nodes) {
    ASSERT_EQ(each->dispatcher.working(), 1);
    EXPECT_TRUE(job_of(*each).is_suspended);
    EXPECT_TRUE(has(*each, "sluice_runs_suspended 1"));
  }
  pass(30'000);
  disk.hold_answers(false);
  pass(2'000);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(node(i).dispatcher.jobs.size(), 1U);
    EXPECT_FALSE(job_of(node(i)).is_suspended);
    EXPECT_TRUE(has(node(i), "sluice_runs_suspended 0"));
    EXPECT_TRUE(has(node(i), "sluice_runs_suspended_total 1"));
    says(node(i), "Done.");
    finishes(node(i));
    EXPECT_EQ(stored_run(runs[i]).state, RunState::completed);
    EXPECT_EQ(stored_run(runs[i]).node, node(i).id);
  }
  EXPECT_TRUE(near->reader.ended) << near->reader.lost;
  EXPECT_TRUE(is_one_story(near->reader.text));
}

TEST_F(SuspensionTest, Work_whose_run_was_taken_meanwhile_is_dropped_and_never_resumed) {
  start_nodes(2);
  node(1).dispatcher.resumable = true;
  const auto run = accepted_by(node(0), message("hello"));
  says(node(0), "One ");
  const auto near = read_on(node(0), run);
  cut_off(0);
  pass(1'600);
  ASSERT_EQ(node(0).dispatcher.working(), 1);
  EXPECT_TRUE(job_of(node(0)).is_suspended);
  pass(2'000);
  ASSERT_EQ(node(1).dispatcher.working(), 1) << "it was heard all the time, so it may take what the other had";
  mend();
  pass(8'000);
  EXPECT_EQ(node(0).dispatcher.working(), 0);
  EXPECT_TRUE(job_of(node(0)).is_suspended) << "it never acted again";
  EXPECT_TRUE(has(node(0), "sluice_runs_suspended 0"));
  says(node(1), "two.");
  finishes(node(1));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
  EXPECT_TRUE(near->reader.ended) << near->reader.lost;
  EXPECT_TRUE(is_one_story(near->reader.text));
}

// A node that was stopped for a moment has read the epoch before another took the run: reading it is not enough.
TEST_F(SuspensionTest, A_run_that_resumed_cannot_be_taken_by_its_former_epoch) {
  start_nodes(2);
  const auto run = run_with_step(node(0));
  disk.hold_answers(true);
  pass(3'000);
  disk.hold_answers(false);
  pass(2'000);
  ASSERT_FALSE(job_of(node(0)).is_suspended);
  bool refused = false;
  node(1).store.take_over(run.id, run.epoch, [&](const Result<model::Run>& taken) { refused = !taken; });
  loop.settle();
  EXPECT_TRUE(refused);
  finishes(node(0));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(SuspensionTest, A_renewal_that_is_answered_after_another_outage_resumes_no_work) {
  start_nodes(2);
  const auto run = run_with_step(node(0));
  disk.hold_answers(true);
  pass(2'000);
  delay_renewal_of(0);
  disk.hold_answers(false);
  pass(500);
  const auto renewed = stored_run(run).epoch;
  ASSERT_GT(renewed, run.epoch) << "it does not know";
  disk.hold_answers(true);
  pass(2'000);
  node(1).store.take_over(run.id, renewed, [](const Result<model::Run>&) {});
  disk.hold_answers(false);
  pass(500);
  ASSERT_EQ(stored_run(run).node, node(1).id);
  ASSERT_EQ(node(0).dispatcher.working(), 1);
  node(0).store_side.release_answers();
  pass(2'000);
  EXPECT_EQ(node(0).dispatcher.working(), 0);
  EXPECT_TRUE(job_of(node(0)).is_suspended) << "it never acted again";
}

TEST_F(SuspensionTest, A_renewal_that_is_answered_after_another_outage_is_repeated) {
  start_nodes(2);
  const auto run = run_with_step(node(0));
  disk.hold_answers(true);
  pass(2'000);
  delay_renewal_of(0);
  disk.hold_answers(false);
  pass(500);
  const auto renewed = stored_run(run).epoch;
  ASSERT_GT(renewed, run.epoch);
  disk.hold_answers(true);
  pass(2'000);
  disk.hold_answers(false);
  pass(500);
  ASSERT_TRUE(job_of(node(0)).is_suspended);
  node(0).store_side.release_answers();
  pass(2'000);
  EXPECT_FALSE(job_of(node(0)).is_suspended);
  EXPECT_GT(stored_run(run).epoch, renewed);
  finishes(node(0));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(SuspensionTest, A_store_that_is_away_for_a_minute_ends_suspended_work) {
  start_nodes(2);
  const auto run = run_with_step(node(0));
  disk.hold_answers(true);
  pass(59'000);
  EXPECT_EQ(node(0).dispatcher.working(), 1);
  pass(3'000);
  EXPECT_EQ(node(0).dispatcher.working(), 0);
  EXPECT_TRUE(has(node(0), "sluice_runs_suspended 0"));
  disk.hold_answers(false);
  pass(10'000);
  EXPECT_EQ(stored_run(run).state, RunState::failed);
}

TEST_F(SuspensionTest, Work_that_is_about_to_begin_waits_until_its_run_is_certain) {
  start_nodes(2);
  disk.hold_answers(true);
  std::optional<model::Run> run;
  node(0).engine->send(message("hello"), [&](const SendOutcome& sent) {
    if (const auto* accepted = std::get_if<Sent>(&sent)) run = accepted->run;
  });
  pass(2'000);
  // That it was accepted is heard before a beat gets through.
  disk.hold_answers(false);
  pass(2'000);
  ASSERT_TRUE(run);
  EXPECT_EQ(node(0).dispatcher.working(), 1);
  EXPECT_TRUE(has(node(0), "sluice_runs_suspended_total 1"));
  EXPECT_EQ(job_of(node(0)).times_suspended, 0);
  EXPECT_GT(stored_run(*run).epoch, run->epoch);
  finishes(node(0));
  EXPECT_EQ(stored_run(*run).state, RunState::completed);
}

TEST_F(SuspensionTest, A_second_outage_before_all_resumed_suspends_again) {
  start_nodes(2);
  const auto run = run_with_step(node(0));
  for (int i = 0; i < 3; ++i) {
    disk.hold_answers(true);
    pass(2'000);
    EXPECT_TRUE(job_of(node(0)).is_suspended);
    disk.hold_answers(false);
    loop.step();
  }
  pass(2'000);
  EXPECT_FALSE(job_of(node(0)).is_suspended);
  EXPECT_EQ(node(0).dispatcher.jobs.size(), 1U);
  finishes(node(0));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(SuspensionTest, A_node_that_is_told_to_stop_while_its_work_is_suspended_stops_in_time) {
  start_nodes(2);
  run_with_step(node(0));
  cut_off(0);
  pass(2'000);
  ASSERT_TRUE(job_of(node(0)).is_suspended);
  bool drained = false;
  node(0).engine->drain({1'000}, [&] { drained = true; });
  pass(500);
  EXPECT_FALSE(drained);
  pass(5'500);
  EXPECT_TRUE(drained);
  EXPECT_EQ(node(0).dispatcher.working(), 0);
}

TEST_F(SuspensionTest, A_cancel_while_the_work_is_suspended_is_answered) {
  start_nodes(2);
  const auto run = run_with_step(node(0));
  cut_off(0);
  pass(2'000);
  bool refused = false;
  node(0).engine->cancel(tenant.id, run.id, [&](const std::variant<model::Run, model::Problem>& answer) {
    refused = std::holds_alternative<model::Problem>(answer);
  });
  pass(16'000);  // so long it may take to write that it was cancelled
  EXPECT_TRUE(refused);
}

TEST_F(SuspensionTest, A_run_that_waits_for_a_human_with_its_sandbox_is_suspended_too) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message_in(make_conversation(sticky()), "hello"));
  dispatch::Gate gate;
  gate.reason = "May I?";
  gate.items = {{model::ItemKind::action, "It", {}, {}, {}}};
  gate.checkpoint = "{}";
  gate.keeps_box = true;
  worker_of(node(0))->on_gate(std::move(gate));
  loop.settle();
  disk.hold_answers(true);
  pass(2'000);
  EXPECT_TRUE(job_of(node(0)).is_suspended) << "what runs in its background could act";
  disk.hold_answers(false);
  pass(2'000);
  EXPECT_FALSE(job_of(node(0)).is_suspended);
  EXPECT_EQ(stored_run(run).state, RunState::parked);
}

TEST_F(SuspensionTest, A_node_that_has_the_store_for_itself_suspends_nothing) {
  start_nodes(1);
  run_with_step(node(0));
  disk.hold_answers(true);
  pass(30'000);
  EXPECT_EQ(job_of(node(0)).times_suspended, 0);
  disk.hold_answers(false);
  pass(2'000);
  EXPECT_EQ(job_of(node(0)).times_suspended, 0);
  finishes(node(0));
}

}  // namespace suspension_test
}  // namespace sluice::engine
