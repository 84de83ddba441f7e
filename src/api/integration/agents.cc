#include <algorithm>

#include "api/answers/pages.h"
#include "api/handlers.h"
#include "api/inputs/kit_input.h"
#include "api/inputs/message_input.h"
#include "api/integration/model_input.h"
#include "api/request/waiting.h"
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

std::optional<model::Policy> read_policy(const Fields& fields) {
  if (fields.null("policy")) return model::Policy{};
  const auto rules = fields.objects("policy", rule_names, rules_max);
  if (!rules) return std::nullopt;
  model::Policy out;
  for (const auto& rule : *rules) out.push_back(read_rule(rule));
  return out;
}

constexpr std::string_view agent_names[] = {"name",           "system_prompt", "model",      "limits",     "skill_ids",
                                            "environment_id", "policy",        "is_default", "agent_type", "command",
                                            "mcp_servers",    "tools",         "code_mode",  "workspace"};
constexpr std::string_view limit_names[] = {"max_output_tokens", "max_runtime_seconds", "max_history_messages"};

constexpr TextRule prompt_rule{.chars_max = limits::message_content_bytes_max,
                               .bytes_max = limits::message_content_bytes_max};

// What is left out has its default.
std::optional<model::AgentLimits> read_limits(const Fields& fields) {
  if (fields.null("limits")) return model::AgentLimits{};
  const auto inner = fields.object("limits", limit_names);
  if (!inner) return std::nullopt;
  model::AgentLimits out;
  out.max_output_tokens = inner->integer("max_output_tokens", 1, 1'000'000).value_or(out.max_output_tokens);
  out.max_runtime_seconds = inner->integer("max_runtime_seconds", 1, 86'400).value_or(out.max_runtime_seconds);
  out.max_history_messages =
      inner->integer("max_history_messages", 0, limits::history_messages_max).value_or(out.max_history_messages);
  return out;
}

void fail(const RequestPtr& request, const Error& error, const std::string& name) {
  fail_to_name<model::Agent>(request, &store::agents, error, name);
}

std::optional<std::vector<model::SkillId>> read_skills(const Fields& fields) {
  if (fields.null("skill_ids")) return std::vector<model::SkillId>{};
  const auto texts = fields.texts("skill_ids", limits::skill_ids_max);
  if (!texts) return std::nullopt;
  std::vector<model::SkillId> out;
  for (std::size_t i = 0; i < texts->size(); ++i) {
    const auto id = model::SkillId::parse((*texts)[i]);
    const auto at = "skill_ids/" + std::to_string(i);
    if (!id) {
      fields.refuse_at(at, "is not the id of a skill");
    } else if (std::ranges::find(out, *id) != out.end()) {
      fields.refuse_at(at, "is named twice");
    } else {
      out.push_back(*id);
    }
  }
  return out;
}

std::optional<std::optional<model::EnvironmentId>> read_environment(const Fields& fields) {
  if (fields.null("environment_id")) return std::optional<model::EnvironmentId>{};
  const auto id = fields.id<model::EnvironmentId>("environment_id", "an environment");
  if (!id) return std::nullopt;
  return id;
}

NamedMaterials named_by_agent(const std::vector<model::SkillId>& skills,
                              const std::optional<model::EnvironmentId>& environment) {
  NamedMaterials out{.environment_member = "environment_id"};
  for (const auto& id : skills) out.names.skills.push_back(id.text());
  if (environment) out.names.environment = environment->text();
  return out;
}

// A sandbox sees how agents are made, but not what they show to others: a header or a variable may be a key.
void hide_from_sandboxes(const RequestPtr& request, model::Agent& agent) {
  if (!request->caller().is_sandbox()) return;
  for (auto& server : agent.kit.mcp_servers) {
    server.headers.clear();
    server.environment.clear();
    server.oauth.reset();
  }
}

// True when the request was answered with a problem.
bool refused_for_model(const RequestPtr& request, const model::Agent& agent) {
  const auto& fault_of = request->services().options.fault_of_model;
  auto fault = fault_of ? fault_of(agent) : std::string();
  if (fault.empty()) return false;
  request->invalid("/model", std::move(fault));
  return true;
}

Task<> has_materials(const RequestPtr& request, NamedMaterials named) {
  co_await answer<store::FoundMaterials>(
      [&](auto done) { find_materials(request, std::move(named), std::move(done)); });
}

Task<std::optional<model::ModelChoice>> resolved(const RequestPtr& request, std::optional<ModelInput> input) {
  co_return co_await answer<std::optional<model::ModelChoice>>(
      [&](auto done) { resolve_model(request, std::move(input), std::move(done)); });
}

Task<> create(RequestPtr request, model::Agent agent, std::optional<ModelInput> its_model) {
  co_await has_materials(request, named_by_agent(agent.skill_ids, agent.environment_id));
  const auto choice = co_await resolved(request, std::move(its_model));
  agent.model = choice.value_or(request->services().options.default_model);
  if (refused_for_model(request, agent)) co_return;
  const auto made = co_await asked<Unit>(request, &store::create_agent, agent);
  if (!made) co_return fail(request, made.error(), agent.name);
  request->created("/v1/agents/" + agent.id.text(), model::to_json(agent));
}

// `after`: the agent as it will be, if it may have a model that it cannot run with.
Task<> update(RequestPtr request, model::AgentId id, store::AgentPatch patch, NamedMaterials named,
              std::optional<ModelInput> its_model, std::optional<model::Agent> after) {
  co_await has_materials(request, std::move(named));
  patch.model = co_await resolved(request, std::move(its_model));
  if (after && patch.model) after->model = *patch.model;
  if (after && refused_for_model(request, *after)) co_return;
  const std::string name = patch.name.value_or("");
  const auto agent = co_await asked<model::Agent>(request, &store::update_agent, request->tenant().id, id,
                                                  std::move(patch), request->now());
  if (!agent) co_return fail(request, agent.error(), name);
  request->answer_json(200, model::to_json(agent.value()));
}

// `before`: the agent as it is now, where the caller changes what it is made of.
void patch_agent(const RequestPtr& request, model::AgentId id, const std::optional<model::Agent>& before) {
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", agent_names, findings);
  store::AgentPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.system_prompt = fields.null("system_prompt") ? std::string() : fields.text("system_prompt", prompt_rule);
  auto its_model = read_model(request, fields, Null::refused);
  patch.limits = read_limits(fields);
  patch.skill_ids = read_skills(fields);
  patch.environment_id = read_environment(fields);
  patch.policy = read_policy(fields);
  if (names_kit(fields) && before) patch.kit = read_kit(request, fields, before->kit);
  patch.is_default = fields.boolean("is_default", Null::refused);
  if (patch.is_default == false) fields.refuse("is_default", "can only be true; make another agent the default");
  if (refused(request, findings)) return;

  auto named = named_by_agent(patch.skill_ids.value_or(std::vector<model::SkillId>{}),
                              patch.environment_id.value_or(std::nullopt));
  // What runs with this model is looked at when the caller changes one of the two.
  auto after = fields.given("model") || fields.given("agent_type") ? before : std::nullopt;
  if (after && patch.kit) after->kit = *patch.kit;
  start_unowned(update(request, id, std::move(patch), std::move(named), std::move(its_model), std::move(after)));
}

}  // namespace

