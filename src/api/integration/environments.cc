#include "api/integration/handlers.h"
#include "api/rows.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view environment_names[] = {"name", "variables", "script"};
constexpr TextRule script_rule{.chars_max = limits::setup_script_bytes_max,
                               .bytes_max = limits::setup_script_bytes_max};

void fail(const Asked& asked, const Error& error, const std::string& name) {
  fail_to_name<model::Environment>(asked, &store::Store::environments, error, name);
}

// Keys stand in variables, and in scripts. A sandbox has those of its own environment, and sees no other's.
void hide_from_guests(const Asked& asked, model::Environment& environment) {
  if (!asked->is_guest()) return;
  environment.variables.clear();
  environment.script.clear();
}

}  // namespace

void list_environments(const Asked& asked) {
  list_rows<model::Environment>(asked, &store::Store::environments, hide_from_guests);
}

void create_environment(const Asked& asked) {
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", environment_names, findings);
  model::Environment made;
  fields.require("name");
  made.name = fields.text("name", name_rule).value_or("");
  if (auto variables = fields.env("variables")) made.variables = std::move(*variables);
  made.script = fields.text("script", script_rule).value_or("");
  if (refused(asked, findings)) return;

  made.id = asked->ids().make<model::EnvironmentId>();
  made.tenant_id = asked->tenant().id;
  made.created_at = made.updated_at = asked->now();
  asked->store().create_environment(made, [asked, made](const Result<Unit>& kept) {
    if (!kept) return fail(asked, kept.error(), made.name);
    asked->created("/v1/environments/" + made.id.text(), model::to_json(made));
  });
}

void get_environment(const Asked& asked) {
  get_row<model::Environment>(asked, &store::Store::environment, hide_from_guests);
}

void update_environment(const Asked& asked) {
  const auto id = asked->path_id<model::EnvironmentId>();
  if (!id) return asked->not_found();
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", environment_names, findings);
  store::EnvironmentPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.variables = fields.null("variables") ? std::map<std::string, std::string>() : fields.env("variables");
  patch.script = fields.null("script") ? std::string() : fields.text("script", script_rule);
  if (refused(asked, findings)) return;

  const std::string name = patch.name.value_or("");
  asked->store().update_environment(asked->tenant().id, *id, std::move(patch), asked->now(),
                                    [asked, name](const Result<model::Environment>& changed) {
                                      if (!changed) return fail(asked, changed.error(), name);
                                      asked->answer_json(200, model::to_json(changed.value()));
                                    });
}

void delete_environment(const Asked& asked) {
  delete_row<model::Environment>(asked, &store::Store::delete_environment, "An agent names this environment.");
}

}  // namespace sluice::api::integration
