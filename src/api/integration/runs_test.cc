#include "api/api_fixture.h"

namespace sluice::api {
namespace runs_test {

using RunsTest = ApiTest;

TEST_F(RunsTest, Runs_are_listed_newest_first_and_by_conversation) {
  const auto first = send(make_conversation(), "one");
  agent_finishes();
  const auto second_conversation = make_conversation();
  loop.advance({1});
  const auto second = send(second_conversation, "two");
  const auto all = get("/v1/runs")->body;
  EXPECT_LT(all.find(second->header("X-Run-Id")), all.find(first->header("X-Run-Id")));
  const auto some = get("/v1/runs?conversation_id=" + second_conversation)->body;
  EXPECT_NE(some.find(second->header("X-Run-Id")), std::string::npos);
  EXPECT_EQ(some.find(first->header("X-Run-Id")), std::string::npos);
  EXPECT_EQ(get("/v1/runs?conversation_id=x")->status, 422);
  const auto one = get("/v1/runs/" + first->header("X-Run-Id"));
  EXPECT_EQ(one->text("state"), "completed");
  EXPECT_EQ(one->text("message_id"), first->header("X-Message-Id"));
}

TEST_F(RunsTest, A_cancelled_run_is_over_and_its_stream_ends_with_that) {
  const auto stream = send(make_conversation(), "hello");
  const auto path = "/v1/runs/" + stream->header("X-Run-Id") + "/cancel";
  const auto answer = post(path, "");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->text("state"), "cancelled");
  EXPECT_EQ(agent.listener, nullptr) << "no agent is left at work";
  EXPECT_TRUE(stream->finished);
  EXPECT_NE(stream->body.find("/problems/run-cancelled"), std::string::npos);
  EXPECT_EQ(post(path, "")->status, 200) << "that is what was wanted";
}

TEST_F(RunsTest, A_suspended_tenant_may_stop_its_run_and_so_may_the_operator) {
  const auto first = send(make_conversation(), "hello");
  const auto second = send(make_conversation(), "hello");
  const auto tenants = [](const TenantInHand& tenant) { return "/v1/tenants/" + tenant.id.text(); };
  admin("PATCH", tenants(acme), R"({"status":"suspended"})");
  EXPECT_EQ(post("/v1/runs/" + first->header("X-Run-Id") + "/cancel", "")->text("state"), "cancelled");
  EXPECT_TRUE(first->finished);

  const auto path = "/runs/" + second->header("X-Run-Id") + "/cancel";
  EXPECT_EQ(admin("POST", tenants(other) + path)->status, 404) << "the run is named with its own tenant";
  EXPECT_EQ(post(tenants(acme) + path, "")->slug(), "insufficient-scope");
  EXPECT_FALSE(second->finished);
  EXPECT_EQ(admin("POST", tenants(acme) + path)->text("state"), "cancelled");
  EXPECT_TRUE(second->finished);
  EXPECT_EQ(admin("POST", tenants(acme) + path)->status, 200);
}

TEST_F(RunsTest, A_run_that_is_over_cannot_be_cancelled) {
  const auto stream = send(make_conversation(), "hello");
  agent_finishes();
  const auto answer = post("/v1/runs/" + stream->header("X-Run-Id") + "/cancel", "");
  EXPECT_EQ(answer->status, 409);
  EXPECT_EQ(answer->slug(), "run-finished");
}

TEST_F(RunsTest, A_client_that_waits_gets_a_problem_when_its_run_is_cancelled_I_20) {
  const auto waiting =
      post("/v1/conversations/" + make_conversation() + "/messages?stream=false", R"({"content":"hello"})");
  const auto run = json::Document::parse(get("/v1/runs?limit=1")->body);
  run.value().root().find("data")->each_element([&](json::Value row) {
    EXPECT_EQ(post("/v1/runs/" + std::string(*row.find("id")->string()) + "/cancel", "")->status, 200);
  });
  EXPECT_EQ(waiting->status, 409);
  EXPECT_EQ(waiting->slug(), "run-cancelled");
}

TEST_F(RunsTest, The_list_is_narrowed_by_state_agent_and_time) {
  const auto done = send(make_conversation(), "hello")->header("X-Run-Id");
  agent_finishes();
  loop.advance({60'000});
  const auto running = send(make_conversation(), "hello")->header("X-Run-Id");
  const auto listed = [&](const std::string& query) {
    std::vector<std::string> ids;
    const auto page = json::Document::parse(get("/v1/runs?" + query)->body);
    page.value().root().find("data")->each_element(
        [&](json::Value row) { ids.emplace_back(row.find("id")->string().value()); });
    return ids;
  };
  EXPECT_EQ(listed(""), Texts({running, done}));
  EXPECT_EQ(listed("state=completed"), Texts({done}));
  EXPECT_EQ(listed("state=starting,streaming,completed,completed"), Texts({running, done}));
  EXPECT_EQ(listed("state=failed,parked"), Texts());
  EXPECT_EQ(listed("agent_id=" + acme.agent.text()), Texts({running, done}));
  EXPECT_EQ(listed("agent_id=" + other.agent.text()), Texts());
  EXPECT_EQ(listed("created_after=2026-07-02T10:00:30Z"), Texts({running}));
  EXPECT_EQ(listed("created_before=2026-07-02T10:00:30Z"), Texts({done}));
  for (const auto* query : {"state=", "state=tired", "state=failed,", "agent_id=agt_x", "created_after=today"}) {
    EXPECT_EQ(get("/v1/runs?" + std::string(query))->slug(), "validation-error") << query;
  }
}

TEST_F(RunsTest, A_run_is_drawn_as_its_phases) {
  const auto run = send(make_conversation(), "hello")->header("X-Run-Id");
  loop.advance({1'000});
  agent_says("Hi");
  const auto path = "/v1/runs/" + run + "/timeline";
  EXPECT_NE(get(path)->member("phases").find(R"("phase":"text","label":"Answer","from_ms":1000)"), std::string::npos);
  EXPECT_EQ(get(path)->member("ended_at_ms"), "null");
  agent_finishes();
  EXPECT_NE(get(path)->member("ended_at_ms"), "null");
  EXPECT_EQ(ask_as("GET", path, {.key = other.key})->status, 404);
}

}  // namespace runs_test
}  // namespace sluice::api
