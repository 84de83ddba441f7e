#include <algorithm>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/limits.h"
#include "model/json.h"
#include "remote/remote.h"

namespace sluice::remote {
namespace {

constexpr int64_t boot_token_ms = 10 * 60'000;
constexpr int64_t upload_token_ms = 60 * 60'000;
constexpr int64_t grace_ms = 60'000;

std::string token(std::string_view prefix, world::Entropy& entropy) {
  std::array<uint8_t, 32> noise{};
  entropy.fill(noise);
  return std::string(prefix) + to_base64url({reinterpret_cast<const char*>(noise.data()), noise.size()});
}

std::string env_json(const dispatch::Materials& materials) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("variables").begin_object();
  for (const auto& [name, value] : materials.variables) writer.key_escaped(name).string(value);
  writer.end_object().key("script");
  materials.setup_script.empty() ? writer.null() : writer.string(materials.setup_script);
  writer.end_object();
  return out;
}

void write_agent(json::Writer& writer, const dispatch::Dispatch& dispatch, const MintOptions& options) {
  const auto& agent = dispatch.agent;
  writer.key("agent").begin_object();
  writer.key("name").string(agent.name).key("system_prompt").string(agent.system_prompt);
  writer.key("agent_type").string(agent.kit.agent_type);
  writer.key("model").begin_object().key("provider").string(agent.model.provider).key("name").string(agent.model.name);
  if (agent.model.base_url) writer.key("base_url").string(*agent.model.base_url);
  writer.end_object();
  // Always sent, because a missing member means 10.
  writer.key("max_rounds").integer(dispatch.max_rounds > 0 ? dispatch.max_rounds : options.max_rounds);
  writer.end_object();
}

void write_materials(json::Writer& writer, const dispatch::Materials& materials) {
  writer.key("skills").begin_array();
  for (const auto& skill : materials.skills) {
    writer.begin_object().key("id").string(skill.id).key("name").string(skill.name);
    writer.key("description").string(skill.description).key("bundle_version").string(skill.sha256);
    writer.key("sha256").string(skill.sha256).end_object();
  }
  writer.end_array();
  if (const auto& repository = materials.repository) {
    writer.key("repository").begin_object().key("id").string(repository->id).key("url").string(repository->url);
    writer.key("ref").string(repository->ref).key("depth").integer(repository->depth);
    writer.key("credential_alias").string_or_null(repository->credential_alias).end_object();
  }
}

// What every runner understands of it, and all of it, which is our own.
void write_kit(json::Writer& writer, const model::AgentKit& kit) {
  writer.key("mcp_servers").begin_array();
  for (const auto& server : kit.mcp_servers) {
    if (server.url.empty()) continue;
    writer.begin_object().key("name").string(server.name).key("url").string(server.url);
    if (!server.headers.empty()) model::append_metadata(writer.key("headers"), server.headers);
    writer.end_object();
  }
  writer.end_array();
  if (kit == model::AgentKit{}) return;
  writer.key("kit").begin_object();
  model::append_kit_members(writer, kit);
  writer.end_object();
}

void write_conversation(json::Writer& writer, const std::vector<dispatch::HistoryTurn>& history) {
  writer.key("conversation").begin_array();
  for (auto i = history.size() - std::min(history.size(), limits::replay_turns_max); i < history.size(); ++i) {
    writer.begin_object().key("role").string(model::name_of(history[i].role));
    writer.key("content").string(history[i].content);
    if (history[i].at.ms != 0) writer.key("ts").integer(history[i].at.ms);
    writer.end_object();
  }
  writer.end_array();
}

// What the runner puts into the box; the zip has each under its name.
void write_files(json::Writer& writer, const std::vector<dispatch::FileUse>& files, const MintOptions& options,
                 model::ExecutionId execution) {
  writer.key("files");
  if (files.empty()) {
    writer.null();
    return;
  }
  writer.begin_object().key("url");
  writer.string(options.base_url + "/api/assistant/sandbox/" + execution.text() + "/files.zip");
  writer.key("items").begin_array();
  for (const auto& file : files) {
    writer.begin_object().key("name").string(file.name).key("size").integer(file.size_bytes);
    writer.key("sha256").string(file.sha256).end_object();
  }
  writer.end_array().end_object();
}

std::string config_json(const dispatch::Dispatch& dispatch, const MintOptions& options, model::TenantId tenant,
                        model::ExecutionId execution, Timestamp expires_at) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  write_agent(writer, dispatch, options);
  write_materials(writer, dispatch.materials);
  write_kit(writer, dispatch.agent.kit);
  write_conversation(writer, dispatch.history);
  write_files(writer, dispatch.materials.files, options, execution);
  writer.key("callback")
      .begin_object()
      .key("base_url")
      .string(options.base_url + "/api/workspaces/" + model::WorkspaceId{tenant.ulid}.text());
  writer.key("expires_at").string(to_rfc3339(expires_at));
  writer.key("workspace").string(model::name_of(dispatch.workspace.use)).end_object();
  writer.key("limits").begin_object();
  writer.key("max_runtime_seconds").integer(dispatch.agent.limits.max_runtime_seconds);
  writer.key("max_output_tokens").integer(dispatch.agent.limits.max_output_tokens).end_object();
  if (dispatch.resumed) {
    writer.key("told").begin_object().key("text").string(dispatch.told_text);
    writer.key("reasoning").string(dispatch.told_reasoning).end_object();
  }
  if (dispatch.extras.inference) writer.key("inference").boolean(true);
  writer.key("filler").boolean(dispatch.filler).key("policy");
  model::append_policy(writer, dispatch.agent.policy);
  writer.end_object();
  return out;
}

}  // namespace

