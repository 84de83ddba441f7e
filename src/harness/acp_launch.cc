#include "base/json.h"
#include "harness/dialect_makers.h"

namespace sluice::harness {
namespace {

constexpr std::string_view key_variable = "SLUICE_MODEL_KEY";

Error unknown_model(std::string_view agent, const ModelAccess& model) {
  return {ErrorKind::invalid, std::string(agent) + " cannot speak to models of the dialect \"" + model.dialect +
                                  "\". Choose another model or another agent type."};
}

// With the version in its path, as the libraries want it that add only the last part.
std::string versioned_url(const ModelAccess& model) {
  return model.dialect == "anthropic" ? model.base_url + "/v1" : model.base_url;
}

std::string_view opencode_library(const ModelAccess& model) {
  if (model.dialect == "openai-chat") return "@ai-sdk/openai-compatible";
  if (model.dialect == "openai-responses") return "@ai-sdk/openai";
  return model.dialect == "anthropic" ? "@ai-sdk/anthropic" : "";
}

// OpenCode says an answer that broke off again, as the same message, and says so only to its plugins. The notice is
// sent when the next attempt begins: what is left of the one before is on its way until then.
constexpr std::string_view retry_plugin = R"(const waiting = new Map()
export const Retries = async () => ({
  event: async ({ event }) => {
    if (event.type !== "session.status") return
    const { sessionID, status } = event.properties
    if (status.type === "retry") waiting.set(sessionID, status.message)
    if (status.type !== "busy" || !waiting.has(sessionID)) return
    const update = { sessionUpdate: "retry", reason: String(waiting.get(sessionID)).slice(0, 1000) }
    waiting.delete(sessionID)
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", method: "_sluice/retry", params: { sessionId: sessionID, update } }) + "\n")
  },
})
)";

std::string opencode_config(const Assignment& assignment, std::string_view instructions_path,
                            std::string_view plugin_path) {
  const ModelAccess& model = assignment.model;
  std::string config;
  json::Writer writer(config);
  writer.begin_object().key("model").string("sluice/" + model.name).key("small_model").string("sluice/" + model.name);
  writer.key("share").string("disabled").key("autoupdate").boolean(false);
  writer.key("enabled_providers").begin_array().string("sluice").end_array();
  writer.key("plugin").begin_array().string("file://" + std::string(plugin_path)).end_array();
  writer.key("instructions").begin_array();
  if (!instructions_path.empty()) writer.string(instructions_path);
  // The repository's words are not read without its configuration.
  if (assignment.asks) writer.string("/workspace/AGENTS.md").string("/workspace/CLAUDE.md");
  writer.end_array();
  writer.key("provider").begin_object().key("sluice").begin_object();
  writer.key("npm").string(opencode_library(model)).key("options").begin_object();
  writer.key("baseURL").string(versioned_url(model)).key("apiKey").string(model.key).end_object();
  writer.key("models").begin_object().key_escaped(model.name).begin_object();
  // It asks for the size of the context of a model that it does not know.
  writer.key("limit").begin_object().key("context").integer(200'000).key("output").integer(32'000).end_object();
  writer.key("tool_call").boolean(true).key("reasoning").boolean(true).end_object();
  writer.end_object().end_object().end_object().end_object();
  return config;
}

Result<Launch> plan_opencode(const Assignment& assignment) {
  if (opencode_library(assignment.model).empty()) return unknown_model("OpenCode", assignment.model);
  Launch launch;
  launch.argv = {assignment.program, "acp", "--cwd", "/workspace"};
  const std::string home(program_home);
  const std::string config_dir = home + "/.config/opencode";
  // Settings, agents and plugins that would be read beside ours.
  launch.removed = {config_dir, home + "/.opencode"};
  // It looks for a library of plugins, and asks a registry for it that cannot be reached, unless it believes to have
  // it.
  launch.files = {{config_dir + "/node_modules/.keep", ""},
                  {config_dir + "/package-lock.json",
                   R"({"lockfileVersion":3,"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}})"}};
  const std::string plugin_path = home + "/retries.js";
  launch.files.push_back({plugin_path, std::string(retry_plugin)});
  std::string instructions_path;
  if (!assignment.system_prompt.empty()) {
    instructions_path = home + "/instructions.md";
    launch.files.push_back({instructions_path, assignment.system_prompt});
  }
  launch.environment = program_environment(assignment);
  launch.environment["OPENCODE_CONFIG_CONTENT"] = opencode_config(assignment, instructions_path, plugin_path);
  // What its subagents ask never leaves the program, so where something must be asked it has none.
  launch.environment["OPENCODE_PERMISSION"] = assignment.asks ? R"({"*":"ask","task":"deny"})" : R"({"*":"allow"})";
  for (const std::string_view off : {"AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"})
    launch.environment["OPENCODE_DISABLE_" + std::string(off)] = "1";
  // An agent of the repository's own configuration may have leave for everything.
  if (assignment.asks) launch.environment["OPENCODE_DISABLE_PROJECT_CONFIG"] = "1";
  return launch;
}

