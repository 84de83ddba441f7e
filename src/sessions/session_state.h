// What a run that waits for a human must find again of its workspace and its way out.
#pragma once

#include <string>
#include <vector>

namespace sluice::sessions {

struct SessionState {
  std::vector<std::string> parked_layers;  // names of the run's own layers, topmost first
  std::string instructions;                // AGENTS.md, as the model was shown it
  bool were_open = false;                  // the sandbox was set up before
  std::vector<std::string> allowed_hosts;  // by a human, for this run
};

}  // namespace sluice::sessions
