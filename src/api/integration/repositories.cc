#include "api/answers/rows.h"
#include "api/integration/integration.h"
#include "api/integration/repository_rules.h"

namespace sluice::api::integration {
namespace {

constexpr std::string_view repository_names[] = {"name", "url", "ref", "depth", "credential"};
constexpr TextRule url_rule{.chars_min = 1, .chars_max = 2048};
constexpr int64_t depth_max = 1'000'000;

void fail(const RequestPtr& request, const Error& error, const std::string& name) {
  fail_to_name<model::Repository>(request, &store::repositories, error, name);
}

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

}  // namespace

void list_repositories(const RequestPtr& request) { list_rows<model::Repository>(request, &store::repositories); }

void create_repository(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", repository_names, findings);
  model::Repository made;
  fields.require("name");
  fields.require("url");
  made.name = fields.text("name", name_rule).value_or("");
  made.url = checked(fields, "url", url_rule, Null::as_absent, fault_of_repository_url).value_or("");
  made.ref = checked(fields, "ref", name_rule, Null::as_absent, fault_of_ref).value_or("");
  made.depth = fields.integer("depth", 0, depth_max).value_or(made.depth);
  made.credential_alias = read_credential(fields).value_or(std::nullopt);
  if (refused(request, findings)) return;

  made.id = request->ids().make<model::RepositoryId>();
  made.tenant_id = request->tenant().id;
  made.created_at = made.updated_at = request->now();
  store::create_repository(request->database(), made, [request, made](const Result<Unit>& kept) {
    if (!kept) return fail(request, kept.error(), made.name);
    request->created("/v1/repositories/" + made.id.text(), model::to_json(made));
  });
}

void get_repository(const RequestPtr& request) { get_row<model::Repository>(request, &store::repository); }

void update_repository(const RequestPtr& request) {
  const auto id = request->path_id<model::RepositoryId>();
  if (!id) return request->not_found();
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", repository_names, findings);
  store::RepositoryPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.url = checked(fields, "url", url_rule, Null::refused, fault_of_repository_url);
  patch.ref = fields.null("ref") ? std::string() : checked(fields, "ref", name_rule, Null::as_absent, fault_of_ref);
  patch.depth = fields.integer("depth", 0, depth_max);
  patch.credential_alias = read_credential(fields);
  if (refused(request, findings)) return;

  const std::string name = patch.name.value_or("");
  store::update_repository(request->database(), request->tenant().id, *id, std::move(patch), request->now(),
                           [request, name](const Result<model::Repository>& changed) {
                             if (!changed) return fail(request, changed.error(), name);
                             request->answer_json(200, model::to_json(changed.value()));
                           });
}

void delete_repository(const RequestPtr& request) {
  delete_row<model::Repository>(request, &store::delete_repository, "Something still uses this repository.");
}

}  // namespace sluice::api::integration
