#include <algorithm>

#include "api/integration/base_url.h"
#include "api/integration/handlers.h"
#include "api/pages.h"
#include "base/bytes.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view agent_names[] = {"name", "system_prompt", "model", "limits", "is_default"};
constexpr std::string_view model_names[] = {"provider", "name", "base_url"};
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

// Looks for the agent that has the name, page by page, so that the caller can go on with that one.
void tell_name_is_taken(const Asked& asked, const std::string& name, std::optional<model::AgentId> after = {}) {
  const store::PageQuery<model::AgentId> query{.limit = limits::page_max, .starting_after = after};
  asked->store().agents(asked->tenant().id, query, [asked, name](const Result<store::Page<model::Agent>>& page) {
    if (!page) return asked->fail(page.error());
    model::Problem problem{.slug = model::Slug::name_conflict, .detail = "Another agent has this name."};
    for (const auto& agent : page.value().rows) {
      if (agent.name == name) problem.conflicting_resource_id = agent.id.text();
    }
    const bool look_on = !problem.conflicting_resource_id && page.value().has_more;
    if (look_on) return tell_name_is_taken(asked, name, page.value().rows.back().id);
    asked->problem(problem);
  });
}

void fail_to_name(const Asked& asked, const Error& error, const std::string& name) {
  if (error.kind == ErrorKind::conflict) return tell_name_is_taken(asked, name);
  asked->fail(error);
}

}  // namespace

void list_agents(const Asked& asked) {
  const auto query = read_page_query<model::AgentId>(asked);
  if (!query) return;
  asked->store().agents(asked->tenant().id, *query, [asked, query](const Result<store::Page<model::Agent>>& page) {
    answer_page(asked, *query, page);
  });
}

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
  agent.is_default = fields.boolean("is_default").value_or(false);
  if (refused(asked, findings)) return;

  agent.id = asked->ids().make<model::AgentId>();
  agent.tenant_id = asked->tenant().id;
  agent.created_at = agent.updated_at = asked->now();
  asked->store().create_agent(agent, [asked, agent](const Result<Unit>& made) {
    if (!made) return fail_to_name(asked, made.error(), agent.name);
    asked->created("/v1/agents/" + agent.id.text(), model::to_json(agent));
  });
}

void get_agent(const Asked& asked) {
  const auto id = asked->path_id<model::AgentId>();
  if (!id) return asked->not_found();
  asked->store().agent(asked->tenant().id, *id, [asked](const Result<model::Agent>& agent) {
    if (!agent) return asked->fail(agent.error());
    asked->answer_json(200, model::to_json(agent.value()));
  });
}

void update_agent(const Asked& asked) {
  const auto id = asked->path_id<model::AgentId>();
  if (!id) return asked->not_found();
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", agent_names, findings);
  store::AgentPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.system_prompt = fields.null("system_prompt") ? std::string() : fields.text("system_prompt", prompt_rule);
  patch.model = read_model(asked, fields, Null::refused);
  patch.limits = read_limits(fields);
  patch.is_default = fields.boolean("is_default", Null::refused);
  if (patch.is_default == false) fields.refuse("is_default", "can only be true; make another agent the default");
  if (refused(asked, findings)) return;

  const std::string name = patch.name.value_or("");
  asked->store().update_agent(asked->tenant().id, *id, std::move(patch), asked->now(),
                              [asked, name](const Result<model::Agent>& agent) {
                                if (!agent) return fail_to_name(asked, agent.error(), name);
                                asked->answer_json(200, model::to_json(agent.value()));
                              });
}

void delete_agent(const Asked& asked) {
  const auto id = asked->path_id<model::AgentId>();
  if (!id) return asked->not_found();
  asked->store().delete_agent(asked->tenant().id, *id, [asked](const Result<Unit>& deleted) {
    if (deleted) return asked->no_content();
    if (deleted.error().kind != ErrorKind::conflict) return asked->fail(deleted.error());
    asked->problem(model::Slug::resource_in_use, "This is the default agent, or a conversation uses it.");
  });
}

}  // namespace sluice::api::integration
