#include "installation/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.h"

extern "C" char** environ;

namespace sluice::installation {
namespace {

constexpr std::size_t output_bytes_max = 16 * 1024;

std::vector<std::string> environment_of(const ChildCommand& command) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('='));
    const auto is_same = [&](const auto& given) { return given.first == name; };
    if (std::ranges::none_of(command.environment, is_same)) all.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (auto& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// While the child runs, signals that would end this process are held back: they end the child as well.
class HeldSignals final {
 public:
  HeldSignals() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
    sigprocmask(SIG_BLOCK, &ending, &before_);
    heard_ = OwnedFd(signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~HeldSignals() {
    // With the default action, so that the parent of this process sees which signal ended it.
    if (ended_by_ != 0) raise(ended_by_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  const sigset_t& before() const { return before_; }
  // Until there is something to read; ends the child's whole group when we are to end.
  void wait_for(int readable, pid_t group) {
    pollfd both[] = {{readable, POLLIN, 0}, {heard_.get(), POLLIN, 0}};
    if (poll(both, 2, -1) <= 0 || both[1].revents == 0) return;
    signalfd_siginfo signal{};
    if (read(heard_.get(), &signal, sizeof signal) != sizeof signal) return;
    // The second time it is urgent.
    kill(-group, ended_by_ == 0 ? SIGTERM : SIGKILL);
    ended_by_ = static_cast<int>(signal.ssi_signo);
  }

 private:
  sigset_t before_{};
  OwnedFd heard_;
  int ended_by_ = 0;
};

std::string read_tail(int from, HeldSignals& signals, pid_t group) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    signals.wait_for(from, group);
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > 2 * output_bytes_max) text.erase(0, text.size() - output_bytes_max);
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<ChildEnd> run_child(const ChildCommand& command) {
  const auto failed = [&](int reason) {
    return Error{reason == ENOENT ? ErrorKind::not_found : ErrorKind::unavailable,
                 "start " + command.argv.at(0) + ": " + std::strerror(reason)};
  };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failed(errno);
  const OwnedFd ours(ends[0]);
  fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  OwnedFd theirs(ends[1]);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), STDERR_FILENO);
  if (!command.directory.empty()) posix_spawn_file_actions_addchdir_np(&files, command.directory.c_str());
  HeldSignals signals;
  posix_spawnattr_t manner;
  posix_spawnattr_init(&manner);
  posix_spawnattr_setflags(&manner, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&manner, &signals.before());
  auto arguments = command.argv;
  auto environment = environment_of(command);
  pid_t child = -1;
  const int reason = posix_spawnp(&child, command.argv.at(0).c_str(), &files, &manner, pointers_to(arguments).data(),
                                  pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&manner);
  theirs.reset();
  if (reason != 0) return failed(reason);
  std::string output = read_tail(ours.get(), signals, child);
  return ChildEnd{wait_for(child), std::move(output)};
}

}  // namespace sluice::installation
