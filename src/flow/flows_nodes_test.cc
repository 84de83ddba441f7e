// Workflow runs on two servers that share a store: carried by one, read and cancelled through either, and taken over.
#include "engine/nodes_fixture.h"
#include "flow/flows_fixture.h"

namespace sluice::flow {
namespace flows_nodes_test {

class FlowNodesTest : public engine::NodesTest {
 protected:
  FlowNodesTest() {
    model::Agent agent{.id = ids.make<model::AgentId>(), .tenant_id = tenant.id, .name = "writer"};
    agent.model = {"offline", "writers-model", std::nullopt};
    store::create_agent(store->database(), agent, [](Result<Unit> done) { ASSERT_TRUE(done); });
    start_nodes(2);
    for (auto& each : nodes) {
      each->dispatcher.resumable = true;
      flows.push_back(make_flows({each->store, *each->engine, client, each->loop, ids, log},
                                 {.http_urls = {"http://api.example/v1"}}));
      flows.back()->recover([](const Result<Unit>& done) { ASSERT_TRUE(done); });
    }
    loop.settle();
  }
  ~FlowNodesTest() override { flows.clear(); }

  model::WorkflowRun start_at(std::size_t index) {
    return start_at(index, definition_of(agents_block("a", "Begin.") + "," + agents_block("b", "Go on."),
                                         R"({"from":"a","to":"b"})", R"(,"outputs":{"o":"{{blocks.b.response}}"})"));
  }
  model::WorkflowRun start_at(std::size_t index, std::string definition) {
    model::Workflow made{.id = ids.make<model::WorkflowId>(), .tenant_id = tenant.id, .name = "flow"};
    made.definition = std::move(definition);
    store::create_workflow(store->database(), made, [](const Result<Unit>& done) { ASSERT_TRUE(done); });
    model::WorkflowRun run;
    flows[index]->start({tenant.id, made, "{}"}, [&](RunOutcome outcome) {
      ASSERT_TRUE(std::holds_alternative<model::WorkflowRun>(outcome));
      run = std::get<model::WorkflowRun>(outcome);
    });
    loop.settle();
    return run;
  }
  void agent_answers(engine::Node& where, const std::string& text) {
    ASSERT_EQ(where.dispatcher.working(), 1);
    says(where, text);
    finishes(where);
  }
  std::string status_of(const model::WorkflowRun& run) {
    std::string status;
    store::workflow_run(store->database(), tenant.id, run.id, [&](const Result<model::WorkflowRun>& found) {
      status = found ? model::name_of(found.value().status) : found.error().what;
    });
    loop.settle();
    return status;
  }

  net::FakeClient client{loop};
  std::vector<std::unique_ptr<Flows>> flows;
};

TEST_F(FlowNodesTest, A_run_whose_server_died_is_carried_on_by_another_and_its_readers_miss_nothing) {
  const auto run = start_at(0);
  engine::RememberingReader reader;
  const auto reading = flows[1]->read(run, {}, reader);
  agent_answers(node(0), "one");
  says(node(0), "tw");
  flows[0].reset();
  kill(0);
  pass(5'000);
  agent_answers(node(1), "o");
  pass(2'000);
  EXPECT_EQ(status_of(run), "succeeded");
  EXPECT_TRUE(reader.ended);
  EXPECT_NE(reader.text.find(R"("outputs":{"o":"two"})"), std::string::npos) << reader.text;
  engine::RememberingReader late;
  const auto again = flows[1]->read(run, {}, late);
  loop.settle();
  EXPECT_EQ(late.text, reader.text);
}

TEST_F(FlowNodesTest, Nobody_takes_the_run_of_a_server_that_lives) {
  const auto run = start_at(0);
  pass(10'000);
  EXPECT_EQ(node(1).dispatcher.working(), 0);
  agent_answers(node(0), "one");
  agent_answers(node(0), "two");
  EXPECT_EQ(status_of(run), "succeeded");
}

TEST_F(FlowNodesTest, A_run_that_another_server_took_during_an_outage_is_carried_by_that_one_alone) {
  client.answer_method("GET", net::FakeAnswer());
  disk.fail_write(2, store::Fault::after_write);  // the one after the workflow and its run: that the block began
  const auto run = start_at(0, definition_of(http_block("a", "GET")));
  ASSERT_TRUE(client.requests_by_method.empty());
  store::take_over_workflow_run(store->database(), run.id, node(0).id, node(1).id,
                                [](const Result<model::WorkflowRun>& taken) { ASSERT_TRUE(taken); });
  pass(5'000);
  EXPECT_EQ(client.requests_by_method.size(), 1U);
}

TEST_F(FlowNodesTest, B_2_a_run_is_cancelled_through_any_server) {
  const auto run = start_at(0);
  std::optional<RunOutcome> outcome;
  flows[1]->cancel(tenant.id, run.id, [&](RunOutcome answer) { outcome = std::move(answer); });
  pass(2'000);
  ASSERT_TRUE(outcome && std::holds_alternative<model::WorkflowRun>(*outcome));
  EXPECT_EQ(status_of(run), "cancelled");
  EXPECT_EQ(node(0).dispatcher.working(), 0);
}

}  // namespace flows_nodes_test
}  // namespace sluice::flow