void list_agents(const RequestPtr& request) { list_rows<model::Agent>(request, &store::agents, hide_from_sandboxes); }

void create_agent(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", agent_names, findings);
  model::Agent agent;
  fields.require("name");
  agent.name = fields.text("name", name_rule).value_or("");
  agent.system_prompt = fields.text("system_prompt", prompt_rule).value_or("");
  auto its_model = read_model(request, fields, Null::as_absent);
  agent.limits = read_limits(fields).value_or(model::AgentLimits{});
  agent.skill_ids = read_skills(fields).value_or(std::vector<model::SkillId>{});
  agent.environment_id = read_environment(fields).value_or(std::nullopt);
  agent.policy = read_policy(fields).value_or(model::Policy{});
  agent.kit = read_kit(request, fields, {});
  agent.is_default = fields.boolean("is_default").value_or(false);
  if (refused(request, findings)) return;

  agent.id = request->ids().make<model::AgentId>();
  agent.tenant_id = request->tenant().id;
  agent.created_at = agent.updated_at = request->now();
  start_unowned(create(request, std::move(agent), std::move(its_model)));
}

void get_agent(const RequestPtr& request) { get_row<model::Agent>(request, &store::agent, hide_from_sandboxes); }

void update_agent(const RequestPtr& request) {
  const auto id = request->path_id<model::AgentId>();
  if (!id) return request->not_found();
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", agent_names, findings);
  if (!names_kit(fields) && !fields.given("model")) return patch_agent(request, *id, std::nullopt);
  with_row<model::Agent>(request, &store::agent,
                         [request](const model::Agent& agent) { patch_agent(request, agent.id, agent); });
}

void delete_agent(const RequestPtr& request) {
  delete_row<model::Agent>(request, &store::delete_agent, "This is the default agent, or a conversation uses it.");
}

}  // namespace sluice::api::integration
