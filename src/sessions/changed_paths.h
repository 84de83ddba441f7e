// What a command changed in its sandbox's workspace, known by the times that the kernel put on the sandbox's upper
// directory.
#pragma once

#include <sys/stat.h>
#include <time.h>

#include <stop_token>
#include <string>
#include <vector>

namespace sluice::sessions {

// When a command began, and how the top of the tree looked then.
struct ChangeMark {
  timespec at{};
  struct stat top{};
};
ChangeMark mark_changes(int changes_fd);

inline constexpr std::size_t changed_paths_max = 6;

// Paths below `changes_fd` that were made, changed or taken out of since; a directory only where nothing in it is
// named, "." for the top. At most changed_paths_max, sorted. In doubt a path counts: what changed in the tick of
// the kernel's clock in which the mark was set, and what cannot be looked at, or not in time. Blocks. Follows no link.
std::vector<std::string> changed_since(int changes_fd, const ChangeMark& mark, std::stop_token stop = {});

}  // namespace sluice::sessions
