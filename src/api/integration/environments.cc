#include "api/answers/rows.h"
#include "api/integration/integration.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view environment_names[] = {"name", "variables", "script"};
constexpr TextRule script_rule{.chars_max = limits::setup_script_bytes_max,
                               .bytes_max = limits::setup_script_bytes_max};

void fail(const RequestPtr& request, const Error& error, const std::string& name) {
  fail_to_name<model::Environment>(request, &store::environments, error, name);
}

// Keys stand in variables, and in scripts. A sandbox has those of its own environment, and sees no other's.
void hide_from_sandboxes(const RequestPtr& request, model::Environment& environment) {
  if (!request->is_sandbox()) return;
  environment.variables.clear();
  environment.script.clear();
}

}  // namespace

void list_environments(const RequestPtr& request) {
  list_rows<model::Environment>(request, &store::environments, hide_from_sandboxes);
}

void create_environment(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", environment_names, findings);
  model::Environment made;
  fields.require("name");
  made.name = fields.text("name", name_rule).value_or("");
  if (auto variables = fields.env("variables")) made.variables = std::move(*variables);
  made.script = fields.text("script", script_rule).value_or("");
  if (refused(request, findings)) return;

  made.id = request->ids().make<model::EnvironmentId>();
  made.tenant_id = request->tenant().id;
  made.created_at = made.updated_at = request->now();
  store::create_environment(request->database(), made, [request, made](const Result<Unit>& kept) {
    if (!kept) return fail(request, kept.error(), made.name);
    request->created("/v1/environments/" + made.id.text(), model::to_json(made));
  });
}

void get_environment(const RequestPtr& request) {
  get_row<model::Environment>(request, &store::environment, hide_from_sandboxes);
}

void update_environment(const RequestPtr& request) {
  const auto id = request->path_id<model::EnvironmentId>();
  if (!id) return request->not_found();
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", environment_names, findings);
  store::EnvironmentPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.variables = fields.null("variables") ? std::map<std::string, std::string>() : fields.env("variables");
  patch.script = fields.null("script") ? std::string() : fields.text("script", script_rule);
  if (refused(request, findings)) return;

  const std::string name = patch.name.value_or("");
  store::update_environment(request->database(), request->tenant().id, *id, std::move(patch), request->now(),
                            [request, name](const Result<model::Environment>& changed) {
                              if (!changed) return fail(request, changed.error(), name);
                              request->answer_json(200, model::to_json(changed.value()));
                            });
}

void delete_environment(const RequestPtr& request) {
  delete_row<model::Environment>(request, &store::delete_environment, "An agent names this environment.");
}

}  // namespace sluice::api::integration
