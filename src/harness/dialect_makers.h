// The dialects, one of which dialects.cc picks for an agent type, and the environment that all programs get.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "harness/harness.h"

namespace sluice::harness {

Result<Launch> plan_claude(const Assignment& assignment);
Result<Launch> plan_codex(const Assignment& assignment);
// "opencode", "grok-build" and "acp".
Result<Launch> plan_acp(const Assignment& assignment);

std::unique_ptr<Dialect> make_claude(const Assignment& assignment);
std::unique_ptr<Dialect> make_codex(const Assignment& assignment);
std::unique_ptr<Dialect> make_acp(const Assignment& assignment);

// The assignment's variables, and every place where programs keep things put below program_home.
inline std::map<std::string, std::string> program_environment(const Assignment& assignment) {
  const std::string home(program_home);
  auto environment = assignment.variables;
  environment["HOME"] = home;
  environment["XDG_CONFIG_HOME"] = home + "/.config";
  environment["XDG_DATA_HOME"] = home + "/.local/share";
  environment["XDG_STATE_HOME"] = home + "/.local/state";
  environment["XDG_CACHE_HOME"] = home + "/.cache";
  return environment;
}

}  // namespace sluice::harness
