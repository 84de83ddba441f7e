#include "api/api_fixture.h"

namespace sluice::api {
namespace workflows_test {

class WorkflowsTest : public ApiTest {
 protected:
  std::string at(std::string_view rest) const { return workspace_of(acme) + std::string(rest); }
  Answer make(const std::string& name, const std::string& definition) {
    return post(at("/workflows"),
                R"({"name":")" + name + R"(","description":"What it does","definition":)" + definition + "}");
  }
  std::string make_simple(const std::string& name = "simple") {
    return make(name, R"({"inputs":[{"name":"q","type":"text"}],"blocks":[{"id":"a","type":"agents","agent":"default",)"
                      R"("prompt":"Say {{inputs.q}}."}],"outputs":{"text":"{{blocks.a.response}}"}})")
        ->text("id");
  }
  Answer start(const std::string& id, std::string body = R"({"inputs":{"q":"hi"}})", net::Headers headers = {}) {
    return post(at("/workflows/" + id + "/runs"), std::move(body), std::move(headers));
  }
};

TEST_F(WorkflowsTest, A_workflow_is_made_shown_changed_listed_and_deleted) {
  const auto made = make("report", R"({"blocks":[{"id":"a","type":"agents","agent":"default","prompt":"x"}]})");
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(made->text("object"), "workflow");
  EXPECT_EQ(made->member("definition"), R"({"blocks":[{"id":"a","type":"agents","agent":"default","prompt":"x"}]})");
  const auto id = made->text("id");
  EXPECT_EQ(made->headers.find("Location"), at("/workflows/" + id));
  EXPECT_EQ(get(at("/workflows/" + id))->body, made->body);

  const auto changed = patch(at("/workflows/" + id), R"({"name":"renamed","description":null})");
  EXPECT_EQ(changed->status, 200);
  EXPECT_EQ(changed->text("name"), "renamed");
  EXPECT_EQ(changed->text("description"), "");
  EXPECT_EQ(changed->member("definition"), made->member("definition"));
  make_simple("second");
  const auto list = get(at("/workflows?limit=1"));
  EXPECT_NE(list->body.find(R"("name":"second")"), std::string::npos) << "newest first";
  EXPECT_EQ(list->member("has_more"), "true");

  EXPECT_EQ(remove(at("/workflows/" + id))->status, 204);
  EXPECT_EQ(get(at("/workflows/" + id))->status, 404);
  EXPECT_EQ(get(at("/workflows/nonsense"))->status, 404);
}

TEST_F(WorkflowsTest, Faults_of_a_definition_are_refused_with_their_pointers) {
  const auto refused =
      make("x", R"({"blocks":[{"id":"a","type":"agents","agent":"default","prompt":"{{inputs.q}}"}]})");
  EXPECT_EQ(refused->status, 422);
  EXPECT_NE(refused->body.find(R"("pointer":"/definition/blocks/0/prompt")"), std::string::npos) << refused->body;
  const auto circle = make("x", R"({"blocks":[{"id":"a","type":"agents","agent":"default","prompt":"x"}],)"
                                R"("edges":[{"from":"a","to":"a"}]})");
  EXPECT_EQ(circle->status, 422);
  EXPECT_NE(circle->body.find("go in a circle"), std::string::npos);
  EXPECT_EQ(post(at("/workflows"), R"({"name":"x"})")->status, 422);
  const auto id = make_simple();
  EXPECT_EQ(patch(at("/workflows/" + id), R"({"definition":{"blocks":[]}})")->status, 422);
  EXPECT_EQ(make("simple", R"({"blocks":[{"id":"a","type":"agents","agent":"default","prompt":"x"}]})")
                ->text("conflicting_resource_id"),
            id);
}

TEST_F(WorkflowsTest, A_run_is_streamed_line_by_line) {
  const auto answer = start(make_simple());
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->headers.find("Content-Type"), "application/x-ndjson");
  EXPECT_EQ(agent.last.prompt, "Say hi.");
  EXPECT_EQ(count_lines(answer->body), 2U);
  agent_says("hi");
  agent_finishes();
  EXPECT_TRUE(answer->finished);
  EXPECT_NE(answer->body.find(R"("type":"run.finished","status":"succeeded","outputs":{"text":"hi"})"),
            std::string::npos);

