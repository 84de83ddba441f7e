#include "model/gates.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/json.h"
#include "model/enum_names.h"

namespace sluice::model {
namespace {

constexpr std::array<std::string_view, 3> effect_names = {"allow", "ask", "deny"};
constexpr std::array<std::string_view, 4> subject_names = {"tool", "command", "file", "host"};
constexpr std::array<std::string_view, 3> item_kind_names = {"action", "secret", "client_tool"};
constexpr std::array<std::string_view, 4> approval_status_names = {"pending", "approved", "denied", "expired"};
constexpr std::array<std::string_view, 3> secret_scope_names = {"conversation", "agent", "tenant"};
constexpr std::array<std::string_view, 2> placement_mode_names = {"pooled", "sticky"};
constexpr std::array<std::string_view, 4> sandbox_state_names = {"none", "warm", "running", "parked"};

struct NamedPlace {
  SecretPlace place;
  std::string_view name;
};
constexpr std::array<NamedPlace, 4> place_names = {
    {{place_header, "header"}, {place_query, "query"}, {place_body, "body"}, {place_basic, "basic"}}};

constexpr std::size_t alias_chars_max = 64;

}  // namespace

std::string_view name_of(Effect effect) { return name_in(effect_names, effect); }
std::string_view name_of(Subject subject) { return name_in(subject_names, subject); }
std::optional<Effect> effect_named(std::string_view name) { return named<Effect>(effect_names, name); }
std::optional<Subject> subject_named(std::string_view name) { return named<Subject>(subject_names, name); }

std::string_view name_of(ItemKind kind) { return name_in(item_kind_names, kind); }
std::string_view name_of(ApprovalStatus status) { return name_in(approval_status_names, status); }
std::optional<ApprovalStatus> approval_status_named(std::string_view name) {
  return named<ApprovalStatus>(approval_status_names, name);
}

bool is_alias(std::string_view text) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  return !text.empty() && text.size() <= alias_chars_max && is_upper(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_upper(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::string_view name_of(SecretScope scope) { return name_in(secret_scope_names, scope); }
std::optional<SecretScope> secret_scope_named(std::string_view name) {
  return named<SecretScope>(secret_scope_names, name);
}

std::optional<SecretPlace> secret_place_named(std::string_view name) {
  const auto found = std::ranges::find(place_names, name, &NamedPlace::name);
  if (found == place_names.end()) return std::nullopt;
  return found->place;
}

std::vector<std::string_view> names_of_places(uint8_t places) {
  std::vector<std::string_view> names;
  for (const auto& [place, name] : place_names) {
    if ((places & place) != 0) names.push_back(name);
  }
  return names;
}

std::string digest_of(const AuditEntry& entry) {
  std::string canonical;
  json::Writer writer(canonical);
  writer.begin_object().key("previous_sha256").string(to_hex(entry.previous_sha256));
  writer.key("number").integer(entry.number).key("at").string(to_rfc3339(entry.at));
  writer.key("tenant_id");
  entry.tenant_id ? writer.string(entry.tenant_id->text()) : writer.null();
  writer.key("action").string(entry.action).key("subject").string(entry.subject).key("actor").string(entry.actor);
  writer.key("detail").string(entry.detail).end_object();
  return sha256(canonical);
}

std::string_view name_of(PlacementMode mode) { return name_in(placement_mode_names, mode); }
std::optional<PlacementMode> placement_mode_named(std::string_view name) {
  return named<PlacementMode>(placement_mode_names, name);
}
std::string_view name_of(SandboxState state) { return name_in(sandbox_state_names, state); }

}  // namespace sluice::model
