// Attacks by appetite: each must end at the sandbox's limit and not before half of it, or it proves nothing.
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <ctime>
#include <vector>

#include "tests/hostile/probe.h"

namespace sluice::hostile {
namespace {

Verdict fork_bomb(const Facts& facts) {
  const long limit = facts.number("processes_max");
  std::vector<pid_t> children;
  int error = 0;
  while (static_cast<long>(children.size()) < limit * 2) {
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    if (child < 0) {
      error = errno;
      break;
    }
    children.push_back(child);
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  const std::string count = std::to_string(children.size()) + " of " + std::to_string(limit);
  if (error != EAGAIN) return escaped(count + " processes and no end");
  if (static_cast<long>(children.size()) > limit) return escaped(count + " processes");
  if (static_cast<long>(children.size()) < limit / 2) return broken("only " + count + " processes");
  return resisted("EAGAIN after " + count);
}

Verdict descriptor_exhaustion(const Facts& facts) {
  const long limit = facts.number("open_files_max");
  long count = 0;
  while (count < limit * 2 && open("/dev/null", O_RDONLY) >= 0) ++count;  // NOLINT: kept open to the end
  const int error = errno;
  if (count > limit) return escaped(std::to_string(count) + " files are open");
  if (count < limit / 2) return broken("only " + std::to_string(count) + " files");
  return error == EMFILE ? resisted("EMFILE after " + std::to_string(count)) : broken("no EMFILE");
}

// Watches are counted for the user that made the sandbox's namespace: the server.
Verdict inotify_exhaustion(const Facts&) {
  constexpr int fair = 64;
  int count = 0;
  while (count <= fair && inotify_init1(0) >= 0) ++count;  // NOLINT: kept open to the end
  if (count > fair) return escaped("more than 64 instances");
  return errno == EMFILE ? resisted("EMFILE after " + std::to_string(count)) : judge("inotify_init", -1);
}

// Terminals and aio contexts are counted for the whole machine.
Verdict terminal_exhaustion(const Facts&) {
  constexpr int fair = 64;
  int count = 0;
  while (count <= fair && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0) ++count;  // NOLINT: kept open to the end
  if (count > fair) return escaped("more than 64 terminals");
  if (count < fair / 2) return broken("only " + std::to_string(count) + " terminals");
  return errno == ENOSPC ? resisted("ENOSPC after " + std::to_string(count)) : broken("no ENOSPC");
}

Verdict aio_contexts(const Facts&) {
  unsigned long context = 0;
  return judge("io_setup", syscall(SYS_io_setup, 1024, &context));
}

long fill_with_bytes(const std::string& place, long bytes_max) {
  const std::vector<char> piece(1 << 20, 'x');
  long written = 0;
  for (int number = 0; written < bytes_max; ++number) {
    const int fd = open((place + "/.probe-" + std::to_string(number)).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return written;
    for (int i = 0; i < 16; ++i) {
      const ssize_t n = write(fd, piece.data(), piece.size());
      if (n <= 0) {
        close(fd);
        return written;
      }
      written += n;
    }
    close(fd);
  }
  return written;
}

long fill_with_files(const std::string& place, long files_max) {
  long made = 0;
  for (; made < files_max; ++made) {
    if (mkdir((place + "/.probe-d" + std::to_string(made)).c_str(), 0700) != 0) return made;
  }
  return made;
}

// In a process of its own, as memory that is counted may be what gives out first.
Verdict fill(const std::string& place, long bytes_limit) {
  struct statvfs room = {};
  if (statvfs(place.c_str(), &room) != 0) return judge(place, -1);
  const long written = fill_with_bytes(place, bytes_limit * 2);
  if (written > bytes_limit) return escaped(place + " took " + std::to_string(written) + " bytes");
  constexpr long files_limit = 1'000'000;
  if (room.f_files == 0 || room.f_files > files_limit) return escaped(place + " takes files without end");
  const long files = fill_with_files(place, files_limit);
  return resisted(place + ": full after " + std::to_string(written) + " bytes, " + std::to_string(files) +
                  " files more");
}

void empty(const std::string& place) {
  for (int number = 0;; ++number) {
    if (unlink((place + "/.probe-" + std::to_string(number)).c_str()) != 0) break;
  }
  for (int number = 0;; ++number) {
    if (rmdir((place + "/.probe-d" + std::to_string(number)).c_str()) != 0) break;
  }
}

Verdict tmp_fill(const Facts& facts) {
  Verdict sum;
  for (const char* place : {"/tmp", "/dev/shm"}) {
    add(sum, apart([&] { return fill(place, facts.number("tmp_bytes_max")); }));
    empty(place);
  }
  return sum;
}

Verdict workspace_fill(const Facts& facts) {
  const Verdict verdict = apart([&] { return fill("/workspace", facts.number("workspace_bytes_max")); });
  empty("/workspace");
  return verdict;
}

// True when `bytes` could be had and touched.
bool eat(long bytes) {
  constexpr long piece = 4 << 20;
  for (long eaten = 0; eaten < bytes; eaten += piece) {
    void* memory = mmap(nullptr, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    std::memset(memory, 1, piece);
  }
  return true;
}

Verdict memory_bomb(const Facts& facts) {
  const long bytes = facts.number("memory_bytes_max") * 2;
  return apart(
      [&] { return eat(bytes) ? escaped("had " + std::to_string(bytes) + " bytes") : resisted("mmap: ENOMEM"); });
}

// Each within its own limit, all together beyond the sandbox's.
Verdict memory_by_many(const Facts& facts) {
  const long bytes = facts.number("memory_bytes_max") / 2;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return broken("pipe2");
  std::array<pid_t, 4> children{};
  for (pid_t& child : children) {
    child = fork();
    if (child != 0) continue;
    close(ends[0]);
    [[maybe_unused]] const ssize_t n = eat(bytes) ? write(ends[1], "x", 1) : 0;
    pause();
    _exit(0);
  }
  close(ends[1]);
  // All are alive with their fill, or the kernel has ended some of them.
  size_t fed = 0;
  size_t ended = 0;
  char byte = 0;
  pollfd pipe_end = {ends[0], POLLIN, 0};
  const time_t until = time(nullptr) + 30;
  while (fed + ended < children.size() && time(nullptr) < until) {
    if (poll(&pipe_end, 1, 50) == 1 && (pipe_end.revents & POLLIN) != 0) fed += read(ends[0], &byte, 1) == 1 ? 1 : 0;
    if (waitpid(-1, nullptr, WNOHANG) > 0) ++ended;
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0) continue;
  if (ended == 0) return escaped(std::to_string(fed) + " processes with half the box's memory each");
  return resisted(std::to_string(ended) + " of 4 were ended");
}

// Memory that belongs to a file without a name: no process is seen to hold it.
Verdict memory_by_files(const Facts& facts) {
  const long bytes = facts.number("memory_bytes_max") * 2;
  return apart([&] {
    // Files without a name are on nobody's account: without this whoever is larger may be ended instead, such as the
    // process that is to tell.
    const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score < 0 || write(score, "1000", 4) != 4) return broken("oom_score_adj");
    close(score);
    const std::vector<char> piece(1 << 20, 'x');
    const long file_bytes = 8 << 20;
    for (long written = 0; written < bytes;) {
      const int fd = memfd_create("probe", 0);  // NOLINT: kept open to the end
      if (fd < 0) return judge("memfd_create", -1, {ENOMEM, EMFILE});
      for (long i = 0; i < file_bytes / (1 << 20); ++i) {
        const ssize_t n = write(fd, piece.data(), piece.size());
        if (n <= 0) return judge("write to a memfd", -1, {ENOMEM, ENOSPC, EFBIG});
        written += n;
      }
    }
    return escaped("had " + std::to_string(bytes) + " bytes");
  });
}

Verdict big_file(const Facts& facts) {
  const long limit = facts.number("file_bytes_max");
  std::signal(SIGXFSZ, SIG_IGN);
  const int fd = open("/workspace/.probe-big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const Verdict grown = judge("ftruncate", ftruncate(fd, limit + 1), {EFBIG});
  const Verdict written = judge("pwrite", pwrite(fd, "x", 1, limit), {EFBIG});
  close(fd);
  unlink("/workspace/.probe-big");
  return worst({grown, written});
}

constexpr std::array probes = {
    Probe{"fork_bomb", fork_bomb},
    Probe{"descriptor_exhaustion", descriptor_exhaustion},
    Probe{"inotify_exhaustion", inotify_exhaustion},
    Probe{"terminal_exhaustion", terminal_exhaustion},
    Probe{"aio_contexts", aio_contexts},
    Probe{"tmp_fill", tmp_fill},
    Probe{"big_file", big_file},
    Probe{"workspace_fill", workspace_fill},
    Probe{"memory_bomb", memory_bomb},
    Probe{"memory_by_many", memory_by_many},
    Probe{"memory_by_files", memory_by_files},
};

}  // namespace

std::span<const Probe> limit_probes() { return probes; }

}  // namespace sluice::hostile
