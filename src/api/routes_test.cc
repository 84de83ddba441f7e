#include "api/routes.h"

#include <set>

#include "api/answers/assets.h"
#include "api/api_fixture.h"

namespace sluice::api {
namespace routes_test {

bool for_services(const Route& route) {
  using enum Access;
  return route.access == service || route.access == service_write || route.access == workspace ||
         route.access == workspace_write || route.access == workspace_sandbox;
}
bool is_guarded(const Route& route) { return route.access != Access::open && !is_callback(route.access); }
bool for_admin(const Route& route) { return route.access == Access::admin || route.access == Access::metrics; }

// The template with real ids of `owner` in it, one conversation and one run of which exist.
class RoutesTest : public ApiTest {
 protected:
  std::string fill(std::string_view path) const {
    std::string out(path);
    for (const auto& [name, value] : names_) {
      if (const auto at = out.find(name); at != std::string::npos) out.replace(at, name.size(), value);
    }
    return out;
  }

  void make_things() {
    const auto conversation = make_conversation();
    const auto stream = send(conversation, "hello");
    agent_finishes();
    post("/agui", R"({"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"hello"}]})");
    agent_finishes();
    // What its run hands back is in the chat's bag, too.
    const auto chat = post("/api/assistant/chat/stream", R"({"message":"hello"})");
    turn_ = chat->header("X-Stream-Id");
    agent_finishes();
    const auto apk =
        admin("POST", "/v1/tenants/" + acme.id.text() + "/approver-keys", R"({"algorithm":"hmac-sha256"})");
    const auto execution = post(workspace_of(acme) + "/executions", "{}")->text("id");
    const model::RunFile file{.id = ids.make<model::FileId>(),
                              .tenant_id = acme.id,
                              .run_id = model::RunId::parse(turn_),
                              .name = "a.txt",
                              .sha256 = contents.put("x").take()};
    store::create_files(store.database(), {file}, [](Result<Unit> made) { ASSERT_TRUE(made); });
    loop.settle();
    const auto workflow = post(workspace_of(acme) + "/workflows",
                               R"({"name":"w","definition":{"blocks":[{"id":"c","type":"condition","left":"",)"
                               R"("op":"is_empty"}]}})")
                              ->text("id");
    const auto workflow_run =
        post(workspace_of(acme) + "/workflows/" + workflow + "/runs", "{}", {{"Prefer", "respond-async"}})->text("id");
    post(workspace_of(acme) + "/tables", R"({"name":"cities","columns":[{"name":"city","type":"text"}]})");
    const auto rows = post(workspace_of(acme) + "/tables/cities/rows", R"({"rows":[{"city":"Rome"}]})")->body;
    const auto row_at = rows.find("row_");
    post("/v1/model-endpoints", R"({"name":"lab","provider":"offline"})");
    names_ = {{"{conversation_id}", conversation},
              {"{chat_id}", chat->header("X-Chat-Id")},
              {"{table}", "cities"},
              {"{row_id}", row_at == std::string::npos ? "" : rows.substr(row_at, 30)},
              {"{endpoint}", "lab"},
              {"{workflow_id}", workflow},
              {"{workflow_run_id}", workflow_run},
              {"{workspace_id}", model::WorkspaceId{acme.id.ulid}.text()},
              {"{repository_id}", make_repository("code")},
              {"{skill_id}", make_skill("pdf")},
              {"{environment_id}", make_environment("build")},
              {"{execution_id}", execution},
              {"{file_id}", file.id.text()},
              {"{message_id}", stream->header("X-Message-Id")},
              {"{run_id}", stream->header("X-Run-Id")},
              {"{agent}", acme.agent.text()},
              {"{agent_id}", acme.agent.text()},
              {"{tenant_id}", acme.id.text()},
              {"{key_id}", acme.key_id.text()},
              {"{approver_key_id}", apk->text("id")},
              {"{approval_id}", make_approval()},
              {"{alias}", "A_KEY"},
              {"{slug}", "not-found"}};
  }

  // What the operation cannot do without besides its path.
  std::string query_for(const Route& route) const {
    if (route.operation.starts_with("findAguiRun")) return "?threadId=t1";
    if (route.operation == "followChatTurn") return "?streamId=" + turn_;
    return route.operation.starts_with("cancelAguiRun") ? "?runId=r1" : "";
  }

  // Of a run that waits for a human.
  std::string make_approval() {
    const auto stream = send(make_conversation(), "ask");
    agent_asks({{.description = "Go on?"}});
    const auto at = stream->body.find("apr_");
    return at == std::string::npos ? "" : stream->body.substr(at, 30);
  }

  // A body that is right for every operation that takes one.
  static std::string body_for(const Route& route) {
    if (route.operation == "denyApproval") return R"({"signature":)" + std::string(signature) + "}";
    return R"({"content":"x","name":"x","algorithm":"hmac-sha256","url":"https://h/x","secrets":{"A_KEY":"value-of-it"},
        "files":[{"path":"SKILL.md","content":"---\nname: pdf\ndescription: d\n---\n"}],"signature":)" +
           std::string(signature) + "}";
  }
  static constexpr std::string_view signature = R"({"key_id":"k","algorithm":"hmac-sha256","exp":1,"value":"v"})";

  std::vector<std::pair<std::string, std::string>> names_;
  std::string turn_;  // of the chat
};

