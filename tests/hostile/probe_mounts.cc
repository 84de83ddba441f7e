// Attacks by mounts and namespaces.
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "tests/hostile/probe.h"

namespace sluice::hostile {
namespace {

const char* target() {
  mkdir("/tmp/.probe-mount", 0755);
  return "/tmp/.probe-mount";
}

Verdict mount_tmpfs(const Facts&) {
  Verdict sum;
  for (const char* kind :
       {"tmpfs", "proc", "sysfs", "cgroup", "cgroup2", "overlay", "devtmpfs", "ext4", "fuse", "bpf"}) {
    add(sum, judge(std::string("mount ") + kind, mount("none", target(), kind, 0, nullptr)));
  }
  return sum;
}

Verdict mount_bind(const Facts&) {
  return worst({judge("bind /", mount("/", target(), nullptr, MS_BIND, nullptr)),
                judge("rbind /", mount("/", target(), nullptr, MS_BIND | MS_REC, nullptr)),
                judge("bind /proc over /usr", mount("/proc", "/usr", nullptr, MS_BIND, nullptr)),
                judge("make / shared", mount(nullptr, "/", nullptr, MS_SHARED | MS_REC, nullptr))});
}

Verdict mount_remount(const Facts& facts) {
  Verdict sum;
  for (const std::string& place :
       {std::string("/"), std::string("/usr"), std::string("/etc"), std::string("/proc"), facts["bound"]}) {
    add(sum, judge("remount " + place, mount(nullptr, place.c_str(), nullptr, MS_REMOUNT, nullptr)));
    add(sum, judge("remount bind " + place, mount(nullptr, place.c_str(), nullptr, MS_REMOUNT | MS_BIND, nullptr)));
  }
  return sum;
}

Verdict mount_umount(const Facts& facts) {
  Verdict sum;
  for (const std::string& place : {std::string("/"), std::string("/proc"), std::string("/workspace"),
                                   std::string("/dev"), std::string("/tmp"), facts["bound"]}) {
    add(sum, judge("umount " + place, umount2(place.c_str(), MNT_DETACH)));
  }
  return sum;
}

Verdict mount_fsopen(const Facts&) {
  Verdict sum;
  for (const char* kind : {"tmpfs", "proc", "ext4"})
    add(sum, judge(std::string("fsopen ") + kind, syscall(SYS_fsopen, kind, 0)));
  add(sum, judge("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0)));
  return sum;
}

Verdict mount_open_tree(const Facts&) {
  constexpr unsigned clone_tree = 1 | O_CLOEXEC | AT_RECURSIVE;
  struct {
    uint64_t set = 0, clear = 1, propagation = 0, userns = 0;  // clear: MOUNT_ATTR_RDONLY
  } writable;
  return worst({judge("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", clone_tree)),
                judge("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, target(), 0)),
                judge("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &writable, sizeof writable))});
}

Verdict pivot_root(const Facts&) { return judge("pivot_root", syscall(SYS_pivot_root, target(), target())); }

Verdict chroot_out(const Facts& facts) {
  const Verdict verdict = judge("chroot", chroot(target()));
  if (verdict.outcome != Outcome::escaped) return verdict;
  for (int i = 0; i < 64; ++i) [[maybe_unused]]
    const int up = chdir("..");
  [[maybe_unused]] const int again = chroot(".");
  return worst({verdict, opens(facts["secret_file"], O_RDONLY)});
}

Verdict unshare_user(const Facts&) { return judge("unshare(user)", unshare(CLONE_NEWUSER)); }

Verdict unshare_others(const Facts&) {
  return worst({judge("mount", unshare(CLONE_NEWNS)), judge("pid", unshare(CLONE_NEWPID)),
                judge("net", unshare(CLONE_NEWNET)), judge("ipc", unshare(CLONE_NEWIPC)),
                judge("uts", unshare(CLONE_NEWUTS)), judge("cgroup", unshare(CLONE_NEWCGROUP)),
                judge("time", unshare(CLONE_NEWTIME))});
}

Verdict judge_child(std::string_view call, long child) {
  const Verdict verdict = judge(call, child);
  if (child == 0) _exit(0);
  if (child > 0) waitpid(static_cast<pid_t>(child), nullptr, 0);
  return verdict;
}

Verdict clone_user(const Facts&) {
  return worst({judge_child("clone(user)", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0)),
                judge_child("clone(user, net)",
                            syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD, nullptr, nullptr, nullptr, 0)),
                judge_child("clone(mount)", syscall(SYS_clone, CLONE_NEWNS | SIGCHLD, nullptr, nullptr, nullptr, 0))});
}

Verdict clone3_user(const Facts&) {
  clone_args arguments = {};
  arguments.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET;
  arguments.exit_signal = SIGCHLD;
  return judge_child("clone3(user, mount, net)", syscall(SYS_clone3, &arguments, sizeof arguments));
}

Verdict setns_own(const Facts&) {
  Verdict sum;
  for (const char* name : {"mnt", "net", "ipc", "uts", "pid"}) {
    const int fd = open((std::string("/proc/self/ns/") + name).c_str(), O_RDONLY | O_CLOEXEC);
    add(sum, fd < 0 ? judge(name, -1) : judge(std::string("setns ") + name, setns(fd, 0)));
    if (fd >= 0) close(fd);
  }
  const long pidfd = syscall(SYS_pidfd_open, 1, 0);
  if (pidfd >= 0) add(sum, judge("setns by pidfd", setns(static_cast<int>(pidfd), CLONE_NEWNS | CLONE_NEWNET)));
  return sum;
}

constexpr std::array probes = {
    Probe{"mount_tmpfs", mount_tmpfs},
    Probe{"mount_bind", mount_bind},
    Probe{"mount_remount", mount_remount},
    Probe{"mount_umount", mount_umount},
    Probe{"mount_fsopen", mount_fsopen},
    Probe{"mount_open_tree", mount_open_tree},
    Probe{"pivot_root", pivot_root},
    Probe{"chroot", chroot_out},
    Probe{"unshare_user", unshare_user},
    Probe{"unshare_others", unshare_others},
    Probe{"clone_user", clone_user},
    Probe{"clone3_user", clone3_user},
    Probe{"setns", setns_own},
};

}  // namespace

std::span<const Probe> mount_probes() { return probes; }

}  // namespace sluice::hostile
