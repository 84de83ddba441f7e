// A hostile program in a sandbox: one test for each attack and driver. Prints what became of each, which
// tests/hostile/table turns into a table.
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "sandbox/box_story_fixture.h"
#include "sandbox/driver_contract.h"
#include "tests/hostile/host_bait.h"
#include "tests/hostile/probes.h"

namespace sluice::hostile {
namespace hostile_test {

namespace fs = std::filesystem;
using sandbox::BoxStory;

constexpr const char* bound = "/skills/hostile";

sandbox::SandboxOptions hostile_options(const std::string& driver) {
  sandbox::SandboxOptions options = sandbox::options_for(driver);
  options.limits.memory_bytes_max = 192LL << 20;
  options.limits.processes_max = 64;
  options.limits.open_files_max = 256;
  options.limits.file_bytes_max = 32LL << 20;
  options.limits.workspace_bytes_max = 24LL << 20;
  options.limits.workspace_files_max = 2000;
  options.limits.tmp_bytes_max = 16LL << 20;
  return options;
}

std::string install_probe(BoxStory& story) {
  const fs::path directory = story.directory("hostile", {});
  fs::copy_file(SLUICE_PROBE, directory / "probe");
  fs::permissions(directory / "probe", fs::perms(0755));
  return directory;
}

// Memory of the whole sandbox is bounded by a control group; without one each process has its own bound.
// An OCI runtime has no word for a bound on inotify.
bool is_owed(std::string_view probe, BoxStory& story) {
  if (probe == "inotify_exhaustion") return story.sandbox().driver() == "namespaces";
  return (probe != "memory_by_many" && probe != "memory_by_files") || story.can("memory limit of a box");
}

class Hostile : public testing::TestWithParam<std::tuple<std::string, ProbeRow>> {};

TEST_P(Hostile, Is_resisted) {
  const auto& [driver, row] = GetParam();
  const HostBait bait;
  const sandbox::SandboxOptions options = hostile_options(driver);
  BoxStory story(options);
  const auto box = story.open({.binds = {{install_probe(story), bound}}});
  const OwnedFd way_out = box->take_egress_listener();  // held, as a server does: nobody answers there
  EXPECT_TRUE(way_out);
  sandbox::Command command = {.argv = {std::string(bound) + "/probe", std::string(row.name)}};
  for (std::string& fact : bait.facts(options.limits, bound)) command.argv.push_back(std::move(fact));
  command.timeout_ms = 60'000;
  const sandbox::Ran ran = story.run(*box, std::move(command));
  std::printf("PROBE %s %s %s", driver.c_str(), std::string(row.name).c_str(), ran.out.c_str());
  EXPECT_EQ(ran.exit.cause, sandbox::ExitCause::exited) << name_of(ran.exit.cause) << ran.exit.what << ran.err;
  if (is_owed(row.name, story)) EXPECT_EQ(ran.exit.code, 0) << row.attack << "\n" << ran.out << ran.err;
  EXPECT_EQ(story.run(*box, sandbox::sh("echo on")).out, "on\n") << "the box does not answer any more";
}

std::string test_name(const testing::TestParamInfo<Hostile::ParamType>& info) {
  return std::get<0>(info.param) + "_" + std::string(std::get<1>(info.param).name);
}

INSTANTIATE_TEST_SUITE_P(, Hostile,
                         testing::Combine(testing::ValuesIn(sandbox::drivers_here()), testing::ValuesIn(probe_rows)),
                         test_name);

int run_outside(const std::string& probe, const HostBait& bait) {
  std::vector<std::string> words = {SLUICE_PROBE, probe};
  for (std::string& fact : bait.facts({}, "/")) words.push_back(std::move(fact));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, SLUICE_PROBE, nullptr, nullptr, argv.data(), environ) != 0) return -1;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The control: a probe that never finds anything proves nothing.
TEST(Probes, Get_out_where_there_is_no_box) {
  const HostBait bait;
  for (const char* probe : {"host_file_by_path", "host_file_by_dotdot", "other_workspaces", "data_directory",
                            "inherited_descriptors", "outside_pid", "outside_processes", "host_sysv_ipc",
                            "host_loopback", "host_abstract_socket", "host_socket_by_path", "network_interfaces",
                            "odd_sockets", "secrets_of_own", "privileges_again", "kernel_command_line"}) {
    EXPECT_EQ(run_outside(probe, bait), 1) << probe;
  }
}

// In a network of its own, as this machine's port may be somebody's.
int run_beside_listener(const HostBait& bait) {
  ifreq loopback = {};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(sandbox::egress_port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (ioctl(listener, SIOCSIFFLAGS, &loopback) != 0 ||
      bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener, 1) != 0) {
    return -1;
  }
  return run_outside("egress_listener", bait);
}

TEST(Probes, Find_a_listener_that_was_left_open) {
  const HostBait bait;
  // By the kernel's own call: a process with threads may not leave its user namespace, and fork() brings TSan's along.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0));
  if (child == 0) _exit(run_beside_listener(bait));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

}  // namespace hostile_test
}  // namespace sluice::hostile
