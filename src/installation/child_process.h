// Runs a program of this machine and waits for its end. For the commands of operators only: a server must not block.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::installation {

struct ChildCommand {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH
  std::string directory;
  std::vector<std::pair<std::string, std::string>>
      environment;  // added to this process's environment; replaces variables of the same name
};

struct ChildEnd {
  int code = 0;        // exit code; 128 plus the signal's number if a signal ended it
  std::string output;  // the last part of both streams
};

// `not_found` if there is no such program. Its input is empty. The program leads its own process group, which is ended
// together with this process by SIGINT, SIGTERM and SIGHUP.
Result<ChildEnd> run_child(const ChildCommand& command);

}  // namespace sluice::installation
