// What there is to be had on the host, for a probe to try for: a secret in a file, in the environment
// and behind an inheritable descriptor, sockets that listen, a neighbour's workspace.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sandbox/sandbox.h"

namespace sluice::hostile {

class HostBait final {
 public:
  HostBait();
  ~HostBait();
  HostBait(const HostBait&) = delete;
  HostBait& operator=(const HostBait&) = delete;

  // KEY=VALUE, as the probe wants to be told; `bound` is a read-only directory inside.
  std::vector<std::string> facts(const sandbox::Limits& limits, const std::string& bound) const;

 private:
  std::filesystem::path directory_;
  std::string canary_;
  std::string abstract_name_;
  int loopback_port_ = 0;
  int shm_id_ = -1;
  std::vector<int> descriptors_;
};

}  // namespace sluice::hostile
