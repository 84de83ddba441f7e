#include "api/answers/pages.h"
#include "api/handlers.h"
#include "api/inputs/message_input.h"
#include "api/request/waiting.h"
#include "base/digest.h"
#include "engine/materials.h"

namespace sluice::api::executions {
namespace {

constexpr std::string_view create_names[] = {"agent_id", "prompt", "repository_id", "skill_ids", "env", "upload"};
constexpr TextRule prompt_rule{
    .chars_min = 1, .chars_max = limits::message_content_bytes_max, .bytes_max = limits::message_content_bytes_max};

struct ExecutionInput {
  model::AgentId agent;
  MessageInput message;
  bool upload = true;
};

std::optional<ExecutionInput> read_input(const RequestPtr& request) {
  const auto body = read_body(request);
  if (!body) return std::nullopt;
  Findings findings;
  const Fields fields(body->root(), "", create_names, findings);
  ExecutionInput out;
  out.agent = fields.id<model::AgentId>("agent_id", "an agent").value_or(model::AgentId{});
  out.message = read_materials(fields);
  out.message.content = fields.text("prompt", prompt_rule).value_or("");
  out.upload = fields.boolean("upload").value_or(true);
  if (refused(request, findings)) return std::nullopt;
  return out;
}

void answer_minted(const RequestPtr& request, const MintedExecution& minted, const ExecutionInput& input) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("object").string("execution").key("id").string(minted.execution.id.text());
  writer.key("agent_url").string(minted.agent_url);
  writer.key("otp_setup").string(minted.otp_setup).key("otp_run").string(minted.otp_run);
  if (input.upload) writer.key("otp_upload").string(minted.otp_upload);
  if (!input.message.content.empty()) writer.key("prompt").string(input.message.content);
  writer.key("expires_at").string(to_rfc3339(minted.execution.expires_at)).end_object();
  request->answer_json(201, std::move(body), {{"Cache-Control", "no-store"}});
}

Task<> create(RequestPtr request, ExecutionInput input) {
  const auto tenant = request->tenant().id;
  std::optional<model::Agent> agent;
  if (input.agent == model::AgentId{}) {
    agent = co_await found_if_any<model::Agent>(request, &store::default_agent, tenant);
  } else {
    agent = co_await found_if_any<model::Agent>(request, &store::agent, tenant, input.agent);
  }
  if (!agent) co_return request->invalid("/agent_id", "names no agent of this tenant");

  // The names in the request are checked first, so that a wrong one can be pointed at; the agent's own are added then.
  co_await answer<store::FoundMaterials>(
      [&](auto done) { find_materials(request, named_by(input.message, ""), std::move(done)); });
  model::Message message;
  message.repository_id = input.message.repository_id;
  message.skill_ids = input.message.skill_ids;
  message.env_name = input.message.env_name;
  auto materials = co_await found<store::FoundMaterials>(request, &store::materials, tenant,
                                                         engine::materials_named(*agent, std::nullopt, message));
  dispatch::Dispatch dispatch{.agent = *std::move(agent), .prompt = input.message.content};
  if (input.message.env) dispatch.materials.variables = *input.message.env;
  engine::give(std::move(materials), dispatch.materials);
  dispatch.workspace.use = engine::workspace_use_of(dispatch.agent, dispatch.extras);

  auto minted = request->services().needs.mint.make(dispatch, tenant);
  if (!input.upload) {
    std::erase_if(minted.hashed, [](const auto& token) { return token.purpose == model::TokenPurpose::upload; });
  }
  co_await found<Unit>(request, &store::create_execution, minted.execution, sha256(minted.bearer), minted.hashed);
  answer_minted(request, minted, input);
}

}  // namespace

void create_execution(const RequestPtr& request) {
  if (auto input = read_input(request)) start_unowned(create(request, *std::move(input)));
}

void list_files(const RequestPtr& request) {
  const auto id = request->path_id<model::ExecutionId>();
  if (!id) return request->not_found();
  store::files_of_execution(
      request->database(), request->tenant().id, *id,
      [request](Result<std::vector<model::RunFile>> files) { answer_all(request, std::move(files)); });
}

}  // namespace sluice::api::executions
