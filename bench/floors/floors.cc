// What the machine itself takes for the things that Sluice cannot do without: the least that anybody pays. Processor
// time of the thread that does it, so that neighbours matter little. Prints a line of JSON, microseconds each.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <simdjson.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include "base/fd.h"

namespace sluice::bench {
namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "floors: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

void must(bool done, const char* what) {
  if (!done) fail(what);
}

double microseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// The average of the best fifth: neighbours make nothing faster.
double for_one(int times, clockid_t clock, const std::function<void()>& act) {
  double least = std::numeric_limits<double>::max();
  for (int part = 0; part < 5; ++part) {
    const double before = microseconds(clock);
    for (int i = 0; i < times / 5; ++i) act();
    least = std::min(least, (microseconds(clock) - before) * 5 / times);
  }
  return least;
}

double cpu_for_one(int times, const std::function<void()>& act) { return for_one(times, CLOCK_THREAD_CPUTIME_ID, act); }

std::string line_of(std::size_t size) { return std::string(size - 1, 'x') + '\n'; }

// What was done must be looked at, or the compiler leaves it out.
void look_at(const void* it) { asm volatile("" : : "r"(it) : "memory"); }

// ── woken by another thread, an event sent over loopback ────────────────────────────────────────

struct Loopback {
  OwnedFd near, far;
};

Loopback connected() {
  const OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  must(bind(listener.get(), generic, size) == 0 && listen(listener.get(), 1) == 0, "listen");
  must(getsockname(listener.get(), generic, &size) == 0, "getsockname");
  Loopback both{OwnedFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), {}};
  must(connect(both.near.get(), generic, size) == 0, "connect");
  both.far = OwnedFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const int yes = 1;
  must(setsockopt(both.near.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
  return both;
}

double wake_and_send(int times) {
  const auto link = connected();
  const OwnedFd bell(eventfd(0, EFD_CLOEXEC)), epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = bell.get()}};
  must(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, bell.get(), &wanted) == 0, "epoll_ctl");
  const auto line = line_of(160);
  std::thread other([&] {
    std::string buffer(line.size(), '\0');
    for (int i = 0; i < times; ++i) {
      must(eventfd_write(bell.get(), 1) == 0, "eventfd_write");
      must(recv(link.far.get(), buffer.data(), buffer.size(), MSG_WAITALL) == std::ssize(line), "recv");
    }
  });
  const double cost = cpu_for_one(times, [&] {
    epoll_event heard{};
    must(epoll_wait(epoll.get(), &heard, 1, -1) == 1, "epoll_wait");
    eventfd_t count = 0;
    must(eventfd_read(bell.get(), &count) == 0, "eventfd_read");
    must(send(link.near.get(), line.data(), line.size(), MSG_NOSIGNAL) == std::ssize(line), "send");
  });
  other.join();
  return cost;
}

// ── the disk ────────────────────────────────────────────────────────────────────────────────────

struct Synced {
  double cpu_us, wall_us;
};

// Two pages and their headers, as a small transaction leaves them in SQLite's log.
Synced write_and_sync(const std::string& folder, int times) {
  const OwnedFd file(open((folder + "/log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const auto pages = line_of(2 * 4120);
  must(write(file.get(), pages.data(), pages.size()) == std::ssize(pages), "write");
  const auto act = [&] {
    must(pwrite(file.get(), pages.data(), pages.size(), 0) == std::ssize(pages), "pwrite");
    must(fdatasync(file.get()) == 0, "fdatasync");
  };
  return {cpu_for_one(times, act), for_one(times, CLOCK_MONOTONIC, act)};
}

void run(sqlite3* db, const char* statement) {
  must(sqlite3_exec(db, statement, nullptr, nullptr, nullptr) == SQLITE_OK, statement);
}

// A row of sixty bytes, a transaction of its own that waits for no disk.
double insert(const std::string& folder, int times) {
  sqlite3* db = nullptr;
  must(sqlite3_open((folder + "/floors.db").c_str(), &db) == SQLITE_OK, "sqlite3_open");
  run(db, "PRAGMA journal_mode = WAL");
  run(db, "PRAGMA synchronous = OFF");
  run(db, "PRAGMA locking_mode = EXCLUSIVE");
  run(db, "CREATE TABLE journal (number INTEGER PRIMARY KEY, batch BLOB)");
  sqlite3_stmt* statements[3] = {};
  const char* const texts[] = {"BEGIN", "INSERT INTO journal VALUES (NULL, ?)", "COMMIT"};
  for (int i = 0; i < 3; ++i)
    must(sqlite3_prepare_v2(db, texts[i], -1, &statements[i], nullptr) == SQLITE_OK, texts[i]);
  const auto row = line_of(60);
  sqlite3_bind_blob64(statements[1], 1, row.data(), row.size(), SQLITE_STATIC);
  const double cost = cpu_for_one(times, [&] {
    for (auto* statement : statements) {
      must(sqlite3_step(statement) == SQLITE_DONE, "sqlite3_step");
      sqlite3_reset(statement);
    }
  });
  for (auto* statement : statements) sqlite3_finalize(statement);
  sqlite3_close(db);
  return cost;
}

// ── a process ───────────────────────────────────────────────────────────────────────────────────

double children_us() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

double fork_and_exec(int times) {
  const double before = children_us();
  const double own = cpu_for_one(times, [] {
    char name[] = "/bin/true";
    char* const arguments[] = {name, nullptr};
    char* const environment[] = {nullptr};
    pid_t child = 0;
    must(posix_spawn(&child, name, nullptr, nullptr, arguments, environment) == 0, "posix_spawn");
    must(waitpid(child, nullptr, 0) == child, "waitpid");
  });
  return own + (children_us() - before) / times;
}

// ── bytes ───────────────────────────────────────────────────────────────────────────────────────

double parse(int times) {
  const simdjson::padded_string body(std::string_view(
      R"({"initial_message":{"content":"Look around.","metadata":{"a":1,"b":[true,null,2.5]}},"agent_id":"agt_1"})"));
  simdjson::dom::parser parser;
  return cpu_for_one(times, [&] {
    simdjson::dom::element root;
    must(parser.parse(body).get(root) == simdjson::SUCCESS, "simdjson");
  });
}

double copy(std::size_t size, int times) {
  const auto line = line_of(size);
  std::string out(size, '\0');
  return cpu_for_one(times, [&] {
    std::memcpy(out.data(), line.data(), size);
    look_at(out.data());
  });
}

int measure(int rounds) {
  std::string folder = (std::filesystem::temp_directory_path() / "sluice-floors-XXXXXX").string();
  must(mkdtemp(folder.data()) != nullptr, "mkdtemp");
  const auto synced = write_and_sync(folder, 20 * rounds);
  std::printf(R"({"wake_and_send":%.3f,"write_and_sync":%.3f,"write_and_sync_wall":%.3f,"insert":%.3f,)"
              R"("fork_and_exec":%.3f,"parse":%.4f,"copy":%.4f})"
              "\n",
              wake_and_send(2'000 * rounds), synced.cpu_us, synced.wall_us, insert(folder, 2'000 * rounds),
              fork_and_exec(20 * rounds), parse(20'000 * rounds), copy(150, 200'000 * rounds));
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  const int rounds = argc == 3 && std::string_view(argv[1]) == "--rounds" ? std::atoi(argv[2]) : 10;
  return sluice::bench::measure(rounds);
}
