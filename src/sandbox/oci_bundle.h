// A plan in the words of an OCI runtime: config.json, and the steps that lay out the root it names.
//
// Pure. The steps are carried out, and the runtime started, by the box program in a mount namespace
// of its own (box/launch.cc): the host never sees a sandbox's mounts, and no directory of the server
// needs to be opened to the sandbox's user. What is left to the runtime is what runtimes are trusted
// for: namespaces, control groups, /dev, /proc, capabilities, the filter.
#pragma once

#include <string>
#include <vector>

#include "sandbox/plan.h"

namespace sluice::sandbox {

struct OciLayout {
  std::string stage = "/mnt";  // a directory anybody may pass through; covered in that namespace only
  std::string cgroups_path;    // empty: the runtime learns nothing of control groups
};

struct OciBundle {
  std::vector<Mount> steps;  // that make the root; the workspace is mounted below it last
  std::string config;        // config.json
};

OciBundle make_bundle(const Plan& plan, const OciLayout& place);

// The arguments of the box program before it turns into the runtime: `command`, with what is mounted at
// `hides` out of its sight.
std::string launch_order(const Plan& plan, const OciLayout& place, const std::vector<std::string>& hides,
                         const std::vector<std::string>& command);

}  // namespace sluice::sandbox
