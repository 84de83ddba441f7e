// Repositories and environments, which agents and messages name.
#include "api/answers/pages.h"
#include "api/handlers.h"
#include "api/integration/repository_rules.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view repository_names[] = {"name", "url", "ref", "depth", "credential"};
constexpr std::string_view environment_names[] = {"name", "variables", "script"};
constexpr TextRule repository_url_rule{.chars_min = 1, .chars_max = 2048};
constexpr TextRule script_rule{.chars_max = limits::setup_script_bytes_max,
                               .bytes_max = limits::setup_script_bytes_max};
constexpr int64_t depth_max = 1'000'000;

// The text, if it is given and nothing is wrong with it.
std::optional<std::string> checked(const Fields& fields, std::string_view name, TextRule rule, Null null,
                                   std::string_view (*fault_of)(std::string_view)) {
  auto text = fields.text(name, rule, null);
  if (!text) return std::nullopt;
  if (const auto fault = fault_of(*text); !fault.empty()) fields.refuse(name, std::string(fault));
  return text;
}

std::optional<std::optional<std::string>> read_credential(const Fields& fields) {
  if (fields.null("credential")) return std::optional<std::string>{};
  auto alias = checked(fields, "credential", name_rule, Null::as_absent, fault_of_credential_alias);
  if (!alias) return std::nullopt;
  return alias;
}

model::Repository repository_in(const Fields& fields) {
  fields.require("name");
  fields.require("url");
  model::Repository made;
  made.name = fields.text("name", name_rule).value_or("");
  made.url = checked(fields, "url", repository_url_rule, Null::as_absent, fault_of_repository_url).value_or("");
  made.ref = checked(fields, "ref", name_rule, Null::as_absent, fault_of_ref).value_or("");
  made.depth = fields.integer("depth", 0, depth_max).value_or(made.depth);
  made.credential_alias = read_credential(fields).value_or(std::nullopt);
  return made;
}

store::RepositoryPatch read_repository_patch(const Fields& fields) {
  store::RepositoryPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.url = checked(fields, "url", repository_url_rule, Null::refused, fault_of_repository_url);
  patch.ref = fields.null("ref") ? std::string() : checked(fields, "ref", name_rule, Null::as_absent, fault_of_ref);
  patch.depth = fields.integer("depth", 0, depth_max);
  patch.credential_alias = read_credential(fields);
  return patch;
}

model::Environment environment_in(const Fields& fields) {
  fields.require("name");
  model::Environment made;
  made.name = fields.text("name", name_rule).value_or("");
  if (auto variables = fields.env("variables")) made.variables = std::move(*variables);
  made.script = fields.text("script", script_rule).value_or("");
  return made;
}

store::EnvironmentPatch read_environment_patch(const Fields& fields) {
  store::EnvironmentPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.variables = fields.null("variables") ? std::map<std::string, std::string>() : fields.env("variables");
  patch.script = fields.null("script") ? std::string() : fields.text("script", script_rule);
  return patch;
}

// Variables and scripts contain keys. A sandbox has those of its own environment, and must not see those of another.
void hide_from_sandboxes(const RequestPtr& request, model::Environment& environment) {
  if (!request->caller().is_sandbox()) return;
  environment.variables.clear();
  environment.script.clear();
}

}  // namespace

void list_repositories(const RequestPtr& request) { list_rows<model::Repository>(request, &store::repositories); }
void create_repository(const RequestPtr& request) {
  create_row(request, repository_names, repository_in, &store::create_repository, &store::repositories,
             "/v1/repositories/");
}
void get_repository(const RequestPtr& request) { get_row<model::Repository>(request, &store::repository); }
void update_repository(const RequestPtr& request) {
  update_row<model::Repository>(request, repository_names, read_repository_patch, &store::update_repository,
                                &store::repositories);
}
void delete_repository(const RequestPtr& request) {
  delete_row<model::Repository>(request, &store::delete_repository, "Something still uses this repository.");
}

void list_environments(const RequestPtr& request) {
  list_rows<model::Environment>(request, &store::environments, hide_from_sandboxes);
}
void create_environment(const RequestPtr& request) {
  create_row(request, environment_names, environment_in, &store::create_environment, &store::environments,
             "/v1/environments/");
}
void get_environment(const RequestPtr& request) {
  get_row<model::Environment>(request, &store::environment, hide_from_sandboxes);
}
void update_environment(const RequestPtr& request) {
  update_row<model::Environment>(request, environment_names, read_environment_patch, &store::update_environment,
                                 &store::environments);
}
void delete_environment(const RequestPtr& request) {
  delete_row<model::Environment>(request, &store::delete_environment, "An agent names this environment.");
}

}  // namespace sluice::api::integration
