#include <limits>
#include <map>
#include <optional>

#include "api/answers/pages.h"
#include "api/handlers.h"
#include "api/request/audit.h"
#include "api/request/waiting.h"
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

void fail(const RequestPtr& request, const Error& error, const std::string& name) {
  fail_to_name<model::Workflow>(request, &store::workflows, error, name, "Another workflow has this name.");
}

// `before`: the definition that a sandbox changes, whose variables were hidden from it.
std::optional<std::string> read_definition(const RequestPtr& request, json::Value body, const std::string& before,
                                           Findings& findings) {
  const auto definition = body.find("definition");
  if (!definition) return std::nullopt;
  auto text = request->caller().is_sandbox() ? keep_variables(*definition, before, findings) : definition->to_text();
  const auto parsed = json::Document::parse(text);
  SLUICE_CHECK(parsed);
  findings.errors.append(flow::faults_of_definition(parsed.value().root(), "/definition"));
  return text;
}

void hide_from_sandboxes(const RequestPtr& request, model::Workflow& workflow) {
  if (request->caller().is_sandbox()) workflow.definition = hide_variables(workflow.definition);
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
  list_rows<model::Workflow>(request, &store::workflows, hide_from_sandboxes);
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
  get_row<model::Workflow>(request, &store::workflow, hide_from_sandboxes);
}

namespace {

constexpr int changes_max = 3;  // repetitions by a sandbox whose definition another client changes meanwhile

Task<> change_workflow(RequestPtr request, model::WorkflowId id) {
  const auto tenant = request->tenant().id;
  for (int changes_left = changes_max;; --changes_left) {
    model::Workflow before;  // as a sandbox found it, which may change no value that it cannot see
    if (request->caller().is_sandbox()) {
      before = co_await found<model::Workflow>(request, &store::workflow, tenant, id);
    }
    const auto body = read_body(request);
    if (!body) co_return;
    Findings findings;
    const Fields fields(body->root(), "", workflow_names, findings);
    store::WorkflowPatch patch;
    patch.name = fields.text("name", name_rule, Null::refused);
    patch.description = fields.null("description") ? std::string() : fields.text("description", description_rule);
    patch.definition = read_definition(request, body->root(), before.definition, findings);
    if (patch.definition && request->caller().is_sandbox()) patch.definition_before = before.definition;
    if (refused(request, findings)) co_return;

    co_await answer<Unit>([&](auto done) {
      record_sandbox(request, "workflow.updated", id.text(), detail_of(patch.name, patch.definition), std::move(done));
    });
    const auto changed =
        co_await asked<model::Workflow>(request, &store::update_workflow, tenant, id, patch, request->now());
    if (changed) co_return request->answer_json(200, shown(request, changed.value()));
    const bool is_late = changed.error().kind == ErrorKind::conflict && patch.definition_before && changes_left > 0;
    if (!is_late) co_return fail(request, changed.error(), patch.name.value_or(""));
  }
}

}  // namespace

