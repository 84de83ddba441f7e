// Logging in, what a session may do, and what keeps others from using it.
#include "api/api_fixture.h"
#include "api/console/session.h"

namespace sluice::api::console {
namespace sessions_test {

class SessionsTest : public ApiTest {
 protected:
  SessionsTest() { make_surfaces({.console_tenant = acme.id, .console_pack = "index.html 1 0\n\nx"}); }

  // A browser with one cookie.
  struct Browser {
    std::string cookie;
    std::string csrf;
  };
  static std::string cookie_of(const Answer& answer) {
    const auto header = answer->header("Set-Cookie");
    return header.substr(0, header.find(';'));
  }
  Answer log_in(std::string body, net::Headers headers = {}) {
    return ask_as("POST", "/console/session", {.body = std::move(body), .headers = std::move(headers)});
  }
  Browser browser(const Answer& answer) { return {cookie_of(answer), answer->text("csrfToken")}; }
  Browser browser_with_key(const std::string& key) { return browser(log_in(R"({"key":")" + key + "\"}")); }
  // As the page does it; with `more` headers.
  Answer use(const Browser& by, std::string method, std::string_view path, std::string body = "",
             net::Headers more = {}) {
    more.add("Cookie", by.cookie);
    if (method != "GET" && !by.csrf.empty()) more.add("X-CSRF-Token", by.csrf);
    return ask_as(std::move(method), path, {.body = std::move(body), .headers = std::move(more)});
  }
  std::string one_time_code() {
    const auto url = api->make_console_url();
    return url.substr(url.find("#code=") + 6);
  }
  Answer act_in(Browser& by, model::TenantId tenant) {
    const auto answer = use(by, "PATCH", "/console/session", R"({"tenantId":")" + tenant.text() + "\"}");
    if (answer->status == 200) by.cookie = cookie_of(answer);
    return answer;
  }
};

TEST_F(SessionsTest, A_service_key_opens_a_session_of_its_tenant) {
  const auto answer = log_in(R"({"key":")" + acme.key + "\"}");
  ASSERT_EQ(answer->status, 200);
  EXPECT_EQ(answer->text("kind"), "service");
  EXPECT_EQ(answer->member("tenant"), R"({"id":")" + acme.id.text() + R"(","name":"acme"})");
  EXPECT_EQ(answer->text("workspaceId"), model::WorkspaceId{acme.id.ulid}.text());
  EXPECT_EQ(answer->member("expiresAt"), std::to_string(loop.now().ms + 12 * 3600 * 1000));
  EXPECT_EQ(answer->header("Cache-Control"), "no-store");
  const auto cookie = answer->header("Set-Cookie");
  EXPECT_NE(cookie.find("; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"), std::string::npos) << cookie;
  EXPECT_EQ(cookie.find("Secure"), std::string::npos);
  EXPECT_EQ(cookie.find(acme.key), std::string::npos);

  const auto by = browser(answer);
  EXPECT_EQ(use(by, "GET", "/console/session")->body, answer->body);
  EXPECT_EQ(use(by, "GET", "/v1/runs")->status, 200);
  EXPECT_EQ(use(by, "POST", "/v1/conversations", "{}")->status, 201);
  EXPECT_EQ(use(by, "GET", "/v1/tenants")->slug(), "insufficient-scope");
  EXPECT_EQ(use(by, "PATCH", "/console/session", R"({"tenantId":")" + other.id.text() + "\"}")->status, 403);
}

TEST_F(SessionsTest, A_refused_login_gives_no_reason_and_does_not_block_valid_ones) {
  const auto wrong = log_in(R"({"key":"sk_int_unknown"})");
  EXPECT_EQ(wrong->status, 401);
  EXPECT_EQ(wrong->header("Set-Cookie"), "");
  const auto detail = wrong->text("detail");
  for (const auto* body : {R"({"key":"sk_adm_wrong"})", R"({"key":"nonsense"})", R"({"key":"asbx_wrong"})"}) {
    const auto answer = log_in(body);
    EXPECT_EQ(answer->status, 401) << body;
    EXPECT_EQ(answer->text("detail"), detail) << body;
  }
  const auto spent = log_in(R"({"code":"wrong"})");
  EXPECT_EQ(spent->status, 401);
  EXPECT_NE(spent->text("detail").find("sluice console"), std::string::npos) << "how to get another link";
  EXPECT_EQ(log_in(R"({"key":")" + acme.key + "\"}")->status, 200);
  EXPECT_EQ(log_in("{}")->status, 422);
  EXPECT_EQ(log_in(R"({"key":"a","code":"b"})")->status, 422);
}

