#include "api/guest_deeds.h"
#include "api/pages.h"
#include "api/workflows/handlers.h"
#include "api/workflows/variables.h"
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

// `before`: the definition that a sandbox changes, whose variables were hidden from it.
std::optional<std::string> read_definition(const Asked& asked, json::Value body, const std::string& before,
                                           Findings& findings) {
  const auto definition = body.find("definition");
  if (!definition) return std::nullopt;
  const auto text = asked->is_guest() ? keep_variables(*definition, before, findings) : definition->to_text();
  const auto parsed = json::Document::parse(text);
  SLUICE_CHECK(parsed);
  findings.errors.append(flow::faults_of_definition(parsed.value().root(), "/definition"));
  return text;
}

void hide_from_guests(const Asked& asked, model::Workflow& workflow) {
  if (asked->is_guest()) workflow.definition = hide_variables(workflow.definition);
}

std::string shown(const Asked& asked, model::Workflow workflow) {
  hide_from_guests(asked, workflow);
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

void list_workflows(const Asked& asked) {
  const auto query = read_page_query<model::WorkflowId>(asked);
  if (!query) return;
  asked->store().workflows().workflows(asked->tenant().id, *query,
                                       [asked, query](Result<store::Page<model::Workflow>> page) {
                                         if (page) {
                                           for (auto& workflow : page.value().rows) hide_from_guests(asked, workflow);
                                         }
                                         answer_page(asked, *query, page);
                                       });
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
  made.definition = read_definition(asked, body->root(), "{}", findings).value_or("{}");
  if (refused(asked, findings)) return;

  made.id = asked->ids().make<model::WorkflowId>();
  made.tenant_id = asked->tenant().id;
  made.created_at = made.updated_at = asked->now();
  record_guest(asked, "workflow.created", made.id.text(), detail_of(made.name, made.definition), [asked, made] {
    asked->store().workflows().create(made, [asked, made](const Result<Unit>& kept) {
      if (!kept) return fail(asked, kept.error(), made.name);
      const auto place = "/api/workspaces/" + model::WorkspaceId{made.tenant_id.ulid}.text() + "/workflows/";
      asked->created(place + made.id.text(), shown(asked, made));
    });
  });
}

void get_workflow(const Asked& asked) {
  const auto id = asked->path_id<model::WorkflowId>();
  if (!id) return asked->not_found();
  asked->store().workflows().workflow(asked->tenant().id, *id, [asked](const Result<model::Workflow>& found) {
    if (!found) return asked->fail(found.error());
    asked->answer_json(200, shown(asked, found.value()));
  });
}

namespace {

constexpr int changes_max = 3;  // of a sandbox, made again because somebody else changed the definition meanwhile

void change_as_guest(const Asked& asked, model::WorkflowId id, int changes_left);

// `before`: as a sandbox found it, which may change no value that it cannot see.
void change_workflow(const Asked& asked, model::WorkflowId id, const model::Workflow& before, int changes_left) {
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", workflow_names, findings);
  store::WorkflowPatch patch;
  patch.name = fields.text("name", name_rule, Null::refused);
  patch.description = fields.null("description") ? std::string() : fields.text("description", description_rule);
  patch.definition = read_definition(asked, body->root(), before.definition, findings);
  if (patch.definition && asked->is_guest()) patch.definition_before = before.definition;
  if (refused(asked, findings)) return;
  auto detail = detail_of(patch.name, patch.definition);
  record_guest(asked, "workflow.updated", id.text(), std::move(detail),
               [asked, id, changes_left, patch = std::move(patch)]() mutable {
                 const std::string name = patch.name.value_or("");
                 const bool may_be_late = patch.definition_before && changes_left > 0;
                 asked->store().workflows().update(
                     asked->tenant().id, id, std::move(patch), asked->now(),
                     [asked, id, name, may_be_late, changes_left](const Result<model::Workflow>& changed) {
                       if (changed) return asked->answer_json(200, shown(asked, changed.value()));
                       const bool is_late = changed.error().kind == ErrorKind::conflict && may_be_late;
                       is_late ? change_as_guest(asked, id, changes_left - 1) : fail(asked, changed.error(), name);
                     });
               });
}

void change_as_guest(const Asked& asked, model::WorkflowId id, int changes_left) {
  asked->store().workflows().workflow(
      asked->tenant().id, id, [asked, id, changes_left](const Result<model::Workflow>& found) {
        found ? change_workflow(asked, id, found.value(), changes_left) : asked->fail(found.error());
      });
}

}  // namespace

void update_workflow(const Asked& asked) {
  const auto id = asked->path_id<model::WorkflowId>();
  if (!id) return asked->not_found();
  asked->is_guest() ? change_as_guest(asked, *id, changes_max) : change_workflow(asked, *id, {}, 0);
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