TEST_F(RoutesTest, Every_operation_has_its_own_name_and_stands_in_the_openapi_file_I_23) {
  std::set<std::string_view> operations;
  const std::string_view yaml = openapi_text();
  for (const Route& route : routes()) {
    EXPECT_TRUE(operations.insert(route.operation).second) << route.operation;
    const auto path_at = yaml.find("\n  " + std::string(route.path) + ":\n");
    ASSERT_NE(path_at, std::string_view::npos) << route.path;
    const auto operation_at = yaml.find("operationId: " + std::string(route.operation) + "\n", path_at);
    ASSERT_NE(operation_at, std::string_view::npos) << route.operation;
    const auto next_path = yaml.find("\n  /", path_at + 1);
    EXPECT_LT(operation_at, next_path) << route.operation << " is described under another path";
  }
  std::size_t described = 0;
  for (auto at = yaml.find("operationId: "); at != std::string_view::npos; at = yaml.find("operationId: ", at + 1)) {
    ++described;
  }
  // The runner's own surface is not among the routes: serve hands /sandbox/stream to the station.
  const std::string_view of_the_runner[] = {"openDispatch", "attachDispatch", "killDispatch", "acknowledgeDispatch"};
  for (const auto operation : of_the_runner) {
    EXPECT_NE(yaml.find("operationId: " + std::string(operation) + "\n"), std::string_view::npos) << operation;
  }
  EXPECT_EQ(described, routes().size() + std::size(of_the_runner))
      << "an operation is described that the server does not have";
}

TEST_F(RoutesTest, The_openapi_file_names_exactly_the_problems_of_the_registry_I_23) {
  const std::string_view yaml = openapi_text();
  for (const auto& entry : model::problem_registry()) {
    const std::string line = "{slug: " + std::string(entry.name) + ", status: " + std::to_string(entry.status) + "}";
    EXPECT_NE(yaml.find(line), std::string_view::npos) << line;
  }
  std::size_t listed = 0;
  for (auto at = yaml.find("{slug: "); at != std::string_view::npos; at = yaml.find("{slug: ", at + 1)) ++listed;
  EXPECT_EQ(listed, model::problem_registry().size());
}

TEST_F(RoutesTest, Without_a_good_key_every_closed_route_says_401) {
  make_things();
  admin("DELETE", "/v1/tenants/" + other.id.text() + "/keys/" + other.key_id.text());
  for (const Route& route : routes()) {
    if (!is_guarded(route)) continue;
    for (const auto& key : Texts{"", "sk_int_unknown", other.key, "sk_adm_wrong", "nonsense"}) {
      const auto answer = ask_as(std::string(route.method), fill(route.path), {.key = key, .body = body_for(route)});
      EXPECT_EQ(answer->status, 401) << route.operation << " with key '" << key << "'";
      EXPECT_EQ(answer->slug(), "unauthenticated");
      EXPECT_EQ(answer->header("WWW-Authenticate"), "Bearer");
    }
  }
}

TEST_F(RoutesTest, A_good_key_of_the_wrong_kind_is_403_on_every_closed_route) {
  make_things();
  for (const Route& route : routes()) {
    if (!is_guarded(route)) continue;
    const std::string& wrong = for_services(route) ? admin_key : acme.key;
    const auto answer = ask_as(std::string(route.method), fill(route.path), {.key = wrong, .body = body_for(route)});
    EXPECT_EQ(answer->status, 403) << route.operation;
    EXPECT_EQ(answer->slug(), "insufficient-scope");
  }
}

TEST_F(RoutesTest, Another_tenants_things_are_404_on_every_route_that_names_one_I_22) {
  make_things();
  for (const Route& route : routes()) {
    if (!for_services(route) || route.path.find('{') == std::string_view::npos) continue;
    const Ask as_other{.key = other.key, .body = body_for(route)};
    const auto answer = ask_as(std::string(route.method), fill(route.path), as_other);
    EXPECT_EQ(answer->status, 404) << route.operation << " " << answer->body;
    EXPECT_EQ(answer->slug(), "not-found");
    EXPECT_EQ(answer->text("instance"), fill(route.path));
  }
  EXPECT_EQ(agent.dispatch_count, 4) << "those of make_things()";
  EXPECT_EQ(get("/v1/conversations/" + names_[0].second)->text("status"), "active");
}

