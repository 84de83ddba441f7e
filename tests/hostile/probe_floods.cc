// Attacks on what sandboxes share: each takes as much of something as it gets, says so, and keeps it until it is
// killed.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/hostile/probe.h"

namespace sluice::hostile {
namespace {

// Never returns: "held NUMBER" is the news for whoever looks from outside.
[[noreturn]] void hold(long count) {
  std::printf("held %ld\n", count);
  std::fflush(stdout);
  while (true) pause();
}

// Sends `count` times the same descriptor; false: the kernel takes no more, and errno says why.
bool send_descriptors(int to, int fd, std::size_t count) {
  std::array<int, 250> numbers{};
  numbers.fill(fd);
  char byte = 'x';
  iovec piece = {&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof numbers)> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int) * count);
  std::memcpy(CMSG_DATA(part), numbers.data(), sizeof(int) * count);
  return sendmsg(to, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

// Descriptors that lie in sockets, where nobody reads them, are counted for the user who sent them.
Verdict descriptors_in_flight(const Facts&) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  long count = 0;
  for (std::size_t size : {250U, 1U}) {
    std::array<int, 2> ends{};
    while (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) == 0) {  // NOLINT: kept open to the end
      while (send_descriptors(ends[0], null, size)) count += static_cast<long>(size);
      if (errno == ETOOMANYREFS) break;
      if (errno != EAGAIN) return broken("sendmsg: " + std::string(std::strerror(errno)));
    }
  }
  hold(count);
}

// Instances are counted for the user of the process, and for who made its user namespace.
Verdict inotify_instances(const Facts&) {
  long count = 0;
  while (inotify_init1(IN_CLOEXEC) >= 0) ++count;  // NOLINT: kept open to the end
  if (errno != EMFILE) return broken("inotify_init1: " + std::string(std::strerror(errno)));
  hold(count);
}

// What a neighbour needs of it: an editor, a bundler, tail -f.
Verdict watch_files(const Facts&) {
  const int watcher = inotify_init1(IN_CLOEXEC);
  if (watcher < 0) return escaped("inotify_init1: " + std::string(strerrorname_np(errno)));
  const int watch = inotify_add_watch(watcher, "/workspace", IN_CREATE);
  const int error = errno;
  close(watcher);
  if (watch < 0) return escaped("inotify_add_watch: " + std::string(strerrorname_np(error)));
  return resisted("a directory can be watched");
}

// As many files as it may watch; each is another inode.
Verdict inotify_watches(const Facts&) {
  const int watcher = inotify_init1(IN_CLOEXEC);
  if (watcher < 0) return broken("inotify_init1: " + std::string(std::strerror(errno)));
  long count = 0;
  for (;; ++count) {
    const std::string path = "/tmp/watched-" + std::to_string(count);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return broken(path + ": " + std::strerror(errno));
    close(file);
    if (inotify_add_watch(watcher, path.c_str(), IN_MODIFY) < 0) break;
  }
  if (errno != ENOSPC) return broken("inotify_add_watch: " + std::string(std::strerror(errno)));
  hold(count);
}

Verdict terminals(const Facts&) {
  long count = 0;
  while (open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0) ++count;  // NOLINT: kept open to the end
  if (errno != ENOSPC) return broken("/dev/ptmx: " + std::string(std::strerror(errno)));
  hold(count);
}

struct WatchesTaken {
  long count = 0;
  int error = 0;  // why there are no more
};

// One process has at most as many as half of its descriptors times the other half.
WatchesTaken take_epoll_watches(long wanted) {
  close_range(STDERR_FILENO + 1, ~0U, 0);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  std::vector<int> watched;
  while (watched.size() < files.rlim_cur / 2) watched.push_back(eventfd(0, EFD_CLOEXEC));
  WatchesTaken taken;
  for (int poller = 0; (poller = epoll_create1(EPOLL_CLOEXEC)) >= 0;) {
    for (const int fd : watched) {
      epoll_event event = {.events = EPOLLIN};
      if (taken.count == wanted || epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) != 0) {
        taken.error = taken.count == wanted ? 0 : errno;
        return taken;
      }
      ++taken.count;
    }
  }
  taken.error = errno;
  return taken;
}

