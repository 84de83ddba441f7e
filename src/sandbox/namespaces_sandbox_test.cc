#include "sandbox/namespaces_sandbox.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "sandbox/box_story_fixture.h"

namespace sluice::sandbox {
namespace namespaces_sandbox_test {

namespace fs = std::filesystem;

// What a server may leave behind on its machine.
struct Traces {
  std::set<std::string> groups;
  std::size_t descriptors = 0;
  bool operator==(const Traces&) const = default;
};

Traces traces() {
  Traces found;
  std::error_code ignored;
  for (const auto& hierarchy : fs::directory_iterator("/sys/fs/cgroup", ignored)) {
    for (const auto& group : fs::directory_iterator(hierarchy.path(), ignored)) {
      const std::string name = group.path().filename();
      if (name.starts_with("sluice-" + std::to_string(getpid()) + ".")) found.groups.insert(group.path());
      for (const auto& slot : fs::directory_iterator(group.path(), ignored)) {
        if (name.starts_with("sluice-" + std::to_string(getpid()) + ".") && slot.is_directory(ignored)) {
          found.groups.insert(slot.path());
        }
      }
    }
  }
  for ([[maybe_unused]] const auto& fd : fs::directory_iterator("/proc/self/fd")) ++found.descriptors;
  return found;
}

// Only there: others on this machine mount what they like meanwhile.
int mounts_below(const fs::path& place) {
  int found = 0;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) found += line.find(place.string()) != std::string::npos ? 1 : 0;
  return found;
}

// All descendants of a process, by pidfd, so that numbers used again do not deceive.
std::vector<OwnedFd> descendants_of(pid_t parent) {
  std::vector<OwnedFd> found;
  std::vector<pid_t> parents = {parent};
  while (!parents.empty()) {
    const pid_t next = parents.back();
    parents.pop_back();
    std::ifstream children("/proc/" + std::to_string(next) + "/task/" + std::to_string(next) + "/children");
    for (pid_t child = 0; children >> child;) {
      parents.push_back(child);
      found.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    }
  }
  return found;
}

bool ends_in_time(const OwnedFd& pidfd) {
  pollfd waiting = {pidfd.get(), POLLIN, 0};
  return poll(&waiting, 1, 20'000) == 1;
}

TEST(NamespacesSandbox, Keeps_boxes_warm_and_refills) {
  BoxStory story({.warm_target = 2});
  const auto is_warm = [&] { return story.metrics().to_text().find("sluice_sandbox_warm 2\n") != std::string::npos; };
  story.until(is_warm, "two warm boxes");
  EXPECT_EQ(story.sandbox().warm_available(), 2);
  std::unique_ptr<Box> first;
  story.sandbox().open({.name = "first"}, [&](Result<std::unique_ptr<Box>> box) { first = std::move(box).take(); });
  EXPECT_EQ(story.sandbox().warm_available(), 1) << "it is taken at once; a little later there are two again";
  story.until([&] { return first != nullptr; }, "the first box");
  EXPECT_TRUE(first->was_warm());
  EXPECT_TRUE(first->take_egress_listener());
  EXPECT_EQ(story.run(*first, sh("echo $HOME")).out, "/home/agent\n");
  story.until(is_warm, "the pool to be full again");
  const auto second = story.open({.environment = {{"HOME", "/tmp"}}});
  EXPECT_TRUE(second->was_warm());
  EXPECT_EQ(story.run(*second, sh("echo $HOME")).out, "/tmp\n");
  const std::string figures = story.metrics().to_text();
  EXPECT_NE(figures.find("sluice_sandbox_opened_total{warm=\"yes\"} 2\n"), std::string::npos) << figures;
}

TEST(NamespacesSandbox, Opens_more_at_once_than_are_warm) {
  BoxStory story({.warm_target = 1});
  std::vector<std::unique_ptr<Box>> boxes;
  for (int i = 0; i < 12; ++i) {
    story.sandbox().open({}, [&](Result<std::unique_ptr<Box>> box) {
      ASSERT_TRUE(box) << box.error().what;
      boxes.push_back(std::move(box).take());
    });
  }
  story.until([&] { return boxes.size() == 12; }, "twelve boxes");
  for (const auto& box : boxes) EXPECT_EQ(story.run(*box, sh("echo $$")).out, "2\n") << "each is the first in its own";
}

TEST(NamespacesSandbox, A_layer_that_is_not_there_is_said) {
  BoxStory story({.warm_target = 1});
  const auto box = story.try_open({.layers = {(story.state_dir() / "missing").string()}});
  ASSERT_FALSE(box);
  EXPECT_EQ(box.error().kind, ErrorKind::unavailable);
  EXPECT_NE(box.error().what.find("overlay"), std::string::npos) << box.error().what;
  EXPECT_EQ(story.run(*story.open(), sh("echo well")).out, "well\n") << "and the next box is well";
}

TEST(NamespacesSandbox, A_killed_init_is_told_and_its_commands_with_it) {
  BoxStory story;
  const auto box = story.open();
  std::string lost;
  box->on_lost([&](std::string what) { lost = std::move(what); });
  Heard heard(story);
  const std::string mark = marker();
  const auto process = box->start({.argv = {"sleep", mark}}, heard);
  story.until([&] { return processes_with(mark).size() == 1; }, "the command");
  ASSERT_EQ(::kill(init_of(processes_with(mark).at(0)), SIGKILL), 0);
  story.until([&] { return heard.exit && !lost.empty(); }, "the news");
  EXPECT_EQ(heard.exit->cause, ExitCause::box_lost);
  EXPECT_EQ(story.run(*box, sh("true")).exit.cause, ExitCause::box_lost);
}

pid_t zygote_of(pid_t server) {
  std::ifstream children("/proc/" + std::to_string(server) + "/task/" + std::to_string(server) + "/children");
  for (pid_t child = 0; children >> child;) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(child) + "/comm"), name);
    if (name == "sluice-zygote") return child;
  }
  return 0;
}

