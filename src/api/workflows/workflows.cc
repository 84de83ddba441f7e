#include "api/workflows/workflows.h"

#include <map>
#include <optional>

#include "api/answers/pages.h"
#include "api/request/audit.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"

namespace sluice::api::workflows {
namespace {

// Values of a workflow's own variables are often keys, and a sandbox may read its workspace's workflows. Sandboxes
// therefore get `hidden_value` in place of each value, and a definition that they send leaves the values as they are.
constexpr std::string_view hidden_value = "***";

constexpr std::string_view member_name = "environment";

// The definition with `environment` in the place of its own, or at its end if it has none.
std::string with_environment(json::Value definition, std::string_view environment) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  bool is_written = false;
  definition.each_member([&](std::string_view name, json::Value value) {
    const bool is_it = name == member_name;
    writer.key_escaped(name).raw(is_it ? std::string(environment) : value.to_text());
    is_written = is_written || is_it;
  });
  if (!is_written) writer.key(member_name).raw(environment);
  writer.end_object();
  return out;
}

std::map<std::string, std::string> variables_of(json::Value definition) {
  std::map<std::string, std::string> out;
  const auto environment = definition.find(member_name);
  if (!environment) return out;
  environment->each_member(
      [&](std::string_view name, json::Value value) { out.emplace(name, value.string().value_or("")); });
  return out;
}

// `definition`, which was checked before, with `hidden_value` for each value of its `environment`.
std::string hide_variables(const std::string& definition) {
  const auto parsed = json::Document::parse(definition);
  SLUICE_CHECK(parsed);  // it was checked when it was kept
  const auto variables = variables_of(parsed.value().root());
  if (variables.empty()) return definition;
  std::string hidden;
  json::Writer writer(hidden);
  writer.begin_object();
  for (const auto& [name, value] : variables) writer.key_escaped(name).string(hidden_value);
  writer.end_object();
  return with_environment(parsed.value().root(), hidden);
}

// The definition that a sandbox sent, with the values of `before` for the variables that it sent hidden or left out. A
// hidden value of a variable that `before` does not have is refused. Nothing else is checked here.
std::string keep_variables(json::Value sent, const std::string& before, Findings& findings) {
  const auto environment = sent.find(member_name);
  const bool is_object = !environment || environment->is_null() || environment->kind() == json::Kind::object;
  if (sent.kind() != json::Kind::object || !is_object) return sent.to_text();  // it will be refused as it is
  const auto parsed = json::Document::parse(before);
  SLUICE_CHECK(parsed);
  auto kept = variables_of(parsed.value().root());
  if (kept.empty() && !environment) return sent.to_text();
  std::string merged;
  json::Writer writer(merged);
  writer.begin_object();
  if (environment) {
    environment->each_member([&](std::string_view name, json::Value value) {
      const auto known = kept.extract(std::string(name));
      const bool is_hidden = value.string() == hidden_value;
      if (is_hidden && known.empty()) {
        findings.refuse(model::pointer_to("/definition/environment", name),
                        "is the mark of a hidden value, and the workflow has no variable of this name");
      }
      writer.key_escaped(name);
      is_hidden && !known.empty() ? writer.string(known.mapped()) : writer.raw(value.to_text());
    });
  }
  for (const auto& [name, value] : kept) writer.key_escaped(name).string(value);
  writer.end_object();
  return with_environment(sent, merged);
}

constexpr std::string_view workflow_names[] = {"name", "description", "definition"};
constexpr TextRule description_rule{.chars_max = 2'000};

// Answers with the id of the workflow that has the name, so that the client can use it. Reads the list page by page.
void answer_name_conflict(const RequestPtr& request, std::string name, std::optional<model::WorkflowId> after = {}) {
  const store::PageQuery<model::WorkflowId> query{.limit = limits::page_max, .starting_after = after};
  store::workflows(request->database(), request->tenant().id, query,
                   [request, name](const Result<store::Page<model::Workflow>>& page) {
                     if (!page) return request->fail(page.error());
                     model::Problem problem{.slug = model::Slug::name_conflict,
                                            .detail = "Another workflow has this name."};
                     for (const auto& row : page.value().rows) {
                       if (row.name == name) problem.conflicting_resource_id = row.id.text();
                     }
                     const bool look_on = !problem.conflicting_resource_id && page.value().has_more;
                     if (look_on) return answer_name_conflict(request, name, page.value().rows.back().id);
                     request->problem(problem);
                   });
}

void fail(const RequestPtr& request, const Error& error, const std::string& name) {
  if (error.kind == ErrorKind::conflict) return answer_name_conflict(request, name);
  request->fail(error);
}

// `before`: the definition that a sandbox changes, whose variables were hidden from it.
std::optional<std::string> read_definition(const RequestPtr& request, json::Value body, const std::string& before,
                                           Findings& findings) {
  const auto definition = body.find("definition");
  if (!definition) return std::nullopt;
  const auto text = request->is_sandbox() ? keep_variables(*definition, before, findings) : definition->to_text();
  const auto parsed = json::Document::parse(text);
  SLUICE_CHECK(parsed);
  findings.errors.append(flow::faults_of_definition(parsed.value().root(), "/definition"));
  return text;
}

void hide_from_sandboxes(const RequestPtr& request, model::Workflow& workflow) {
  if (request->is_sandbox()) workflow.definition = hide_variables(workflow.definition);
}

std::string shown(const RequestPtr& request, model::Workflow workflow) {
  hide_from_sandboxes(request, workflow);
  return model::to_json(workflow);
}

// What an entry of the audit chain says of a change: enough to find it, and to tell one definition from another.
std::string detail_of(const std::optional<std::string>& name, const std::optional<std::string>& definition) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  if (name) writer.key("name").string(*name);
  if (definition) writer.key("definition_sha256").string(to_hex(sha256(*definition)));
  writer.end_object();
  return out;
}

}  // namespace