TEST_F(SessionsTest, A_code_opens_an_admins_session_once) {
  const auto code = one_time_code();
  const auto answer = log_in(R"({"code":")" + code + "\"}");
  ASSERT_EQ(answer->status, 200);
  EXPECT_EQ(answer->text("kind"), "admin");
  EXPECT_EQ(answer->member("tenant"), R"({"id":")" + acme.id.text() + R"(","name":"acme"})");
  EXPECT_EQ(log_in(R"({"code":")" + code + "\"}")->status, 401);
  const auto by = browser(answer);
  EXPECT_EQ(use(by, "GET", "/v1/tenants")->status, 200);
  EXPECT_EQ(use(by, "GET", "/v1/runs")->status, 200);

  const auto made = admin("POST", "/v1/admin/console-codes");
  ASSERT_EQ(made->status, 201);
  EXPECT_EQ(made->text("url"), "http://test/console/#code=" + made->text("code"));
  EXPECT_EQ(log_in(R"({"code":")" + made->text("code") + "\"}")->status, 200);
  EXPECT_EQ(post("/v1/admin/console-codes", "")->slug(), "insufficient-scope");
}

TEST_F(SessionsTest, An_admin_acts_in_the_tenant_it_chose_and_in_no_other) {
  auto by = browser_with_key(admin_key);
  EXPECT_EQ(use(by, "GET", "/console/session")->member("tenant"), "null");
  EXPECT_EQ(use(by, "GET", "/v1/tenants")->status, 200);
  const auto early = use(by, "GET", "/v1/runs");
  EXPECT_EQ(early->slug(), "insufficient-scope");
  EXPECT_NE(early->text("detail").find("Choose a tenant"), std::string::npos);

  ASSERT_EQ(act_in(by, other.id)->status, 200);
  EXPECT_EQ(use(by, "GET", "/console/session")->text("workspaceId"), model::WorkspaceId{other.id.ulid}.text());
  const auto made = use(by, "POST", "/v1/conversations", "{}");
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(get("/v1/conversations/" + made->text("id"))->status, 404) << "it is not acme's";
  EXPECT_EQ(use(by, "GET", workspace_of(acme) + "/agents")->status, 404);
  EXPECT_EQ(use(by, "GET", workspace_of(other) + "/agents")->status, 200);
  EXPECT_EQ(use(by, "PUT", "/v1/secrets", R"({"secrets":{"A":"value-of-it"}})")->status, 200);
  const auto audit = admin("GET", "/v1/admin/audit")->body;
  EXPECT_NE(audit.find("console:admin"), std::string::npos);
  EXPECT_NE(audit.find("console.login"), std::string::npos);
  EXPECT_NE(audit.find("console.tenant_chosen"), std::string::npos);

  EXPECT_EQ(act_in(by, ids.make<model::TenantId>())->status, 404);
  EXPECT_EQ(use(by, "PATCH", "/console/session", R"({"tenantId":"x"})")->status, 422);
  EXPECT_EQ(use(by, "PATCH", "/console/session", R"({"tenantId":null})")->member("tenant"), "null");
}

// I-19: what two sessions promise is not one promise.
TEST_F(SessionsTest, Idempotency_keys_of_an_admins_sessions_are_their_own) {
  auto one = browser_with_key(admin_key);
  auto two = browser_with_key(admin_key);
  act_in(one, acme.id);
  act_in(two, acme.id);
  const auto make = [&](const Browser& by) {
    return use(by, "POST", "/v1/conversations", "{}", {{"Idempotency-Key", "k"}})->text("id");
  };
  const auto first = make(one);
  EXPECT_EQ(make(one), first);
  EXPECT_NE(make(two), first);
  act_in(one, other.id);
  act_in(one, acme.id);
  EXPECT_EQ(make(one), first) << "it is the same session wherever it has been";
}

TEST_F(SessionsTest, A_revoked_key_ends_its_sessions_at_once) {
  const auto by = browser_with_key(acme.key);
  EXPECT_EQ(use(by, "GET", "/v1/runs")->status, 200);
  admin("DELETE", "/v1/tenants/" + acme.id.text() + "/keys/" + acme.key_id.text());
  EXPECT_EQ(use(by, "GET", "/v1/runs")->slug(), "unauthenticated");
  EXPECT_EQ(use(by, "GET", "/console/session")->status, 401);
}

TEST_F(SessionsTest, A_suspended_tenant_reads_and_does_not_write_even_in_the_console) {
  const auto by = browser_with_key(acme.key);
  auto boss = browser_with_key(admin_key);
  act_in(boss, acme.id);
  admin("PATCH", "/v1/tenants/" + acme.id.text(), R"({"status":"suspended"})");
  for (const auto& browser : {by, boss}) {
    EXPECT_EQ(use(browser, "GET", "/v1/runs")->status, 200);
    EXPECT_EQ(use(browser, "POST", "/v1/conversations", "{}")->slug(), "tenant-suspended");
  }
}

TEST_F(SessionsTest, A_session_ends_after_its_time_and_when_it_is_closed) {
  const auto by = browser_with_key(acme.key);
  const auto closed = use(by, "DELETE", "/console/session");
  EXPECT_EQ(closed->status, 204);
  EXPECT_TRUE(closed->header("Set-Cookie").starts_with("sluice_session_80=; Path=/;"));
  EXPECT_NE(closed->header("Set-Cookie").find("Max-Age=0"), std::string::npos);
  EXPECT_EQ(use(by, "GET", "/v1/runs")->status, 401) << "a copied cookie is of no use";
  EXPECT_EQ(use(by, "DELETE", "/console/session")->status, 204);

  const auto next = browser_with_key(acme.key);
  loop.jump_wall_clock({session_ms - 1});
  EXPECT_EQ(use(next, "GET", "/v1/runs")->status, 200);
  loop.jump_wall_clock({1});
  const auto late = use(next, "GET", "/v1/runs");
  EXPECT_EQ(late->slug(), "unauthenticated");
  EXPECT_NE(late->text("detail").find("log in again"), std::string::npos);
}

