// Repositories and environments as objects, and what names them (I-25).
#include "api/api_fixture.h"

namespace sluice::api {
namespace materials_test {

class MaterialsTest : public ApiTest {
 protected:
  // The pointers of a refusal.
  static bool points_at(const Answer& answer, const std::string& pointer) {
    return answer->status == 422 && answer->body.find("\"pointer\":\"" + pointer + "\"") != std::string::npos;
  }
  const std::string unknown = "00000000000000000000000001";
};

TEST_F(MaterialsTest, A_repository_is_created_changed_and_deleted) {
  const auto made = post("/v1/repositories", R"({"name":"code","url":"https://git.example/x.git","ref":"main",
      "depth":0,"credential":"GIT_TOKEN"})");
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(made->text("object"), "repository");
  EXPECT_EQ(made->member("depth"), "0");
  EXPECT_EQ(made->text("credential"), "GIT_TOKEN");
  const auto path = made->header("Location");
  EXPECT_EQ(get(path)->body, made->body);
  const auto changed = patch(path, R"({"ref":null,"credential":null,"depth":7})");
  EXPECT_EQ(changed->status, 200);
  EXPECT_EQ(changed->member("ref"), "null");
  EXPECT_EQ(changed->member("credential"), "null");
  EXPECT_EQ(changed->member("depth"), "7");
  EXPECT_EQ(changed->text("url"), "https://git.example/x.git");
  EXPECT_NE(get("/v1/repositories")->body.find(made->text("id")), std::string::npos);
  const auto taken = post("/v1/repositories", R"({"name":"code","url":"https://h/y"})");
  EXPECT_EQ(taken->slug(), "name-conflict");
  EXPECT_EQ(taken->text("conflicting_resource_id"), made->text("id"));
  EXPECT_EQ(remove(path)->status, 204);
  EXPECT_EQ(get(path)->status, 404);
}

TEST_F(MaterialsTest, A_wrong_repository_is_refused_with_every_mistake) {
  const auto answer =
      post("/v1/repositories", R"({"url":"https://a:b@h/x","ref":"-x","depth":1000001,"credential":"secret"})");
  for (const auto& pointer : Texts{"/name", "/url", "/ref", "/depth", "/credential"}) {
    EXPECT_TRUE(points_at(answer, pointer)) << pointer;
  }
  EXPECT_EQ(answer->body.find("a:b"), std::string::npos) << "what may be a secret is not repeated";
  const auto path = post("/v1/repositories", R"({"name":"n","url":"https://h/x"})")->header("Location");
  EXPECT_TRUE(points_at(patch(path, R"({"url":null})"), "/url"));
  EXPECT_TRUE(points_at(patch(path, R"({"ref":"a b"})"), "/ref"));
}

TEST_F(MaterialsTest, An_environment_is_created_changed_and_deleted) {
  const auto made = post("/v1/environments", R"({"name":"build","variables":{"A":"1"},"script":"make"})");
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(made->member("variables"), R"({"A":"1"})");
  const auto path = made->header("Location");
  EXPECT_EQ(get(path)->body, made->body);
  const auto changed = patch(path, R"({"variables":{"B":"2"},"script":null})");
  EXPECT_EQ(changed->member("variables"), R"({"B":"2"})");
  EXPECT_EQ(changed->member("script"), "null");
  EXPECT_EQ(patch(path, R"({"variables":null})")->member("variables"), "{}");
  EXPECT_EQ(post("/v1/environments", R"({"name":"build"})")->slug(), "name-conflict");
  EXPECT_EQ(remove(path)->status, 204);
  EXPECT_EQ(get(path)->status, 404);
}

TEST_F(MaterialsTest, Variables_that_would_change_the_programs_themselves_are_refused) {
  for (const auto& name : Texts{"LD_PRELOAD", "LD_LIBRARY_PATH", "SLUICE_X", "1A", "A-B", "", std::string(129, 'A')}) {
    EXPECT_EQ(post("/v1/environments", R"({"name":"n","variables":{")" + name + R"(":"x"}})")->status, 422) << name;
  }
  EXPECT_EQ(post("/v1/environments", R"({"name":"n","variables":{")" + std::string(128, 'A') + R"(":"x"}})")->status,
            201);
  const auto script = [&](std::size_t size) {
    return post("/v1/environments", R"({"name":"s","script":")" + std::string(size, 'x') + "\"}")->status;
  };
  EXPECT_EQ(script(limits::setup_script_bytes_max + 1), 422);
  EXPECT_EQ(script(limits::setup_script_bytes_max), 201);
}

TEST_F(MaterialsTest, Materials_named_by_a_message_must_exist_I_25) {
  const auto conversation = "/v1/conversations/" + make_conversation() + "/messages";
  const auto skill = make_skill("pdf");
  const int before = disk.write_count();
  EXPECT_TRUE(
      points_at(post(conversation, R"({"content":"x","skill_ids":[")" + skill + R"(","skl_)" + unknown + "\"]}"),
                "/skill_ids/1"));
  EXPECT_TRUE(points_at(post(conversation, R"({"content":"x","repository_id":"rep_7"})"), "/repository_id"));
  EXPECT_TRUE(points_at(post(conversation, R"({"content":"x","env":"lab"})"), "/env"));
  EXPECT_TRUE(points_at(post("/v1/conversations", R"({"repository_id":"rep_7"})"), "/repository_id"));
  EXPECT_TRUE(points_at(post("/v1/conversations", R"({"initial_message":{"content":"x","skill_ids":["x"]}})"),
                        "/initial_message/skill_ids/0"));
  EXPECT_EQ(disk.write_count(), before) << "nothing was created";
  EXPECT_EQ(agent.dispatch_count, 0);

  make_environment("lab");
  const auto stream = post(conversation, R"({"content":"x","env":"lab","skill_ids":[")" + skill + "\"]}");
  EXPECT_EQ(stream->status, 200);
  EXPECT_EQ(agent.last.materials.variables.at("A"), "1");
  EXPECT_EQ(agent.last.materials.setup_script, "true");
  ASSERT_EQ(agent.last.materials.skills.size(), 1U);
  EXPECT_EQ(agent.last.materials.skills[0].name, "pdf");
  agent_finishes();
  EXPECT_NE(get(conversation)->body.find(R"("env":"lab")"), std::string::npos);
}

TEST_F(MaterialsTest, Another_tenants_objects_are_not_there) {
  const auto skill = make_skill("pdf");
  const auto repository = make_repository("code");
  const Ask as_other{.key = other.key,
                     .body = R"({"repository_id":")" + repository +
                             R"(","initial_message":{"content":"x","skill_ids":[")" + skill + "\"]}}"};
  EXPECT_EQ(ask_as("POST", "/v1/conversations", as_other)->status, 422);
}

TEST_F(MaterialsTest, A_conversation_may_get_another_repository_if_it_is_there) {
  const auto path = "/v1/conversations/" + make_conversation();
  EXPECT_TRUE(points_at(patch(path, R"({"repository_id":"rep_7"})"), "/repository_id"));
  const auto repository = make_repository("code");
  EXPECT_EQ(patch(path, R"({"repository_id":")" + repository + "\"}")->text("repository_id"), repository);
}

TEST_F(MaterialsTest, An_agent_names_skills_and_an_environment_that_are_there) {
  const auto skill = make_skill("pdf");
  const auto environment = make_environment("lab");
  EXPECT_TRUE(points_at(post("/v1/agents", R"({"name":"a","skill_ids":["skl_)" + unknown + "\"]}"), "/skill_ids/0"));
  EXPECT_TRUE(
      points_at(post("/v1/agents", R"({"name":"a","environment_id":"env_)" + unknown + "\"}"), "/environment_id"));
  EXPECT_TRUE(points_at(post("/v1/agents", R"({"name":"a","skill_ids":["x"],"environment_id":"x"})"), "/skill_ids/0"));
  EXPECT_TRUE(points_at(post("/v1/agents", R"({"name":"a","skill_ids":[")" + skill + "\",\"" + skill + "\"]}"),
                        "/skill_ids/1"));
  const auto made =
      post("/v1/agents", R"({"name":"a","skill_ids":[")" + skill + R"("],"environment_id":")" + environment + "\"}");
  EXPECT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(made->member("skill_ids"), "[\"" + skill + "\"]");
  EXPECT_EQ(made->text("environment_id"), environment);
  EXPECT_EQ(remove("/v1/skills/" + skill)->slug(), "resource-in-use");
  EXPECT_EQ(remove("/v1/environments/" + environment)->slug(), "resource-in-use");
  const auto path = made->header("Location");
  EXPECT_TRUE(points_at(patch(path, R"({"environment_id":"env_)" + unknown + "\"}"), "/environment_id"));
  const auto changed = patch(path, R"({"skill_ids":null,"environment_id":null})");
  EXPECT_EQ(changed->member("skill_ids"), "[]");
  EXPECT_EQ(changed->member("environment_id"), "null");
  EXPECT_EQ(remove("/v1/skills/" + skill)->status, 204);
  EXPECT_EQ(remove("/v1/environments/" + environment)->status, 204);
}

}  // namespace materials_test
}  // namespace sluice::api
