#include "app/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.h"

extern "C" char** environ;

namespace sluice::app {
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

std::string read_tail(int from) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
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
  OwnedFd theirs(ends[1]);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), STDERR_FILENO);
  if (!command.directory.empty()) posix_spawn_file_actions_addchdir_np(&files, command.directory.c_str());
  auto arguments = command.argv;
  auto environment = environment_of(command);
  pid_t child = -1;
  const int reason = posix_spawnp(&child, command.argv.at(0).c_str(), &files, nullptr, pointers_to(arguments).data(),
                                  pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&files);
  theirs.reset();
  if (reason != 0) return failed(reason);
  std::string output = read_tail(ours.get());
  return ChildEnd{wait_for(child), std::move(output)};
}

}  // namespace sluice::app
