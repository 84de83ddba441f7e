#include "base/json.h"
#include "harness/codex_items.h"
#include "harness/dialect_makers.h"

namespace sluice::harness {
namespace {

constexpr std::string_view key_variable = "SLUICE_MODEL_KEY";

// A string of TOML, which escapes as JSON does.
std::string toml_text(std::string_view text) {
  std::string quoted;
  json::append_string(quoted, text);
  return quoted;
}

}  // namespace

Result<Launch> plan_codex(const Assignment& assignment) {
  if (assignment.model.dialect != "openai-responses")
    return Error{ErrorKind::invalid, "Codex speaks only to models of the dialect \"openai-responses\", not \"" +
                                         assignment.model.dialect + "\". Choose another model or another agent type."};
  const std::string provider =
      "model_providers.sluice={name=\"sluice\",base_url=" + toml_text(assignment.model.base_url) +
      ",wire_api=\"responses\",env_key=" + toml_text(key_variable) + ",request_max_retries=3,stream_max_retries=3}";
  Launch launch;
  launch.argv = {assignment.program, "app-server", "-c", "model_provider=\"sluice\"", "-c", provider,
                 // It would ask its makers' servers for these, and wait for them at its end.
                 "-c", "analytics.enabled=false", "--disable", "plugins",
                 // It would try for ever to reach a model that is not there.
                 "--disable", "unbounded_connection_retries"};
  // It trusts where it works of itself, and then takes settings and rules of the repository that ask for less.
  if (assignment.asks)
    launch.argv.insert(launch.argv.end(), {"-c", "projects={\"/workspace\"={trust_level=\"untrusted\"}}"});
  if (!assignment.bridge_url.empty()) {
    // A tool of the host may wait for a human.
    launch.argv.insert(launch.argv.end(), {"-c", "mcp_servers." + std::string(bridge_name) + "={url=" +
                                                     toml_text(assignment.bridge_url) + ",tool_timeout_sec=604800}"});
  }
  launch.environment = program_environment(assignment);
  const std::string home = std::string(program_home) + "/.codex";
  launch.environment["CODEX_HOME"] = home;
  launch.environment[std::string(key_variable)] = assignment.model.key;
  // Rules allow commands, and hooks whatever they like.
  launch.removed = {home + "/rules", home + "/hooks.json", home + "/hooks", home + "/requirements.toml"};
  // Codex refuses a home that is not there.
  launch.files = {{home + "/config.toml", "# What Sluice sets is on the command line.\n"}};
  return launch;
}

}  // namespace sluice::harness
