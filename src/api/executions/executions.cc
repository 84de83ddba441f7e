#include "api/executions/executions.h"
#include "api/answers/pages.h"
#include "api/inputs/message_input.h"
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

void mint(const RequestPtr& request, const ExecutionInput& input, const dispatch::Dispatch& dispatch) {
  auto minted = request->services().needs.mint.make(dispatch, request->tenant().id);
  if (!input.upload) {
    std::erase_if(minted.hashed, [](const auto& token) { return token.purpose == model::TokenPurpose::upload; });
  }
  store::create_execution(request->database(), minted.execution, sha256(minted.bearer), minted.hashed,
                          [request, input, minted](const Result<Unit>& made) {
                            if (!made) return request->fail(made.error());
                            answer_minted(request, minted, input);
                          });
}

// What the caller named is checked by the names it used, what the agent names comes on top.
void gather(const RequestPtr& request, ExecutionInput input, model::Agent agent) {
  auto named = named_by(input.message, "");
  find_materials(request, named, [request, input = std::move(input), agent = std::move(agent)](auto) mutable {
    model::Message message;
    message.repository_id = input.message.repository_id;
    message.skill_ids = input.message.skill_ids;
    message.env_name = input.message.env_name;
    auto names = engine::materials_named(agent, std::nullopt, message);
    store::materials(
        request->database(), request->tenant().id, std::move(names),
        [request, input = std::move(input), agent = std::move(agent)](Result<store::FoundMaterials> found) mutable {
          if (!found) return request->fail(found.error());
          dispatch::Dispatch dispatch{.agent = std::move(agent), .prompt = input.message.content};
          if (input.message.env) dispatch.materials.variables = *input.message.env;
          engine::give(std::move(found).take(), dispatch.materials);
          dispatch.workspace.use = engine::workspace_use_of(dispatch.agent, dispatch.extras);
          mint(request, input, dispatch);
        });
  });
}

}  // namespace

void create_execution(const RequestPtr& request) {
  auto input = read_input(request);
  if (!input) return;
  const auto agent_id = input->agent;
  store::Done<model::Agent> with_agent = [request, input = std::move(*input)](Result<model::Agent> agent) mutable {
    if (agent) return gather(request, std::move(input), std::move(agent).take());
    if (agent.error().kind != ErrorKind::not_found) return request->fail(agent.error());
    request->invalid("/agent_id", "names no agent of this tenant");
  };
  if (agent_id == model::AgentId{})
    return store::default_agent(request->database(), request->tenant().id, std::move(with_agent));
  store::agent(request->database(), request->tenant().id, agent_id, std::move(with_agent));
}

void list_files(const RequestPtr& request) {
  const auto id = request->path_id<model::ExecutionId>();
  if (!id) return request->not_found();
  store::files_of_execution(
      request->database(), request->tenant().id, *id,
      [request](Result<std::vector<model::RunFile>> files) { answer_all(request, std::move(files)); });
}

}  // namespace sluice::api::executions
