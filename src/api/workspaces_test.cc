// The same objects by workspace, for service keys and for sandboxes (S-7).
#include "api/api_fixture.h"

namespace sluice::api {
namespace workspaces_test {

class WorkspacesTest : public ApiTest {
 protected:
  const std::string base = workspace_of(acme);
};

TEST_F(WorkspacesTest, A_service_key_does_there_what_it_does_elsewhere) {
  const auto made = post(base + "/environments", R"({"name":"lab"})");
  EXPECT_EQ(made->status, 201) << made->body;
  const auto id = made->text("id");
  EXPECT_EQ(get(base + "/environments/" + id)->body, get("/v1/environments/" + id)->body);
  EXPECT_EQ(patch(base + "/environments/" + id, R"({"script":"make"})")->text("script"), "make");
  EXPECT_EQ(get(base + "/environments")->body, get("/v1/environments")->body);
  EXPECT_EQ(get(base + "/agents/" + acme.agent.text())->text("name"), "default");
  EXPECT_EQ(remove(base + "/environments/" + id)->status, 204);
  const auto skill = make_skill("pdf");
  EXPECT_EQ(get(base + "/skills/" + skill + "/bundle")->status, 200);
  EXPECT_EQ(get(base + "/repositories")->member("data"), "[]");
}

TEST_F(WorkspacesTest, Another_tenants_workspace_is_404_on_every_route) {
  for (const auto& id : Texts{workspace_of(other), "/api/workspaces/" + acme.id.text(), "/api/workspaces/x"}) {
    EXPECT_EQ(get(id + "/agents")->status, 404) << id;
    EXPECT_EQ(post(id + "/environments", R"({"name":"x"})")->status, 404) << id;
    EXPECT_EQ(post(id + "/executions", "{}")->status, 404) << id;
  }
  EXPECT_EQ(get("/v1/environments")->member("data"), "[]");
}

TEST_F(WorkspacesTest, A_sandbox_reads_its_own_workspace_with_its_bearer_until_it_expires) {
  const auto execution = post(base + "/executions", "{}");
  const Ask as_sandbox{.key = "asbx_" + execution->text("id")};
  EXPECT_EQ(ask_as("GET", base + "/agents", as_sandbox)->body, get("/v1/agents")->body);
  EXPECT_EQ(ask_as("GET", base + "/skills", as_sandbox)->status, 200);
  EXPECT_EQ(ask_as("GET", workspace_of(other) + "/agents", as_sandbox)->status, 404);
  auto writing = as_sandbox;
  writing.body = R"({"name":"x"})";
  EXPECT_EQ(ask_as("POST", base + "/environments", writing)->slug(), "insufficient-scope");
  EXPECT_EQ(ask_as("POST", base + "/executions", writing)->slug(), "insufficient-scope");
  EXPECT_EQ(ask_as("GET", "/v1/agents", as_sandbox)->slug(), "insufficient-scope");
  loop.advance({3'600'000});
  EXPECT_EQ(ask_as("GET", base + "/agents", as_sandbox)->slug(), "unauthenticated");
}

}  // namespace workspaces_test
}  // namespace sluice::api
