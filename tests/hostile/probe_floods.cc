// Attacks on what sandboxes share: each takes as much of something as it gets, says so, and keeps it until it is
// killed.
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

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

constexpr std::array probes = {
    Probe{"flood_inotify_instances", inotify_instances},
    Probe{"neighbour_watches_files", watch_files},
    Probe{"flood_descriptors_in_flight", descriptors_in_flight},
};

}  // namespace

std::span<const Probe> flood_probes() { return probes; }

}  // namespace sluice::hostile
