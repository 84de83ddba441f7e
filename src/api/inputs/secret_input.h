// Secrets in a request. Their values never appear in an answer, even if they are invalid; nor does an invalid alias,
// because it may be a value in the wrong place.
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
  std::optional<std::vector<std::string>> hosts;  // empty: the client names no hosts
  std::optional<uint8_t> places;
};

// `secrets`: {ALIAS: "value" | {"value", "hosts"?, "places"?}}, at most 50. What is invalid is in the findings.
std::vector<SecretInput> read_secrets(const Fields& fields);

// The owner of secrets.
struct SecretOwner {
  model::SecretScope scope = model::SecretScope::conversation;
  Ulid id;
  std::string name;  // "con_…", for the audit chain
};

std::vector<model::SealedSecret> seal(const RequestPtr& request, const SecretOwner& owner,
                                      std::vector<SecretInput> secrets);

// The entry of the audit chain for stored secrets.
model::AuditEntry audit_of_put(const RequestPtr& request, const SecretOwner& owner,
                               const std::vector<model::SealedSecret>& secrets);

// Stores the secrets and informs the engine, then calls `then`; answers the request if that fails.
void keep_secrets(const RequestPtr& request, const SecretOwner& owner, std::vector<SecretInput> secrets,
                  Callback<void()> then);

// An entry of the audit chain for an action of the caller.
model::AuditEntry audit_of(const RequestPtr& request, std::string action, std::string subject, std::string detail);

}  // namespace sluice::api
