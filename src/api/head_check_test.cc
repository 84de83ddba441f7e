// What is said to a large request before its body is there, and to those who ask too often.
#include "api/api_fixture.h"

namespace sluice::api {
namespace head_check_test {

class HeadCheckTest : public ApiTest {
 protected:
  // The status of the refusal, or 0: the body may come.
  int check(std::string method, std::string path, net::Headers headers) {
    net::Request head{.method = std::move(method), .path = std::move(path), .headers = std::move(headers)};
    head.peer = "192.0.2.1";
    std::optional<int> said;
    api->check_head(head, [&](std::optional<net::Response> answer) {
      EXPECT_FALSE(said);
      said = answer ? answer->status : 0;
      if (answer) EXPECT_EQ(answer->headers.find("Content-Type"), "application/problem+json");
    });
    loop.settle();
    return said.value_or(-1);
  }
  net::Headers with(const std::string& key) { return {{"Authorization", "Bearer " + key}}; }
};

TEST_F(HeadCheckTest, A_request_without_a_valid_key_is_refused_before_its_body) {
  EXPECT_EQ(check("POST", "/v1/skills", {}), 401);
  EXPECT_EQ(check("POST", "/v1/skills", with("sk_int_wrong")), 401);
  EXPECT_EQ(check("POST", "/v1/skills", with(admin_key)), 403);
  EXPECT_EQ(check("POST", workspace_of(acme) + "/files", with(other.key)), 404);
  EXPECT_EQ(check("POST", "/v1/nothing", with(acme.key)), 404);
  EXPECT_EQ(check("PUT", "/v1/skills", with(acme.key)), 405);
  EXPECT_EQ(check("POST", "/api/agents/x/results", {{"Authorization", "token"}}), 401);
  EXPECT_EQ(check("POST", "/v1/skills", {{"Cookie", "sluice_session_80=AAAA"}}), 401);
}

TEST_F(HeadCheckTest, A_request_with_access_may_send_its_body) {
  EXPECT_EQ(check("POST", "/v1/skills", with(acme.key)), 0);
  EXPECT_EQ(check("POST", workspace_of(acme) + "/files", with(acme.key)), 0);
  EXPECT_EQ(check("POST", "/v1/tenants", with(admin_key)), 0);
  EXPECT_EQ(check("POST", "/console/session", {}), 0);
}

TEST_F(HeadCheckTest, S_3_a_token_is_looked_at_before_the_body_and_not_spent) {
  const auto made = post(workspace_of(acme) + "/executions", "{}");
  const auto its = "/api/agents/" + made->text("id");
  const auto others = "/api/agents/" + post(workspace_of(acme) + "/executions", "{}")->text("id");
  const auto upload = [&](const std::string& path, const std::string& token) {
    return check("POST", path, {{"Authorization", token}});
  };
  EXPECT_EQ(upload(its + "/results", "guess"), 401);
  EXPECT_EQ(upload(its + "/results", made->text("otp_run")), 401) << "of another purpose";
  EXPECT_EQ(upload(others + "/results", made->text("otp_upload")), 401) << "of another execution";
  EXPECT_EQ(upload("/api/agents/" + ids.make<model::ExecutionId>().text() + "/results", made->text("otp_upload")), 401);
  const std::string sandbox = "/api/assistant/sandbox/" + made->text("id");
  for (const auto& path : Texts{its + "/results", its + "/assets/writeback", sandbox + "/results"}) {
    EXPECT_EQ(upload(path, made->text("otp_upload")), 0) << path;
  }
  EXPECT_EQ(check("GET", its + "/config", {{"Authorization", made->text("otp_upload")}}), 401);
  EXPECT_EQ(check("GET", its + "/config", {{"Authorization", made->text("otp_run")}}), 0);
  EXPECT_EQ(ask_as("GET", its + "/config", {.headers = {{"Authorization", made->text("otp_run")}}})->status, 200);
  EXPECT_EQ(check("GET", its + "/config", {{"Authorization", made->text("otp_run")}}), 401) << "spent";
  loop.advance({3'600'000});
  EXPECT_EQ(upload(its + "/results", made->text("otp_upload")), 401) << "expired";
}

TEST_F(HeadCheckTest, The_bearer_of_an_execution_may_send_a_body_where_it_is_required) {
  const auto made = post(workspace_of(acme) + "/executions", "{}")->text("id");
  const auto other = post(workspace_of(acme) + "/executions", "{}")->text("id");
  EXPECT_EQ(check("GET", "/api/agents/" + made + "/skills", with("asbx_" + made)), 0);
  EXPECT_EQ(check("GET", "/api/agents/" + made + "/skills", with("asbx_" + other)), 401);
  EXPECT_EQ(check("POST", "/api/agents/" + made + "/results", with("asbx_" + made)), 401);
}

TEST_F(HeadCheckTest, A_suspended_tenant_is_turned_away_before_the_body) {
  EXPECT_EQ(admin("PATCH", "/v1/tenants/" + acme.id.text(), R"({"status":"suspended"})")->status, 200);
  EXPECT_EQ(check("POST", "/v1/skills", with(acme.key)), 403);
}

TEST_F(HeadCheckTest, A_key_beyond_its_rate_gets_429_and_other_keys_do_not) {
  make_surfaces({.request_rate = {.per_second = 0.5, .burst = 3}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get("/v1/agents")->status, 200);
  const auto refused = get("/v1/agents");
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->slug(), "rate-limited");
  EXPECT_EQ(refused->header("Retry-After"), "2");
  EXPECT_EQ(ask_as("GET", "/v1/agents", {.key = other.key})->status, 200);
  EXPECT_EQ(admin("GET", "/v1/tenants")->status, 200);
  loop.advance({2'000});
  EXPECT_EQ(get("/v1/agents")->status, 200);
  EXPECT_EQ(get("/v1/agents")->status, 429);
}

TEST_F(HeadCheckTest, A_large_request_counts_once) {
  make_surfaces({.request_rate = {.per_second = 0.5, .burst = 2}});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(check("POST", "/v1/skills", with(acme.key)), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(get("/v1/agents")->status, 200);
  EXPECT_EQ(get("/v1/agents")->status, 429);
}

TEST_F(HeadCheckTest, Wrong_keys_of_one_address_get_429_and_valid_ones_pass) {
  make_surfaces({.wrong_key_rate = {.per_second = 1, .burst = 2}});
  const auto ask = [&](const std::string& key) { return ask_as("GET", "/v1/agents", {.key = key}); };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask("sk_int_wrong")->status, 401);
  const auto refused = ask("sk_int_wrong");
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->header("Retry-After"), "1");
  EXPECT_EQ(ask_as("POST", "/console/session", {.body = R"({"key":"sk_int_wrong"})"})->status, 429);
  EXPECT_EQ(ask_as("GET", "/v1/agents", {})->status, 401) << "who shows nothing has not tried";
  EXPECT_EQ(ask(acme.key)->status, 200);
  EXPECT_EQ(ask_as("POST", "/console/session", {.body = R"({"key":")" + acme.key + "\"}"})->status, 200);
  loop.advance({1'000});
  EXPECT_EQ(ask("sk_int_wrong")->status, 401);
}

}  // namespace head_check_test
}  // namespace sluice::api
