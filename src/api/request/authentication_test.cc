#include "api/request/authentication.h"

#include "api/api_fixture.h"
#include "api/routes.h"

namespace sluice::api {
namespace authentication_test {

using AuthenticationTest = ApiTest;

TEST_F(AuthenticationTest, The_scheme_is_read_whatever_its_case_and_spacing) {
  for (const auto& header : Texts{"Bearer " + acme.key, "bearer   " + acme.key, "BEARER " + acme.key + " "}) {
    EXPECT_EQ(ask_as("GET", "/v1/runs", {.headers = {{"authorization", header}}})->status, 200) << header;
  }
  for (const auto& header : Texts{acme.key, "Basic " + acme.key, "Bearer", "Bearer ", "Bearer x " + acme.key,
                                  "Bearer " + std::string(5000, 'a')}) {
    EXPECT_EQ(ask_as("GET", "/v1/runs", {.headers = {{"Authorization", header}}})->status, 401) << header;
  }
}

TEST_F(AuthenticationTest, Two_credentials_in_one_request_are_refused) {
  const net::Headers twice = {{"Authorization", "Bearer " + acme.key}, {"authorization", "Bearer " + acme.key}};
  EXPECT_EQ(ask_as("GET", "/v1/runs", {.headers = twice})->status, 401);
}

TEST_F(AuthenticationTest, A_revoked_key_stops_at_once_although_it_was_remembered) {
  EXPECT_EQ(get("/v1/runs")->status, 200);
  admin("DELETE", "/v1/tenants/" + acme.id.text() + "/keys/" + acme.key_id.text());
  EXPECT_EQ(get("/v1/runs")->status, 401);
}

TEST_F(AuthenticationTest, A_key_revoked_on_another_node_stops_when_its_cache_entry_expires) {
  EXPECT_EQ(get("/v1/runs")->status, 200);
  store::revoke_service_key(store.database(), acme.id, acme.key_id, loop.now(),
                            [](Result<model::ServiceKey> key) { ASSERT_TRUE(key); });
  loop.settle();
  loop.advance({Authentication::remembered_us / 1000});
  EXPECT_EQ(get("/v1/runs")->status, 401);
}

TEST_F(AuthenticationTest, A_lookup_under_way_during_a_revocation_is_not_remembered_after_it) {
  Authentication authentication(store, loop, sha256(admin_key));
  int answers = 0;
  disk.hold_answers(true);
  const std::string header = "Bearer " + acme.key;
  authentication.identify(header, [&](Result<Identity> identity) {
    ASSERT_TRUE(identity);
    ++answers;
  });
  store::revoke_service_key(store.database(), acme.id, acme.key_id, loop.now(), [](Result<model::ServiceKey>) {});
  authentication.forget();
  disk.hold_answers(false);
  loop.settle();
  authentication.identify(header, [&](Result<Identity> identity) {
    ASSERT_TRUE(identity);
    EXPECT_TRUE(std::holds_alternative<Unknown>(identity.value()));
    ++answers;
  });
  loop.settle();
  EXPECT_EQ(answers, 2);
}

TEST_F(AuthenticationTest, A_remembered_key_does_not_ask_the_store_again) {
  get("/v1/runs");
  disk.hold_answers(true);
  const auto answer = get("/v1/conversations?limit=0");  // refused before the store is needed
  EXPECT_EQ(answer->status, 422);
  disk.hold_answers(false);
}

class BoxAuthenticationTest : public ApiTest {
 protected:
  BoxAuthenticationTest() { make_surfaces({.run_bearer_root = root}); }

  // The bearer of a run of acme's that is under way.
  std::string begin_run() {
    const auto stream = send(make_conversation(), "hello");
    run = stream->header("X-Run-Id");
    return bearer(model::WorkspaceUse::write);
  }
  std::string bearer(model::WorkspaceUse use) const {
    return vault::bearer_of(root, {acme.id, *model::RunId::parse(run), use});
  }
  int ask(const std::string& bearer, const std::string& target, const std::string& method = "GET") {
    return ask_as(method, target, {.key = bearer, .body = "{}"})->status;
  }

