// Attacks that try to become more than the sandbox's user is.
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/hostile/probe.h"

namespace sluice::hostile {
namespace {

// EINVAL: the user 0 is nobody in a namespace that does not map it.
Verdict become_root(const Facts&) {
  if (getuid() == 0 || geteuid() == 0) return escaped("is root");
  const gid_t root = 0;
  return worst({judge("setuid", setuid(0), {EINVAL}), judge("setresuid", setresuid(0, 0, 0), {EINVAL}),
                judge("setgid", setgid(0), {EINVAL}), judge("setresgid", setresgid(0, 0, 0), {EINVAL}),
                judge("setgroups", setgroups(1, &root), {EINVAL})});
}

std::string status_line(std::string_view name) {
  const std::string status = contents("/proc/self/status");
  const auto at = status.find("\n" + std::string(name) + ":\t");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 3;
  return status.substr(from, status.find('\n', from) - from);
}

// A setuid program must run as its caller: `su -c id` would say uid=0.
Verdict setuid_program(const Facts&) {
  if (status_line("NoNewPrivs") != "1") return escaped("no_new_privs is off");
  for (const char* program : {"/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/sudo", "/bin/ping"}) {
    struct stat status = {};
    if (stat(program, &status) != 0 || (status.st_mode & S_ISUID) == 0) continue;
    const pid_t child = fork();
    if (child == 0) {
      close(1);
      close(2);
      execl(program, program, "--help", nullptr);
      _exit(127);
    }
    uid_t seen = getuid();
    struct stat process = {};
    if (stat(("/proc/" + std::to_string(child)).c_str(), &process) == 0) seen = process.st_uid;
    waitpid(child, nullptr, 0);
    if (seen == 0) return escaped(std::string(program) + " ran as root");
  }
  return resisted("no_new_privs is on");
}

Verdict privileges_again(const Facts&) {
  prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0);
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return escaped("no_new_privs went off");
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2) return escaped("no system call filter");
  return worst(
      {resisted("no_new_privs and the filter stay"), judge("securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0)),
       judge("keep capabilities", prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 1 ? 0 : (errno = EPERM, -1))});
}

Verdict ambient_capabilities(const Facts&) {
  Verdict sum;
  for (const int capability : {CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_DAC_OVERRIDE}) {
    add(sum,
        judge("raise " + std::to_string(capability), prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0)));
  }
  return sum;
}

Verdict capabilities(const Facts&) {
  Verdict sum;
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    const std::string held = status_line(set);
    const bool none = held.find_first_not_of('0') == std::string::npos && !held.empty();
    add(sum, none ? resisted(std::string(set) + ": none") : escaped(std::string(set) + " " + held));
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> all = {{{~0U, ~0U, ~0U}, {0x1ff, 0x1ff, 0x1ff}}};
  add(sum, judge("capset", syscall(SYS_capset, &header, all.data())));
  return sum;
}

Verdict priority(const Facts&) {
  const sched_param first = {1};
  errno = 0;
  return worst({judge("setpriority", setpriority(PRIO_PROCESS, 0, -10)),
                judge("SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &first)),
                judge("ioprio realtime", syscall(SYS_ioprio_set, 1, 0, 1 << 13)),
                judge("nice of process 1", setpriority(PRIO_PROCESS, 1, -10))});
}

// At every limit but 1 the kernel starts the host's handler, outside and as root.
Verdict core_handler(const Facts&) {
  for (const rlim_t wanted : {rlim_t{0}, rlim_t{1} << 20}) {
    const rlimit limit = {wanted, wanted};
    setrlimit(RLIMIT_CORE, &limit);
    const rlimit soft = {wanted, 1};
    prlimit(0, RLIMIT_CORE, &soft, nullptr);
  }
  rlimit now = {};
  getrlimit(RLIMIT_CORE, &now);
  return now.rlim_cur == 1 ? resisted("the limit stays at 1") : escaped("the limit is " + std::to_string(now.rlim_cur));
}

Verdict limits_raise(const Facts&) {
  Verdict sum;
  for (const auto resource : {RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CPU}) {
    rlimit now = {};
    getrlimit(resource, &now);
    const std::string name = "limit " + std::to_string(resource);
    if (now.rlim_max == RLIM_INFINITY) {
      add(sum, escaped(name + " is not set"));
      continue;
    }
    const rlimit more = {now.rlim_max + 1, now.rlim_max + 1};
    add(sum, judge(name, setrlimit(resource, &more)));
  }
  return sum;
}

constexpr std::array probes = {
    Probe{"become_root", become_root},           Probe{"setuid_program", setuid_program},
    Probe{"privileges_again", privileges_again}, Probe{"ambient_capabilities", ambient_capabilities},
    Probe{"capabilities", capabilities},         Probe{"priority", priority},
    Probe{"core_handler", core_handler},         Probe{"limits_raise", limits_raise},
};

}  // namespace

std::span<const Probe> privilege_probes() { return probes; }

}  // namespace sluice::hostile
