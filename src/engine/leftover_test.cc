// What a server that died had kept for runs that wait is removed by the next one on its machine: when those runs are
// over, and not before.
#include "engine/nodes_fixture.h"

namespace sluice::engine {
namespace leftover_test {

using model::RunState;
using Runs = std::vector<model::RunId>;

// A store that some moments cannot be reached.
class Moments final : public store::DatabaseWatch {
 public:
  std::optional<store::Fault> on_write(model::NodeId) override { return std::nullopt; }
  bool reaches(model::NodeId) override { return !away; }
  int news_copies(model::NodeId) override { return 1; }
  void on_moved(model::NodeId, const model::Run&) override {}

  bool away = false;
};

class LeftoverTest : public NodesTest {
 protected:
  // On the first of two servers, which dies; the other takes it over.
  model::Run park_and_kill() {
    start_nodes(2);
    const auto run = accepted_by(node(0), message("hello"));
    dispatch::Gate gate;
    gate.reason = "May I?";
    gate.items = {{model::ItemKind::action, "It", {}, {}, {}}};
    gate.checkpoint = "{}";
    worker_of(node(0))->on_gate(std::move(gate));
    loop.settle();
    kill(0);
    pass(2'000);
    EXPECT_EQ(stored_run(run).state, RunState::parked);
    EXPECT_EQ(stored_run(run).node, node(1).id);
    return run;
  }
  void deny(Node& where, const model::Run& run) {
    where.engine->decide(decision(false), [](const DecideOutcome&) {});
    loop.settle();
    EXPECT_EQ(stored_run(run).state, RunState::failed);
  }
  static dispatch::ParkedRun kept_for(const model::Run& run) { return {run.id, run.conversation_id}; }
};

TEST_F(LeftoverTest, What_was_kept_for_a_run_that_ended_elsewhere_is_removed_when_a_server_starts) {
  const auto run = park_and_kill();
  deny(node(1), run);
  EXPECT_EQ(start_node({kept_for(run)}).dispatcher.forgotten, Runs{run.id});
}

TEST_F(LeftoverTest, What_is_kept_for_a_run_that_waits_elsewhere_stays_until_it_ends_there) {
  const auto run = park_and_kill();
  auto& next = start_node({kept_for(run)});
  pass(5'000);
  EXPECT_TRUE(next.dispatcher.forgotten.empty()) << "it may come back here";
  deny(node(1), run);
  pass(1'000);
  EXPECT_EQ(next.dispatcher.forgotten, Runs{run.id});
}

TEST_F(LeftoverTest, What_is_kept_for_a_run_that_comes_back_is_removed_at_its_end_and_not_before) {
  const auto run = park_and_kill();
  auto& next = start_node({kept_for(run)});
  kill(1);
  pass(3'000);
  ASSERT_EQ(stored_run(run).node, next.id);
  EXPECT_TRUE(next.dispatcher.forgotten.empty());
  deny(next, run);
  EXPECT_EQ(next.dispatcher.forgotten, Runs{run.id});
  pass(5'000);
  EXPECT_EQ(next.dispatcher.forgotten, Runs{run.id}) << "once is enough";
}

TEST_F(LeftoverTest, What_is_kept_for_a_run_that_the_store_does_not_know_stays) {
  auto& next = start_node({{ids.make<model::RunId>(), conversation}});
  pass(2'000);
  EXPECT_TRUE(next.dispatcher.forgotten.empty());
}

TEST_F(LeftoverTest, While_the_store_does_not_say_whether_a_run_is_over_nothing_is_removed) {
  const auto run = park_and_kill();
  deny(node(1), run);
  Moments moments;
  disk.be_watched(&moments);
  nodes.push_back(std::make_unique<Node>(disk, loop, ids, log, sealer, options));
  auto& next = *nodes.back();
  next.dispatcher.parked = {kept_for(run)};
  next.dispatcher.lists_at_once = false;
  loop.settle();
  moments.away = true;
  next.dispatcher.list_now();
  pass(1'100);
  EXPECT_TRUE(next.dispatcher.forgotten.empty());
  moments.away = false;
  pass(1'000);
  EXPECT_EQ(next.dispatcher.forgotten, Runs{run.id});
  disk.be_watched(nullptr);
}

TEST_F(LeftoverTest, A_server_that_is_gone_hears_no_list) {
  auto& next = start_node();
  auto& dispatcher = next.dispatcher;
  dispatcher.lists_at_once = false;
  dispatcher.parked = {{ids.make<model::RunId>(), conversation}};
  next.engine = make_engine({next.store, dispatcher, next.loop, ids, log, next.metrics, sealer}, options);
  next.engine->recover([](const Result<Unit>&) {});
  loop.settle();
  next.engine.reset();
  dispatcher.list_now();
  pass(1'000);
  EXPECT_TRUE(dispatcher.forgotten.empty());
}

using LoneLeftoverTest = GateTest;

TEST_F(LoneLeftoverTest, A_lone_server_removes_what_was_kept_for_ended_runs_and_keeps_the_rest) {
  const auto ended = send_ok(message("first"));
  agent_finishes();
  const auto waits = send_ok(message("second"));
  agent_asks();
  ASSERT_EQ(stored_run(waits).state, RunState::parked);
  dispatcher.forgotten.clear();
  dispatcher.parked = {{ended.id, conversation}, {waits.id, conversation}};
  restart_server();
  loop.advance({5'000});
  EXPECT_EQ(dispatcher.forgotten, Runs{ended.id});
  decide(decision(false));
  EXPECT_EQ(dispatcher.forgotten, (Runs{ended.id, waits.id}));
}

TEST_F(LoneLeftoverTest, However_much_was_kept_all_of_it_is_looked_at) {
  const auto ended = send_ok(message("first"));
  agent_finishes();
  dispatcher.forgotten.clear();
  dispatcher.parked.assign(200, {ended.id, conversation});
  restart_server();
  EXPECT_LT(dispatcher.forgotten.size(), 200U) << "not all at once";
  loop.advance({5'000});
  EXPECT_EQ(dispatcher.forgotten.size(), 200U);
}

}  // namespace leftover_test
}  // namespace sluice::engine
