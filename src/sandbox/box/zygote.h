// The zygote: the small process from which sandboxes are forked.
//
// To fork a large server costs milliseconds and copies its secrets; so the server starts this
// program first, and it makes the tree that all sandboxes share, in a mount namespace of its own. For
// each sandbox it forks a *slot*, which goes into the sandbox's control groups (that takes milliseconds of
// waiting, so a few slots are kept waiting), lays the tree out with inodes of the sandbox's own, and then
// bears the sandbox's init as the zygote's child.
//
// When the server is gone, however it went, its socket ends here; the zygote ends, and the kernel
// kills its children, each of which is the init of a sandbox and takes the sandbox along.
#pragma once

#include <linux/filter.h>

#include "sandbox/box/messages.h"
#include "sandbox/box/own_root.h"

namespace sluice::sandbox::box {

inline constexpr int groups_max = 4;
inline constexpr int group_limits_max = 16;
inline constexpr int seats_max = 64;

// Where things are in the zygote's own tree.
inline constexpr const char* tree_path = "/tree";        // the root of boxes
inline constexpr const char* state_path = "/state";      // the server's state directory
inline constexpr const char* harness_path = "/harness";  // its agent programs, if it has any
inline constexpr const char* work_path = "/own";         // where a box's own tree is laid out

struct GroupLimit {
  int group = 0;  // index of Zygote::groups
  const char* file = "";
  const char* value = "";
};

struct Zygote {
  int line = server_descriptor;
  bool is_root = false;
  uint64_t seat_target = 0;
  uint64_t first_slot = 1;
  uint64_t owner = 0;  // of the server's files, on disk
  uint64_t user_count =
      0;  // users that sandboxes take turns at, from owner + 1 on; 0: the order for a sandbox names its user
  sock_fprog filter{};
  bool has_harness = false;
  OwnRoot own_root;
  bool has_own_root = false;  // false: sandboxes share the inodes of `tree_path`
  bool groups_are_unified = false;
  int groups[groups_max];  // directories that a sandbox's own groups are made in
  int group_count = 0;
  GroupLimit group_limits[group_limits_max];
  int group_limit_count = 0;
};

// Makes the shared tree and moves into it. `message` is kept: the zygote points into it. `shared` says what sandboxes
// have in common with the host and each other although they should not; empty: nothing.
bool prepare(Zygote& zygote, Message& message, Trouble& trouble, Trouble& shared);

// Serves until the server is gone.
int run_zygote();

// Never returns: bears one sandbox and ends. Waits at `line` for the order if there is one; else has it.
[[noreturn]] void be_seat(const Zygote& zygote, uint64_t slot, int line, Message& order);

// Never returns: is the first process of a sandbox. `go` is read once the id maps are written.
[[noreturn]] void be_init(const Zygote& zygote, Message& order, int go);

// The user outside of the sandbox that is born from that slot.
inline uint64_t user_of_seat(const Zygote& zygote, uint64_t slot) {
  return zygote.owner + 1 + slot % zygote.user_count;
}

// ── the owner of the server's files in a sandbox ──
// What runs are to keep belongs to one user on disk, while each sandbox has a user of its own, so that what the kernel
// counts by user (descriptors on their way, epoll and inotify watches, pages of pipes) is counted for each sandbox
// alone. In between are mounts that exchange the two (an "idmapped" mount, Linux 5.12; over an overlay's layers, 5.19).
// Whether the file systems of the state directory and of the agent programs can do that.
bool can_exchange_owner(const Zygote& zygote, Trouble& trouble);

// In a mount namespace of the caller's own: what belongs to the owner on disk belongs to `user` in the state directory
// and among the agent programs.
bool exchange_owner(const Zygote& zygote, uint64_t user, Trouble& trouble);

// ── the box program under an OCI runtime, which does what zygote and init do elsewhere ──
//
//   server ── launch ──▶ launch      lays out the root and the workspace in a mount namespace of its
//          ◀── claimed, failed ──    own, and turns into the runtime
//          ◀── ready ── guest        process 1 of the container, on the same line: serves commands
int run_launch();
int run_guest();

// "s12": the name of a slot's groups.
void name_slot(char (&name)[32], uint64_t slot);

}  // namespace sluice::sandbox::box
