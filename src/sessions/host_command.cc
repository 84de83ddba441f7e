#include "sessions/host_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/fd.h"

namespace sluice::sessions {
namespace {

Error failed(const std::string& what, int reason) {
  return {ErrorKind::unavailable, what + ": " + std::strerror(reason)};
}

// A file, not a pipe: a command that does not read its input cannot hold up its writer.
Result<OwnedFd> file_with(const std::string& input) {
  OwnedFd file(memfd_create("input", MFD_CLOEXEC));
  if (!file) return failed("memfd_create", errno);
  for (std::size_t at = 0; at < input.size();) {
    const auto written = write(file.get(), input.data() + at, input.size() - at);
    if (written < 0) return failed("write", errno);
    at += static_cast<std::size_t>(written);
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) return failed("lseek", errno);
  return file;
}

Result<pid_t> spawn(const std::vector<std::string>& argv, int input) {
  std::vector<char*> arguments;
  for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t manner;
  posix_spawnattr_init(&manner);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&manner, &none);
  posix_spawnattr_setflags(&manner, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int reason = posix_spawnp(&pid, arguments[0], &files, &manner, arguments.data(), environ);
  posix_spawnattr_destroy(&manner);
  posix_spawn_file_actions_destroy(&files);
  if (reason != 0) return failed(argv[0], reason);
  return pid;
}

}  // namespace

Result<Unit> run_host_command(const std::vector<std::string>& argv, const std::string& input, int64_t ms_max) {
  SLUICE_CHECK(!argv.empty());
  auto file = file_with(input);
  if (!file) return std::move(file.error());
  const auto pid = spawn(argv, file.value().get());
  if (!pid) return pid.error();
  const OwnedFd process(static_cast<int>(syscall(SYS_pidfd_open, pid.value(), 0)));
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&ended, 1, static_cast<int>(ms_max));
  } while (ready < 0 && errno == EINTR);
  // Its whole session: what it started must not outlast it either.
  if (ready != 1) kill(-pid.value(), SIGKILL);
  int status = 0;
  while (waitpid(pid.value(), &status, 0) < 0 && errno == EINTR) {
  }
  if (ready != 1) return Error{ErrorKind::unavailable, "it took longer than " + std::to_string(ms_max) + " ms"};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Unit{};
  return Error{ErrorKind::unavailable, WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                                                         : "signal " + std::to_string(WTERMSIG(status))};
}

}  // namespace sluice::sessions
