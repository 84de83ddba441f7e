#include "api/api_fixture.h"

namespace sluice::api {
namespace agents_test {

using AgentsTest = ApiTest;

TEST_F(AgentsTest, An_agent_is_created_changed_and_deleted) {
  const auto made = post("/v1/agents", R"({"name":"planner","system_prompt":"Plan.",
      "model":{"provider":"anthropic","name":"m","base_url":"https://x"},"limits":{"max_output_tokens":5}})");
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(made->member("model"), R"({"provider":"anthropic","name":"m","base_url":"https://x","key_alias":null})");
  EXPECT_EQ(made->member("limits"),
            R"({"max_output_tokens":5,"max_runtime_seconds":28800,"max_history_messages":200})");
  const auto path = made->header("Location");
  EXPECT_EQ(get(path)->body, made->body);
  const auto changed = patch(path, R"({"name":"dispatcher","system_prompt":null,"limits":null})");
  EXPECT_EQ(changed->status, 200);
  EXPECT_EQ(changed->text("name"), "dispatcher");
  EXPECT_EQ(changed->member("system_prompt"), "\"\"");
  EXPECT_NE(changed->member("limits").find(":8192"), std::string::npos);
  EXPECT_EQ(changed->member("model"), made->member("model"));
  EXPECT_EQ(remove(path)->status, 204);
  EXPECT_EQ(get(path)->status, 404);
}

TEST_F(AgentsTest, A_name_belongs_to_one_agent_of_a_tenant) {
  const auto taken = post("/v1/agents", R"({"name":"default"})");
  EXPECT_EQ(taken->slug(), "name-conflict");
  EXPECT_EQ(taken->text("conflicting_resource_id"), acme.agent.text());
  const auto path = post("/v1/agents", R"({"name":"second"})")->header("Location");
  EXPECT_EQ(patch(path, R"({"name":"default"})")->status, 409);
  EXPECT_EQ(patch(path, R"({"name":"second"})")->status, 200);
}

TEST_F(AgentsTest, One_agent_is_the_default_and_it_and_used_ones_stay) {
  const auto second = post("/v1/agents", R"({"name":"second"})");
  EXPECT_EQ(remove("/v1/agents/" + acme.agent.text())->slug(), "resource-in-use");
  EXPECT_EQ(patch(second->header("Location"), R"({"is_default":true})")->member("is_default"), "true");
  EXPECT_EQ(get("/v1/agents/" + acme.agent.text())->member("is_default"), "false");
  EXPECT_EQ(patch(second->header("Location"), R"({"is_default":false})")->status, 422);
  const auto conversation = make_conversation(R"({"agent_id":")" + acme.agent.text() + "\"}");
  EXPECT_EQ(remove("/v1/agents/" + acme.agent.text())->status, 409);
  remove("/v1/conversations/" + conversation);
  EXPECT_EQ(remove("/v1/agents/" + acme.agent.text())->status, 204);
}

TEST_F(AgentsTest, A_wrong_agent_is_refused_with_every_mistake) {
  const auto answer = post("/v1/agents", R"({"name":null,"system_prompt":"\u0000","model":{"base_url":"ftp://x"},
      "limits":{"max_output_tokens":0,"max_runtime_seconds":"x","max_history_messages":201},"is_default":1})");
  EXPECT_EQ(answer->status, 422);
  for (const auto& pointer : Texts{"/name", "/system_prompt", "/model/provider", "/model/name", "/model/base_url",
                                   "/limits/max_output_tokens", "/limits/max_runtime_seconds",
                                   "/limits/max_history_messages", "/is_default"}) {
    EXPECT_NE(answer->body.find("\"" + pointer + "\""), std::string::npos) << pointer;
  }
}

