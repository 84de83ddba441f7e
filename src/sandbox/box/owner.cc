#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "sandbox/box/steps.h"
#include "sandbox/box/zygote.h"

namespace sluice::sandbox::box {
namespace {

bool write_map(pid_t process, const char* file, uint64_t owner, uint64_t user) {
  char path[64];
  char map[64];
  snprintf(path, sizeof path, "/proc/%d/%s", process, file);
  const int bytes = snprintf(map, sizeof map, "%llu %llu 1\n", static_cast<unsigned long long>(owner),
                             static_cast<unsigned long long>(user));
  return write_file(path, map, static_cast<std::size_t>(bytes));
}

// A user namespace without processes, in which `owner` is `user`: that is how the kernel learns what a mount is
// to exchange. It lives as long as its descriptor, or a mount that has it.
int make_exchange(uint64_t owner, uint64_t user, Trouble& trouble) {
  int go[2];
  if (pipe2(go, O_CLOEXEC) != 0) {
    trouble.say("pipe");
    return -1;
  }
  // No function of libc: it would have the child run what is registered for after a fork.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    close(go[1]);
    char byte = 0;
    _exit(read(go[0], &byte, 1) == 0 ? 0 : 1);
  }
  int exchange = -1;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/user", child);
  if (child < 0 || !write_map(child, "uid_map", owner, user) || !write_map(child, "gid_map", owner, user) ||
      (exchange = open(path, O_RDONLY | O_CLOEXEC)) < 0) {
    trouble.say("make a user namespace for the owner of files");
  }
  close(go[0]);
  close(go[1]);
  if (child > 0) waitpid(child, nullptr, 0);
  return exchange;
}

// A copy of what is mounted at `path`, mounted nowhere yet; -1.
int copy_exchanged(const char* path, int exchange, Trouble& trouble) {
  const int tree =
      static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  mount_attr how{};
  how.attr_set = MOUNT_ATTR_IDMAP;
  how.userns_fd = static_cast<uint64_t>(exchange);
  if (tree >= 0 && syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &how, sizeof how) == 0) {
    return tree;
  }
  trouble.say("exchange the owner of files at %s", path);
  if (tree >= 0) close(tree);
  return -1;
}

bool exchange_at(const char* path, int exchange, bool lays, Trouble& trouble) {
  const int tree = copy_exchanged(path, exchange, trouble);
  if (tree < 0) return false;
  const bool laid = !lays || syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0;
  if (!laid) trouble.say("mount %s for another owner", path);
  close(tree);
  return laid;
}

bool exchange_all(const Zygote& zygote, uint64_t user, bool lays, Trouble& trouble) {
  const int exchange = make_exchange(zygote.owner, user, trouble);
  if (exchange < 0) return false;
  const bool done = exchange_at(state_path, exchange, lays, trouble) &&
                    (!zygote.has_harness || exchange_at(harness_path, exchange, lays, trouble));
  close(exchange);
  return done;
}

}  // namespace

bool can_exchange_owner(const Zygote& zygote, Trouble& trouble) {
  return exchange_all(zygote, zygote.owner + 1, false, trouble);
}

bool exchange_owner(const Zygote& zygote, uint64_t user, Trouble& trouble) {
  return exchange_all(zygote, user, true, trouble);
}

}  // namespace sluice::sandbox::box
