// Secrets on file (I-17), of a conversation, an agent or the whole tenant: put, their names, destroyed.
#include "api/integration/handlers.h"
#include "api/integration/secret_input.h"
#include "api/pages.h"

namespace sluice::api::integration {
namespace {

using model::SecretScope;

constexpr std::string_view put_names[] = {"secrets"};

// Of what the path names; empty when that is no id.
template <typename AnyId>
std::optional<SecretOwner> owner_in_path(const Asked& asked, SecretScope scope) {
  const auto id = asked->path_id<AnyId>();
  if (!id) return std::nullopt;
  return SecretOwner{scope, id->ulid, id->text()};
}

std::optional<SecretOwner> owner_of(const Asked& asked, SecretScope scope) {
  switch (scope) {
    case SecretScope::conversation: return owner_in_path<model::ConversationId>(asked, scope);
    case SecretScope::agent: return owner_in_path<model::AgentId>(asked, scope);
    case SecretScope::tenant: break;
  }
  return SecretOwner{scope, asked->tenant().id.ulid, asked->tenant().id.text()};
}

void answer_secrets(const Asked& asked, const SecretOwner& owner) {
  asked->store().secrets_of(asked->tenant().id, owner.scope, owner.id,
                            [asked](const Result<std::vector<model::SealedSecret>>& secrets) {
                              if (!secrets) return asked->fail(secrets.error());
                              std::string out = R"({"object":"list","data":[)";
                              for (const auto& secret : secrets.value()) {
                                if (out.back() != '[') out += ',';
                                model::append_json(out, secret);
                              }
                              asked->answer_json(200, out + R"(],"has_more":false,"next_cursor":null})");
                            });
}

void put(const Asked& asked, SecretScope scope) {
  const auto owner = owner_of(asked, scope);
  if (!owner) return asked->not_found();
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", put_names, findings);
  fields.require("secrets");
  auto secrets = read_secrets(fields);
  if (findings.errors.empty() && secrets.empty()) fields.refuse("secrets", "must have at least one entry");
  if (refused(asked, findings)) return;
  keep_secrets(asked, *owner, std::move(secrets), [asked, owner = *owner] { answer_secrets(asked, owner); });
}

// `look` asks the store for the owner, so that there is a difference between nobody and nothing.
template <typename AnyId, typename Look>
void list_of(const Asked& asked, SecretScope scope, Look look) {
  const auto owner = owner_in_path<AnyId>(asked, scope);
  if (!owner) return asked->not_found();
  (asked->store().*look)(asked->tenant().id, AnyId{owner->id}, [asked, owner = *owner](const auto& found) {
    if (!found) return asked->fail(found.error());
    answer_secrets(asked, owner);
  });
}

void remove(const Asked& asked, SecretScope scope, std::size_t alias_at) {
  const auto owner = owner_of(asked, scope);
  const auto alias = asked->path_param(alias_at);
  if (!owner || !model::is_alias(alias)) return asked->not_found();
  std::string detail = R"({"scope":")" + std::string(model::name_of(scope)) + R"(","aliases":[")";
  detail += std::string(alias) + R"("]})";
  asked->store().delete_secret(asked->tenant().id, scope, owner->id, std::string(alias),
                               {audit_of(asked, "secret.deleted", owner->name, std::move(detail))},
                               [asked](const Result<Unit>& deleted) {
                                 asked->engine().secrets_changed(asked->tenant().id);
                                 if (!deleted) return asked->fail(deleted.error());
                                 asked->no_content();
                               });
}

}  // namespace

void put_conversation_secrets(const Asked& asked) { put(asked, SecretScope::conversation); }
void put_agent_secrets(const Asked& asked) { put(asked, SecretScope::agent); }
void put_tenant_secrets(const Asked& asked) { put(asked, SecretScope::tenant); }

void list_conversation_secrets(const Asked& asked) {
  list_of<model::ConversationId>(asked, SecretScope::conversation, &store::Store::conversation);
}
void list_agent_secrets(const Asked& asked) {
  list_of<model::AgentId>(asked, SecretScope::agent, &store::Store::agent);
}
void list_tenant_secrets(const Asked& asked) {
  answer_secrets(asked, {SecretScope::tenant, asked->tenant().id.ulid, {}});
}

void delete_conversation_secret(const Asked& asked) { remove(asked, SecretScope::conversation, 1); }
void delete_agent_secret(const Asked& asked) { remove(asked, SecretScope::agent, 1); }
void delete_tenant_secret(const Asked& asked) { remove(asked, SecretScope::tenant, 0); }

}  // namespace sluice::api::integration
