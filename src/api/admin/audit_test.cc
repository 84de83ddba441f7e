// The audit chain and the vault's key, as the operator sees them.
#include "api/api_fixture.h"
#include "base/bytes.h"

namespace sluice::api {
namespace audit_test {

class AuditTest : public ApiTest {
 protected:
  Answer make_key(const TenantInHand& tenant) {
    return admin("POST", "/v1/tenants/" + tenant.id.text() + "/approver-keys",
                 R"({"name":"desk","algorithm":"hmac-sha256"})");
  }
  std::vector<model::ApproverKey> keys_of(const TenantInHand& tenant) {
    std::vector<model::ApproverKey> out;
    store::approver_keys(store.database(), tenant.id, {},
                         [&](Result<store::Page<model::ApproverKey>> page) { out = page.value().rows; });
    loop.settle();
    return out;
  }
};

TEST_F(AuditTest, Keys_that_come_and_go_are_in_the_chain_and_it_holds) {
  EXPECT_EQ(admin("POST", "/v1/admin/audit/verify")->body,
            R"({"object":"audit_verification","ok":true,"entries":0,"first_broken":null,"head_sha256":null})");
  const auto key = make_key(acme);
  make_key(other);
  admin("DELETE", "/v1/tenants/" + acme.id.text() + "/approver-keys/" + key->text("id"));
  const auto all = admin("GET", "/v1/admin/audit");
  EXPECT_EQ(all->status, 200);
  EXPECT_NE(all->body.find(R"("action":"approver_key.created","subject":")" + key->text("id") + R"(","actor":"admin")"),
            std::string::npos)
      << all->body;
  EXPECT_NE(all->body.find(R"("action":"approver_key.revoked")"), std::string::npos);
  EXPECT_EQ(all->body.find(key->text("secret")), std::string::npos);
  const auto first = admin("GET", "/v1/admin/audit?limit=2");
  EXPECT_EQ(first->member("has_more"), "true");
  EXPECT_EQ(first->text("next_cursor"), "2");
  const auto rest = admin("GET", "/v1/admin/audit?limit=2&after=2");
  EXPECT_EQ(rest->member("has_more"), "false");
  EXPECT_NE(rest->body.find(R"("number":3)"), std::string::npos);
  const auto of_other = admin("GET", "/v1/admin/audit?tenant_id=" + other.id.text());
  EXPECT_NE(of_other->body.find(R"("number":2)"), std::string::npos);
  EXPECT_EQ(of_other->body.find(R"("number":1)"), std::string::npos);
  const auto verified = admin("POST", "/v1/admin/audit/verify");
  EXPECT_EQ(verified->member("ok"), "true");
  EXPECT_EQ(verified->member("entries"), "3");
  EXPECT_NE(all->body.find(R"("sha256":)" + verified->member("head_sha256")), std::string::npos);
  for (const auto& query : Texts{"limit=0", "after=-1", "after=x", "tenant_id=x"}) {
    EXPECT_EQ(admin("GET", "/v1/admin/audit?" + query)->status, 422) << query;
  }
}

TEST_F(AuditTest, A_long_chain_is_verified_in_pages) {
  std::vector<model::AuditEntry> entries(1'203, {.action = "test.made", .subject = "x", .actor = "server"});
  store::append_audit(store.database(), std::move(entries), [](Result<Unit> kept) { ASSERT_TRUE(kept); });
  EXPECT_EQ(admin("POST", "/v1/admin/audit/verify")->member("entries"), "1203");
}

TEST_F(AuditTest, An_hmac_secret_lies_sealed_and_a_public_key_as_it_is) {
  const auto secret = make_key(acme)->text("secret");
  const auto public_key = std::string(32, 'p');
  admin("POST", "/v1/tenants/" + acme.id.text() + "/approver-keys",
        R"({"algorithm":"ed25519","public_key":")" + to_base64url(public_key) + "\"}");
  const auto keys = keys_of(acme);
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].material.find(secret), std::string::npos);
  EXPECT_EQ(sealer.open(acme.id, vault::context_of(keys[0].id), keys[0].material).take(), secret);
  EXPECT_EQ(keys[1].material, public_key);
}

TEST_F(AuditTest, After_a_change_of_the_key_everything_is_sealed_again) {
  const auto secret = make_key(acme)->text("secret");
  std::string many;
  for (int i = 0; i < 50; ++i) many += (i == 0 ? "\"S_" : ",\"S_") + std::to_string(i) + "\":\"value-of-it\"";
  const auto conversation = make_conversation();
  put("/v1/secrets", R"({"secrets":{)" + many + "}}");
  put("/v1/conversations/" + conversation + "/secrets", R"({"secrets":{)" + many + "}}");
  EXPECT_EQ(admin("POST", "/v1/admin/vault/rotate")->body,
            R"({"object":"vault_rotation","checked":101,"resealed":0,"unreadable":0})");

  vault::Sealer next({master_key('n'), master_key('k')}, entropy);
  api = make_api(
      {store, *engine, loop, ids, entropy, log, metrics, contents, workers, mint, next, *flows},
      {.public_base_url = "http://test", .admin_key_sha256 = sha256(admin_key), .console_session_root = "root"});
  EXPECT_EQ(admin("POST", "/v1/admin/vault/rotate")->body,
            R"({"object":"vault_rotation","checked":101,"resealed":101,"unreadable":0})");
  EXPECT_EQ(admin("POST", "/v1/admin/vault/rotate")->member("resealed"), "0");
  EXPECT_EQ(next.open(acme.id, vault::context_of(keys_of(acme)[0].id), keys_of(acme)[0].material).take(), secret);

  const vault::Sealer only_next({master_key('n')}, entropy);
  int opened = 0;
  store::secrets_of(store.database(), acme.id, model::SecretScope::tenant, acme.id.ulid,
                    [&](const Result<std::vector<model::SealedSecret>>& secrets) {
                      for (const auto& one : secrets.value()) {
                        const auto value = only_next.open(acme.id, vault::context_of(one), one.sealed);
                        opened += value && value.value() == "value-of-it" ? 1 : 0;
                      }
                    });
  loop.settle();
  EXPECT_EQ(opened, 50);
  EXPECT_NE(admin("GET", "/v1/admin/audit?limit=100")->body.find(R"("action":"vault.rotated")"), std::string::npos);
  api.reset();
}

}  // namespace audit_test
}  // namespace sluice::api
