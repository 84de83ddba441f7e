// Encodes a plan as orders to the box program (box/protocol.h): once for all sandboxes, for each one, and at its claim.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/plan.h"

namespace sluice::sandbox {

struct Site {
  std::string staging;      // an empty directory of ours that the zygote mounts its tree on
  std::string state_dir;    // real, without links
  std::string harness_dir;  // empty: none
  uint64_t slots = 0;       // to keep waiting
  uint64_t first_slot = 1;
  uint64_t owner = 0;  // of what is in state_dir and harness_dir, on disk
  uint64_t user_count = 0;
};

// `controllers` in the order of the descriptors that go along.
std::string prepare_order(const Plan& plan, const Machine& machine, const Site& site,
                          const std::vector<std::string>& controllers);
// `upper_instead`: relative to the state directory; empty where the upper layer is a tmpfs.
std::string build_order(const Plan& plan, std::string_view upper_instead);
std::string claim_order(const Plan& plan, std::string_view state_dir, std::string_view harness_dir);

}  // namespace sluice::sandbox
