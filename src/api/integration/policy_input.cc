#include "api/integration/policy_input.h"

#include <algorithm>

#include "gates/gates.h"
#include "vault/vault.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view rule_names[] = {"effect", "tool", "command", "file", "host", "reason", "secrets", "ports"};
constexpr std::string_view subject_names[] = {"tool", "command", "file", "host"};
constexpr std::size_t rules_max = 100;
constexpr std::size_t ports_max = 32;
constexpr TextRule pattern_rule{.chars_min = 1, .chars_max = 1'000};
constexpr TextRule reason_rule{.chars_max = 500};

// The member that says what the rule is about; empty when there is none or more than one.
std::optional<std::string_view> subject_of(const Fields& rule) {
  std::optional<std::string_view> out;
  for (const auto name : subject_names) {
    if (!rule.given(name) || rule.null(name)) continue;
    if (out) {
      rule.refuse(name, "must not stand beside " + std::string(*out) + "; make it two rules");
      return std::nullopt;
    }
    out = name;
  }
  if (!out) rule.refuse_at("host", "one of tool, command, file and host is required");
  return out;
}

void read_secret_aliases(const Fields& fields, model::PolicyRule& out) {
  const auto aliases = fields.texts("secrets", vault::secrets_per_request_max);
  if (!aliases || aliases->empty()) return;
  if (out.subject != model::Subject::host || out.effect == model::Effect::deny) {
    return fields.refuse("secrets", "belong to a host that is allowed or asked for");
  }
  for (std::size_t i = 0; i < aliases->size(); ++i) {
    if ((*aliases)[i] != "*" && !model::is_alias((*aliases)[i])) {
      fields.refuse_at("secrets/" + std::to_string(i), R"(must be an alias, ^[A-Z][A-Z0-9_]{0,63}$, or "*")");
    }
  }
  out.secrets = *aliases;
}

void read_ports(const Fields& fields, model::PolicyRule& out) {
  const auto ports = fields.integers("ports", 1, 65'535, ports_max);
  if (!ports || ports->empty()) return;
  if (out.subject != model::Subject::host || out.effect == model::Effect::deny) {
    return fields.refuse("ports",
                         "belong to a host that is allowed or asked for; a host that is denied is so on every port");
  }
  for (const auto port : *ports) out.ports.push_back(static_cast<uint16_t>(port));
}

model::PolicyRule read_rule(const Fields& fields) {
  model::PolicyRule out;
  // Elsewhere what is unknown is ignored; a rule that means less than its writer thinks is dangerous.
  for (const auto& name : fields.names()) {
    if (std::ranges::find(rule_names, name) == std::end(rule_names)) {
      fields.refuse_at(name, "is no member of a rule: effect, tool, command, file, host, reason, secrets, ports");
    }
  }
  fields.require("effect");
  if (fields.given("effect") && !fields.null("effect")) {
    out.effect = fields.word("effect", model::effect_named, "allow, ask, deny").value_or(out.effect);
  }
  out.reason = fields.text("reason", reason_rule).value_or("");
  const auto subject = subject_of(fields);
  if (!subject) return out;
  out.subject = model::subject_named(*subject).value_or(out.subject);
  read_secret_aliases(fields, out);
  read_ports(fields, out);
  auto pattern = fields.text(*subject, pattern_rule);
  if (!pattern) return out;
  out.pattern = std::move(*pattern);
  if (const auto checked = gates::check_rule(out); !checked) fields.refuse(*subject, checked.error().what);
  return out;
}

}  // namespace

std::optional<model::Policy> read_policy(const Fields& fields) {
  if (fields.null("policy")) return model::Policy{};
  const auto rules = fields.objects("policy", rule_names, rules_max);
  if (!rules) return std::nullopt;
  model::Policy out;
  for (const auto& rule : *rules) out.push_back(read_rule(rule));
  return out;
}

}  // namespace sluice::api::integration
