// The kernel's control groups as far as boxes need them: where ours can be made, who left some
// behind, and whether memory ran out in one.
//
// All of a server's groups lie in one of its own, `sluice-PID.START.NUMBER`; START is when process
// PID began, so that a group tells whether its server still lives, whoever has its number now.
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

// Of one Sandbox; goes away with it.
class GroupHome final {
 public:
  GroupHome() = default;
  // Makes the directory in every hierarchy that has one of `limits` to keep. What cannot be made is
  // taken out of `machine`.
  GroupHome(Machine& machine, const std::vector<GroupLimit>& limits);
  ~GroupHome();
  GroupHome(GroupHome&&) = default;
  GroupHome& operator=(GroupHome&&) = default;

  const std::vector<std::string>& controllers() const { return controllers_; }
  // Where the groups of that controller are made; empty: nowhere.
  std::string directory(const std::string& controller) const;
  // One a hierarchy, in the order of controllers().
  std::vector<OwnedFd> open() const;
  // How often the kernel killed something in the group of that seat for want of memory.
  int64_t memory_kills(uint64_t seat) const;
  // Kills who is left and removes it all.
  void remove();

 private:
  std::vector<std::string> controllers_;
  std::map<std::string, std::string> paths_;  // controller -> our directory
  bool is_unified_ = false;
};

// What the names of all groups of that server begin with.
std::string group_prefix(pid_t server);

// Is a group of that name one of ours, and its server gone? Any other may be in use at this moment,
// even an empty one: its server, or a runtime for it, may be about to make a group in there.
bool is_left_behind(std::string_view name);

// Who is to be killed of those that a group's cgroup.procs lists: neither this process, nor 0, as which a process of
// another pid namespace is listed. To kill 0 would be to kill the whole process group of this server.
std::vector<pid_t> processes_to_kill(std::string_view listed);

// Groups of servers that are gone. Returns how many.
int reap_left_groups(const Machine& machine);

}  // namespace sluice::sandbox