std::string_view grok_backend(const ModelAccess& model) {
  if (model.dialect == "openai-chat") return "chat_completions";
  if (model.dialect == "openai-responses") return "responses";
  return model.dialect == "anthropic" ? "messages" : "";
}

// A string of TOML, which escapes as JSON does.
std::string toml_text(std::string_view text) {
  std::string quoted;
  json::append_string(quoted, text);
  return quoted;
}

std::string grok_config(const Assignment& assignment) {
  const ModelAccess& model = assignment.model;
  std::string config = "[cli]\nauto_update = false\n\n[models]\ndefault = \"sluice\"\n\n[model.sluice]\nmodel = " +
                       toml_text(model.name) + "\nname = " + toml_text(model.name) +
                       "\nbase_url = " + toml_text(versioned_url(model)) + "\nenv_key = " + toml_text(key_variable) +
                       "\napi_backend = " + toml_text(grok_backend(model)) + "\nmax_retries = 3\n";
  // Anthropic's servers want the key in a header of their own, and not as a bearer's; without an env_key Grok would
  // have its user log in first.
  if (model.dialect == "anthropic")
    config += "extra_headers = { \"x-api-key\" = " + toml_text(model.key) +
              ", \"anthropic-version\" = \"2023-06-01\", \"authorization\" = \"\" }\n";
  for (const std::string_view vendor : {"claude", "cursor"})  // whose settings in a repository are not for this program
    config += "\n[compat." + std::string(vendor) +
              "]\nagents = false\nhooks = false\nmcps = false\nrules = false\nskills = false\n";
  if (!assignment.asks) return config;
  config += "\n[permission]\nrules = [\n";
  for (const std::string_view tool : {"bash", "read", "edit", "grep", "mcp", "webfetch", "websearch"})
    config += "  { action = \"ask\", tool = " + toml_text(tool) + " },\n";
  return config + "]\n";
}

Result<Launch> plan_grok(const Assignment& assignment) {
  if (grok_backend(assignment.model).empty()) return unknown_model("Grok Build", assignment.model);
  Launch launch;
  launch.argv = {assignment.program, "agent"};
  if (!assignment.asks) launch.argv.emplace_back("--always-approve");
  launch.argv.emplace_back("stdio");
  const std::string home = std::string(program_home) + "/.grok";
  launch.environment = program_environment(assignment);
  launch.environment["GROK_HOME"] = home;
  launch.environment[std::string(key_variable)] = assignment.model.key;
  // What it was allowed for ever, and settings that would be read beside ours.
  for (const std::string_view left : {"hooks", "hooks-paths.json", "settings.json", "trusted_folders.toml", "plugins",
                                      "managed_config.toml", "requirements.toml", "sandbox.toml"})
    launch.removed.push_back(home + "/" + std::string(left));
  launch.files = {{home + "/config.toml", grok_config(assignment)}};
  return launch;
}

}  // namespace

Result<Launch> plan_acp(const Assignment& assignment) {
  if (assignment.agent_type == "opencode") return plan_opencode(assignment);
  if (assignment.agent_type == "grok-build") return plan_grok(assignment);
  if (assignment.command.empty())
    return Error{ErrorKind::invalid,
                 "An agent of the type \"acp\" needs a command: the program that speaks the Agent Client Protocol and "
                 "its arguments."};
  Launch launch{.argv = assignment.command, .environment = program_environment(assignment)};
  // An unknown program may write below its home before it makes the directory: qwen-code ends with ENOENT then.
  launch.files = {{std::string(program_home) + "/.keep", ""}};
  const std::string vendor = assignment.model.dialect == "anthropic" ? "ANTHROPIC" : "OPENAI";
  launch.environment[vendor + "_BASE_URL"] = assignment.model.base_url;
  launch.environment[vendor + "_API_KEY"] = assignment.model.key;
  launch.environment[vendor + "_MODEL"] = assignment.model.name;
  return launch;
}

}  // namespace sluice::harness
