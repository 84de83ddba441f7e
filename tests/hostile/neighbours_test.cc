// Two sandboxes: one takes all that it gets of something that the kernel counts for both, or that both see, and the
// other one works on.
//
// What is counted by user is counted for everything on this machine that has that user, so that these sandboxes have
// users of their own: other servers and tests are not to be flooded.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sandbox/box_story_fixture.h"

namespace sluice::hostile {
namespace neighbours_test {

namespace fs = std::filesystem;
using sandbox::BoxStory;
using sandbox::Heard;

constexpr const char* bound = "/skills/hostile";

sandbox::SandboxOptions neighbour_options() {
  sandbox::SandboxOptions options;
  options.warm_target = 0;
  options.host_uid = 347'000;
  options.host_uid_count = 0;  // all of them have that user
  options.limits.processes_max = 64;
  options.limits.open_files_max = 1024;
  return options;
}

std::string install_probe(BoxStory& story) {
  const fs::path directory = story.directory("hostile", {});
  fs::copy_file(SLUICE_PROBE, directory / "probe");
  fs::permissions(directory / "probe", fs::perms(0755));
  return directory;
}

// A sandbox in which a flood is kept up for as long as this lives.
class Flood final {
 public:
  Flood(BoxStory& story, const std::string& probe_dir, const std::string& name)
      : box_(story.open({.name = name, .binds = {{probe_dir, bound}}})), heard_(story) {
    process_ = box_->start({.argv = {std::string(bound) + "/probe", name}}, heard_);
    story.until([&] { return heard_.out.find('\n') != std::string::npos || heard_.exit; }, name);
    EXPECT_FALSE(heard_.exit) << name << ": " << heard_.out << heard_.err;
  }
  const std::string& said() const { return heard_.out; }
  sandbox::Box& box() { return *box_; }
  long held() const { return std::strtol(heard_.out.c_str() + std::string_view("held ").size(), nullptr, 10); }