TEST_F(RoutesTest, A_malformed_id_in_a_path_is_404) {
  for (const Route& route : routes()) {
    // Every address below the console's is the page's.
    if (route.path.find('{') == std::string_view::npos || route.operation == "getConsolePage") continue;
    for (const auto& word : Texts{"x", "con_", "con_0000000000000000000000000!", "%00", "..", "run_01"}) {
      std::string path;
      for (std::size_t at = 0; at < route.path.size(); ++at) {
        if (route.path[at] != '{') {
          path += route.path[at];
          continue;
        }
        path += word;
        at = route.path.find('}', at);
      }
      const auto answer = ask_as(std::string(route.method), path,
                                 {.key = for_admin(route) ? admin_key : acme.key, .body = body_for(route)});
      EXPECT_EQ(answer->status, is_callback(route.access) ? 401 : 404) << route.operation << " " << word;
    }
  }
}

TEST_F(RoutesTest, S_3_without_its_token_every_callback_says_401_and_the_same) {
  make_things();
  for (const Route& route : routes()) {
    if (!is_callback(route.access)) continue;
    for (const auto& key : Texts{"", "sk_int_unknown", acme.key, admin_key, "asbx_unknown"}) {
      const auto answer = ask_as(std::string(route.method), fill(route.path), {.key = key});
      EXPECT_EQ(answer->status, 401) << route.operation << " with key '" << key << "'";
      EXPECT_EQ(answer->slug(), "token-invalid");
      EXPECT_EQ(answer->text("detail"), "This token is used, expired, of another execution, or none at all.");
    }
    EXPECT_EQ(ask_as("HEAD", fill(route.path), {})->status, 405) << "looking must not spend";
  }
}

TEST_F(RoutesTest, A_suspended_tenant_reads_and_does_not_write_I_22) {
  make_things();
  admin("PATCH", "/v1/tenants/" + acme.id.text(), R"({"status":"suspended"})");
  for (const Route& route : routes()) {
    if (!for_services(route)) continue;
    const auto answer = ask_as(std::string(route.method), fill(route.path) + query_for(route),
                               {.key = acme.key, .body = body_for(route)});
    if (route.access == Access::service_write || route.access == Access::workspace_write ||
        (route.access == Access::workspace_sandbox && route.method != "GET")) {
      EXPECT_EQ(answer->status, 403) << route.operation;
      EXPECT_EQ(answer->slug(), "tenant-suspended");
    } else if (route.operation.starts_with("cancel") || route.operation == "stopChat") {
      EXPECT_EQ(answer->slug(), "run-finished") << "stopping is not writing";
    } else {
      EXPECT_EQ(answer->status, 200) << route.operation << " " << answer->body;
    }
  }
}

TEST_F(RoutesTest, Every_answer_names_its_request_and_is_logged_once_without_the_key) {
  make_things();
  for (const Route& route : routes()) {
    log.lines.clear();
    const std::string& key = for_admin(route) ? admin_key : acme.key;
    const auto answer = ask_as(std::string(route.method), fill(route.path), {.key = key});
    EXPECT_TRUE(answer->header("X-Request-Id").starts_with("req_")) << route.operation;
    EXPECT_TRUE(logged("request served"));
    EXPECT_TRUE(logged("request_id=" + answer->header("X-Request-Id"))) << route.operation;
    EXPECT_TRUE(logged("route=" + std::string(route.path)));
    EXPECT_FALSE(logged(key)) << route.operation;
    EXPECT_EQ(std::count_if(log.lines.begin(), log.lines.end(),
                            [](const std::string& line) { return line.find("request served") != std::string::npos; }),
              1);
  }
}

TEST_F(RoutesTest, Unknown_paths_are_404_and_wrong_methods_405_with_what_is_allowed) {
  for (const auto& path : Texts{"/v1", "/v1/", "/v1/conversation", "/v1/conversations/", "/v2/conversations",
                                "//v1/runs", "/a/b/c/d/e/f/g/h"}) {
    EXPECT_EQ(get(path)->status, 404) << path;
  }
  const auto answer = ask_as("PUT", "/v1/conversations", {});
  EXPECT_EQ(answer->status, 405);
  EXPECT_EQ(answer->slug(), "method-not-allowed");
  EXPECT_EQ(answer->header("Allow"), "POST, GET, HEAD, OPTIONS");
}

TEST_F(RoutesTest, OPTIONS_says_what_is_allowed_and_HEAD_is_answered_like_GET) {
  const auto options = ask_as("OPTIONS", "/v1/runs/x/cancel", {});
  EXPECT_EQ(options->status, 204);
  EXPECT_EQ(options->header("Allow"), "POST, OPTIONS");
  EXPECT_EQ(ask_as("HEAD", "/v1/runs", {.key = acme.key})->status, 200);
  EXPECT_EQ(ask_as("HEAD", "/v1/runs", {})->status, 401);
}

}  // namespace routes_test
}  // namespace sluice::api
