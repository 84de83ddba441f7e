#include "api/guest_deeds.h"
#include "api/pages.h"
#include "api/workflows/handlers.h"
#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::api::workflows {
namespace {

constexpr std::string_view workflow_names[] = {"name", "description", "definition"};
constexpr TextRule description_rule{.chars_max = 2'000};

// Looks for the workflow that has the name, page by page, so that the caller can go on with that one.
void tell_name_is_taken(const Asked& asked, std::string name, std::optional<model::WorkflowId> after = {}) {
  const store::PageQuery<model::WorkflowId> query{.limit = limits::page_max, .starting_after = after};
  asked->store().workflows().workflows(
      asked->tenant().id, query, [asked, name](const Result<store::Page<model::Workflow>>& page) {
        if (!page) return asked->fail(page.error());
        model::Problem problem{.slug = model::Slug::name_conflict, .detail = "Another workflow has this name."};
        for (const auto& row : page.value().rows) {
          if (row.name == name) problem.conflicting_resource_id = row.id.text();
        }
        const bool look_on = !problem.conflicting_resource_id && page.value().has_more;
        if (look_on) return tell_name_is_taken(asked, name, page.value().rows.back().id);
        asked->problem(problem);
      });
}

void fail(const Asked& asked, const Error& error, const std::string& name) {
  if (error.kind == ErrorKind::conflict) return tell_name_is_taken(asked, name);
  asked->fail(error);
}

std::optional<std::string> read_definition(json::Value body, Findings& findings) {
  const auto definition = body.find("definition");
  if (!definition) return std::nullopt;
  for (auto& fault : flow::faults_of_definition(*definition, "/definition")) {
    findings.refuse(std::move(fault.pointer), std::move(fault.message));
  }
  return definition->to_text();
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

void list_workflows(const Asked& asked) {
  const auto query = read_page_query<model::WorkflowId>(asked);
  if (!query) return;
  asked->store().workflows().workflows(
      asked->tenant().id, *query,
      [asked, query](const Result<store::Page<model::Workflow>>& page) { answer_page(asked, *query, page); });
}

void create_workflow(const Asked& asked) {
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", workflow_names, findings);
  fields.require("name");
  fields.require("definition");
  model::Workflow made;
  made.name = fields.text("name", name_rule).value_or("");
  made.description = fields.text("description", description_rule).value_or("");
  made.definition = read_definition(body->root(), findings).value_or("{}");
  if (refused(asked, findings)) return;

  made.id = asked->ids().make<model::WorkflowId>();
  made.tenant_id = asked->tenant().id;
  made.created_at = made.updated_at = asked->now();
  record_guest(asked, "workflow.created", made.id.text(), detail_of(made.name, made.definition), [asked, made] {
    asked->store().workflows().create(made, [asked, made](const Result<Unit>& kept) {
      if (!kept) return fail(asked, kept.error(), made.name);
      const auto place = "/api/workspaces/" + model::WorkspaceId{made.tenant_id.ulid}.text() + "/workflows/";
      asked->created(place + made.id.text(), model::to_json(made));
    });
  });
}

void get_workflow(const Asked& asked) {
  const auto id = asked->path_id<model::WorkflowId>();
  if (!id) return asked->not_found();
  asked->store().workflows().workflow(asked->tenant().id, *id, [asked](const Result<model::Workflow>& found) {
    if (!found) return asked->fail(found.error());
    asked->answer_json(200, model::to_json(found.value()));
  });
}

void update_workflow(const Asked& asked) {
  const auto id = asked->path_id<model::WorkflowId>();
  if (!id) return asked->not_found();
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", workflow_names, findings);
  store::WorkflowPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.description = fields.null("description") ? std::string() : fields.text("description", description_rule);
  patch.definition = read_definition(body->root(), findings);
  if (refused(asked, findings)) return;
  auto detail = detail_of(patch.name, patch.definition);
  record_guest(asked, "workflow.updated", id->text(), std::move(detail),
               [asked, id = *id, patch = std::move(patch)]() mutable {
                 const std::string name = patch.name.value_or("");
                 asked->store().workflows().update(asked->tenant().id, id, std::move(patch), asked->now(),
                                                   [asked, name](const Result<model::Workflow>& changed) {
                                                     if (!changed) return fail(asked, changed.error(), name);
                                                     asked->answer_json(200, model::to_json(changed.value()));
                                                   });
               });
}

void delete_workflow(const Asked& asked) {
  const auto id = asked->path_id<model::WorkflowId>();
  if (!id) return asked->not_found();
  record_guest(asked, "workflow.deleted", id->text(), "{}", [asked, id = *id] {
    asked->store().workflows().remove(asked->tenant().id, id, [asked](const Result<Unit>& removed) {
      removed ? asked->no_content() : asked->fail(removed.error());
    });
  });
}

}  // namespace sluice::api::workflows