TEST_F(AgentsTest, A_base_url_is_plain_and_absolute) {
  const auto status_with = [&](const std::string& url) {
    const auto answer =
        post("/v1/agents", R"({"name":")" + ids.make<model::AgentId>().text() +
                               R"(","model":{"provider":"openai-chat","name":"m","base_url":")" + url + "\"}}");
    if (answer->status == 422) {
      EXPECT_NE(answer->body.find(R"("pointer":"/model/base_url")"), std::string::npos);
    }
    return answer->status;
  };
  for (const auto& good : Texts{"http://h", "https://api.example.com/v1/", "http://127.0.0.1:8000/a%20b",
                                "http://[::1]:8080/v1", "https://gpu_1:65535", "http://10.0.0.1"}) {
    EXPECT_EQ(status_with(good), 201) << good;
  }
  for (const auto& bad : Texts{"h",
                               "//h",
                               "/v1",
                               "http:/h",
                               "http://",
                               "http:///v1",
                               "https://:80",
                               "http://h:",
                               "http://h:0",
                               "http://h:65536",
                               "http://h:80x",
                               "http://h:+80",
                               "http://u@h",
                               "http://u:p@h/v1",
                               "http://h?x=1",
                               "http://h/v1#f",
                               "http://h /v1",
                               "http://h/a b",
                               "http://h/\\n",
                               "http://h/\\u007f",
                               "http://h/ü",
                               "http://a\\\\@h",
                               "http://[::1",
                               "http://[]",
                               "http://[::1]x",
                               "http://a]",
                               "http://h,i",
                               "file:///etc",
                               "HTTPS//h"}) {
    EXPECT_EQ(status_with(bad), 422) << bad;
  }
  EXPECT_EQ(patch("/v1/agents/" + acme.agent.text(),
                  R"({"model":{"provider":"openai-chat","name":"m","base_url":"http://u@h"}})")
                ->status,
            422);
}

TEST_F(AgentsTest, A_provider_that_the_server_does_not_have_is_refused_and_the_nearest_is_named) {
  const auto refused = [&](const std::string& provider) {
    const auto answer = post("/v1/agents", R"({"name":"n","model":{"name":"m","provider":")" + provider + "\"}}");
    EXPECT_EQ(answer->status, 422) << provider;
    EXPECT_NE(answer->body.find(R"("pointer":"/model/provider")"), std::string::npos);
    return answer->body;
  };
  EXPECT_NE(refused("antropic").find("did you mean anthropic?"), std::string::npos);
  EXPECT_NE(refused("zzz").find("which has offline, anthropic, openai-responses, openai-chat"), std::string::npos);
  EXPECT_EQ(patch("/v1/agents/" + acme.agent.text(), R"({"model":{"provider":"x","name":"m"}})")->status, 422);
  make_surfaces({.provider_names = {"mine"}});
  EXPECT_EQ(post("/v1/agents", R"({"name":"n","model":{"provider":"mine","name":"m"}})")->status, 201);
  refused("anthropic");
}

TEST_F(AgentsTest, an_agent_whose_program_cannot_ask_its_model_is_refused) {
  make_surfaces({.default_model = {"offline", "offline", "http://127.0.0.1:1"},
                 .fault_of_model = [](const model::Agent& agent) -> std::string {
                   const bool is_near = agent.model.base_url.value_or("").starts_with("http://127.");
                   return agent.kit.agent_type == "codex" && is_near ? "Not from there." : "";
                 }});
  const std::string near = R"("model":{"provider":"openai-responses","name":"m","base_url":"http://127.0.0.1:1"})";
  const std::string far = R"("model":{"provider":"openai-responses","name":"m","base_url":"https://x"})";
  const std::string codex = R"("agent_type":"codex")";
  const auto expect_refused = [](const Answer& answer) {
    EXPECT_EQ(answer->status, 422) << answer->body;
    EXPECT_NE(answer->body.find(R"("pointer":"/model")"), std::string::npos) << answer->body;
    EXPECT_NE(answer->body.find("Not from there."), std::string::npos) << answer->body;
  };
  expect_refused(post("/v1/agents", R"({"name":"a",)" + codex + "," + near + "}"));
  expect_refused(post("/v1/agents", R"({"name":"a",)" + codex + "}"));
  const auto native = post("/v1/agents", R"({"name":"native",)" + near + "}")->header("Location");
  expect_refused(patch(native, "{" + codex + "}"));
  EXPECT_EQ(patch(native, "{" + codex + "," + far + "}")->status, 200);
  expect_refused(patch(native, "{" + near + "}"));
  EXPECT_EQ(patch(native, R"({"tools":[],"name":"renamed"})")->status, 200);
  EXPECT_EQ(patch(native, R"({"agent_type":"native",)" + near + "}")->status, 200);
}

TEST_F(AgentsTest, Agents_are_listed_in_pages) {
  post("/v1/agents", R"({"name":"second"})");
  const auto page = get("/v1/agents?limit=1");
  EXPECT_EQ(page->member("has_more"), "true");
  EXPECT_EQ(page->text("next_cursor"), acme.agent.text());
  EXPECT_EQ(get("/v1/agents?starting_after=" + acme.agent.text())->member("has_more"), "false");
  EXPECT_EQ(get("/v1/agents?starting_after=" + other.agent.text())->status, 422);
}