void update_workflow(const RequestPtr& request) {
  const auto id = request->path_id<model::WorkflowId>();
  if (!id) return request->not_found();
  start_unowned(change_workflow(request, *id));
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

// ── runs: started, listed, read line by line, cancelled ──

namespace {

constexpr std::string_view start_names[] = {"inputs"};
constexpr std::string_view start_parameters[] = {"profile"};
constexpr std::string_view line_parameters[] = {"after", "profile"};

// Exists from the head to the last byte, owned by OpenAnswers. The run continues when the client disconnects.
class LineStream final : public OpenAnswer, public engine::Reader {
 public:
  explicit LineStream(const RequestPtr& request) : request_(request) {}

  void open(const model::WorkflowRun& run, flow::LineView view) {
    net::Exchange& exchange = request_->exchange();
    exchange.on_drained(lifetime_.guard([this] {
      if (!over_ && reading_) reading_->more();
    }));
    exchange.on_gone(lifetime_.guard([this] { close("caller left"); }));
    if (exchange.gone()) return close("caller left");
    reading_ = request_->services().needs.flows.read(run, view, *this);
  }

  void take(SharedBytes lines) override {
    if (!over_) request_->exchange().write(std::move(lines));
  }
  bool full() const override { return request_->exchange().unsent_bytes() > limits::stream_unsent_bytes_max; }
  void end() override {
    if (over_) return;
    request_->exchange().finish();
    close("complete");
  }
  void lose(const Error& why) override {
    if (over_) return;
    request_->services().needs.log.write(world::LogLevel::error, "stream lost",
                                         {{"request_id", request_->request_id()}, {"why", why.what}});
    request_->exchange().abort();
    close("lost");
  }

 private:
  void close(std::string_view how) {
    if (std::exchange(over_, true)) return;
    request_->stream_ended(how);
    request_->services().open_answers.let_go(*this);
  }

  RequestPtr request_;
  std::unique_ptr<engine::Reading> reading_;
  bool over_ = false;
  Lifetime lifetime_;
};

void open_lines(const RequestPtr& request, const model::WorkflowRun& run, flow::LineView view) {
  request->start_stream({{"X-Workflow-Run-Id", run.id.text()}, {"Content-Type", "application/x-ndjson"}});
  if (request->http().method == "HEAD") {
    request->exchange().finish();
    return request->stream_ended("complete");
  }
  request->services().open_answers.open<LineStream>(request).open(run, view);
}

bool read_profile(const Query& query) {
  const auto profile = query.find("profile").value_or("plain");
  if (profile != "plain" && profile != "extended") query.refuse("profile", "must be plain or extended");
  return profile == "extended";
}

bool wants_no_stream(const RequestPtr& request) {
  const auto prefer = request->header("Prefer");
  return prefer && prefer->find("respond-async") != std::string_view::npos;
}

}  // namespace

void start_run(const RequestPtr& request) {
  const auto id = request->path_id<model::WorkflowId>();
  if (!id) return request->not_found();
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", start_names, findings);
  auto inputs = fields.object_text("inputs").value_or("{}");
  const Query query(request, start_parameters, findings);
  const flow::LineView view{.extended = read_profile(query)};
  if (refused(request, findings)) return;

  auto begun = [request, view](const flow::RunOutcome& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) return request->problem(*problem);
    const auto& run = std::get<model::WorkflowRun>(outcome);
    if (!wants_no_stream(request)) return open_lines(request, run, view);
    const auto workspace = model::WorkspaceId{run.tenant_id.ulid}.text();
    request->answer_json(202, model::to_json(run),
                         {{"Location", "/api/workspaces/" + workspace + "/workflow-runs/" + run.id.text()},
                          {"Preference-Applied", "respond-async"}});
  };
  with_row<model::Workflow>(
      request, &store::workflow, [request, inputs = std::move(inputs), begun](const model::Workflow& workflow) mutable {
        request->services().needs.flows.start({request->tenant().id, workflow, std::move(inputs)}, begun);
      });
}

void list_runs(const RequestPtr& request) {
  const auto id = request->path_id<model::WorkflowId>();
  if (!id) return request->not_found();
  const auto query = read_page_query<model::WorkflowRunId>(request);
  if (!query) return;
  store::workflow_runs(
      request->database(), request->tenant().id, *id, *query,
      [request, query](const Result<store::Page<model::WorkflowRun>>& page) { answer_page(request, *query, page); });
}

void get_run(const RequestPtr& request) { get_row<model::WorkflowRun>(request, &store::workflow_run); }

void stream_run(const RequestPtr& request) {
  Findings findings;
  const Query query(request, line_parameters, findings);
  flow::LineView view{.extended = read_profile(query)};
  view.after = query.integer("after", 0, std::numeric_limits<int64_t>::max()).value_or(-1);
  if (refused(request, findings)) return;
  with_row<model::WorkflowRun>(request, &store::workflow_run,
                               [request, view](const model::WorkflowRun& run) { open_lines(request, run, view); });
}

void cancel_run(const RequestPtr& request) {
  const auto id = request->path_id<model::WorkflowRunId>();
  if (!id) return request->not_found();
  request->services().needs.flows.cancel(request->tenant().id, *id, [request](const flow::RunOutcome& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) return request->problem(*problem);
    request->answer_json(200, model::to_json(std::get<model::WorkflowRun>(outcome)));
  });
}

}  // namespace sluice::api::workflows
