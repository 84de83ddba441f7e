#include <fcntl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "sandbox/box/steps.h"
#include "sandbox/box/zygote.h"

namespace sluice::sandbox::box {
namespace {

bool write_at(int directory, const char* name, const char* text) {
  const int to = openat(directory, name, O_WRONLY | O_CLOEXEC);
  if (to < 0) return false;
  const bool put = write(to, text, strlen(text)) >= 0;
  close(to);
  return put;
}

// Makes the sandbox's groups and enters them: all processes that are forked here stay in them. In the unified
// hierarchy a child can be born into a group (`birth_group`), which spares the wait of moving.
bool enter_groups(const Zygote& zygote, uint64_t slot, int& birth_group, Trouble& trouble) {
  char name[32];
  name_slot(name, slot);
  for (int i = 0; i < zygote.group_count; ++i) {
    if (mkdirat(zygote.groups[i], name, 0755) != 0) return trouble.say("make control group %s", name);
    const int group = openat(zygote.groups[i], name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (group < 0) return trouble.say("open control group %s", name);
    for (int l = 0; l < zygote.group_limit_count; ++l) {
      const GroupLimit& limit = zygote.group_limits[l];
      // Swap accounting may be switched off; then memory.memsw and memory.swap do not exist.
      const bool may_lack = strstr(limit.file, "sw") != nullptr;
      if (limit.group == i && !write_at(group, limit.file, limit.value) && !may_lack) {
        return trouble.say("write %s to %s", limit.value, limit.file);
      }
    }
    if (zygote.groups_are_unified) {
      birth_group = openat(zygote.groups[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } else if (!write_at(group, "cgroup.procs", "0")) {
      return trouble.say("enter control group %s", name);
    }
    close(group);
  }
  return true;
}

bool write_map(pid_t process, const char* file, uint64_t inside, uint64_t outside) {
  char path[64];
  char map[64];
  snprintf(path, sizeof path, "/proc/%d/%s", process, file);
  const int bytes = snprintf(map, sizeof map, "%llu %llu 1\n", static_cast<unsigned long long>(inside),
                             static_cast<unsigned long long>(outside));
  return write_file(path, map, static_cast<std::size_t>(bytes));
}

// The kernel counts what is taken inside a user namespace for who made it too. As root's, all sandboxes together would
// be held to what root may have, and root with them.
class MadeBy final {
 public:
  MadeBy(const Zygote& zygote, uint64_t user) : is_other_(zygote.is_root) {
    if (!is_other_) return;
    prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP);  // privileges stay; in the namespace that is made all is new
    become(static_cast<uid_t>(user));
  }
  ~MadeBy() {
    if (is_other_) become(0);
  }
  MadeBy(const MadeBy&) = delete;
  MadeBy& operator=(const MadeBy&) = delete;

 private:
  // Of this thread alone, and effective only.
  static void become(uid_t user) { syscall(SYS_setresuid, -1, user, -1); }
  const bool is_other_;
};

long clone_for(const Zygote& zygote, uint64_t user, clone_args& how) {
  const MadeBy maker(zygote, user);
  return syscall(SYS_clone3, &how, sizeof how);
}

// What differs from sandbox to sandbox before there is an order for one.
bool arrange_mounts(const Zygote& zygote, uint64_t slot, Trouble& trouble) {
  if (zygote.user_count == 0 && !zygote.has_own_root) return true;
  if (unshare(CLONE_NEWNS) != 0) return trouble.say("unshare the mount namespace");
  if (zygote.user_count > 0 && !exchange_owner(zygote, user_of_seat(zygote, slot), trouble)) return false;
  return !zygote.has_own_root || lay_own_root(zygote.own_root, trouble);
}

bool bear(const Zygote& zygote, uint64_t slot, int birth_group, Message& order, Trouble& trouble) {
  Reader fields(order.payload, order.head.payload_bytes);
  int pidfd = -1;
  clone_args how{};
  how.flags = fields.number() | CLONE_PIDFD | CLONE_PARENT;
  how.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  if (birth_group >= 0) {
    how.flags |= CLONE_INTO_CGROUP;
    how.cgroup = static_cast<uint64_t>(birth_group);
  }
  uint64_t user[2] = {fields.number(), fields.number()};
  uint64_t group[2] = {fields.number(), fields.number()};
  if (zygote.user_count > 0) user[1] = group[1] = user_of_seat(zygote, slot);

  int go[2];
  if (pipe2(go, O_CLOEXEC) != 0) return trouble.say("pipe");
  const long child = clone_for(zygote, user[1], how);
  if (child == 0) {
    close(go[1]);
    be_init(zygote, order, go[0]);
  }
  if (child < 0) return trouble.say("clone into new namespaces");
  const auto process = static_cast<pid_t>(child);
  if (!write_map(process, "uid_map", user[0], zygote.is_root ? user[1] : 0) ||
      !write_map(process, "gid_map", group[0], zygote.is_root ? group[1] : 0)) {
    return trouble.say("write id maps");
  }
  const Head built = {.verb = Verb::built, .number = order.head.number, .a = process, .b = static_cast<int64_t>(slot)};
  if (!send(zygote.line, built, &pidfd, 1)) return trouble.say("hand over the sandbox's first process");
  return write(go[1], "", 1) == 1 || trouble.say("start the sandbox's first process");
}

}  // namespace

void be_seat(const Zygote& zygote, uint64_t slot, int line, Message& order) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "sluice-slot");
  prctl(PR_SET_DUMPABLE, 1);  // else our files in /proc, and our child's id maps, are the machine's root's
  write_file("/proc/self/oom_score_adj", "300", 3);  // when memory runs out, boxes go first
  Trouble trouble;
  int birth_group = -1;
  bool good = enter_groups(zygote, slot, birth_group, trouble) && arrange_mounts(zygote, slot, trouble);
  if (line >= 0 && receive(line, order) == Received::end) _exit(0);
  good = good && bear(zygote, slot, birth_group, order, trouble);
  if (good) _exit(0);
  const Head failed = {.verb = Verb::build_failed, .number = order.head.number, .b = static_cast<int64_t>(slot)};
  send_failure(zygote.line, failed, trouble.what);
  _exit(1);
}

}  // namespace sluice::sandbox::box
