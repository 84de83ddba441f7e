// I-12, I-13, I-21: places, waiting for one, and keeping one.
#include "api/api_fixture.h"

namespace sluice::api {
namespace capacity_test {

class CapacityTest : public ApiTest {
 protected:
  void with_places(int64_t count) {
    make_engine({.max_running = count, .max_hold_seconds = 30});
    make_surfaces({});
  }
  Answer send_holding(const std::string& conversation, const std::string& query = "") {
    return post("/v1/conversations/" + conversation + "/messages" + query,
                R"({"content":"later","on_capacity":"hold"})");
  }
  std::string runtime_of(const std::string& conversation) {
    return get("/v1/conversations/" + conversation)->member("runtime");
  }
  Answer set_runtime(const std::string& conversation, const std::string& runtime) {
    return patch("/v1/conversations/" + conversation, R"({"runtime":)" + runtime + "}");
  }
};

TEST_F(CapacityTest, I_13_capacity_is_reported) {
  with_places(2);
  const auto idle = get("/v1/capacity");
  EXPECT_EQ(idle->status, 200);
  EXPECT_EQ(idle->text("object"), "capacity");
  EXPECT_EQ(idle->member("pool_size"), "2");
  EXPECT_EQ(idle->member("warm_available"), "3");
  EXPECT_EQ(idle->member("at_capacity"), "false");
  EXPECT_EQ(idle->member("max_hold_seconds"), "30");
  EXPECT_EQ(idle->text("checked_at"), to_rfc3339(loop.now()));
  send(make_conversation(), "one");
  send(make_conversation(), "two");
  send_holding(make_conversation());
  const auto full = get("/v1/capacity");
  EXPECT_EQ(full->member("running"), "2");
  EXPECT_EQ(full->member("held"), "1");
  EXPECT_EQ(full->member("at_capacity"), "true");
}

TEST_F(CapacityTest, I_12_without_a_place_a_message_is_refused_and_nothing_is_created) {
  with_places(1);
  send(make_conversation(), "one");
  const auto conversation = make_conversation();
  const auto refused = send(conversation, "two");
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->slug(), "capacity-exhausted");
  EXPECT_GE(std::stoi("0" + refused->header("Retry-After")), 1);
  EXPECT_EQ(get("/v1/conversations/" + conversation + "/messages")->member("data"), "[]");
  const auto created = post("/v1/conversations", R"({"title":"gone","initial_message":{"content":"three"}})");
  EXPECT_EQ(created->status, 429);
  EXPECT_EQ(get("/v1/conversations")->body.find("gone"), std::string::npos);
  EXPECT_EQ(post("/v1/conversations", R"({"on_capacity":"wait"})")->status, 422);
}

TEST_F(CapacityTest, I_12_a_held_message_gets_its_position_and_then_the_slot) {
  with_places(1);
  send(make_conversation(), "one");
  const auto held = send_holding(make_conversation());
  EXPECT_EQ(held->status, 200);
  EXPECT_NE(held->body.find(R"("type":"queued")"), std::string::npos) << held->body;
  EXPECT_NE(held->body.find(R"("message_id":null)"), std::string::npos);
  EXPECT_NE(held->body.find(R"("position":1)"), std::string::npos);
  EXPECT_EQ(held->body.find("message_start"), std::string::npos);
  agent_finishes();
  EXPECT_NE(held->body.find("message_start"), std::string::npos) << held->body;
  agent_finishes();
  EXPECT_TRUE(held->finished);
  const auto begun = post("/v1/conversations", R"({"on_capacity":"hold","initial_message":{"content":"x"}})");
  EXPECT_EQ(begun->status, 200);
}

TEST_F(CapacityTest, I_12_a_hold_that_was_in_vain_is_429_inside_a_call_that_does_not_stream) {
  with_places(1);
  send(make_conversation(), "one");
  const auto held = send_holding(make_conversation(), "?stream=false");
  EXPECT_EQ(held->status, 0) << "it waits inside the call";
  loop.advance({31'000});
  EXPECT_EQ(held->status, 429) << held->body;
  EXPECT_EQ(held->slug(), "capacity-exhausted");
  EXPECT_GE(std::stoi("0" + held->header("Retry-After")), 1);
}

TEST_F(CapacityTest, I_12_a_tenants_own_limit_counts_too) {
  admin("PATCH", "/v1/tenants/" + acme.id.text(), R"({"settings":{"max_running":1}})");
  send(make_conversation(), "one");
  EXPECT_EQ(send(make_conversation(), "two")->slug(), "capacity-exhausted");
}

TEST_F(CapacityTest, I_21_a_conversation_says_where_its_runs_are_carried_out) {
  const auto conversation = make_conversation();
  EXPECT_EQ(runtime_of(conversation), R"({"agent_type":"native","mode":"pooled","sticky_ttl_seconds":null,)"
                                      R"("sandbox_state":"none","expires_at":null})");
  const auto changed = set_runtime(conversation, R"({"mode":"sticky","sticky_ttl_seconds":120})");
  EXPECT_EQ(changed->status, 200) << changed->body;
  EXPECT_NE(changed->member("runtime").find(R"("mode":"sticky","sticky_ttl_seconds":120)"), std::string::npos);
  set_runtime(conversation, R"({"sticky_ttl_seconds":180})");
  EXPECT_NE(runtime_of(conversation).find(R"("mode":"sticky","sticky_ttl_seconds":180)"), std::string::npos);
  patch("/v1/conversations/" + conversation, R"({"title":"T"})");
  EXPECT_NE(runtime_of(conversation).find(R"("sticky_ttl_seconds":180)"), std::string::npos);
  set_runtime(conversation, "null");
  EXPECT_NE(runtime_of(conversation).find(R"("mode":"pooled")"), std::string::npos);
  const auto sticky = make_conversation(R"({"runtime":{"mode":"sticky"}})");
  EXPECT_NE(runtime_of(sticky).find(R"("mode":"sticky","sticky_ttl_seconds":900)"), std::string::npos);
}

TEST_F(CapacityTest, I_21_a_sticky_sandbox_is_shown_while_it_is_there_and_released_when_it_must_go) {
  const auto conversation = make_conversation(R"({"runtime":{"mode":"sticky","sticky_ttl_seconds":60}})");
  send(conversation, "hello");
  EXPECT_TRUE(agent.last.keeps_box);
  EXPECT_NE(runtime_of(conversation).find(R"("sandbox_state":"running")"), std::string::npos);
  agent_finishes();
  EXPECT_NE(runtime_of(conversation).find(R"("sandbox_state":"warm")"), std::string::npos);
  EXPECT_EQ(runtime_of(conversation).find(R"("expires_at":null)"), std::string::npos);
  EXPECT_NE(get("/v1/conversations")->body.find(R"("sandbox_state":"warm")"), std::string::npos);
  EXPECT_EQ(get("/v1/capacity")->member("sticky_active"), "1");
  set_runtime(conversation, R"({"mode":"pooled"})");
  EXPECT_EQ(agent.released.size(), 1U);
  EXPECT_NE(runtime_of(conversation).find(R"("sandbox_state":"none")"), std::string::npos);
}

TEST_F(CapacityTest, I_21_archiving_releases_the_sandbox) {
  const auto conversation = make_conversation(R"({"runtime":{"mode":"sticky"}})");
  send(conversation, "hello");
  agent_finishes();
  remove("/v1/conversations/" + conversation);
  EXPECT_EQ(agent.released.size(), 1U);
}

TEST_F(CapacityTest, H_1_a_conversation_names_its_agent_type_when_it_is_made_and_keeps_it) {  // H-1
  const auto named = make_conversation(R"({"runtime":{"agent_type":"codex"}})");
  EXPECT_NE(runtime_of(named).find(R"("agent_type":"codex","mode":"pooled")"), std::string::npos) << runtime_of(named);
  const auto other_type = set_runtime(named, R"({"agent_type":"native"})");
  EXPECT_EQ(other_type->status, 422);
  EXPECT_NE(other_type->body.find("/runtime/agent_type"), std::string::npos) << other_type->body;
  for (const auto& harmless : Texts{R"({"agent_type":"codex","mode":"sticky"})", R"({"agent_type":null})", "null"}) {
    EXPECT_EQ(set_runtime(named, harmless)->status, 200) << harmless;
    EXPECT_NE(runtime_of(named).find(R"("agent_type":"codex")"), std::string::npos) << harmless;
  }
  const auto unnamed = make_conversation();
  patch("/v1/agents/" + acme.agent.text(), R"({"agent_type":"opencode"})");
  EXPECT_NE(runtime_of(unnamed).find(R"("agent_type":"native")"), std::string::npos) << "as its agent was then";
  EXPECT_NE(runtime_of(make_conversation()).find(R"("agent_type":"opencode")"), std::string::npos);
  send(named, "hello");
  EXPECT_EQ(agent.last.agent.kit.agent_type, "codex");
}

TEST_F(CapacityTest, I_21_a_wrong_runtime_is_422_and_a_tenants_caps_are_kept) {
  const auto conversation = make_conversation();
  for (const auto& runtime :
       Texts{"1", R"({"mode":"warm"})", R"({"mode":1})", R"({"sticky_ttl_seconds":59})",
             R"({"sticky_ttl_seconds":86401})", R"({"sticky_ttl_seconds":3601})", R"({"sticky_ttl_seconds":"60"})",
             R"({"agent_type":"cursor"})", R"({"agent_type":1})"}) {
    EXPECT_EQ(set_runtime(conversation, runtime)->status, 422) << runtime;
    EXPECT_EQ(post("/v1/conversations", R"({"runtime":)" + runtime + "}")->status, 422) << runtime;
  }
  EXPECT_EQ(set_runtime(conversation, R"({"agent_type":"native"})")->status, 200);
  EXPECT_EQ(set_runtime(conversation, R"({"agent_type":"codex"})")->status, 422);
  EXPECT_EQ(patch("/v1/conversations/con_00000000000000000000000000", R"({"runtime":{}})")->status, 404);
  admin("PATCH", "/v1/tenants/" + acme.id.text(), R"({"settings":{"max_concurrent_sticky":0}})");
  for (const auto& answer : {set_runtime(conversation, R"({"mode":"sticky"})"),
                             post("/v1/conversations", R"({"runtime":{"mode":"sticky"}})")}) {
    EXPECT_EQ(answer->status, 429) << answer->body;
    EXPECT_EQ(answer->slug(), "capacity-exhausted");
    EXPECT_NE(answer->header("Retry-After"), "");
  }
}

TEST_F(CapacityTest, The_last_hour_is_remembered_a_sample_every_five_seconds) {
  with_places(2);
  EXPECT_EQ(get("/v1/capacity/history")->body, R"({"interval_seconds":5,"samples":[]})");
  send(make_conversation(), "hello");
  loop.advance({5'000});
  const auto first = R"({"at_ms":)" + std::to_string(loop.now().ms) +
                     R"(,"running":1,"held":0,"parked":0,"sticky":0,"warm":3,"pool_size":2})";
  EXPECT_EQ(get("/v1/capacity/history")->member("samples"), "[" + first + "]");
  agent_finishes();
  loop.advance({5'000 * 719});
  const auto full = get("/v1/capacity/history")->member("samples");
  EXPECT_TRUE(full.starts_with("[" + first));
  EXPECT_EQ(std::count(full.begin(), full.end(), '{'), 720);
  loop.advance({5'000});
  EXPECT_FALSE(get("/v1/capacity/history")->member("samples").starts_with("[" + first));
}

}  // namespace capacity_test
}  // namespace sluice::api
