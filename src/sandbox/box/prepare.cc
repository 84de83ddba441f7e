#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox/box/own_root.h"
#include "sandbox/box/steps.h"
#include "sandbox/box/zygote.h"

namespace sluice::sandbox::box {
namespace {

bool read_filter(Zygote& zygote, int from) {
  struct stat size{};
  if (fstat(from, &size) != 0) return false;
  auto* const bytes = static_cast<sock_filter*>(malloc(static_cast<std::size_t>(size.st_size)));
  if (bytes == nullptr || pread(from, bytes, static_cast<std::size_t>(size.st_size), 0) != size.st_size) return false;
  zygote.filter.len = static_cast<unsigned short>(static_cast<std::size_t>(size.st_size) / sizeof(sock_filter));
  zygote.filter.filter = bytes;
  return true;
}

// As an ordinary user we are the root of a namespace in which there is no other user.
bool enter_namespaces(bool is_root, uint64_t uid, uint64_t gid, Trouble& trouble) {
  if (is_root) return unshare(CLONE_NEWNS) == 0 || trouble.say("unshare the mount namespace");
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return trouble.say("unshare the user and mount namespaces");
  char map[64];
  write_file("/proc/self/setgroups", "deny", 4);
  int bytes = snprintf(map, sizeof map, "0 %llu 1\n", static_cast<unsigned long long>(uid));
  if (!write_file("/proc/self/uid_map", map, static_cast<std::size_t>(bytes))) return trouble.say("write uid_map");
  bytes = snprintf(map, sizeof map, "0 %llu 1\n", static_cast<unsigned long long>(gid));
  if (!write_file("/proc/self/gid_map", map, static_cast<std::size_t>(bytes))) return trouble.say("write gid_map");
  return true;
}

// Below the staging directory: the tree of sandboxes, the state directory, the agent programs, and a proc, without
// which the kernel lets no user namespace mount its own.
bool furnish(const char* staging, const char* state, const char* harness, Reader& steps, Trouble& trouble) {
  char path[PATH_MAX];
  const auto below = [&](const char* name) {
    snprintf(path, sizeof path, "%s%s", staging, name);
    return path;
  };
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return trouble.say("make mounts private");
  if (mount("tmpfs", staging, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m") != 0) {
    return trouble.say("mount a tmpfs at %s", staging);
  }
  if (mkdir(below(tree_path), 0755) != 0 ||
      mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m") != 0) {
    return trouble.say("mount a tmpfs at %s", path);
  }
  if (!take_steps(steps, {.tree = path}, trouble)) return false;
  if (mkdir(below(state_path), 0755) != 0 || mount(state, path, nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return trouble.say("bind %s", state);
  }
  // The staging directory lies in the state directory, and what is mounted there came along. That is not
  // needed; and devices among it are of a kind whose owner cannot be exchanged.
  const std::size_t state_length = strlen(state);
  if (strncmp(staging, state, state_length) == 0) {
    snprintf(path, sizeof path, "%s%s%s", staging, state_path, staging + state_length);
    umount2(path, MNT_DETACH);
  }
  if (*harness != 0 &&
      (mkdir(below(harness_path), 0755) != 0 || mount(harness, path, nullptr, MS_BIND | MS_REC, nullptr) != 0)) {
    return trouble.say("bind %s", harness);
  }
  if (mkdir(below("/proc"), 0755) != 0 || mount("/proc", path, nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return trouble.say("bind /proc");
  }
  return true;
}

bool move_into(const char* staging, Trouble& trouble) {
  if (chdir(staging) != 0 || syscall(SYS_pivot_root, ".", ".") != 0) return trouble.say("pivot to %s", staging);
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) return trouble.say("leave the old root");
  return true;
}

// Where the staging directory was before something was mounted there: an empty directory beside the server's files.
const char* spare_directory(const char* staging, const char* state) {
  static char path[PATH_MAX];
  const std::size_t length = strlen(state);
  if (strncmp(staging, state, length) != 0 || staging[length] != '/') return "";
  snprintf(path, sizeof path, "%s%s", state_path, staging + length);
  return path;
}

// `trouble` says what all sandboxes share all the same; empty: nothing.
void prepare_tree(Zygote& zygote, const char* spare, Trouble& trouble) {
  zygote.own_root = {.tree = tree_path, .work = work_path, .spare = spare, .is_mapped = !zygote.is_root};
  zygote.has_own_root = prepare_own_root(zygote.own_root, trouble);
  if (!zygote.has_own_root) return;
  snprintf(trouble.what, sizeof trouble.what, "%s", zygote.own_root.shared);
}

void read_groups(Zygote& zygote, Reader& fields, Message& message) {
  zygote.groups_are_unified = fields.number() != 0;
  for (int i = 1; i < message.descriptor_count && zygote.group_count < groups_max; ++i) {
    zygote.groups[zygote.group_count++] = message.descriptors[i];
  }
  const uint64_t count = fields.number();
  for (uint64_t i = 0; i < count; ++i) {
    const GroupLimit limit = {static_cast<int>(fields.number()), fields.text(), fields.text()};
    if (zygote.group_limit_count < group_limits_max) zygote.group_limits[zygote.group_limit_count++] = limit;
  }
}

}  // namespace

bool prepare(Zygote& zygote, Message& message, Trouble& trouble, Trouble& shared) {
  Reader fields(message.payload, message.head.payload_bytes);
  zygote.is_root = fields.number() != 0;
  const uint64_t uid = fields.number();
  const uint64_t gid = fields.number();
  zygote.seat_target = fields.number();
  zygote.first_slot = fields.number();
  zygote.owner = fields.number();
  zygote.user_count = fields.number();
  const char* const staging = fields.text();
  const char* const state = fields.text();
  const char* const harness = fields.text();
  zygote.has_harness = *harness != 0;
  read_groups(zygote, fields, message);
  if (message.descriptor_count < 1 || !read_filter(zygote, message.descriptors[0]))
    return trouble.say("read the filter");
  close(message.descriptors[0]);

  umask(022);
  syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, nullptr);  // the server's keys stay the server's
  if (!enter_namespaces(zygote.is_root, uid, gid, trouble)) return false;
  if (!furnish(staging, state, harness, fields, trouble) || !move_into(staging, trouble)) return false;
  if (zygote.user_count > 0 && !can_exchange_owner(zygote, trouble)) zygote.user_count = 0;
  prepare_tree(zygote, spare_directory(staging, state), shared);
  prctl(PR_SET_DUMPABLE, 0);
  return true;
}

}  // namespace sluice::sandbox::box
