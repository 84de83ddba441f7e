// The kernel's control groups for sandboxes: where groups can be made, which ones a dead server left behind, and
// whether memory ran out in one. Used on the loop's thread.
//
// All groups of a server lie in one of its own, `sluice-PID.START.NUMBER`. START is the start time of process PID, so
// that the name identifies the server even if another process has its PID now.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "sandbox/plan.h"

namespace sluice::sandbox {

// Fills in Machine::control_groups and Machine::controllers.
void find_controllers(Machine& machine);

// The control groups of one Sandbox. Removed with it.
class GroupDirectories final {
 public:
  GroupDirectories() = default;
  // Makes a directory in every hierarchy that enforces one of `limits`. A controller for which that fails is removed
  // from `machine`.
  GroupDirectories(Machine& machine, const std::vector<GroupLimit>& limits);
  ~GroupDirectories();
  GroupDirectories(GroupDirectories&&) = default;
  GroupDirectories& operator=(GroupDirectories&&) = default;

  const std::vector<std::string>& controllers() const { return controllers_; }
  // The directory in which groups of that controller are made; empty: none.
  std::string directory(const std::string& controller) const;
  // One descriptor for each hierarchy, in the order of controllers().
  std::vector<OwnedFd> open() const;
  // How often the kernel killed a process in the group of that slot because memory ran out.
  int64_t memory_kills(uint64_t slot) const;
  // Kills the processes that are left and removes all groups.
  void remove();

 private:
  std::vector<std::string> controllers_;
  std::map<std::string, std::string> paths_;  // controller -> our directory
  bool is_unified_ = false;
};

// The prefix of the names of all groups of that server.
std::string group_prefix(pid_t server);

// True if a group of that name was made by a Sluice server that is gone. Any other may be in use at this moment,
// even an empty one: its server, or a runtime for it, may be about to make a group in there.
bool is_left_behind(std::string_view name);

// The processes to kill of those that a group's cgroup.procs lists: neither this process, nor 0, as which a process of
// another pid namespace is listed. To kill 0 would be to kill the whole process group of this server.
std::vector<pid_t> processes_to_kill(std::string_view listed);

// Removes groups of servers that are gone. Returns how many.
int reap_left_groups(const Machine& machine);

}  // namespace sluice::sandbox