 private:
  std::unique_ptr<sandbox::Box> box_;
  sandbox::Heard heard_;
  std::unique_ptr<sandbox::Process> process_;
};

long number_in(const char* path) {
  std::ifstream file(path);
  long number = 0;
  EXPECT_TRUE(file >> number) << path;
  return number;
}

void expect_of_neighbour(BoxStory& story, const std::string& probe_dir, const std::string& probe) {
  const auto box = story.open({.name = "neighbour", .binds = {{probe_dir, bound}}});
  const auto ran = story.run(*box, {.argv = {std::string(bound) + "/probe", probe}});
  EXPECT_EQ(ran.exit.code, 0) << ran.out;
}

TEST(Neighbours, open_and_work_while_a_sandbox_of_the_same_user_holds_descriptors_in_flight) {
  if (geteuid() != 0) return;  // only root takes descriptors out of another process
  const sandbox::SandboxOptions options = neighbour_options();
  BoxStory story(options);
  const Flood flood(story, install_probe(story), "flood_descriptors_in_flight");
  EXPECT_GE(flood.held(), options.limits.open_files_max) << "no flood at all";
  for (int i = 0; i < 3; ++i) {
    const auto box = story.open({.name = "neighbour"});
    EXPECT_TRUE(box->take_egress_listener());
    EXPECT_TRUE(box->take_bridge_listener());
    EXPECT_EQ(story.run(*box, sandbox::sh("echo on > here; cat here")).out, "on\n");
  }
}

TEST(Neighbours, that_wait_ready_made_are_whole_although_descriptors_were_in_flight_when_they_were_built) {
  if (geteuid() != 0) return;  // only root takes descriptors out of another process
  sandbox::SandboxOptions options = neighbour_options();
  BoxStory flooded(options);
  auto flood = std::make_unique<Flood>(flooded, install_probe(flooded), "flood_descriptors_in_flight");
  options.warm_target = 2;
  BoxStory story(options);
  story.until([&] { return story.sandbox().warm_available() == 2; }, "two that are ready");
  flood.reset();
  for (int i = 0; i < 2; ++i) {
    const auto box = story.open({.name = "neighbour"});
    EXPECT_TRUE(box->take_egress_listener());
    EXPECT_TRUE(box->take_bridge_listener());
    EXPECT_EQ(story.run(*box, sandbox::sh("echo on")).out, "on\n");
  }
}

TEST(Neighbours, watch_files_while_other_sandboxes_hold_all_the_inotify_instances_that_they_get) {
  if (geteuid() != 0) return;  // sandboxes of an ordinary user have no users of their own
  sandbox::SandboxOptions options = neighbour_options();
  options.host_uid_count = 64;
  BoxStory story(options);
  const std::string probe_dir = install_probe(story);
  std::vector<std::unique_ptr<Flood>> floods;
  for (int i = 0; i < 3; ++i) {
    floods.push_back(std::make_unique<Flood>(story, probe_dir, "flood_inotify_instances"));
    EXPECT_GE(floods.back()->held(), 32) << "no flood at all";
  }
  expect_of_neighbour(story, probe_dir, "neighbour_watches_files");
  const OwnedFd outside(inotify_init1(IN_CLOEXEC));
  EXPECT_TRUE(outside) << "not even the server can watch files";
}

TEST(Neighbours, watch_files_while_other_sandboxes_hold_all_the_inotify_watches_that_they_get) {
  if (geteuid() != 0) return;  // sandboxes of an ordinary user have no users of their own
  sandbox::SandboxOptions options = neighbour_options();
  options.host_uid_count = 64;
  BoxStory story(options);
  const std::string probe_dir = install_probe(story);
  std::vector<std::unique_ptr<Flood>> floods;
  for (int i = 0; i < 3; ++i) {
    floods.push_back(std::make_unique<Flood>(story, probe_dir, "flood_inotify_watches"));
    EXPECT_GE(floods.back()->held(), 8192) << "no flood at all";
  }
  expect_of_neighbour(story, probe_dir, "neighbour_watches_files");
  const OwnedFd outside(inotify_init1(IN_CLOEXEC));
  EXPECT_GE(inotify_add_watch(outside.get(), "/tmp", IN_CREATE), 0) << "not even the server can watch files";
}

TEST(Neighbours, open_terminals_and_wait_for_files_while_other_sandboxes_hold_all_the_terminals_that_they_get) {
  BoxStory story(neighbour_options());
  const std::string probe_dir = install_probe(story);
  std::vector<std::unique_ptr<Flood>> floods;
  for (int i = 0; i < 3; ++i) {
    floods.push_back(std::make_unique<Flood>(story, probe_dir, "flood_terminals"));
    EXPECT_GE(floods.back()->held(), 16) << "no flood at all";
    EXPECT_LE(floods.back()->held(), 64) << "more than its share of the machine's 4,096";
  }
  expect_of_neighbour(story, probe_dir, "neighbour_works_on");
}

TEST(Neighbours, wait_for_files_while_another_sandbox_holds_all_the_epoll_watches_that_it_gets) {
  if (geteuid() != 0) return;  // sandboxes of an ordinary user have no users of their own
  sandbox::SandboxOptions options = neighbour_options();
  options.host_uid_count = 64;
  options.limits.open_files_max = 4096;
  BoxStory story(options);
  const std::string probe_dir = install_probe(story);
  const Flood flood(story, probe_dir, "flood_epoll_watches");
  EXPECT_GE(flood.held(), std::min(7'000'000L, number_in("/proc/sys/fs/epoll/max_user_watches") - 1'000))
      << "no flood at all";
  expect_of_neighbour(story, probe_dir, "neighbour_works_on");
}

TEST(Neighbours, and_the_host_get_contexts_of_asynchronous_io_whatever_sandboxes_take) {
  BoxStory story(neighbour_options());
  const std::string probe_dir = install_probe(story);
  std::vector<std::unique_ptr<Flood>> floods;
  for (int i = 0; i < 3; ++i) {
    floods.push_back(std::make_unique<Flood>(story, probe_dir, "flood_aio_contexts"));
    EXPECT_EQ(floods.back()->held(), 0) << "they are counted for the whole machine";
  }
  expect_of_neighbour(story, probe_dir, "neighbour_works_on");
  unsigned long context = 0;
  ASSERT_EQ(syscall(SYS_io_setup, 1, &context), 0) << "not even the server gets one: " << errno;
  EXPECT_EQ(syscall(SYS_io_destroy, context), 0);
}

// Whether the server is root or not, since overlays can be mounted in user namespaces as well. Only devices are the
// host's where it is not.
TEST(Neighbours, do_not_see_what_others_and_the_host_open_of_the_root_that_they_share) {
  BoxStory story(neighbour_options());
  const std::string probe_dir = install_probe(story);
  Flood spy(story, probe_dir, "spy_on_root");
  EXPECT_GE(spy.held(), 6) << "too little is watched";
  const auto other = story.open({.name = "neighbour", .binds = {{probe_dir, bound}}});
  const auto ran = story.run(*other, sandbox::sh("/usr/bin/sha512sum /etc/passwd /etc/nsswitch.conf /usr/bin/whoami "
                                                 "/skills/hostile/probe && ls / > /dev/full; echo x > /dev/zero"));
  EXPECT_EQ(ran.exit.code, 0) << ran.err;
  for (const char* path : {"/usr/bin/sha256sum", "/etc/os-release", "/dev/zero"}) {
    EXPECT_TRUE(OwnedFd(open(path, O_RDONLY | O_CLOEXEC))) << path;
  }
  // What is reported comes in the order in which it happened.
  EXPECT_EQ(story.run(spy.box(), sandbox::sh("/usr/bin/true")).exit.code, 0);
  story.until([&] { return spy.said().find("saw /usr/bin/true\n") != std::string::npos; }, "what it opened itself");
  for (const char* name : {"/usr/bin/sha", "/usr/bin/whoami", "/etc/nsswitch.conf", "/etc/os-release", "probe"}) {
    EXPECT_EQ(spy.said().find("saw " + std::string(name)), std::string::npos) << name << "\n" << spy.said();
  }
  EXPECT_EQ(spy.said().find("/probe\n"), std::string::npos) << spy.said();
  if (geteuid() == 0) EXPECT_EQ(spy.said().find("saw /dev/zero"), std::string::npos) << spy.said();
}

TEST(Neighbours, of_an_oci_runtime_neither_see_nor_lock_what_others_open_in_directories_of_the_root) {
  for (const auto& driver : sandbox::drivers_here()) {
    if (driver == "namespaces") continue;
    sandbox::SandboxOptions options = neighbour_options();
    options.host_uid = sandbox::SandboxOptions{}.host_uid;
    options.driver = "oci";
    options.oci_runtime = driver.substr(std::string_view("oci_").size());
    BoxStory story(options);
    const std::string probe_dir = install_probe(story);
    Flood spy(story, probe_dir, "spy_on_root");
    const auto other = story.open({.name = "neighbour", .binds = {{probe_dir, bound}}});
    EXPECT_EQ(story.run(*other, sandbox::sh("/usr/bin/sha512sum /usr/bin/whoami /skills/hostile/probe")).exit.code, 0);
    EXPECT_TRUE(OwnedFd(open("/usr/bin/sha256sum", O_RDONLY | O_CLOEXEC)));
    EXPECT_EQ(story.run(spy.box(), sandbox::sh("/usr/bin/true")).exit.code, 0);
    story.until([&] { return spy.said().find("saw /usr/bin/true\n") != std::string::npos; }, "what it opened itself");
    for (const char* name : {"/usr/bin/sha", "/usr/bin/whoami", "hostile/probe"}) {
      EXPECT_EQ(spy.said().find("saw " + std::string(name)), std::string::npos) << driver << " " << spy.said();
    }
    Heard lock(story);
    const auto locking =
        spy.box().start(sandbox::sh("exec 9</usr/bin/env; flock -xn 9 && echo mine; sleep 1000"), lock);
    story.until([&] { return lock.out == "mine\n" || lock.exit; }, "the lock");
    EXPECT_EQ(story.run(*other, sandbox::sh("exec 9</usr/bin/env; flock -xn 9")).exit.code, 0) << driver;
    const OwnedFd outside(open("/usr/bin/env", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(flock(outside.get(), LOCK_EX | LOCK_NB), 0) << driver << ": a sandbox locks the host's files";
  }
}

TEST(Neighbours, lock_files_of_the_root_that_another_sandbox_has_locked) {
  if (geteuid() != 0) return;  // the devices are the host's own there
  BoxStory story(neighbour_options());
  const std::string probe_dir = install_probe(story);
  const Flood locks(story, probe_dir, "lock_root");
  EXPECT_EQ(locks.held(), 9);
  expect_of_neighbour(story, probe_dir, "neighbour_locks_files");
  const OwnedFd outside(open("/usr/bin/env", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(flock(outside.get(), LOCK_EX | LOCK_NB), 0) << "a sandbox locks the host's files";
}

TEST(Neighbours, have_users_of_their_own_and_share_the_files_that_are_kept) {
  if (geteuid() != 0) return;  // sandboxes of an ordinary user have no users of their own
  sandbox::SandboxOptions options = neighbour_options();
  options.host_uid = sandbox::SandboxOptions{}.host_uid;  // whose the files are that a story makes
  options.host_uid_count = 4096;
  BoxStory story(options);
  const std::string layer = story.directory("layer", {{"kept/note", "one\n"}});
  std::set<uid_t> users;
  for (int i = 0; i < 3; ++i) {
    const auto box = story.open({.layers = {layer}});
    EXPECT_EQ(story
                  .run(*box, sandbox::sh("stat -c %u:%g kept kept/note; echo two >> kept/note; cat kept/note; "
                                         "mkdir kept/more && mv kept/note kept/more && rm -r kept && echo well"))
                  .out,
              "1000:1000\n1000:1000\none\ntwo\nwell\n");
    EXPECT_EQ(story.run(*box, sandbox::sh("echo mine > mine; stat -c %u:%g mine")).out, "1000:1000\n");
    struct stat mine{};
    ASSERT_EQ(fstatat(box->changes_fd(), "mine", &mine, 0), 0);
    EXPECT_GT(mine.st_uid, options.host_uid);
    EXPECT_LE(mine.st_uid, options.host_uid + options.host_uid_count);
    EXPECT_EQ(mine.st_gid, mine.st_uid);
    users.insert(mine.st_uid);
  }
  EXPECT_EQ(users.size(), 3U) << "two have the same user";
}

}  // namespace neighbours_test
}  // namespace sluice::hostile