TEST_F(AgentsTest, A_key_can_ask_who_it_is_I_18) {
  const auto keys = "/v1/tenants/" + acme.id.text() + "/approver-keys";
  const auto gone = admin("POST", keys, R"({"algorithm":"hmac-sha256"})");
  const auto kept = admin("POST", keys, R"({"algorithm":"hmac-sha256"})");
  admin("DELETE", keys + "/" + gone->text("id"));
  const auto self = get("/v1/integration/self");
  EXPECT_EQ(self->status, 200);
  EXPECT_EQ(self->text("object"), "integration_principal");
  EXPECT_EQ(self->text("key_id"), acme.key_id.text());
  EXPECT_NE(self->member("tenant").find(acme.id.text()), std::string::npos);
  EXPECT_NE(self->member("approver_keys").find(kept->text("id")), std::string::npos);
  EXPECT_EQ(self->body.find(gone->text("id")), std::string::npos);
  EXPECT_EQ(self->body.find(kept->text("secret")), std::string::npos);
}

TEST_F(AgentsTest, I_16_a_policy_is_kept_as_it_was_given_and_replaced_as_a_whole) {
  const std::string policy =
      R"([{"effect":"allow","host":"api.example","secrets":["CRM_KEY"]},{"effect":"ask","command":"git push*",)"
      R"("reason":"It leaves the house."},{"effect":"deny","tool":"bash"},{"effect":"ask","file":"/workspace/.env"}])";
  const auto made = post("/v1/agents", R"({"name":"careful","policy":)" + policy + "}");
  EXPECT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(made->member("policy"), policy);
  const auto path = made->header("Location");
  EXPECT_EQ(patch(path, R"({"name":"more careful"})")->member("policy"), policy);
  EXPECT_EQ(patch(path, R"({"policy":[{"effect":"deny","host":"*"}]})")->member("policy"),
            R"([{"effect":"deny","host":"*"}])");
  EXPECT_EQ(patch(path, R"({"policy":null})")->member("policy"), "[]");
}

TEST_F(AgentsTest, I_16_an_invalid_rule_is_422_with_its_pointer) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"{}", "/policy"},
      {"[1]", "/policy/0"},
      {R"([{"host":"a.example"}])", "/policy/0/effect"},
      {R"([{"effect":"deny","command":"rm *","comand":"x"}])", "/policy/0/comand"},
      {R"([{"effect":"maybe","host":"a.example"}])", "/policy/0/effect"},
      {R"([{"effect":"allow"}])", "/policy/0/host"},
      {R"([{"effect":"allow","host":"a.example"},{"effect":"deny","tool":"bash","host":"a.example"}])",
       "/policy/1/host"},
      {R"([{"effect":"allow","host":"not a host"}])", "/policy/0/host"},
      {R"([{"effect":"allow","host":""}])", "/policy/0/host"},
      {R"([{"effect":"allow","host":7}])", "/policy/0/host"},
      {R"([{"effect":"allow","host":"a.example","secrets":["lower"]}])", "/policy/0/secrets/0"},
      {R"([{"effect":"allow","tool":"bash","secrets":["A_KEY"]}])", "/policy/0/secrets"},
      {R"([{"effect":"allow","tool":"bash","reason":1}])", "/policy/0/reason"}};
  for (const auto& [policy, pointer] : wrong) {
    const auto answer = post("/v1/agents", R"({"name":"x","policy":)" + policy + "}");
    EXPECT_EQ(answer->status, 422) << policy;
    EXPECT_NE(answer->body.find("\"" + pointer + "\""), std::string::npos) << policy << " " << answer->body;
  }
  std::string many;
  for (int i = 0; i < 101; ++i) many += R"(,{"effect":"deny","tool":"bash"})";
  EXPECT_EQ(post("/v1/agents", R"({"name":"x","policy":[)" + many.substr(1) + "]}")->status, 422);
}

TEST_F(AgentsTest, I_17_a_models_key_is_named_by_its_alias) {
  const auto made = post("/v1/agents", R"({"name":"own key","model":{"provider":"anthropic","name":"m",
      "key_alias":"MODEL_KEY"}})");
  EXPECT_EQ(made->status, 201) << made->body;
  EXPECT_NE(made->member("model").find(R"("key_alias":"MODEL_KEY")"), std::string::npos);
  EXPECT_EQ(
      post("/v1/agents", R"({"name":"y","model":{"provider":"anthropic","name":"m","key_alias":"sk-ant-1"}})")->status,
      422);
}

}  // namespace agents_test
}  // namespace sluice::api
