// Workflows over a real engine, a disk that can fail, and a scripted network. The test plays the agents.
#pragma once

#include <string>
#include <vector>

#include "base/digest.h"
#include "engine/engine_fixture.h"
#include "flow/flow.h"
#include "net/fake_client.h"

namespace sluice::flow {

class FlowsTest : public engine::EngineTest {
 protected:
  FlowsTest() {
    agent_named("writer");
    open_flows();
  }
  ~FlowsTest() override { close_flows(); }

  void open_flows() {
    flows = make_flows({*store, *engine, client, loop, ids, log}, flow_options);
    bool recovered = false;
    flows->recover([&](const Result<Unit>& done) { recovered = bool(done); });
    loop.settle();
    ASSERT_TRUE(recovered);
  }
  void close_flows() { flows.reset(); }
  // The server dies and another one comes.
  void restart() {
    close_flows();
    restart_server();
    open_flows();
  }

  void agent_named(std::string name) {
    model::Agent made{.id = ids.make<model::AgentId>(), .tenant_id = tenant.id, .name = std::move(name)};
    made.model = {"offline", "writers-model", std::nullopt};
    made.system_prompt = "Write.";
    store::create_agent(store->database(), made, [](Result<Unit> done) { ASSERT_TRUE(done); });
    loop.settle();
    last_agent = made.id;
  }

  model::Workflow keep(const std::string& definition, std::string name = "flow") {
    const auto document = json::Document::parse(definition);
    EXPECT_TRUE(document) << definition;
    for (const auto& fault : faults_of_definition(document.value().root(), "")) {
      ADD_FAILURE() << fault.pointer << " " << fault.message;
    }
    model::Workflow made{.id = ids.make<model::WorkflowId>(), .tenant_id = tenant.id, .name = std::move(name)};
    made.definition = definition;
    store::create_workflow(store->database(), made, [](const Result<Unit>& done) { ASSERT_TRUE(done); });
    loop.settle();
    return made;
  }
  RunOutcome start(const model::Workflow& workflow, std::string inputs = "{}") {
    RunOutcome outcome = model::Problem{};
    flows->start({tenant.id, workflow, std::move(inputs)}, [&](RunOutcome answer) { outcome = std::move(answer); });
    loop.settle();
    return outcome;
  }
  model::WorkflowRun start_ok(const model::Workflow& workflow, std::string inputs = "{}") {
    auto outcome = start(workflow, std::move(inputs));
    EXPECT_TRUE(std::holds_alternative<model::WorkflowRun>(outcome));
    return std::holds_alternative<model::WorkflowRun>(outcome) ? std::get<model::WorkflowRun>(outcome)
                                                               : model::WorkflowRun{};
  }
  model::WorkflowRun start_ok(const std::string& definition, std::string inputs = "{}") {
    return start_ok(keep(definition), std::move(inputs));
  }
  model::WorkflowRun stored(const model::WorkflowRun& run) {
    model::WorkflowRun found;
    store::workflow_run(store->database(), tenant.id, run.id, [&](const Result<model::WorkflowRun>& answer) {
      ASSERT_TRUE(answer);
      found = answer.value();
    });
    loop.settle();
    return found;
  }
  std::string status_of(const model::WorkflowRun& run) { return std::string(model::name_of(stored(run).status)); }

  // Everything a reader who asks now gets to read.
  std::string lines_of(const model::WorkflowRun& run, LineView view = {}) {
    engine::RememberingReader reader;
    const auto reading = flows->read(run, view, reader);
    loop.settle();
    return reader.text;
  }
  // "run.started, block.started a, block.line a, …"
  static std::string text_of_lines(const std::string& lines) {
    std::string out;
    std::size_t begin = 0;
    int64_t seq = 0;
    for (auto end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', begin)) {
      const auto document = json::Document::parse(lines.substr(begin, end - begin));
      begin = end + 1;
      EXPECT_TRUE(document);
      const auto root = document.value().root();
      EXPECT_EQ(root.find("seq")->integer(), seq++);
      out += (out.empty() ? "" : ", ") + std::string(*root.find("type")->string());
      if (const auto block = root.find("block")) out += " " + std::string(*block->string());
      if (const auto status = root.find("status")) out += " " + std::string(*status->string());
    }
    return out;
  }

  void agent_answers(const std::string& text) {
    ASSERT_GT(dispatcher.working(), 0);
    agent_says(text);
    agent_finishes();
  }
  const dispatch::Dispatch& last_dispatch() const { return dispatcher.jobs.back()->dispatch; }

  net::FakeClient client{loop};
  FlowOptions flow_options{.http_urls = {"http://api.example/v1"},
                           .sandbox_urls = {"http://runner.example", "http://own.example"}};
  std::unique_ptr<Flows> flows;
  model::AgentId last_agent;
};

inline std::string agents_block(const std::string& id, const std::string& prompt, const std::string& more = "") {
  return R"({"id":")" + id + R"(","type":"agents","agent":"writer","prompt":")" + prompt + "\"" + more + "}";
}
inline std::string http_block(const std::string& id, const std::string& method, const std::string& more = "") {
  return R"({"id":")" + id + R"(","type":"http","method":")" + method + R"(","url":"http://api.example/v1/x")" + more +
         "}";
}
inline std::string definition_of(const std::string& blocks, const std::string& edges = "",
                                 const std::string& more = "") {
  return R"({"blocks":[)" + blocks + R"(],"edges":[)" + edges + "]" + more + "}";
}

}  // namespace sluice::flow