Minted mint(const dispatch::Dispatch& dispatch, model::TenantId tenant, const MintOptions& options,
            world::IdSource& ids, world::Entropy& entropy, Timestamp now) {
  Minted made;
  auto& execution = made.execution;
  execution.id = ids.make<model::ExecutionId>();
  execution.tenant_id = tenant;
  if (dispatch.run != model::RunId{}) execution.run_id = dispatch.run;
  execution.created_at = now;
  execution.expires_at = {now.ms + dispatch.agent.limits.max_runtime_seconds * 1000 + grace_ms};
  execution.env_json = env_json(dispatch.materials);
  execution.config_json = config_json(dispatch, options, tenant, execution.id, execution.expires_at);
  for (const auto& skill : dispatch.materials.skills) {
    if (const auto id = model::SkillId::parse(skill.id)) execution.skill_ids.push_back(*id);
  }
  made.bearer = bearer_of(options.bearer_secret, execution.id);
  made.otp_setup = token("otps_", entropy);
  made.otp_run = token("otpr_", entropy);
  made.otp_upload = token("otpu_", entropy);
  made.agent_url = options.base_url + "/api/agents/" + execution.id.text();
  made.hashed = {{sha256(made.otp_setup), model::TokenPurpose::setup, {now.ms + boot_token_ms}},
                 {sha256(made.otp_run), model::TokenPurpose::run, {now.ms + boot_token_ms}},
                 {sha256(made.otp_upload), model::TokenPurpose::upload, {now.ms + upload_token_ms}}};
  return made;
}

std::string bearer_of(std::string_view bearer_secret, model::ExecutionId execution) {
  return "asbx_" + to_base64url(hmac_sha256(bearer_secret, "bearer of " + execution.text()));
}

std::string config_answer(const model::Execution& execution, std::string_view bearer_secret) {
  const auto document = json::Document::parse(execution.config_json);
  SLUICE_CHECK(document);
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  document.value().root().each_member([&](std::string_view name, json::Value value) {
    writer.key_escaped(name);
    if (name != "callback") {
      writer.raw(value.to_text());
      return;
    }
    writer.begin_object();
    value.each_member([&](std::string_view inner, json::Value its) { writer.key_escaped(inner).raw(its.to_text()); });
    writer.key("token").string(bearer_of(bearer_secret, execution.id)).end_object();
  });
  writer.end_object();
  return out;
}

}  // namespace sluice::remote