// Watches are counted for the user of the process. Of a machine with a great deal of memory not all are taken, because
// they count as the sandbox's memory: it would be killed before.
Verdict epoll_watches(const Facts&) {
  constexpr long wanted = 7'000'000;
  long count = 0;
  while (count < wanted) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return broken("pipe2: " + std::string(std::strerror(errno)));
    if (fork() == 0) {
      dup2(ends[1], STDERR_FILENO);
      const WatchesTaken taken = take_epoll_watches(wanted - count);
      if (write(STDERR_FILENO, &taken, sizeof taken) != sizeof taken) _exit(1);
      while (true) pause();
    }
    close(ends[1]);
    WatchesTaken taken;
    if (read(ends[0], &taken, sizeof taken) != sizeof taken) return broken("a process ended");
    close(ends[0]);
    count += taken.count;
    if (taken.error == ENOSPC) break;
    if (taken.error != 0 && taken.error != EMFILE) return broken("epoll: " + std::string(std::strerror(taken.error)));
  }
  hold(count);
}

// Contexts are counted for the whole machine.
Verdict aio_contexts(const Facts&) {
  long count = 0;
  for (unsigned long context = 0; syscall(SYS_io_setup, 1, &context) == 0; context = 0) ++count;
  hold(count);
}

// What a neighbour needs of it: a shell with a terminal, node or Go.
Verdict works_on(const Facts&) {
  const int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return escaped("/dev/ptmx: " + std::string(strerrorname_np(errno)));
  close(terminal);
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event = {};
  if (poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, STDOUT_FILENO, &event) != 0) {
    return escaped("epoll: " + std::string(strerrorname_np(errno)));
  }
  close(poller);
  return resisted("terminals and epoll are there");
}

// What sandboxes have from the host, and from the server: the probe itself is bound into each of them.
constexpr std::array common_files = {"/usr/bin/env",
                                     "/etc/passwd",
                                     "/etc/ld.so.cache",
                                     "/etc/ssl/certs",
                                     "/usr/bin",
                                     "/dev/null",
                                     "/etc/ssl/openssl.cnf",
                                     "/skills/hostile/probe",
                                     "/"};

// Says "saw NAME" of each file of the root that somebody opens, for as long as it lives.
Verdict spy_on_root(const Facts&) {
  const int watcher = inotify_init1(IN_CLOEXEC);
  std::map<int, std::string> places;
  for (const char* place : {"/usr/bin", "/usr/lib", "/etc", "/etc/ssl", "/dev", "/skills/hostile", "/"}) {
    const int watch = inotify_add_watch(watcher, place, IN_OPEN | IN_ACCESS | IN_MODIFY);
    if (watch >= 0) places[watch] = place;
  }
  std::printf("held %zu\n", places.size());
  std::fflush(stdout);
  alignas(inotify_event) std::array<char, 65'536> piece{};
  for (ssize_t n = 0; (n = read(watcher, piece.data(), piece.size())) > 0;) {
    for (ssize_t at = 0; at < n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(piece.data() + at);
      if (event->len > 0) std::printf("saw %s/%s\n", places[event->wd].c_str(), event->name);
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
    std::fflush(stdout);
  }
  return broken("read: " + std::string(std::strerror(errno)));
}

// How many of the common files could be locked; what is not there counts, too.
long lock_common_files(std::string& refused) {
  long count = 0;
  for (const char* path : common_files) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) {
      ++count;
    } else {
      refused += " " + std::string(path) + ": " + strerrorname_np(errno);
    }
  }
  return count;
}

Verdict lock_root(const Facts&) {
  std::string refused;
  const long count = lock_common_files(refused);
  if (!refused.empty()) return broken("flock:" + refused);
  hold(count);
}

// What a neighbour needs of it: package managers and caches of compilers lock what they read.
Verdict locks_files(const Facts&) {
  std::string refused;
  lock_common_files(refused);
  return refused.empty() ? resisted("every file can be locked") : escaped("locked by somebody else:" + refused);
}

constexpr std::array probes = {
    Probe{"flood_inotify_watches", inotify_watches},
    Probe{"flood_terminals", terminals},
    Probe{"flood_epoll_watches", epoll_watches},
    Probe{"flood_aio_contexts", aio_contexts},
    Probe{"neighbour_works_on", works_on},
    Probe{"spy_on_root", spy_on_root},
    Probe{"lock_root", lock_root},
    Probe{"neighbour_locks_files", locks_files},
    Probe{"flood_inotify_instances", inotify_instances},
    Probe{"neighbour_watches_files", watch_files},
    Probe{"flood_descriptors_in_flight", descriptors_in_flight},
};

}  // namespace

std::span<const Probe> flood_probes() { return probes; }

}  // namespace sluice::hostile
