// Attacks by system calls that an agent's tools never need. Arguments are chosen so that a call that
// is let through does no harm: a wrong magic for reboot, the time it is already for the clock.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sys/acct.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

#include <array>
#include <ctime>

#include "tests/hostile/probe.h"

namespace sluice::hostile {
namespace {

Verdict keyrings(const Facts&) {
  constexpr long session_keyring = -3;
  return worst({judge("add_key", syscall(SYS_add_key, "user", "probe", "x", 1, session_keyring)),
                judge("request_key", syscall(SYS_request_key, "user", "probe", nullptr, 0)),
                judge("keyctl", syscall(SYS_keyctl, 0, session_keyring, 0))});
}

Verdict bpf(const Facts&) {
  bpf_attr attributes = {};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 4;
  attributes.max_entries = 1;
  return judge("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}

Verdict perf(const Facts&) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.exclude_kernel = 1;
  return judge("perf_event_open", syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

Verdict user_fault(const Facts&) {
  constexpr int user_mode_only = 1;
  return worst({judge("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC)),
                judge("userfaultfd, user mode", syscall(SYS_userfaultfd, O_CLOEXEC | user_mode_only)),
                opens("/dev/userfaultfd", O_RDWR)});
}

Verdict io_uring(const Facts&) {
  io_uring_params parameters = {};
  return judge("io_uring_setup", syscall(SYS_io_uring_setup, 4, &parameters));
}

Verdict file_handles(const Facts&) {
  struct {
    file_handle head;
    std::array<char, 128> body;
  } handle = {};
  handle.head.handle_bytes = sizeof handle.body;
  int mount_id = 0;
  // Naming is harmless; opening by a name that can be guessed is how containers were left before.
  name_to_handle_at(AT_FDCWD, "/workspace", &handle.head, &mount_id, 0);
  handle.head.handle_bytes = 8;
  handle.head.handle_type = 1;
  handle.body[0] = 2;  // the inode of a root
  const int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return judge("open_by_handle_at", open_by_handle_at(root, &handle.head, O_RDONLY));
}

Verdict kernel_replace(const Facts&) {
  return worst({judge("kexec_load", syscall(SYS_kexec_load, 0, 9999, nullptr, 0)),
                judge("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, nullptr, 1 << 30))});
}

Verdict kernel_modules(const Facts&) {
  return worst({judge("init_module", syscall(SYS_init_module, nullptr, 0, "")),
                judge("finit_module", syscall(SYS_finit_module, -1, "", 0)),
                judge("delete_module", syscall(SYS_delete_module, "probe_no_such_module", O_NONBLOCK))});
}

Verdict reboot(const Facts&) { return judge("reboot", syscall(SYS_reboot, 1, 2, 3, nullptr)); }

Verdict clock(const Facts&) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  const timeval same = {now.tv_sec, now.tv_nsec / 1000};
  timex tick = {};
  adjtimex(&tick);
  tick.modes = ADJ_TICK;
  return worst({judge("clock_settime", clock_settime(CLOCK_REALTIME, &now)),
                judge("settimeofday", settimeofday(&same, nullptr)), judge("adjtimex", adjtimex(&tick))});
}

Verdict host_name(const Facts&) {
  std::array<char, 65> name{};
  gethostname(name.data(), name.size() - 1);
  return worst({judge("sethostname", sethostname(name.data(), 4)), judge("setdomainname", setdomainname("probe", 5))});
}

Verdict accounting(const Facts&) {
  return worst({judge("acct", acct(nullptr)), judge("swapon", swapon("/workspace", 0)),
                judge("swapoff", swapoff("/workspace")),
                judge("quotactl", syscall(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), "/dev/vda", 0, nullptr)),
                judge("vhangup", vhangup())});
}

Verdict processor(const Facts&) {
  std::array<char, 64> table{};
  return worst({judge("iopl", iopl(3)), judge("ioperm", ioperm(0x80, 1, 1)),
                judge("modify_ldt", syscall(SYS_modify_ldt, 0, table.data(), table.size()))});
}

Verdict fanotify(const Facts&) {
  constexpr unsigned report_fid = 0x200;  // the kind that asks for no capability
  return worst({judge("fanotify_init", syscall(SYS_fanotify_init, 0, 0)),
                judge("fanotify_init, by handle", syscall(SYS_fanotify_init, report_fid, 0))});
}

Verdict terminal_input(const Facts&) {
  char byte = '\n';
  Verdict sum;
  for (const int fd : {0, 1, 2}) {
    add(sum, judge("TIOCSTI on " + std::to_string(fd), ioctl(fd, TIOCSTI, &byte), {ENOTTY, EIO}));
    byte = 2;
    add(sum, judge("TIOCLINUX on " + std::to_string(fd), ioctl(fd, TIOCLINUX, &byte), {ENOTTY, EIO}));
  }
  for (const char* terminal : {"/dev/tty", "/dev/console", "/dev/tty0", "/dev/pts/0"}) {
    const int fd = open(terminal, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    add(sum, fd < 0 ? judge(terminal, -1) : judge(terminal, ioctl(fd, TIOCSTI, &byte), {ENOTTY, EIO}));
  }
  return sum;
}

// A filter written for one kind of system call does not see another kind's numbers.
Verdict compat_syscalls(const Facts&) {
  long answer = 20;  // getpid of i386
  asm volatile("int $0x80" : "+a"(answer) : : "memory");
  if (answer < 0) errno = static_cast<int>(-answer);
  return judge("int 0x80", answer < 0 ? -1 : answer);
}

Verdict x32_syscalls(const Facts&) { return judge("x32 getpid", syscall(0x40000000 + SYS_getpid)); }

constexpr std::array probes = {
    Probe{"keyrings", keyrings},
    Probe{"bpf", bpf},
    Probe{"perf_event_open", perf},
    Probe{"userfaultfd", user_fault},
    Probe{"io_uring", io_uring},
    Probe{"file_handles", file_handles},
    Probe{"kernel_replace", kernel_replace},
    Probe{"kernel_modules", kernel_modules},
    Probe{"reboot", reboot},
    Probe{"clock", clock},
    Probe{"host_name", host_name},
    Probe{"accounting", accounting},
    Probe{"processor", processor},
    Probe{"fanotify", fanotify},
    Probe{"terminal_input", terminal_input},
    Probe{"compat_syscalls", compat_syscalls},
    Probe{"x32_syscalls", x32_syscalls},
};

}  // namespace

std::span<const Probe> syscall_probes() { return probes; }

}  // namespace sluice::hostile