  const auto run = std::string(*answer->headers.find("X-Workflow-Run-Id"));
  EXPECT_EQ(get(at("/workflow-runs/" + run))->member("outputs"), R"({"text":"hi"})");
  const auto again = get(at("/workflow-runs/" + run + "/events"));
  EXPECT_EQ(again->body, answer->body);
  const auto rest = get(at("/workflow-runs/" + run + "/events?after=1"));
  EXPECT_TRUE(answer->body.ends_with(rest->body));
  EXPECT_EQ(count_lines(rest->body), count_lines(answer->body) - 2);
  EXPECT_NE(get(at("/workflow-runs/" + run + "/events?profile=extended"))->body.find(R"("type":"delta")"),
            std::string::npos);
  EXPECT_EQ(get(at("/workflow-runs/" + run + "/events?profile=odd"))->status, 422);
  EXPECT_EQ(get(at("/workflow-runs/" + run + "/events?after=x"))->status, 422);
}

TEST_F(WorkflowsTest, Who_prefers_not_to_wait_is_answered_at_once) {
  const auto id = make_simple();
  const auto answer = start(id, R"({"inputs":{}})", {{"Prefer", "respond-async"}});
  EXPECT_EQ(answer->status, 202);
  EXPECT_EQ(answer->text("status"), "running");
  EXPECT_EQ(answer->headers.find("Location"), at("/workflow-runs/" + answer->text("id")));
  EXPECT_NE(get(at("/workflows/" + id + "/runs"))->body.find(answer->text("id")), std::string::npos);
}

TEST_F(WorkflowsTest, The_run_continues_when_the_client_disconnects) {
  const auto answer = start(make_simple());
  answer->hang_up();
  loop.settle();
  agent_says("hi");
  agent_finishes();
  const auto run = std::string(*answer->headers.find("X-Workflow-Run-Id"));
  EXPECT_EQ(get(at("/workflow-runs/" + run))->text("status"), "succeeded");
}

TEST_F(WorkflowsTest, B_2_cancelling_answers_with_the_run_that_is_over) {
  const auto answer = start(make_simple());
  const auto run = std::string(*answer->headers.find("X-Workflow-Run-Id"));
  const auto cancelled = post(at("/workflow-runs/" + run + "/cancel"), "");
  EXPECT_EQ(cancelled->status, 200);
  EXPECT_EQ(cancelled->text("status"), "cancelled");
  EXPECT_EQ(agent.listener, nullptr);
  EXPECT_TRUE(answer->body.find(R"("type":"run.finished","status":"cancelled")") != std::string::npos);
  EXPECT_EQ(post(at("/workflow-runs/" + run + "/cancel"), "")->status, 200);
}

TEST_F(WorkflowsTest, Invalid_inputs_are_refused_with_their_pointers) {
  const auto id = make_simple();
  const auto answer = start(id, R"({"inputs":{"q":1}})");
  EXPECT_EQ(answer->status, 422);
  EXPECT_NE(answer->body.find(R"("pointer":"/inputs/q")"), std::string::npos);
  EXPECT_EQ(start(id, R"({"inputs":[]})")->status, 422);
  EXPECT_EQ(start("wfl_00000000000000000000000000")->status, 404);
}

TEST_F(WorkflowsTest, Another_workspace_sees_nothing) {
  const auto id = make_simple();
  const auto run = start(id, "{}", {{"Prefer", "respond-async"}})->text("id");
  for (const auto& target : {"/workflows/" + id, "/workflow-runs/" + run, "/workflow-runs/" + run + "/events"}) {
    EXPECT_EQ(ask_as("GET", workspace_of(other) + target, {.key = other.key})->status, 404) << target;
    EXPECT_EQ(ask_as("GET", at(target), {.key = other.key})->status, 404) << target;
  }
  EXPECT_EQ(ask_as("POST", workspace_of(other) + "/workflow-runs/" + run + "/cancel", {.key = other.key})->status, 404);
  EXPECT_EQ(get(at("/workflow-runs/" + run))->text("status"), "running");
}

}  // namespace workflows_test
}  // namespace sluice::api