  const std::string root = "root of boxes";
  std::string run;
};

TEST_F(BoxAuthenticationTest, S_4_a_sandbox_reads_its_own_workspace_until_its_run_is_over) {
  const auto bearer = begin_run();
  EXPECT_EQ(ask(bearer, workspace_of(acme) + "/agents"), 200);
  agent_finishes();
  EXPECT_EQ(ask(bearer, workspace_of(acme) + "/agents"), 401);
}

TEST_F(BoxAuthenticationTest, A_sandbox_is_refused_on_all_other_routes) {
  const auto bearer = begin_run();
  EXPECT_EQ(ask(bearer, workspace_of(other) + "/agents"), 404);
  EXPECT_EQ(ask(bearer, workspace_of(acme) + "/agents", "POST"), 403);
  EXPECT_EQ(ask(bearer, workspace_of(acme) + "/executions", "POST"), 403);
  for (const Route& route : routes()) {
    if (route.path.starts_with("/api/workspaces/")) continue;
    if (route.access == Access::open || is_callback(route.access)) continue;
    const auto path = std::string(route.path.substr(0, route.path.find("/{")));
    if (match(route.method, path).route == nullptr) continue;
    EXPECT_EQ(ask(bearer, path, std::string(route.method)), 403) << route.operation;
  }
}

TEST_F(BoxAuthenticationTest, A_bearer_is_good_for_what_it_says_and_for_no_more) {
  begin_run();
  using enum model::WorkspaceUse;
  const auto tables = workspace_of(acme) + "/tables";
  EXPECT_EQ(ask(bearer(none), tables), 403);
  EXPECT_EQ(ask(bearer(none), workspace_of(acme) + "/environments"), 403);
  EXPECT_EQ(ask(bearer(none), tables, "POST"), 403);
  EXPECT_EQ(ask(bearer(read), tables), 200);
  EXPECT_EQ(ask(bearer(read), tables, "POST"), 403);
  EXPECT_EQ(ask(bearer(read), tables + "/none/query", "POST"), 404) << "a question changes nothing";
  EXPECT_EQ(ask(bearer(write), tables, "POST"), 422) << "its body is looked at";
}

TEST_F(BoxAuthenticationTest, A_sandbox_sees_no_variables_of_environments_and_no_headers_of_agents_tools) {
  post("/v1/environments", R"({"name":"e","variables":{"DATABASE_URL":"hunter2"},"script":"export X=hunter2"})");
  post("/v1/agents", R"({"name":"a","mcp_servers":[{"name":"m","command":["x"],"environment":{"K":"hunter2"}}]})");
  const auto box = begin_run();
  for (const std::string of : {"environments", "agents"}) {
    const auto seen = ask_as("GET", workspace_of(acme) + "/" + of, {.key = box});
    EXPECT_EQ(seen->status, 200);
    EXPECT_EQ(seen->body.find("hunter2"), std::string::npos) << seen->body;
    EXPECT_NE(get("/v1/" + of)->body.find("hunter2"), std::string::npos);
  }
}

TEST_F(BoxAuthenticationTest, Changes_by_a_sandbox_are_in_the_audit_chain_with_its_run) {
  const auto box = begin_run();
  const auto made = ask_as("POST", workspace_of(acme) + "/tables",
                           {.key = box, .body = R"({"name":"prices","columns":[{"name":"item","type":"text"}]})"});
  ASSERT_EQ(made->status, 201) << made->body;
  const auto chain = admin("GET", "/v1/admin/audit")->body;
  EXPECT_NE(chain.find(R"("action":"table.created","subject":"tbl_)"), std::string::npos) << chain;
  EXPECT_NE(chain.find(R"("actor":"run:)" + run + '"'), std::string::npos) << chain;
}

TEST_F(BoxAuthenticationTest, A_sandbox_that_changes_very_much_gets_one_entry_for_many_changes) {
  const auto box = begin_run();
  for (int i = 0; i < 305; ++i) {
    const auto made = ask_as(
        "POST", workspace_of(acme) + "/tables",
        {.key = box, .body = R"({"name":"t)" + std::to_string(i) + R"(","columns":[{"name":"item","type":"text"}]})"});
    ASSERT_EQ(made->status, 201) << made->body;
    EXPECT_EQ(ask_as("DELETE", workspace_of(acme) + "/tables/" + made->text("id"), {.key = box})->status, 204);
  }
  std::size_t entries = 0;
  std::size_t sums = 0;
  store::audit(store.database(), acme.id, 0, 1'000, [&](const Result<std::vector<model::AuditEntry>>& chain) {
    for (const auto& entry : chain.value()) {
      if (entry.actor != "run:" + run) continue;
      ++entries;
      if (entry.action != "workspace.changed_often") continue;
      ++sums;
      EXPECT_EQ(entry.subject, "run:" + run);
    }
  });
  loop.settle();
  EXPECT_EQ(sums, 3U) << "for changes 201 to 400, 401 to 600, 601 to 800";
  EXPECT_EQ(entries, 203U);
}

TEST_F(BoxAuthenticationTest, A_bearer_is_not_guessed_and_not_lent_to_another_tenant) {
  const auto bearer = begin_run();
  const auto id = *model::RunId::parse(run);
  EXPECT_EQ(ask(bearer + "x", workspace_of(acme) + "/agents"), 401);
  EXPECT_EQ(
      ask(vault::bearer_of("another root", {acme.id, id, model::WorkspaceUse::write}), workspace_of(acme) + "/agents"),
      401);
  EXPECT_EQ(ask(vault::bearer_of(root, {other.id, id, model::WorkspaceUse::write}), workspace_of(other) + "/agents"),
            401);
  EXPECT_EQ(ask("asbx_" + run + "..", workspace_of(acme) + "/agents"), 401);
}

}  // namespace authentication_test
}  // namespace sluice::api
