#include "base/bytes.h"
#include "base/digest.h"
#include "vault/vault.h"

namespace sluice::vault {
namespace {

constexpr std::string_view prefix = "asbx_";

std::string proven(std::string_view named) { return "the box of " + std::string(named); }

}  // namespace

std::string bearer_of(std::string_view root, const BoxOwner& owner) {
  SLUICE_CHECK(!root.empty());
  const std::string named = owner.run.text() + "." + owner.tenant.text() + "." + std::string(name_of(owner.use));
  return std::string(prefix) + named + "." + to_base64url(hmac_sha256(root, proven(named)));
}

std::optional<BoxOwner> owner_of_bearer(std::string_view root, std::string_view bearer) {
  if (root.empty() || !bearer.starts_with(prefix)) return std::nullopt;
  bearer.remove_prefix(prefix.size());
  const auto last = bearer.rfind('.');
  if (last == std::string_view::npos) return std::nullopt;
  const auto named = bearer.substr(0, last);
  if (!equal_in_constant_time(bearer.substr(last + 1), to_base64url(hmac_sha256(root, proven(named))))) {
    return std::nullopt;
  }
  const auto first = named.find('.');
  const auto second = named.rfind('.');
  if (first == std::string_view::npos || first == second) return std::nullopt;
  const auto run = model::RunId::parse(named.substr(0, first));
  const auto tenant = model::TenantId::parse(named.substr(first + 1, second - first - 1));
  const auto use = model::workspace_use_named(named.substr(second + 1));
  if (!run || !tenant || !use) return std::nullopt;
  return BoxOwner{*tenant, *run, *use};
}

}  // namespace sluice::vault
