#include "model/workflow.h"

#include <array>

#include "base/json.h"
#include "model/enum_names.h"

namespace sluice::model {
namespace {

constexpr std::array<std::string_view, 4> run_status_names = {"running", "succeeded", "failed", "cancelled"};
constexpr std::array<std::string_view, 5> block_status_names = {"pending", "running", "succeeded", "failed", "skipped"};

void append_error(json::Writer& writer, const WorkflowError& error) {
  writer.begin_object().key("code").string(error.code).key("message").string(error.message).end_object();
}

void append_error_or_null(json::Writer& writer, const std::optional<WorkflowError>& error) {
  writer.key("error");
  error ? append_error(writer, *error) : void(writer.null());
}

void append_blocks(json::Writer& writer, const std::vector<BlockState>& blocks) {
  writer.begin_array();
  for (const auto& block : blocks) {
    writer.begin_object().key("id").string(block.id).key("status").string(name_of(block.status));
    if (block.run_id) writer.key("run_id").string(block.run_id->text());
    writer.end_object();
  }
  writer.end_array();
}

void append_outputs(json::Writer& writer, const BlockOutputs& outputs) {
  writer.begin_object();
  if (outputs.response) writer.key("response").string(*outputs.response);
  if (outputs.files) writer.key("files").raw(*outputs.files);
  if (outputs.json) writer.key("json").raw(*outputs.json);
  if (outputs.status) writer.key("status").integer(*outputs.status);
  writer.end_object();
}

void append_what(json::Writer& writer, const WorkflowStarted& what) {
  writer.key("type").string("run.started").key("run").raw(what.run);
}

void append_what(json::Writer& writer, const BlockStarted& what) {
  writer.key("type").string("block.started").key("block").string(what.block).key("kind").string(what.kind);
  if (what.run_id) writer.key("run_id").string(what.run_id->text());
}

void append_what(json::Writer& writer, const BlockFinished& what) {
  writer.key("type").string("block.finished").key("block").string(what.block);
  writer.key("status").string(name_of(what.status));
  append_outputs(writer.key("outputs"), what.outputs);
  if (what.error) append_error(writer.key("error"), *what.error);
}

void append_what(json::Writer& writer, const WorkflowFinished& what) {
  writer.key("type").string("run.finished").key("status").string(name_of(what.status));
  writer.key("outputs").raw(what.outputs);
  if (what.error) append_error(writer.key("error"), *what.error);
}

std::optional<RunId> run_id_of(json::Value object) { return RunId::parse(text_of(object, "run_id")); }

std::optional<WorkflowError> error_of(json::Value object) {
  const auto found = object.find("error");
  if (!found || found->is_null()) return std::nullopt;
  return WorkflowError{text_of(*found, "code"), text_of(*found, "message")};
}

BlockOutputs outputs_of(json::Value object) {
  BlockOutputs outputs;
  const auto found = object.find("outputs");
  if (!found) return outputs;
  if (const auto response = found->find("response")) outputs.response = std::string(response->string().value_or(""));
  if (const auto files = found->find("files")) outputs.files = files->to_text();
  if (const auto json = found->find("json")) outputs.json = json->to_text();
  if (const auto status = found->find("status")) outputs.status = status->integer();
  return outputs;
}

}  // namespace

std::string_view name_of(WorkflowRunStatus status) { return run_status_names.at(static_cast<std::size_t>(status)); }
std::string_view name_of(BlockStatus status) { return block_status_names.at(static_cast<std::size_t>(status)); }
std::optional<WorkflowRunStatus> workflow_run_status_named(std::string_view name) {
  return named<WorkflowRunStatus>(run_status_names, name);
}
std::optional<BlockStatus> block_status_named(std::string_view name) {
  return named<BlockStatus>(block_status_names, name);
}

void append_json(std::string& out, const Workflow& workflow) {
  json::Writer writer(out);
  writer.begin_object().key("id").string(workflow.id.text()).key("object").string("workflow");
  writer.key("name").string(workflow.name).key("description").string(workflow.description);
  writer.key("definition").raw(workflow.definition);
  writer.key("created_at").string(to_rfc3339(workflow.created_at));
  writer.key("updated_at").string(to_rfc3339(workflow.updated_at)).end_object();
}

void append_json(std::string& out, const WorkflowRun& run) {
  json::Writer writer(out);
  writer.begin_object().key("id").string(run.id.text()).key("object").string("workflow_run");
  writer.key("workflow_id").string(run.workflow_id.text()).key("status").string(name_of(run.status));
  writer.key("inputs").raw(run.inputs).key("outputs").raw(run.outputs);
  append_error_or_null(writer, run.error);
  append_blocks(writer.key("blocks"), run.blocks);
  writer.key("created_at").string(to_rfc3339(run.created_at)).key("ended_at");
  run.ended_at ? writer.string(to_rfc3339(*run.ended_at)) : writer.null();
  writer.end_object();
}

std::string to_body(const WorkflowEvent& event) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  std::visit([&](const auto& what) { append_what(writer, what); }, event.what);
  writer.key("ts").string(to_rfc3339(event.at)).end_object();
  return out;
}

Result<WorkflowEvent> workflow_event_from_body(std::string_view body) {
  const Error nonsense{ErrorKind::corrupt, "an event of a workflow run makes no sense"};
  const auto document = json::Document::parse(body);
  if (!document) return nonsense;
  const auto root = document.value().root();
  const auto at = from_rfc3339(text_of(root, "ts"));
  if (!at) return nonsense;
  WorkflowEvent event{.at = *at, .what = {}};
  const auto type = text_of(root, "type");
  if (type == "run.started") {
    const auto run = root.find("run");
    event.what = WorkflowStarted{run ? run->to_text() : "{}"};
  } else if (type == "block.started") {
    event.what = BlockStarted{text_of(root, "block"), text_of(root, "kind"), run_id_of(root)};
  } else if (type == "block.finished") {
    const auto status = block_status_named(text_of(root, "status"));
    if (!status) return nonsense;
    event.what = BlockFinished{text_of(root, "block"), *status, outputs_of(root), error_of(root)};
  } else if (type == "run.finished") {
    const auto status = workflow_run_status_named(text_of(root, "status"));
    const auto outputs = root.find("outputs");
    if (!status) return nonsense;
    event.what = WorkflowFinished{*status, outputs ? outputs->to_text() : "{}", error_of(root)};
  } else {
    return nonsense;
  }
  return event;
}

void append_numbered(std::string& out, int64_t seq, std::string_view body) {
  out += R"({"seq":)" + std::to_string(seq) + ",";
  out += body.substr(1);
  out += '\n';
}

std::string to_text(const std::vector<BlockState>& blocks) {
  std::string out;
  json::Writer writer(out);
  append_blocks(writer, blocks);
  return out;
}

std::vector<BlockState> blocks_from_text(std::string_view text) {
  std::vector<BlockState> blocks;
  const auto document = json::Document::parse(text);
  if (!document) return blocks;
  document.value().root().each_element([&](json::Value block) {
    const auto status = block_status_named(text_of(block, "status"));
    blocks.push_back({text_of(block, "id"), status.value_or(BlockStatus::pending), run_id_of(block)});
  });
  return blocks;
}

std::string to_text(const WorkflowError& error) {
  std::string out;
  json::Writer writer(out);
  append_error(writer, error);
  return out;
}

std::optional<WorkflowError> workflow_error_from_text(std::string_view text) {
  const auto document = json::Document::parse(text);
  if (!document) return std::nullopt;
  return WorkflowError{text_of(document.value().root(), "code"), text_of(document.value().root(), "message")};
}

}  // namespace sluice::model