void list_workflows(const RequestPtr& request) {
  const auto query = read_page_query<model::WorkflowId>(request);
  if (!query) return;
  store::workflows(request->database(), request->tenant().id, *query,
                   [request, query](Result<store::Page<model::Workflow>> page) {
                     if (page) {
                       for (auto& workflow : page.value().rows) hide_from_sandboxes(request, workflow);
                     }
                     answer_page(request, *query, page);
                   });
}

void create_workflow(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", workflow_names, findings);
  fields.require("name");
  fields.require("definition");
  model::Workflow made;
  made.name = fields.text("name", name_rule).value_or("");
  made.description = fields.text("description", description_rule).value_or("");
  made.definition = read_definition(request, body->root(), "{}", findings).value_or("{}");
  if (refused(request, findings)) return;

  made.id = request->ids().make<model::WorkflowId>();
  made.tenant_id = request->tenant().id;
  made.created_at = made.updated_at = request->now();
  record_sandbox(request, "workflow.created", made.id.text(), detail_of(made.name, made.definition), [request, made] {
    store::create_workflow(request->database(), made, [request, made](const Result<Unit>& kept) {
      if (!kept) return fail(request, kept.error(), made.name);
      const auto place = "/api/workspaces/" + model::WorkspaceId{made.tenant_id.ulid}.text() + "/workflows/";
      request->created(place + made.id.text(), shown(request, made));
    });
  });
}

void get_workflow(const RequestPtr& request) {
  const auto id = request->path_id<model::WorkflowId>();
  if (!id) return request->not_found();
  store::workflow(request->database(), request->tenant().id, *id, [request](const Result<model::Workflow>& found) {
    if (!found) return request->fail(found.error());
    request->answer_json(200, shown(request, found.value()));
  });
}

namespace {

constexpr int changes_max = 3;  // attempts of a sandbox whose definition another client changes meanwhile

void change_as_sandbox(const RequestPtr& request, model::WorkflowId id, int changes_left);

// `before`: as a sandbox found it, which may change no value that it cannot see.
void change_workflow(const RequestPtr& request, model::WorkflowId id, const model::Workflow& before, int changes_left) {
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", workflow_names, findings);
  store::WorkflowPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.description = fields.null("description") ? std::string() : fields.text("description", description_rule);
  patch.definition = read_definition(request, body->root(), before.definition, findings);
  if (patch.definition && request->is_sandbox()) patch.definition_before = before.definition;
  if (refused(request, findings)) return;
  auto detail = detail_of(patch.name, patch.definition);
  record_sandbox(request, "workflow.updated", id.text(), std::move(detail),
                 [request, id, changes_left, patch = std::move(patch)]() mutable {
                   const std::string name = patch.name.value_or("");
                   const bool may_be_late = patch.definition_before && changes_left > 0;
                   store::update_workflow(
                       request->database(), request->tenant().id, id, std::move(patch), request->now(),
                       [request, id, name, may_be_late, changes_left](const Result<model::Workflow>& changed) {
                         if (changed) return request->answer_json(200, shown(request, changed.value()));
                         const bool is_late = changed.error().kind == ErrorKind::conflict && may_be_late;
                         is_late ? change_as_sandbox(request, id, changes_left - 1)
                                 : fail(request, changed.error(), name);
                       });
                 });
}

void change_as_sandbox(const RequestPtr& request, model::WorkflowId id, int changes_left) {
  store::workflow(request->database(), request->tenant().id, id,
                  [request, id, changes_left](const Result<model::Workflow>& found) {
                    found ? change_workflow(request, id, found.value(), changes_left) : request->fail(found.error());
                  });
}

}  // namespace

void update_workflow(const RequestPtr& request) {
  const auto id = request->path_id<model::WorkflowId>();
  if (!id) return request->not_found();
  request->is_sandbox() ? change_as_sandbox(request, *id, changes_max) : change_workflow(request, *id, {}, 0);
}

void delete_workflow(const RequestPtr& request) {
  const auto id = request->path_id<model::WorkflowId>();
  if (!id) return request->not_found();
  record_sandbox(request, "workflow.deleted", id->text(), "{}", [request, id = *id] {
    store::delete_workflow(request->database(), request->tenant().id, id, [request](const Result<Unit>& removed) {
      removed ? request->no_content() : request->fail(removed.error());
    });
  });
}

}  // namespace sluice::api::workflows