TEST(NamespacesSandbox, Outlives_its_zygote_but_the_boxes_do_not) {
  BoxStory story({.warm_target = 1});
  const auto box = story.open();
  std::string lost;
  box->on_lost([&](std::string what) { lost = std::move(what); });
  Heard heard(story);
  const std::string mark = marker();
  const auto process = box->start({.argv = {"sleep", mark}}, heard);
  story.until([&] { return processes_with(mark).size() == 1; }, "the command");
  const pid_t zygote = zygote_of(getpid());
  ASSERT_GT(zygote, 0);
  ASSERT_EQ(::kill(zygote, SIGKILL), 0);
  story.until([&] { return heard.exit && !lost.empty(); }, "the loss");
  story.until([&] { return processes_with(mark).empty(); }, "the end of the box");
  const auto next = story.open();
  EXPECT_EQ(story.run(*next, sh("echo on")).out, "on\n");
}

// S-2, S-10: nothing of a sandbox is left, however many there were.
TEST(NamespacesSandbox, A_thousand_sandboxes_leave_nothing) {
  const Traces before = traces();
  BoxStory story({.warm_target = 8});
  constexpr int wanted = 1000;
  int opened = 0;
  int dead = 0;
  std::vector<std::unique_ptr<Box>> boxes;
  std::function<void()> next = [&] {
    ++opened;
    story.sandbox().open({}, [&](Result<std::unique_ptr<Box>> box) {
      ASSERT_TRUE(box) << box.error().what;
      boxes.push_back(std::move(box).take());
      boxes.back()->kill([&](const Result<Unit>& proof) {
        EXPECT_TRUE(proof);
        if (++dead == wanted) story.nudge();
        if (opened < wanted) next();
      });
    });
  };
  for (int i = 0; i < 8; ++i) next();
  story.until([&] { return dead == wanted; }, "a thousand deaths");
  boxes.clear();
  story.close();
  EXPECT_TRUE(descendants_of(getpid()).empty());
  EXPECT_TRUE(fs::is_empty(story.state_dir() / "boxes"));
  Traces after = traces();
  EXPECT_EQ(after.groups, before.groups);
  EXPECT_EQ(mounts_below(story.state_dir()), 0);
  EXPECT_EQ(after.descriptors, before.descriptors + 2) << "two are of the story's own loop";
}

