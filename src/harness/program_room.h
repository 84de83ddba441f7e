// What every program finds around it in the box.
#pragma once

#include <map>
#include <string>

#include "harness/harness.h"

namespace sluice::harness {

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
