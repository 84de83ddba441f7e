// Executions and what their runners ask back (S-3, S-4).
#include "api/api_fixture.h"

namespace sluice::api {
namespace callbacks_test {

class CallbacksTest : public ApiTest {
 protected:
  Answer create(std::string body = "{}") { return post(workspace_of(acme) + "/executions", std::move(body)); }
  // With a token bare in Authorization, as runners send it.
  Answer call(const std::string& path, const std::string& token) {
    return ask_as("GET", path, {.headers = {{"Authorization", token}}});
  }
  static std::string path_of(const Answer& execution) { return "/api/agents/" + execution->text("id"); }
  static void expect_refused(const Answer& answer, const std::string& why) {
    EXPECT_EQ(answer->status, 401) << why;
    EXPECT_EQ(answer->slug(), "token-invalid") << why;
  }
};

TEST_F(CallbacksTest, An_execution_is_what_a_runner_is_posted) {
  const auto made = create(R"({"prompt":"Do it."})");
  EXPECT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(made->text("object"), "execution");
  EXPECT_EQ(made->text("agent_url"), "http://test/api/agents/" + made->text("id"));
  EXPECT_EQ(made->text("prompt"), "Do it.");
  for (const auto& name : Texts{"otp_setup", "otp_run", "otp_upload", "expires_at"}) {
    EXPECT_FALSE(made->text(name).empty()) << name;
  }
  EXPECT_EQ(made->header("Cache-Control"), "no-store");
  EXPECT_EQ(mint.last.agent.id, acme.agent);
  EXPECT_EQ(mint.last.prompt, "Do it.");
  EXPECT_EQ(create(R"({"upload":false})")->member("otp_upload"), "");
}

TEST_F(CallbacksTest, An_execution_is_given_what_it_and_its_agent_name) {
  const auto of_agent = make_skill("one");
  const auto of_request = make_skill("two");
  const auto repository = make_repository("code");
  make_environment("lab");
  const auto able = post("/v1/agents", R"({"name":"able","skill_ids":[")" + of_agent + "\"]}")->text("id");
  const auto made = create(R"({"agent_id":")" + able + R"(","skill_ids":[")" + of_request + R"("],"repository_id":")" +
                           repository + R"(","env":"lab"})");
  EXPECT_EQ(made->status, 201) << made->body;
  ASSERT_EQ(mint.last.materials.skills.size(), 2U);
  EXPECT_EQ(mint.last.materials.skills[0].id, of_agent);
  EXPECT_EQ(mint.last.materials.skills[1].id, of_request);
  EXPECT_EQ(mint.last.materials.repository->id, repository);
  EXPECT_EQ(mint.last.materials.variables.at("A"), "1");
  EXPECT_EQ(mint.last.materials.setup_script, "true");
  create(R"({"env":{"B":"2"}})");
  EXPECT_EQ(mint.last.materials.variables.at("B"), "2");

  const int before = disk.write_count();
  EXPECT_EQ(create(R"({"agent_id":"agt_00000000000000000000000001"})")->status, 422);
  EXPECT_NE(create(R"({"skill_ids":["skl_x"]})")->body.find("/skill_ids/0"), std::string::npos);
  EXPECT_EQ(create(R"({"prompt":""})")->status, 422);
  EXPECT_EQ(disk.write_count(), before);
}

TEST_F(CallbacksTest, S_3_each_token_is_good_once_and_for_its_own_purpose) {
  const auto made = create();
  const auto other_one = create();
  const auto path = path_of(made);
  expect_refused(call(path + "/env", made->text("otp_run")), "another purpose");
  expect_refused(call(path + "/env", other_one->text("otp_setup")), "another execution");
  expect_refused(call(path + "/env", "Bearer " + made->text("otp_setup")), "not bare");
  expect_refused(call(path + "/env", "guess"), "a guess");
  expect_refused(call(path + "/env", std::string(300, 'x')), "no token");
  expect_refused(call("/api/agents/exe_x/env", made->text("otp_setup")), "no execution");
  const auto env = call(path + "/env", made->text("otp_setup"));
  EXPECT_EQ(env->status, 200) << env->body;
  EXPECT_EQ(env->body, R"({"variables":{},"script":null})");
  EXPECT_EQ(env->header("Cache-Control"), "no-store");
  expect_refused(call(path + "/env", made->text("otp_setup")), "spent");
  const auto config = call(path + "/config", made->text("otp_run"));
  EXPECT_EQ(config->body, R"({"callback":{"token":"asbx_)" + made->text("id") + R"("}})");
  expect_refused(call(path + "/config", made->text("otp_run")), "spent");
}

TEST_F(CallbacksTest, S_3_two_tokens_in_one_request_spend_neither) {
  const auto made = create();
  const auto twice = ask_as("GET", path_of(made) + "/env",
                            {.headers = {{"Authorization", made->text("otp_setup")}, {"Authorization", "x"}}});
  expect_refused(twice, "two headers");
  EXPECT_EQ(call(path_of(made) + "/env", made->text("otp_setup"))->status, 200);
}

TEST_F(CallbacksTest, S_3_tokens_of_the_start_are_good_for_ten_minutes) {
  const auto made = create();
  loop.advance({599'999});
  EXPECT_EQ(call(path_of(made) + "/env", made->text("otp_setup"))->status, 200);
  loop.advance({1});
  expect_refused(call(path_of(made) + "/config", made->text("otp_run")), "expired");
}

TEST_F(CallbacksTest, S_3_a_store_that_cannot_write_spends_nothing) {
  const auto made = create();
  disk.fail_write(0, store::Fault::full);
  EXPECT_EQ(call(path_of(made) + "/env", made->text("otp_setup"))->slug(), "unavailable");
  EXPECT_EQ(call(path_of(made) + "/env", made->text("otp_setup"))->status, 200);
}

TEST_F(CallbacksTest, S_4_skills_are_fetched_with_the_bearer_as_they_were_when_it_was_made) {
  const auto skill = make_skill("pdf");
  const auto hidden = make_skill("hidden");
  const auto made = create(R"({"skill_ids":[")" + skill + "\"]}");
  const auto bundle = get("/v1/skills/" + skill + "/bundle")->body;
  post("/v1/skills", R"({"files":[{"path":"SKILL.md","content":"---\nname: pdf\ndescription: Else.\n---\n"}]})");
  const Ask as_sandbox{.key = "asbx_" + made->text("id")};
  const auto list = ask_as("GET", path_of(made) + "/skills", as_sandbox);
  EXPECT_EQ(list->text("object"), "list");
  EXPECT_NE(list->body.find(skill), std::string::npos);
  EXPECT_EQ(ask_as("GET", path_of(made) + "/skills/" + skill, as_sandbox)->body, bundle);
  EXPECT_EQ(ask_as("GET", path_of(made) + "/skills/" + skill, as_sandbox)->status, 200) << "again and again";
  EXPECT_EQ(ask_as("GET", path_of(made) + "/skills/" + hidden, as_sandbox)->status, 404);
  expect_refused(ask_as("GET", path_of(create()) + "/skills", as_sandbox), "another execution");
  expect_refused(ask_as("GET", path_of(made) + "/skills", {.key = acme.key}), "a service key");
}

TEST_F(CallbacksTest, The_assistants_sandboxes_call_back_under_their_own_path) {
  const auto made = create();
  EXPECT_EQ(call("/api/assistant/sandbox/" + made->text("id") + "/env", made->text("otp_setup"))->status, 200);
  expect_refused(call(path_of(made) + "/env", made->text("otp_setup")), "spent there");
}

}  // namespace callbacks_test
}  // namespace sluice::api