// A server in a process of its own opens a sandbox, runs something in it that never ends, says so
// through the pipe, and is killed.
void die_and_leave_nothing(const std::function<void()>& become) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t server = fork();
  if (server == 0) {
    become();
    BoxStory story({.warm_target = 2});
    const auto box = story.open();
    Heard heard(story);
    const auto process = box->start(sh("trap '' TERM HUP; (setsid sleep 1000 &) ; echo up; sleep 1000"), heard);
    story.until([&] { return heard.out == "up\n"; }, "the command");
    const std::string place = story.state_dir();
    if (write(ready[1], place.data(), place.size()) > 0) {
      story.until([] { return false; }, "the end", std::chrono::minutes(1));
    }
    _exit(1);
  }
  close(ready[1]);
  char place[256] = {};
  EXPECT_GT(read(ready[0], place, sizeof place - 1), 0) << "the server did not come up";
  close(ready[0]);
  const auto all = descendants_of(server);
  EXPECT_GE(all.size(), 4U) << "a zygote, an init, a shell, a sleep";
  ::kill(server, SIGKILL);
  EXPECT_EQ(waitpid(server, nullptr, 0), server);
  for (const auto& process : all) EXPECT_TRUE(ends_in_time(process));
  fs::remove_all(place);
}

TEST(NamespacesSandbox, Dies_with_its_server) {
  die_and_leave_nothing([] {});
}

void become_nobody() {
  if (geteuid() != 0) return;  // an ordinary user already
  constexpr uid_t unprivileged = 65534;
  if (setresgid(unprivileged, unprivileged, unprivileged) != 0 ||
      setresuid(unprivileged, unprivileged, unprivileged) != 0)
    _exit(2);
}

// The same, and all that comes before it, without being root.
TEST(NamespacesSandbox, Works_for_an_ordinary_user_and_dies_with_its_server) { die_and_leave_nothing(become_nobody); }

TEST(NamespacesSandbox, Gives_an_ordinary_user_the_listener_and_the_certificates_of_a_box) {
  const pid_t server = fork();
  if (server == 0) {
    become_nobody();
    std::string bundle = fs::temp_directory_path() / "sluice-bundle-XXXXXX";
    ::close(mkstemp(bundle.data()));
    std::ofstream(bundle) << "authorities\n";
    {
      BoxStory story({.ca_bundle_file = bundle, .warm_target = 1});
      const auto box = story.open();
      const OwnedFd listener = box->take_egress_listener();
      Heard heard(story);
      const auto process = box->start({.argv = {"bash", "-c", "echo hi >/dev/tcp/127.0.0.1/3128"}}, heard);
      story.until([&] { return OwnedFd(accept(listener.get(), nullptr, nullptr)).get() >= 0; }, "a connection");
      EXPECT_EQ(story.run(*box, sh("cat /etc/ssl/certs/ca-certificates.crt")).out, "authorities\n");
    }
    unlink(bundle.c_str());
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(server, &status, 0), server);
  EXPECT_EQ(status, 0);
}

TEST(NamespacesSandbox, Says_what_this_machine_can_do) {
  SandboxOptions options;
  options.state_dir = "/nowhere";
  const auto abilities = probe_abilities(options);
  ASSERT_FALSE(abilities.empty());
  EXPECT_EQ(abilities[0].name, "user namespaces");
  EXPECT_TRUE(abilities[0].there);
  EXPECT_NE(describe_plan(options, {}).find("namespaces  user mount pid"), std::string::npos);
}

}  // namespace namespaces_sandbox_test
}  // namespace sluice::sandbox
