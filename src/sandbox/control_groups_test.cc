// The groups of servers that are gone may be removed, and no others.
#include "sandbox/control_groups.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

namespace sluice::sandbox {
namespace control_groups_test {

TEST(ControlGroups, Of_a_server_that_lives_are_never_left_behind) {
  EXPECT_FALSE(is_left_behind(group_prefix(getpid()) + "0"));
  EXPECT_FALSE(is_left_behind(group_prefix(getppid()) + "server"));
}

TEST(ControlGroups, Of_an_earlier_process_of_the_same_number_are_left_behind) {
  EXPECT_TRUE(is_left_behind("sluice-" + std::to_string(getpid()) + ".1.0"));
}

TEST(ControlGroups, Of_a_killed_server_are_left_behind_before_its_parent_notices) {
  const pid_t server = fork();
  if (server == 0) {
    while (true) pause();
  }
  ASSERT_GT(server, 0);
  const std::string name = group_prefix(server) + "0";
  EXPECT_FALSE(is_left_behind(name));
  kill(server, SIGKILL);
  siginfo_t how = {};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(server), &how, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(is_left_behind(name)) << "a zombie counts as alive";
  waitpid(server, nullptr, 0);
  EXPECT_TRUE(is_left_behind(name)) << name;
}

TEST(ControlGroups, Of_others_are_not_ours_to_reap) {
  for (const char* name :
       {"", "user.slice", "sluice-", "sluice-web.service", "sluice-a.b.c", "sluice-1.2", "my-1.2.3"}) {
    EXPECT_FALSE(is_left_behind(name)) << name;
  }
}

TEST(ControlGroups, never_kill_this_process_nor_its_own_process_group) {
  const std::string self = std::to_string(getpid());
  EXPECT_EQ(processes_to_kill("12\n0\n" + self + "\n34\n"), (std::vector<pid_t>{12, 34}));
  EXPECT_TRUE(processes_to_kill("").empty());
  EXPECT_TRUE(processes_to_kill("0\n").empty());
}

}  // namespace control_groups_test
}  // namespace sluice::sandbox
