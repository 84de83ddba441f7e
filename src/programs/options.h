// What the operator configures of agent programs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sluice::programs {

// See harness/dialect.h.
struct ProgramOptions {
  struct Place {
    std::string path;    // of the program, as the sandbox sees it
    std::string folder;  // of the host, bound at /opt/harness/TYPE; empty: none
  };
  // Asked at each run, because a program may be installed while the server runs. Empty: the program is not installed.
  std::function<std::optional<Place>(const std::string& agent_type)> find;
  int64_t start_ms_max = 60'000;            // to the first thing it says
  int64_t silence_ms_max = 600'000;         // between two, while no human is asked and no tool runs
  int64_t tool_silence_ms_max = 1'800'000;  // while a tool of its own runs
  int64_t end_ms_max = 10'000;              // from the end of its turn, or SIGTERM, to the end of its process
};

}  // namespace sluice::programs
