#include "api/api_fixture.h"
#include "base/bytes.h"

namespace sluice::api {
namespace admin_test {

class AdminTest : public ApiTest {
 protected:
  std::string tenant_path() const { return "/v1/tenants/" + acme.id.text(); }
};

TEST_F(AdminTest, A_tenant_comes_with_a_default_agent_and_its_key_works_at_once) {
  const auto made = admin("POST", "/v1/tenants", R"({"name":"Beta","settings":{"filler_enabled":true}})");
  EXPECT_EQ(made->status, 201);
  EXPECT_NE(made->member("settings").find(R"("filler_enabled":true,"weight":1)"), std::string::npos);
  const auto path = made->header("Location");
  EXPECT_EQ(admin("GET", path)->body, made->body);
  const auto key = admin("POST", path + "/keys", R"({"name":"host"})");
  EXPECT_EQ(key->status, 201);
  EXPECT_EQ(key->header("Cache-Control"), "no-store");
  const auto secret = key->text("secret");
  EXPECT_TRUE(secret.starts_with("sk_int_"));
  EXPECT_EQ(secret.size(), 50U);
  EXPECT_EQ(key->text("hint"), secret.substr(46));
  EXPECT_FALSE(logged(secret));
  const auto agents = ask_as("GET", "/v1/agents", {.key = secret});
  EXPECT_EQ(agents->status, 200);
  EXPECT_NE(agents->body.find(R"("is_default":true)"), std::string::npos);
  EXPECT_EQ(admin("GET", path + "/keys")->body.find(secret), std::string::npos) << "shown once";
}

TEST_F(AdminTest, A_tenant_is_changed_by_merging) {
  const auto answer = admin("PATCH", tenant_path(), R"({"name":"Acme","metadata":{"a":"b"}})");
  EXPECT_EQ(answer->text("name"), "Acme");
  EXPECT_EQ(answer->text("status"), "active");
  EXPECT_EQ(admin("PATCH", tenant_path(), R"({"metadata":null})")->member("metadata"), "{}");
  EXPECT_EQ(admin("PATCH", tenant_path(), R"({"status":"suspended"})")->text("status"), "suspended");
  EXPECT_EQ(post("/v1/conversations", "{}")->slug(), "tenant-suspended");
  EXPECT_EQ(get("/v1/conversations")->status, 200);
  admin("PATCH", tenant_path(), R"({"status":"active"})");
  EXPECT_EQ(post("/v1/conversations", "{}")->status, 201);
  for (const auto& body : Texts{R"({"name":null})", R"({"name":""})", R"({"status":"x"})", R"({"settings":[]})"}) {
    EXPECT_EQ(admin("PATCH", tenant_path(), body)->status, 422) << body;
  }
  EXPECT_EQ(admin("POST", "/v1/tenants", "{}")->status, 422);
}

TEST_F(AdminTest, A_tenants_settings_are_changed_one_by_one_and_cleared_together) {
  make_surfaces({.webhook_signing_root = "root", .webhook_urls = {"https://host.example/hooks"}});
  const auto defaults = admin("POST", "/v1/tenants", R"({"name":"fresh"})")->member("settings");
  EXPECT_NE(defaults.find(R"("require_bound_decisions":true,"agui_unsigned_approvals":false)"), std::string::npos);
  const std::string changed =
      R"({"filler_enabled":false,"weight":7,"max_running":3,"max_held":4,"max_concurrent_sticky":2,)"
      R"("max_sticky_ttl_seconds":600,"require_bound_decisions":true,"agui_unsigned_approvals":true,)"
      R"("webhook_url":"https://host.example/hooks/a"})";
  EXPECT_EQ(admin("PATCH", tenant_path(), R"({"settings":)" + changed + "}")->member("settings"), changed);
  EXPECT_EQ(admin("PATCH", tenant_path(), R"({"settings":{}})")->member("settings"), changed);
  const auto cleared = admin("PATCH", tenant_path(), R"({"settings":{"webhook_url":null}})")->member("settings");
  EXPECT_NE(cleared.find(R"("weight":7)"), std::string::npos);
  EXPECT_NE(cleared.find(R"("webhook_url":null)"), std::string::npos);
  for (const auto& settings :
       Texts{R"({"weight":0})", R"({"weight":1001})", R"({"weight":null})", R"({"max_running":-1})",
             R"({"max_held":"1"})", R"({"max_sticky_ttl_seconds":59})", R"({"max_sticky_ttl_seconds":86401})",
             R"({"require_bound_decisions":1})", R"({"webhook_url":""})", R"({"webhook_url":"ftp://host.example"})",
             R"({"webhook_url":"https://elsewhere.example/hooks"})", R"({"webhook_url":"https://host.example/hooksx"})",
             R"({"webhook_url":"https://a:b@host.example/hooks"})"}) {
    EXPECT_EQ(admin("PATCH", tenant_path(), R"({"settings":)" + settings + "}")->status, 422) << settings;
    EXPECT_EQ(admin("POST", "/v1/tenants", R"({"name":"x","settings":)" + settings + "}")->status, 422) << settings;
  }
  EXPECT_EQ(admin("PATCH", tenant_path(), R"({"settings":null})")->member("settings"), defaults);
}

TEST_F(AdminTest, A_tenants_webhook_secret_is_shown_to_the_operator_and_the_same_each_time) {
  make_surfaces({.webhook_signing_root = "root"});
  const auto secret = admin("GET", tenant_path() + "/webhook-secret");
  EXPECT_EQ(secret->status, 200);
  EXPECT_EQ(secret->header("Cache-Control"), "no-store");
  EXPECT_TRUE(secret->text("secret").starts_with("whsec_")) << secret->body;
  EXPECT_EQ(admin("GET", tenant_path() + "/webhook-secret")->body, secret->body);
  EXPECT_NE(admin("GET", "/v1/tenants/" + other.id.text() + "/webhook-secret")->text("secret"), secret->text("secret"));
  EXPECT_EQ(admin("GET", "/v1/tenants/tnt_00000000000000000000000000/webhook-secret")->status, 404);
}

TEST_F(AdminTest, Tenants_and_keys_are_listed_in_pages) {
  const auto page = admin("GET", "/v1/tenants?limit=1");
  EXPECT_EQ(page->text("next_cursor"), acme.id.text());
  EXPECT_EQ(admin("GET", tenant_path() + "/keys")->member("has_more"), "false");
  EXPECT_EQ(admin("GET", tenant_path() + "/keys?starting_after=" + other.key_id.text())->status, 422);
  const std::string unknown = "/v1/tenants/tnt_00000000000000000000000000";
  for (const auto& path : Texts{"", "/keys", "/approver-keys", "/keys?starting_after=key_00000000000000000000000000"}) {
    EXPECT_EQ(admin("GET", unknown + path)->status, 404) << path;
  }
  EXPECT_EQ(admin("POST", unknown + "/keys", "{}")->status, 404);
}

TEST_F(AdminTest, Revoking_is_done_once_and_only_within_the_tenant) {
  const auto path = tenant_path() + "/keys/" + acme.key_id.text();
  EXPECT_EQ(admin("DELETE", "/v1/tenants/" + other.id.text() + "/keys/" + acme.key_id.text())->status, 404);
  const auto revoked = admin("DELETE", path);
  EXPECT_EQ(revoked->status, 200);
  EXPECT_NE(revoked->member("revoked_at"), "null");
  loop.advance({1000});
  EXPECT_EQ(admin("DELETE", path)->body, revoked->body);
}

TEST_F(AdminTest, Approver_keys_are_made_here_or_brought_along) {
  const auto path = tenant_path() + "/approver-keys";
  const auto hmac = admin("POST", path, R"({"name":"desk","algorithm":"hmac-sha256"})");
  EXPECT_EQ(hmac->status, 201);
  EXPECT_EQ(from_base64url(hmac->text("secret")).value_or("").size(), 32U);
  EXPECT_EQ(hmac->text("key_id"), hmac->text("id"));
  const auto public_key = to_base64url(std::string(32, 'k'));
  const auto ed25519 = admin("POST", path, R"({"algorithm":"ed25519","public_key":")" + public_key + "\"}");
  EXPECT_EQ(ed25519->status, 201);
  EXPECT_EQ(ed25519->member("secret"), "");
  for (const auto& body :
       Texts{R"({})", R"({"algorithm":null})", R"({"algorithm":"md5"})", R"({"algorithm":"ed25519"})",
             R"({"algorithm":"ed25519","public_key":"AAAA"})", R"({"algorithm":"ed25519","public_key":"not base64"})",
             R"({"algorithm":"hmac-sha256","public_key":"AAAA"})"}) {
    EXPECT_EQ(admin("POST", path, body)->status, 422) << body;
  }
  EXPECT_EQ(admin("GET", path)->body.find(hmac->text("secret")), std::string::npos);
  EXPECT_NE(admin("DELETE", path + "/" + hmac->text("id"))->member("revoked_at"), "null");
}

}  // namespace admin_test
}  // namespace sluice::api
