// A root whose inodes no other sandbox has.
//
// What is bound from the host into several sandboxes is one inode to the kernel. A watch of inotify in one of them
// would see what the others and the host open, live, and a lock that is taken in one would stand in the way of all. So
// each sandbox sees its root through read-only overlays of its own, one for each directory that is mounted into it.
// Contents are shared as before, in the page cache too: an overlay has inodes of its own and nothing else.
//
// An overlay is of directories. Files that are mounted alone are copied once for all sandboxes, devices are made anew,
// and both are seen through one overlay more.
#pragma once

#include "sandbox/box/messages.h"

namespace sluice::sandbox::box {

struct RootMount {
  enum class Way : uint8_t {
    bind,     // as it is: a file system of this sandbox's own, or one of which no overlay can be made
    overlay,  // a directory
    copy,     // a file or a device
  };
  char* path = nullptr;     // below the root, "/usr"; "" is the root itself
  unsigned long flags = 0;  // as mount(2) knows them
  Way way = Way::bind;
};

struct OwnRoot {
  const char* tree = "";   // where the root is
  const char* work = "";   // a directory to work in, with nothing in it
  const char* spare = "";  // an empty directory, perhaps on the file system of what is mounted; "": none
  bool is_mapped = false;  // in a user namespace, where overlays keep marks as attributes of the user's kind
  RootMount* mounts = nullptr;
  std::size_t count = 0;
  char shared[256] = "";  // what has the inodes of the host all the same, for people; empty: nothing
};

// Looks through what is mounted below `root.tree`, and tries it out. False: it cannot be done on this machine. What
// could be had of a directory only is in `root.shared`.
bool prepare_own_root(OwnRoot& root, Trouble& trouble);

// In a mount namespace of the caller's own: lays the root out anew, over the one that is at `root.tree`.
bool lay_own_root(const OwnRoot& root, Trouble& trouble);

// Whether anything is mounted below that path. In doubt it is.
bool has_mounts_below(const char* path);

// A read-only overlay of `lower` at `target`. `empty` is a directory with nothing in it: the kernel wants two layers.
bool lay_read_only(const char* lower, const char* empty, const char* target, unsigned long flags, bool is_mapped);

}  // namespace sluice::sandbox::box
