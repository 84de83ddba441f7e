#include "bench/sandbox/spawned.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace sluice::bench {
namespace {

std::vector<char*> arguments(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

}  // namespace

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Spawned spawn(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  auto argv = arguments(words);
  Spawned child{.pid = 0, .out = ends[0]};
  const int failed = posix_spawnp(&child.pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed == 0) return child;
  close(ends[0]);
  return {};
}

Spawned spawn_in(int mount_namespace, const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  auto argv = arguments(words);
  const pid_t pid = fork();
  if (pid == 0) {
    if (setns(mount_namespace, CLONE_NEWNS) == 0 && dup2(ends[1], 1) == 1) execvp(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  return {.pid = pid, .out = ends[0]};
}

int wait_for(const Spawned& child) {
  int status = -1;
  waitpid(child.pid, &status, 0);
  close(child.out);
  return status;
}

double first_byte(const Spawned& child, Clock::time_point start) {
  if (child.out < 0) return -1;
  char byte = 0;
  const bool came = read(child.out, &byte, 1) == 1;
  const double took = ms_since(start);
  wait_for(child);
  return came ? took : -1;
}

}  // namespace sluice::bench
