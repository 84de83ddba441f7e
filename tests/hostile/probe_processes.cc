// Attacks on other processes: the sandbox's own process 1, and whatever lives outside.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>

#include "tests/hostile/probe.h"

namespace sluice::hostile {
namespace {

Verdict reads(const std::string& path) {
  const Verdict open_verdict = opens(path, O_RDONLY);
  if (open_verdict.outcome != Outcome::escaped) return open_verdict;
  const std::string got = contents(path);
  return got.empty() ? resisted(path + ": empty") : escaped(path + ": " + std::to_string(got.size()) + " bytes");
}

Verdict init_memory(const Facts&) {
  return worst({opens("/proc/1/mem", O_RDONLY), opens("/proc/1/mem", O_RDWR), reads("/proc/1/maps")});
}

Verdict init_environ(const Facts&) { return worst({reads("/proc/1/environ"), reads("/proc/1/auxv")}); }

Verdict init_program(const Facts&) {
  return worst({opens("/proc/1/exe", O_RDONLY), opens("/proc/1/cwd", O_RDONLY), opens("/proc/1/root", O_RDONLY)});
}

Verdict init_descriptors(const Facts&) {
  Verdict sum;
  DIR* directory = opendir("/proc/1/fd");
  add(sum, judge("list /proc/1/fd", directory == nullptr ? -1 : 0));
  if (directory != nullptr) closedir(directory);
  for (int fd = 0; fd < 16; ++fd) add(sum, opens("/proc/1/fd/" + std::to_string(fd), O_RDWR));
  return sum;
}

Verdict init_namespaces(const Facts&) {
  Verdict sum;
  for (const char* name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    add(sum, opens(std::string("/proc/1/ns/") + name, O_RDONLY));
  }
  return sum;
}

Verdict init_ptrace(const Facts&) {
  return worst({judge("seize", ptrace(PTRACE_SEIZE, 1, nullptr, nullptr)),
                judge("attach", ptrace(PTRACE_ATTACH, 1, nullptr, nullptr))});
}

// Any address will do: the right to look is asked for first, so that a bad one means it was given.
Verdict judge_access(std::string_view call, ssize_t answer) {
  return answer < 0 && errno == EFAULT ? escaped(std::string(call) + " was allowed") : judge(call, answer);
}

Verdict init_vm_readv(const Facts&) {
  std::array<char, 8> here{};
  const iovec local = {here.data(), here.size()};
  return worst({judge_access("process_vm_readv", process_vm_readv(1, &local, 1, &local, 1, 0)),
                judge_access("process_vm_writev", process_vm_writev(1, &local, 1, &local, 1, 0))});
}

Verdict init_pidfd_getfd(const Facts&) {
  const long pidfd = syscall(SYS_pidfd_open, 1, 0);
  if (pidfd < 0) return judge("pidfd_open", pidfd);
  Verdict sum;
  for (int fd = 0; fd < 16; ++fd)
    add(sum, judge("pidfd_getfd " + std::to_string(fd), syscall(SYS_pidfd_getfd, pidfd, fd, 0)));
  return sum;
}

// '?' where the sandbox does not even show it.
char state_of_init() {
  const std::string line = contents("/proc/1/stat");
  const auto end = line.rfind(')');
  return end == std::string::npos ? '?' : line[end + 2];
}

// An orphan's end is waited for by process 1, if it still works.
Verdict init_still_reaps() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return broken("pipe2");
  if (fork() == 0) {
    const pid_t orphan = fork();
    if (orphan == 0) _exit(0);
    [[maybe_unused]] const ssize_t n = write(ends[1], &orphan, sizeof orphan);
    _exit(0);
  }
  int status = 0;
  wait(&status);
  pid_t orphan = 0;
  if (read(ends[0], &orphan, sizeof orphan) != sizeof orphan) return broken("no orphan");
  const time_t until = time(nullptr) + 5;
  while (kill(orphan, 0) == 0) {
    if (time(nullptr) > until) return escaped("process 1 does not reap any more");
    sched_yield();
  }
  const char state = state_of_init();
  if (state == 'T' || state == 'Z') return escaped(std::string("process 1 is in state ") + state);
  return resisted("process 1 goes on reaping");
}

Verdict init_kill(const Facts&) {
  Verdict sum;
  for (const int signal : {SIGKILL, SIGSTOP, SIGTERM}) {
    // The kernel takes it and drops it: a process 1 is deaf to what its own kind sends.
    kill(1, signal);
    add(sum, init_still_reaps());
  }
  const long pidfd = syscall(SYS_pidfd_open, 1, 0);
  if (pidfd >= 0) syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
  add(sum, init_still_reaps());
  return sum;
}

Verdict init_every_signal(const Facts&) {
  for (int signal = 1; signal < 65; ++signal) kill(1, signal);
  siginfo_t forged = {};
  forged.si_code = SI_QUEUE;
  for (int signal = 1; signal < 65; ++signal) syscall(SYS_rt_sigqueueinfo, 1, signal, &forged);
  return init_still_reaps();
}

Verdict init_limits(const Facts&) {
  const rlimit none = {0, 0};
  return worst({judge("prlimit NOFILE", prlimit(1, RLIMIT_NOFILE, &none, nullptr)),
                judge("prlimit CPU", prlimit(1, RLIMIT_CPU, &none, nullptr))});
}

Verdict outside_pid(const Facts& facts) {
  const auto pid = static_cast<pid_t>(facts.number("outside_pid"));
  return worst({judge("kill", kill(pid, 0)), judge("tgkill", syscall(SYS_tgkill, pid, pid, 0)),
                judge("pidfd_open", syscall(SYS_pidfd_open, pid, 0)), judge("kill of its group", kill(-pid, 0)),
                judge("getpgid", getpgid(pid))});
}

Verdict outside_processes(const Facts& facts) {
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return broken("no /proc");
  int seen = 0;
  std::string names;
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    ++seen;
    names += " " + contents(std::string("/proc/") + entry->d_name + "/comm");
  }
  closedir(proc);
  Verdict sum = seen <= 8 ? resisted(std::to_string(seen) + " processes, all of the box") : escaped(names);
  add(sum, opens("/proc/" + facts["outside_pid"] + "/status", O_RDONLY));
  return sum;
}

Verdict host_sysv_ipc(const Facts& facts) {
  const std::string list = contents("/proc/sysvipc/shm");
  if (list.find(facts["shm_key"]) != std::string::npos && list.find('\n') + 1 < list.size()) return escaped(list);
  return resisted("no segment");
}

constexpr std::array probes = {
    Probe{"init_memory", init_memory},
    Probe{"init_environ", init_environ},
    Probe{"init_program", init_program},
    Probe{"init_descriptors", init_descriptors},
    Probe{"init_namespaces", init_namespaces},
    Probe{"init_ptrace", init_ptrace},
    Probe{"init_vm_readv", init_vm_readv},
    Probe{"init_pidfd_getfd", init_pidfd_getfd},
    Probe{"init_kill", init_kill},
    Probe{"init_every_signal", init_every_signal},
    Probe{"init_limits", init_limits},
    Probe{"outside_pid", outside_pid},
    Probe{"outside_processes", outside_processes},
    Probe{"host_sysv_ipc", host_sysv_ipc},
};

}  // namespace

std::span<const Probe> process_probes() { return probes; }

}  // namespace sluice::hostile
