#include "sandbox/box/commands.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox/box/messages.h"

namespace sluice::sandbox::box {
namespace {

struct Command {
  uint32_t number;
  pid_t process;
};

struct Commands {
  Command* list = nullptr;
  std::size_t count = 0;
  std::size_t room = 0;

  bool make_room() {
    if (count < room) return true;
    const std::size_t more = room * 2 + 16;
    auto* const moved = static_cast<Command*>(realloc(list, more * sizeof(Command)));
    if (moved == nullptr) return false;
    list = moved;
    room = more;
    return true;
  }
};

struct Start {
  const char* directory = "";
  char** arguments = nullptr;
  char** environment = nullptr;
  const char* path = "";
  const int* descriptors = nullptr;
  sigset_t signals{};
};

struct Failure {
  int error = 0;
  Stumble at = Stumble::fork;
};

char** read_texts(Reader& fields) {
  const uint64_t count = fields.number();
  auto** const texts = static_cast<char**>(calloc(count + 1, sizeof(char*)));
  for (uint64_t i = 0; texts != nullptr && i < count; ++i) texts[i] = const_cast<char*>(fields.text());
  return texts;
}

// Takes its place in the world: a session of its own, three descriptors, a directory.
void settle_in(const Start& start, Failure& failure) {
  failure.at = Stumble::directory;
  setsid();
  for (int i = 0; i < 3; ++i) dup2(start.descriptors[i], i);
  close_range(3, ~0u, 0);
  sigprocmask(SIG_SETMASK, &start.signals, nullptr);
  if (chdir(start.directory) != 0) {
    failure.error = errno;
    _exit(127);
  }
}

// As execvpe(3), which may not be called between vfork and exec.
[[noreturn]] void execute(const Start& start, Failure& failure) {
  settle_in(start, failure);
  failure.at = Stumble::program;
  const char* const program = start.arguments[0];
  if (strchr(program, '/') != nullptr) {
    execve(program, start.arguments, start.environment);
    failure.error = errno;
    _exit(127);
  }
  int error = ENOENT;
  for (const char* at = start.path; *at != 0;) {
    const char* const end = strchrnul(at, ':');
    char full[PATH_MAX];
    const int bytes = snprintf(full, sizeof full, "%.*s/%s", static_cast<int>(end - at), at, program);
    if (bytes < static_cast<int>(sizeof full)) execve(full, start.arguments, start.environment);
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
    at = *end == 0 ? end : end + 1;
  }
  failure.error = error;
  _exit(127);
}

// vfork: the child runs in our memory until it has executed its program, so that no page is copied
// and the reason of a failure is simply there.
pid_t launch(const Start& start, Failure& failure) {
  if (is_tool(start.arguments[0])) {
    const pid_t child = fork();
    if (child != 0) return child;
    settle_in(start, failure);
    _exit(run_tool(start.arguments));
  }
  const pid_t child = vfork();
  if (child == 0) execute(start, failure);
  return child;
}

const char* find_path(char** environment) {
  for (; *environment != nullptr; ++environment) {
    if (strncmp(*environment, "PATH=", 5) == 0) return *environment + 5;
  }
  return "/usr/bin:/bin";
}

// A command of which the server never hears again would be waited for: a sandbox that cannot say how it ended, ends.
void answer(int line, const Head& head) {
  if (!send(line, head)) _exit(1);
}

void start_command(int line, Commands& commands, Message& order) {
  Reader fields(order.payload, order.head.payload_bytes);
  Start start;
  start.directory = fields.text();
  start.arguments = read_texts(fields);
  start.environment = read_texts(fields);
  Failure failure = {EINVAL, Stumble::fork};
  pid_t child = -1;
  if (start.arguments != nullptr && start.environment != nullptr && start.arguments[0] != nullptr &&
      order.descriptor_count == 3 && commands.make_room()) {
    start.path = find_path(start.environment);
    start.descriptors = order.descriptors;
    sigemptyset(&start.signals);
    failure.error = 0;
    child = launch(start, failure);
    if (child < 0) failure = {errno, Stumble::fork};
  }
  free(start.arguments);
  free(start.environment);
  if (child > 0 && failure.error == 0) {
    commands.list[commands.count++] = {order.head.number, child};
    return;
  }
  const Head head = {.verb = Verb::not_started,
                     .number = order.head.number,
                     .a = failure.error,
                     .b = static_cast<int64_t>(failure.at)};
  answer(line, head);
}

void signal_command(const Commands& commands, const Head& asked) {
  for (std::size_t i = 0; i < commands.count; ++i) {
    if (commands.list[i].number == asked.number) kill(-commands.list[i].process, static_cast<int>(asked.a));
  }
}

// As pid 1 of the sandbox, -1 means every other process in it. The kernel goes through them in one piece: a process
// that is being forked meanwhile gets the signal too, so none is left that could let the others continue.
void freeze_all(const Head& asked) { kill(-1, asked.a != 0 ? SIGSTOP : SIGCONT); }

// Our own commands, and processes that lost their parent: pid 1 inherits them all.
void reap(int line, Commands& commands) {
  for (;;) {
    int status = 0;
    rusage used{};
    const pid_t dead = wait4(-1, &status, WNOHANG, &used);
    if (dead <= 0) return;
    for (std::size_t i = 0; i < commands.count; ++i) {
      if (commands.list[i].process != dead) continue;
      const int64_t cpu_us =
          (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000LL + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
      const Head head = {.verb = Verb::exited,
                         .number = commands.list[i].number,
                         .a = status,
                         .b = cpu_us,
                         .c = used.ru_maxrss * 1024};
      answer(line, head);
      commands.list[i] = commands.list[--commands.count];
      break;
    }
  }
}

}  // namespace

int serve_commands(int line, Kept& kept) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, nullptr);
  const int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) return 1;
  Commands commands;
  pollfd waiting[2] = {{line, POLLIN, 0}, {signals, POLLIN, 0}};
  for (;;) {
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) return 1;
    if (waiting[1].revents != 0) {
      signalfd_siginfo signal{};
      while (read(signals, &signal, sizeof signal) > 0) {
      }
      reap(line, commands);
    }
    if (waiting[0].revents == 0) continue;
    Message message;
    if (receive(line, message) == Received::end) return 0;
    kept.let_go();
    if (message.head.verb == Verb::start) start_command(line, commands, message);
    if (message.head.verb == Verb::signal) signal_command(commands, message.head);
    if (message.head.verb == Verb::freeze) freeze_all(message.head);
    release(message);
  }
}

}  // namespace sluice::sandbox::box
