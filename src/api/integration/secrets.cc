// Secrets on file (I-17), of a conversation, an agent or the whole tenant: put, their names, destroyed.
#include "api/answers/pages.h"
#include "api/handlers.h"
#include "api/inputs/secret_input.h"

namespace sluice::api::integration {
namespace {

using model::SecretScope;

constexpr std::string_view put_names[] = {"secrets"};

// Of what the path names; empty when that is no id.
template <typename AnyId>
std::optional<SecretOwner> owner_in_path(const RequestPtr& request, SecretScope scope) {
  const auto id = request->path_id<AnyId>();
  if (!id) return std::nullopt;
  return SecretOwner{scope, id->ulid, id->text()};
}

std::optional<SecretOwner> owner_of(const RequestPtr& request, SecretScope scope) {
  switch (scope) {
    case SecretScope::conversation: return owner_in_path<model::ConversationId>(request, scope);
    case SecretScope::agent: return owner_in_path<model::AgentId>(request, scope);
    case SecretScope::tenant: break;
  }
  return SecretOwner{scope, request->tenant().id.ulid, request->tenant().id.text()};
}

void answer_secrets(const RequestPtr& request, const SecretOwner& owner) {
  store::secrets_of(request->database(), request->tenant().id, owner.scope, owner.id,
                    [request](const Result<std::vector<model::SealedSecret>>& secrets) {
                      if (!secrets) return request->fail(secrets.error());
                      std::string out = R"({"object":"list","data":[)";
                      for (const auto& secret : secrets.value()) {
                        if (out.back() != '[') out += ',';
                        model::append_json(out, secret);
                      }
                      request->answer_json(200, out + R"(],"has_more":false,"next_cursor":null})");
                    });
}

void put(const RequestPtr& request, SecretScope scope) {
  const auto owner = owner_of(request, scope);
  if (!owner) return request->not_found();
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", put_names, findings);
  fields.require("secrets");
  auto secrets = read_secrets(fields);
  if (findings.errors.empty() && secrets.empty()) fields.refuse("secrets", "must have at least one entry");
  if (refused(request, findings)) return;
  keep_secrets(request, *owner, std::move(secrets), [request, owner = *owner] { answer_secrets(request, owner); });
}

// `look` asks the store for the owner, so that a missing owner and an owner without secrets get different answers.
template <typename AnyId, typename Look>
void list_of(const RequestPtr& request, SecretScope scope, Look look) {
  const auto owner = owner_in_path<AnyId>(request, scope);
  if (!owner) return request->not_found();
  look(request->database(), request->tenant().id, AnyId{owner->id}, [request, owner = *owner](const auto& found) {
    if (!found) return request->fail(found.error());
    answer_secrets(request, owner);
  });
}

void remove(const RequestPtr& request, SecretScope scope, std::size_t alias_at) {
  const auto owner = owner_of(request, scope);
  const auto alias = request->path_param(alias_at);
  if (!owner || !model::is_alias(alias)) return request->not_found();
  std::string detail = R"({"scope":")" + std::string(model::name_of(scope)) + R"(","aliases":[")";
  detail += std::string(alias) + R"("]})";
  store::delete_secret(request->database(), request->tenant().id, scope, owner->id, std::string(alias),
                       {audit_of(request, "secret.deleted", owner->name, std::move(detail))},
                       [request](const Result<Unit>& deleted) {
                         request->engine().secrets_changed(request->tenant().id);
                         if (!deleted) return request->fail(deleted.error());
                         request->no_content();
                       });
}

}  // namespace

void put_conversation_secrets(const RequestPtr& request) { put(request, SecretScope::conversation); }
void put_agent_secrets(const RequestPtr& request) { put(request, SecretScope::agent); }
void put_tenant_secrets(const RequestPtr& request) { put(request, SecretScope::tenant); }

void list_conversation_secrets(const RequestPtr& request) {
  list_of<model::ConversationId>(request, SecretScope::conversation, &store::conversation);
}
void list_agent_secrets(const RequestPtr& request) {
  list_of<model::AgentId>(request, SecretScope::agent, &store::agent);
}
void list_tenant_secrets(const RequestPtr& request) {
  answer_secrets(request, {SecretScope::tenant, request->tenant().id.ulid, {}});
}

void delete_conversation_secret(const RequestPtr& request) { remove(request, SecretScope::conversation, 1); }
void delete_agent_secret(const RequestPtr& request) { remove(request, SecretScope::agent, 1); }
void delete_tenant_secret(const RequestPtr& request) { remove(request, SecretScope::tenant, 0); }

}  // namespace sluice::api::integration
