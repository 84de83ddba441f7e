#include <algorithm>

#include "api/integration/handlers.h"
#include "api/integration/kit_input.h"
#include "api/integration/model_input.h"
#include "api/integration/named_materials.h"
#include "api/integration/policy_input.h"
#include "api/rows.h"

namespace sluice::api::integration {
namespace {

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

// A sandbox sees how agents are made, but not what they show to others: a header or a variable may be a key.
void hide_from_guests(const Asked& asked, model::Agent& agent) {
  if (!asked->is_guest()) return;
  for (auto& server : agent.kit.mcp_servers) {
    server.headers.clear();
    server.environment.clear();
    server.oauth.reset();
  }
}

// True when the request was answered with a problem.
bool refused_for_model(const Asked& asked, const model::Agent& agent) {
  const auto& fault_of = asked->surface().options.fault_of_model;
  auto fault = fault_of ? fault_of(agent) : std::string();
  if (fault.empty()) return false;
  asked->invalid("/model", std::move(fault));
  return true;
}

}  // namespace

void list_agents(const Asked& asked) { list_rows<model::Agent>(asked, &store::Store::agents, hide_from_guests); }

void create_agent(const Asked& asked) {
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", agent_names, findings);
  model::Agent agent;
  fields.require("name");
  agent.name = fields.text("name", name_rule).value_or("");
  agent.system_prompt = fields.text("system_prompt", prompt_rule).value_or("");
  auto its_model = read_model(asked, fields, Null::as_absent);
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
  find_materials(asked, std::move(named), [asked, agent = std::move(agent), its_model](const auto&) {
    resolve_model(asked, its_model, [asked, agent](const std::optional<model::ModelChoice>& choice) mutable {
      agent.model = choice.value_or(asked->surface().options.default_model);
      if (refused_for_model(asked, agent)) return;
      asked->store().create_agent(agent, [asked, agent](const Result<Unit>& made) {
        if (!made) return fail(asked, made.error(), agent.name);
        asked->created("/v1/agents/" + agent.id.text(), model::to_json(agent));
      });
    });
  });
}

void get_agent(const Asked& asked) { get_row<model::Agent>(asked, &store::Store::agent, hide_from_guests); }

namespace {

// `before`: the agent as it is now, where the caller changes what it is made of.
void patch_agent(const Asked& asked, model::AgentId id, const std::optional<model::Agent>& before) {
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", agent_names, findings);
  store::AgentPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.system_prompt = fields.null("system_prompt") ? std::string() : fields.text("system_prompt", prompt_rule);
  auto its_model = read_model(asked, fields, Null::refused);
  patch.limits = read_limits(fields);
  patch.skill_ids = read_skills(fields);
  patch.environment_id = read_environment(fields);
  patch.policy = read_policy(fields);
  if (names_kit(fields) && before) patch.kit = read_kit(asked, fields, before->kit);
  patch.is_default = fields.boolean("is_default", Null::refused);
  if (patch.is_default == false) fields.refuse("is_default", "can only be true; make another agent the default");
  if (refused(asked, findings)) return;

  auto named = named_by_agent(patch.skill_ids.value_or(std::vector<model::SkillId>{}),
                              patch.environment_id.value_or(std::nullopt));
  // What runs with this model is looked at when the caller changes one of the two.
  auto after = fields.given("model") || fields.given("agent_type") ? before : std::nullopt;
  if (after && patch.kit) after->kit = *patch.kit;
  find_materials(asked, std::move(named), [asked, id, patch = std::move(patch), its_model, after](const auto&) {
    resolve_model(asked, its_model, [asked, id, patch, after](std::optional<model::ModelChoice> choice) mutable {
      if (after && choice) after->model = *choice;
      if (after && refused_for_model(asked, *after)) return;
      patch.model = std::move(choice);
      const std::string name = patch.name.value_or("");
      asked->store().update_agent(asked->tenant().id, id, std::move(patch), asked->now(),
                                  [asked, name](const Result<model::Agent>& agent) {
                                    if (!agent) return fail(asked, agent.error(), name);
                                    asked->answer_json(200, model::to_json(agent.value()));
                                  });
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
  const Fields fields(body->root(), "", agent_names, findings);
  if (!names_kit(fields) && !fields.given("model")) return patch_agent(asked, *id, std::nullopt);
  asked->store().agent(asked->tenant().id, *id, [asked, id = *id](const Result<model::Agent>& agent) {
    if (!agent) return asked->fail(agent.error());
    patch_agent(asked, id, agent.value());
  });
}

void delete_agent(const Asked& asked) {
  delete_row<model::Agent>(asked, &store::Store::delete_agent, "This is the default agent, or a conversation uses it.");
}

}  // namespace sluice::api::integration
