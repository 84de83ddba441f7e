#include <algorithm>

#include "api/integration/base_url.h"
#include "api/integration/handlers.h"
#include "api/integration/kit_input.h"
#include "api/integration/named_materials.h"
#include "api/integration/policy_input.h"
#include "api/rows.h"
#include "base/bytes.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view agent_names[] = {"name",           "system_prompt", "model",      "limits",     "skill_ids",
                                            "environment_id", "policy",        "is_default", "agent_type", "command",
                                            "mcp_servers",    "tools",         "code_mode"};
constexpr std::string_view model_names[] = {"provider", "name", "base_url", "key_alias"};
constexpr std::string_view limit_names[] = {"max_output_tokens", "max_runtime_seconds", "max_history_messages"};

constexpr TextRule prompt_rule{.chars_max = limits::message_content_bytes_max,
                               .bytes_max = limits::message_content_bytes_max};
constexpr TextRule url_rule{.chars_min = 1, .chars_max = 2048};

void check_provider(const Asked& asked, const Fields& model, const std::string& provider) {
  const auto& names = asked->surface().options.provider_names;
  if (std::ranges::find(names, provider) != names.end()) return;
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::string message = "names no provider of this server";
  if (const auto meant = nearest(provider, known)) {
    message += "; did you mean " + std::string(*meant) + "?";
  } else {
    message += ", which has";
    for (const auto& name : names) message += (name == names.front() ? " " : ", ") + name;
  }
  model.refuse("provider", std::move(message));
}

std::optional<model::ModelChoice> read_model(const Asked& asked, const Fields& fields, Null null) {
  const auto inner = fields.object("model", model_names, null);
  if (!inner) return std::nullopt;
  model::ModelChoice out;
  inner->require("provider");
  inner->require("name");
  out.provider = inner->text("provider", name_rule).value_or("");
  if (!out.provider.empty()) check_provider(asked, *inner, out.provider);
  out.name = inner->text("name", name_rule).value_or("");
  out.key_alias = inner->text("key_alias", name_rule);
  if (out.key_alias && !model::is_alias(*out.key_alias)) {
    inner->refuse("key_alias", "must be the alias of a secret: ^[A-Z][A-Z0-9_]{0,63}$");
  }
  out.base_url = inner->text("base_url", url_rule);
  if (out.base_url) {
    if (const auto fault = fault_of_base_url(*out.base_url); !fault.empty()) {
      inner->refuse("base_url", std::string(fault));
    }
  }
  return out;
}

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

void fail(const Asked& asked, const Error& error, const std::string& name) {
  fail_to_name<model::Agent>(asked, &store::Store::agents, error, name);
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

Named named_by_agent(const std::vector<model::SkillId>& skills,
                     const std::optional<model::EnvironmentId>& environment) {
  Named out{.environment_member = "environment_id"};
  for (const auto& id : skills) out.names.skills.push_back(id.text());
  if (environment) out.names.environment = environment->text();
  return out;
}

}  // namespace

void list_agents(const Asked& asked) { list_rows<model::Agent>(asked, &store::Store::agents); }

void create_agent(const Asked& asked) {
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", agent_names, findings);
  model::Agent agent;
  fields.require("name");
  agent.name = fields.text("name", name_rule).value_or("");
  agent.system_prompt = fields.text("system_prompt", prompt_rule).value_or("");
  agent.model = read_model(asked, fields, Null::as_absent).value_or(asked->surface().options.default_model);
  agent.limits = read_limits(fields).value_or(model::AgentLimits{});
  agent.skill_ids = read_skills(fields).value_or(std::vector<model::SkillId>{});
  agent.environment_id = read_environment(fields).value_or(std::nullopt);
  agent.policy = read_policy(fields).value_or(model::Policy{});
  agent.kit = read_kit(asked, fields, {});
  agent.is_default = fields.boolean("is_default").value_or(false);
  if (refused(asked, findings)) return;

  agent.id = asked->ids().make<model::AgentId>();
  agent.tenant_id = asked->tenant().id;
  agent.created_at = agent.updated_at = asked->now();
  auto named = named_by_agent(agent.skill_ids, agent.environment_id);
  find_materials(asked, std::move(named), [asked, agent = std::move(agent)](const auto&) {
    asked->store().create_agent(agent, [asked, agent](const Result<Unit>& made) {
      if (!made) return fail(asked, made.error(), agent.name);
      asked->created("/v1/agents/" + agent.id.text(), model::to_json(agent));
    });
  });
}

void get_agent(const Asked& asked) { get_row<model::Agent>(asked, &store::Store::agent); }

namespace {

// `before`: what the agent is made of now, where the caller changes some of it.
void patch_agent(const Asked& asked, model::AgentId id, const std::optional<model::AgentKit>& before) {
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", agent_names, findings);
  store::AgentPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.system_prompt = fields.null("system_prompt") ? std::string() : fields.text("system_prompt", prompt_rule);
  patch.model = read_model(asked, fields, Null::refused);
  patch.limits = read_limits(fields);
  patch.skill_ids = read_skills(fields);
  patch.environment_id = read_environment(fields);
  patch.policy = read_policy(fields);
  if (before) patch.kit = read_kit(asked, fields, *before);
  patch.is_default = fields.boolean("is_default", Null::refused);
  if (patch.is_default == false) fields.refuse("is_default", "can only be true; make another agent the default");
  if (refused(asked, findings)) return;

  auto named = named_by_agent(patch.skill_ids.value_or(std::vector<model::SkillId>{}),
                              patch.environment_id.value_or(std::nullopt));
  find_materials(asked, std::move(named), [asked, id, patch = std::move(patch)](const auto&) mutable {
    const std::string name = patch.name.value_or("");
    asked->store().update_agent(asked->tenant().id, id, std::move(patch), asked->now(),
                                [asked, name](const Result<model::Agent>& agent) {
                                  if (!agent) return fail(asked, agent.error(), name);
                                  asked->answer_json(200, model::to_json(agent.value()));
                                });
  });
}

}  // namespace

void update_agent(const Asked& asked) {
  const auto id = asked->path_id<model::AgentId>();
  if (!id) return asked->not_found();
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  if (!names_kit(Fields(body->root(), "", agent_names, findings))) return patch_agent(asked, *id, std::nullopt);
  asked->store().agent(asked->tenant().id, *id, [asked, id = *id](const Result<model::Agent>& agent) {
    if (!agent) return asked->fail(agent.error());
    patch_agent(asked, id, agent.value().kit);
  });
}

void delete_agent(const Asked& asked) {
  delete_row<model::Agent>(asked, &store::Store::delete_agent, "This is the default agent, or a conversation uses it.");
}

}  // namespace sluice::api::integration