TEST_F(SessionsTest, Whatever_changes_something_needs_the_token_and_our_own_page) {
  const auto by = browser_with_key(acme.key);
  const Browser tokenless{by.cookie, ""};
  const auto create = [&](const Browser& browser, net::Headers headers) {
    return use(browser, "POST", "/v1/conversations", "{}", std::move(headers));
  };
  EXPECT_EQ(create(tokenless, {})->slug(), "csrf");
  EXPECT_EQ(create({by.cookie, "wrong"}, {})->slug(), "csrf");
  EXPECT_EQ(create({by.cookie, browser_with_key(acme.key).csrf}, {})->slug(), "csrf") << "another session's";
  EXPECT_EQ(create(by, {{"X-CSRF-Token", by.csrf}})->slug(), "csrf") << "twice";
  EXPECT_EQ(use(tokenless, "GET", "/v1/runs")->status, 200);
  EXPECT_EQ(use(tokenless, "HEAD", "/v1/runs")->status, 200);
  for (const auto* method : {"PATCH", "DELETE"}) {
    EXPECT_EQ(use(tokenless, method, "/console/session", "{}")->slug(), "csrf") << method;
  }

  EXPECT_EQ(create(by, {{"Origin", "http://test"}})->status, 201);
  EXPECT_EQ(create(by, {{"Origin", "http://host:8080"}, {"Host", "host:8080"}})->status, 201);
  EXPECT_EQ(create(by, {{"Origin", "https://host"}, {"Host", "host"}})->status, 201) << "a proxy speaks TLS for us";
  for (const auto* origin : {"http://evil", "null", "http://test.evil", "http://test:81", "", "http://"}) {
    EXPECT_EQ(create(by, {{"Origin", origin}, {"Host", "test"}})->slug(), "csrf") << origin;
  }
  for (const auto* site : {"cross-site", "same-site", ""}) {
    EXPECT_EQ(create(by, {{"Sec-Fetch-Site", site}})->slug(), "csrf") << site;
  }
  for (const auto* site : {"same-origin", "none"}) EXPECT_EQ(create(by, {{"Sec-Fetch-Site", site}})->status, 201);
  EXPECT_EQ(log_in(R"({"key":")" + acme.key + "\"}", {{"Origin", "http://evil"}})->slug(), "csrf")
      << "a page of another site cannot log a browser in";
}

TEST_F(SessionsTest, Where_TLS_is_spoken_the_cookie_stays_within_it_and_so_does_the_page) {
  make_surfaces({.console_pack = "index.html 1 0\n\nx"}, "https://sluice.example");
  const auto answer = log_in(R"({"key":")" + acme.key + "\"}");
  EXPECT_NE(answer->header("Set-Cookie").find("; Secure"), std::string::npos);
  const auto by = browser(answer);
  const auto create = [&](std::string origin) {
    return use(by, "POST", "/v1/conversations", "{}", {{"Origin", std::move(origin)}, {"Host", "sluice.example"}});
  };
  EXPECT_EQ(create("https://sluice.example")->status, 201);
  EXPECT_EQ(create("http://sluice.example")->slug(), "csrf");
}

TEST_F(SessionsTest, A_key_in_the_header_counts_more_than_a_cookie) {
  const auto by = browser_with_key(acme.key);
  const net::Headers cookie{{"Cookie", by.cookie}};
  const auto made = ask_as("POST", "/v1/conversations", {.key = other.key, .body = "{}", .headers = cookie});
  EXPECT_EQ(made->status, 201) << "no page sends keys, so it needs no token";
  EXPECT_EQ(get("/v1/conversations/" + made->text("id"))->status, 404);
  EXPECT_EQ(ask_as("GET", "/v1/runs", {.key = "sk_int_wrong", .headers = cookie})->status, 401);
}

TEST_F(SessionsTest, A_cookie_is_no_token_of_a_runner) {
  auto by = browser_with_key(admin_key);
  act_in(by, acme.id);
  const auto execution = use(by, "POST", workspace_of(acme) + "/executions", "{}");
  EXPECT_EQ(execution->status, 201);
  for (const auto* what : {"env", "config", "skills"}) {
    EXPECT_EQ(use(by, "GET", "/api/agents/" + execution->text("id") + "/" + what)->status, 401) << what;
  }
}

TEST_F(SessionsTest, Two_session_cookies_are_refused) {
  const auto by = browser_with_key(acme.key);
  EXPECT_EQ(use(by, "GET", "/v1/runs", "", {{"Cookie", "sluice_session_80=planted"}})->status, 401);
}

}  // namespace sessions_test
}  // namespace sluice::api::console
