// Secrets as a caller supplies them. Their values are never told again, not even when they are wrong;
// nor is a name that is no alias, because it may be a value in the wrong place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/request/fields.h"
#include "api/request/request_context.h"

namespace sluice::api {

struct SecretInput {
  std::string alias;
  std::string value;
  std::optional<std::vector<std::string>> hosts;  // empty: the caller names none
  std::optional<uint8_t> places;
};

// `secrets`: {ALIAS: "value" | {"value", "hosts"?, "places"?}}, at most 50. What is wrong is in the findings.
std::vector<SecretInput> read_secrets(const Fields& fields);

// Whose they are.
struct SecretOwner {
  model::SecretScope scope = model::SecretScope::conversation;
  Ulid id;
  std::string name;  // "con_…", for the audit chain
};

std::vector<model::SealedSecret> seal(const RequestPtr& request, const SecretOwner& owner,
                                      std::vector<SecretInput> secrets);

// That they were put, for the audit chain.
model::AuditEntry audit_of_put(const RequestPtr& request, const SecretOwner& owner,
                               const std::vector<model::SealedSecret>& secrets);

// Keeps them and tells the engine; on failure the caller is told, and `then` is not called.
void keep_secrets(const RequestPtr& request, const SecretOwner& owner, std::vector<SecretInput> secrets,
                  Callback<void()> then);

// An entry for the audit chain about the caller's own deed.
model::AuditEntry audit_of(const RequestPtr& request, std::string action, std::string subject, std::string detail);

}  // namespace sluice::api
