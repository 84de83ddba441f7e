// What every store says of secrets that are too many.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace sluice::store {

// `count` says how many an owner has, `has` whether one is among them already.
inline std::optional<Error> refusal_of_count(const std::vector<model::SealedSecret>& secrets,
                                             const std::function<int64_t(const model::SealedSecret&)>& count,
                                             const std::function<bool(const model::SealedSecret&)>& has) {
  std::map<std::pair<model::SecretScope, Ulid>, int64_t> added;
  for (const auto& secret : secrets) {
    if (!has(secret)) ++added[{secret.scope, secret.owner}];
  }
  for (const auto& secret : secrets) {
    const auto more = added.find({secret.scope, secret.owner});
    if (more == added.end() || count(secret) + more->second <= secrets_per_owner_max) continue;
    return Error{ErrorKind::invalid, "would be more than " + std::to_string(secrets_per_owner_max) +
                                         " secrets of this " + std::string(model::name_of(secret.scope)) +
                                         "; delete some first"};
  }
  return std::nullopt;
}

}  // namespace sluice::store
