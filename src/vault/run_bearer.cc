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
  const std::string named = owner.run.text() + "." + owner.tenant.text();
  return std::string(prefix) + named + "." + to_base64url(hmac_sha256(root, proven(named)));
}

std::optional<BoxOwner> owner_of_bearer(std::string_view root, std::string_view bearer) {
  if (root.empty() || !bearer.starts_with(prefix)) return std::nullopt;
  bearer.remove_prefix(prefix.size());
  const auto dot = bearer.find('.');
  const auto last = bearer.rfind('.');
  if (dot == std::string_view::npos || dot == last) return std::nullopt;
  const auto named = bearer.substr(0, last);
  if (!equal_in_constant_time(bearer.substr(last + 1), to_base64url(hmac_sha256(root, proven(named))))) {
    return std::nullopt;
  }
  const auto run = model::RunId::parse(named.substr(0, dot));
  const auto tenant = model::TenantId::parse(named.substr(dot + 1));
  if (!run || !tenant) return std::nullopt;
  return BoxOwner{*tenant, *run};
}

}  // namespace sluice::vault
