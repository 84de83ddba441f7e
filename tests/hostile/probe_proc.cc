// Attacks by way of /proc and /sys.
#include <fcntl.h>
#include <ftw.h>
#include <sys/klog.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/hostile/probe.h"

namespace sluice::hostile {
namespace {

Verdict proc_sys_write(const Facts&) {
  Verdict sum;
  for (const char* name : {"kernel/core_pattern",
                           "kernel/modprobe",
                           "kernel/hostname",
                           "kernel/domainname",
                           "kernel/sysrq",
                           "kernel/hotplug",
                           "kernel/randomize_va_space",
                           "kernel/yama/ptrace_scope",
                           "kernel/unprivileged_bpf_disabled",
                           "kernel/shmmax",
                           "kernel/ns_last_pid",
                           "kernel/cap_last_cap",
                           "vm/overcommit_memory",
                           "vm/drop_caches",
                           "fs/suid_dumpable",
                           "fs/binfmt_misc/register",
                           "net/ipv4/ip_forward",
                           "net/ipv4/ip_unprivileged_port_start",
                           "net/ipv4/ping_group_range",
                           "user/max_user_namespaces"}) {
    add(sum, opens(std::string("/proc/sys/") + name, O_WRONLY));
  }
  return sum;
}

Verdict sysrq_trigger(const Facts&) { return opens("/proc/sysrq-trigger", O_WRONLY); }

Verdict proc_kcore(const Facts&) {
  return worst({opens("/proc/kcore", O_RDONLY), opens("/dev/mem", O_RDONLY), opens("/dev/kmem", O_RDONLY),
                opens("/dev/port", O_RDONLY), opens("/proc/vmcore", O_RDONLY)});
}

Verdict kernel_log(const Facts&) {
  std::array<char, 128> piece{};
  return worst({opens("/dev/kmsg", O_RDONLY), opens("/dev/kmsg", O_WRONLY), opens("/proc/kmsg", O_RDONLY),
                judge("syslog", klogctl(3, piece.data(), piece.size())),
                judge("syslog size", klogctl(10, nullptr, 0))});
}

// Readable is no harm where every address is shown as zero.
Verdict addresses_in(const std::string& path) {
  const Verdict verdict = opens(path, O_RDONLY);
  if (verdict.outcome != Outcome::escaped) return verdict;
  const std::string text = contents(path, 4 << 20);
  if (text.find("ffffffff8") != std::string::npos || text.find("0xffff") != std::string::npos) {
    return escaped(path + " shows addresses");
  }
  return resisted(path + ": no addresses");
}

Verdict kernel_addresses(const Facts&) {
  return worst({addresses_in("/proc/kallsyms"), addresses_in("/proc/modules"), addresses_in("/proc/vmallocinfo"),
                addresses_in("/proc/timer_list"), addresses_in("/proc/sched_debug"), addresses_in("/proc/self/stack")});
}

Verdict proc_keys(const Facts&) {
  const std::string keys = contents("/proc/keys");
  return keys.empty() ? resisted("/proc/keys: empty or none") : escaped(keys);
}

// Names of disks and hosts, and at times a password, are among what the kernel was started with.
Verdict kernel_command_line(const Facts&) {
  const std::string line = contents("/proc/cmdline");
  return line.empty() ? resisted("/proc/cmdline: empty or none") : escaped(line);
}

Verdict writes(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return judge(path, -1);
  const Verdict verdict = judge(path, write(fd, text.data(), text.size()));
  close(fd);
  return verdict;
}

Verdict id_map_rewrite(const Facts&) {
  return worst({writes("/proc/self/uid_map", "0 0 1\n"), writes("/proc/self/gid_map", "0 0 1\n"),
                writes("/proc/self/setgroups", "allow\n"), writes("/proc/1/uid_map", "0 0 1\n")});
}

Verdict oom_score_lower(const Facts&) {
  return worst({writes("/proc/self/oom_score_adj", "-1000"), writes("/proc/self/oom_adj", "-17")});
}

int visit_writable(const char* path, const struct stat*, int kind, struct FTW*) {
  if (kind != FTW_F && kind != FTW_D) return 0;
  return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? 1 : 0;
}

Verdict sysfs_write(const Facts&) {
  if (access("/sys", F_OK) != 0) return resisted("no /sys");
  const int found = nftw("/sys", visit_writable, 20, FTW_PHYS);
  if (found > 0) return escaped("something in /sys is writable");
  return worst({resisted("nothing in /sys is writable"), opens("/sys/power/state", O_WRONLY),
                opens("/sys/kernel/uevent_helper", O_WRONLY), opens("/sys/kernel/debug", O_RDONLY | O_DIRECTORY)});
}

Verdict cgroup_write(const Facts&) {
  Verdict sum;
  for (const char* place :
       {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory"}) {
    for (const char* file :
         {"/cgroup.procs", "/release_agent", "/pids.max", "/memory.max", "/cgroup.subtree_control"}) {
      add(sum, opens(std::string(place) + file, O_WRONLY));
    }
  }
  return sum;
}

constexpr std::array probes = {
    Probe{"proc_sys_write", proc_sys_write},
    Probe{"sysrq_trigger", sysrq_trigger},
    Probe{"proc_kcore", proc_kcore},
    Probe{"kernel_log", kernel_log},
    Probe{"kernel_addresses", kernel_addresses},
    Probe{"proc_keys", proc_keys},
    Probe{"kernel_command_line", kernel_command_line},
    Probe{"id_map_rewrite", id_map_rewrite},
    Probe{"oom_score_lower", oom_score_lower},
    Probe{"sysfs_write", sysfs_write},
    Probe{"cgroup_write", cgroup_write},
};

}  // namespace

std::span<const Probe> proc_probes() { return probes; }

}  // namespace sluice::hostile
