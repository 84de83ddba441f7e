// A parked run, and the approver who holds the keys to it.
#pragma once

#include <map>
#include <string>

#include "api/api_fixture.h"
#include "base/bytes.h"
#include "gates/gates.h"

namespace sluice::api {

class ApprovalTest : public ApiTest {
 protected:
  struct Key {
    std::string id;
    std::string secret;
  };

  Key make_key(const TenantInHand& tenant) {
    const auto made = admin("POST", "/v1/tenants/" + tenant.id.text() + "/approver-keys",
                            R"({"name":"desk","algorithm":"hmac-sha256"})");
    return {made->text("id"), made->text("secret")};
  }

  // A message of a new conversation, whose run asks; what it asks for.
  void park(std::vector<model::RequestedItem> items, std::string conversation_body = "{}") {
    conversation = make_conversation(std::move(conversation_body));
    stream = send(conversation, "hello");
    agent_asks(std::move(items));
    const auto list = get("/v1/approvals?conversation_id=" + conversation + "&status=pending");
    const auto document = json::Document::parse(list->body);
    ASSERT_TRUE(document) << list->body;
    document.value().root().find("data")->each_element([&](json::Value row) { approval = *row.find("id")->string(); });
    ASSERT_TRUE(approval.starts_with("apr_")) << list->body;
  }

  int64_t in_seconds(int64_t seconds) const { return loop.now().ms / 1000 + seconds; }

  // Signed by `key` as it must be, for as long as the test does not change it.
  gates::Signature sign(const Key& key, bool approve, const std::string& id, int64_t exp) const {
    gates::Signature out{.key_id = key.id, .algorithm = "hmac-sha256", .exp = exp};
    resign(out, key, approve, id);
    return out;
  }
  static void resign(gates::Signature& signature, const Key& key, bool approve, const std::string& id) {
    const auto payload = gates::payload_of(*model::ApprovalId::parse(id), approve, signature);
    signature.value = gates::sign(payload, model::SignatureAlgorithm::hmac_sha256, key.secret).take();
  }

  static std::string body_of(const gates::Signature& signature, const std::string& rest = "") {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("signature").begin_object();
    writer.key("key_id").string(signature.key_id).key("algorithm").string(signature.algorithm);
    writer.key("exp").integer(signature.exp).key("value").string(signature.value);
    if (signature.items_digest) writer.key("items_digest").string(*signature.items_digest);
    if (signature.secrets_digest) writer.key("secrets_digest").string(*signature.secrets_digest);
    writer.end_object().end_object();
    out.pop_back();
    return out + rest + "}";
  }

  Answer decide(bool approve, std::string body) {
    return post("/v1/approvals/" + approval + (approve ? "/approve" : "/deny"), std::move(body));
  }
  Answer approve(const Key& key, const std::string& rest = "") {
    return decide(true, body_of(sign(key, true, approval, in_seconds(300)), rest));
  }
  Answer deny(const Key& key, const std::string& rest = "") {
    return decide(false, body_of(sign(key, false, approval, in_seconds(300)), rest));
  }
  std::string status() { return get("/v1/approvals/" + approval)->text("status"); }

  std::vector<model::SealedSecret> on_file() {
    std::vector<model::SealedSecret> out;
    store::secrets_of(store.database(), acme.id, model::SecretScope::conversation,
                      model::ConversationId::parse(conversation)->ulid,
                      [&](Result<std::vector<model::SealedSecret>> found) { out = std::move(found).take(); });
    loop.settle();
    return out;
  }
  std::string audit_text() { return admin("GET", "/v1/admin/audit?limit=100")->body; }

  std::string conversation;
  std::string approval;
  Answer stream;
};

inline model::RequestedItem an_action() { return {.description = "Delete the branch."}; }
inline model::RequestedItem a_secret(std::string alias, std::vector<std::string> hosts = {}) {
  return {
      .kind = model::ItemKind::secret, .description = "A key.", .alias = std::move(alias), .hosts = std::move(hosts)};
}

}  // namespace sluice::api
