#include "api/answers/pages.h"
#include "api/handlers.h"
#include "api/request/audit.h"
#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::api::admin {
namespace {

constexpr std::string_view service_key_names[] = {"name"};
constexpr std::string_view approver_key_names[] = {"name", "algorithm", "public_key"};
constexpr std::size_t ed25519_public_key_bytes = 32;
constexpr std::size_t hint_chars = 4;

// 256 random bits, as 43 characters.
std::string make_secret(const RequestPtr& request) {
  std::string bytes(32, '\0');
  request->services().needs.entropy.fill({reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  return to_base64url(bytes);
}

// The only answer with the secret; no cache may store it.
void answer_with_secret(const RequestPtr& request, std::string key_json, const std::optional<std::string>& secret) {
  if (secret) {
    key_json.pop_back();
    key_json += R"(,"secret":")" + *secret + R"("})";
  }
  request->answer_json(201, std::move(key_json), {{"Cache-Control", "no-store"}});
}

struct ApproverMaterial {
  std::string bytes;                  // to verify with
  std::optional<std::string> secret;  // to hand out
};

std::optional<ApproverMaterial> read_material(const RequestPtr& request, const Fields& fields,
                                              model::SignatureAlgorithm algorithm) {
  const auto public_key = fields.text("public_key", {});
  if (algorithm == model::SignatureAlgorithm::hmac_sha256) {
    if (public_key) fields.refuse("public_key", "belongs to ed25519; an hmac-sha256 secret is made by the server");
    auto secret = make_secret(request);
    return ApproverMaterial{secret, secret};
  }
  fields.require("public_key");
  if (!public_key) return std::nullopt;
  const auto bytes = from_base64url(*public_key);
  if (bytes && bytes->size() == ed25519_public_key_bytes) return ApproverMaterial{*bytes, std::nullopt};
  fields.refuse("public_key", "must be 32 bytes in base64url without padding");
  return std::nullopt;
}

void record_key(const RequestPtr& request, std::string action, const model::ApproverKey& key, Callback<void()> then) {
  std::string detail;
  json::Writer writer(detail);
  writer.begin_object().key("name").string(key.name);
  writer.key("algorithm").string(model::name_of(key.algorithm)).end_object();
  record_of_operator(
      request, {.tenant_id = key.tenant_id, .action = std::move(action), .subject = key.id.text(), .detail = detail},
      std::move(then));
}

template <typename Key, typename AnyId>
void answer_keys(const RequestPtr& request, model::TenantId tenant, const store::PageQuery<AnyId>& query,
                 const Result<store::Page<Key>>& page) {
  answer_page_of(request, query, page, [&](auto then) { store::tenant(request->database(), tenant, std::move(then)); });
}

}  // namespace

void list_service_keys(const RequestPtr& request) {
  const auto tenant = request->path_id<model::TenantId>();
  if (!tenant) return request->not_found();
  const auto query = read_page_query<model::ServiceKeyId>(request);
  if (!query) return;
  store::service_keys(request->database(), *tenant, *query,
                      [request, tenant, query](const Result<store::Page<model::ServiceKey>>& page) {
                        answer_keys(request, *tenant, *query, page);
                      });
}

void create_service_key(const RequestPtr& request) {
  const auto tenant = request->path_id<model::TenantId>();
  if (!tenant) return request->not_found();
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", service_key_names, findings);
  model::ServiceKey key;
  key.name = fields.text("name", title_rule).value_or("");
  if (refused(request, findings)) return;

  std::string secret = "sk_int_" + make_secret(request);
  key.id = request->ids().make<model::ServiceKeyId>();
  key.tenant_id = *tenant;
  key.secret_sha256 = sha256(secret);
  key.hint = secret.substr(secret.size() - hint_chars);
  key.created_at = request->now();
  store::create_service_key(request->database(), key,
                            [request, key, secret = std::move(secret)](const Result<Unit>& made) {
                              if (!made) return request->fail(made.error());
                              answer_with_secret(request, model::to_json(key), secret);
                            });
}

void revoke_service_key(const RequestPtr& request) {
  const auto tenant = request->path_id<model::TenantId>();
  const auto id = request->path_id<model::ServiceKeyId>(1);
  if (!tenant || !id) return request->not_found();
  store::revoke_service_key(request->database(), *tenant, *id, request->now(),
                            [request](const Result<model::ServiceKey>& key) {
                              // Also when it failed: the outcome may be unknown.
                              request->services().authentication.forget();
                              if (!key) return request->fail(key.error());
                              request->answer_json(200, model::to_json(key.value()));
                            });
}

void list_approver_keys(const RequestPtr& request) {
  const auto tenant = request->path_id<model::TenantId>();
  if (!tenant) return request->not_found();
  const auto query = read_page_query<model::ApproverKeyId>(request);
  if (!query) return;
  store::approver_keys(request->database(), *tenant, *query,
                       [request, tenant, query](const Result<store::Page<model::ApproverKey>>& page) {
                         answer_keys(request, *tenant, *query, page);
                       });
}

void create_approver_key(const RequestPtr& request) {
  const auto tenant = request->path_id<model::TenantId>();
  if (!tenant) return request->not_found();
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", approver_key_names, findings);
  model::ApproverKey key;
  key.name = fields.text("name", title_rule).value_or("");
  fields.require("algorithm");
  std::optional<ApproverMaterial> material;
  if (!fields.null("algorithm")) {
    const auto algorithm = fields.word("algorithm", model::signature_algorithm_named, "hmac-sha256, ed25519");
    if (algorithm) {
      key.algorithm = *algorithm;
      material = read_material(request, fields, *algorithm);
    }
  }
  if (refused(request, findings)) return;

  key.id = request->ids().make<model::ApproverKeyId>();
  key.tenant_id = *tenant;
  key.material = std::move(material->bytes);
  if (material->secret) {
    key.material = request->services().needs.sealer.seal(*tenant, vault::context_of(key.id), key.material);
  }
  key.created_at = request->now();
  store::create_approver_key(
      request->database(), key, [request, key, secret = std::move(material->secret)](const Result<Unit>& made) {
        if (!made) return request->fail(made.error());
        record_key(request, "approver_key.created", key,
                   [request, key, secret] { answer_with_secret(request, model::to_json(key), secret); });
      });
}

void revoke_approver_key(const RequestPtr& request) {
  const auto tenant = request->path_id<model::TenantId>();
  const auto id = request->path_id<model::ApproverKeyId>(1);
  if (!tenant || !id) return request->not_found();
  store::revoke_approver_key(
      request->database(), *tenant, *id, request->now(), [request](const Result<model::ApproverKey>& key) {
        if (!key) return request->fail(key.error());
        record_key(request, "approver_key.revoked", key.value(),
                   [request, json = model::to_json(key.value())] { request->answer_json(200, json); });
      });
}

}  // namespace sluice::api::admin
