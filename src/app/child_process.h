// A program of this machine, run to its end while the caller waits: for commands of people, never for a server.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::app {

struct ChildCommand {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH
  std::string directory;
  std::vector<std::pair<std::string, std::string>> environment;  // instead of ours, where the name is the same
};

struct ChildEnd {
  int code = 0;        // 128 and the signal's number, as a shell has it
  std::string output;  // the last of both streams
};

// `not_found` when there is no such program. Its input is empty. It is the first of a group of its own, which ends with
// us when we are told to (SIGINT, SIGTERM, SIGHUP).
Result<ChildEnd> run_child(const ChildCommand& command);

}  // namespace sluice::app
