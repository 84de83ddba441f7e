// What the driver `oci` does when its runtime stumbles, shown with a runtime that does so on purpose.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sandbox/control_groups.h"
#include "sandbox/driver_contract.h"
#include "sandbox/oci_runtime.h"

namespace sluice::sandbox {
namespace oci_driver_test {

namespace fs = std::filesystem;

constexpr std::string_view vanished =
    "creating cgroup directory /sys/fs/cgroup/cpuset/sluice-1.2.0/s1: No such file or directory";

// A runtime that says `complaint`, does `last` and gives up, and counts how often it was asked to.
class Stumbling final {
 public:
  Stumbling(const std::string& name, std::string_view complaint, std::string_view last = "") {
    std::string pattern = fs::temp_directory_path() / "sluice-runtime-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ / name;
    // Called as: crun --root DIR --log FILE run …
    std::ofstream(path_) << "#!/bin/sh\necho x >>" << directory_ / "count" << "\necho '" << complaint << "' >\"$4\"\n"
                         << last << "\nexit 1\n";
    fs::permissions(path_, fs::perms::owner_all);
  }
  ~Stumbling() { fs::remove_all(directory_); }
  Stumbling(const Stumbling&) = delete;
  Stumbling& operator=(const Stumbling&) = delete;

  Result<std::unique_ptr<Box>> open() const {
    BoxStory story({.driver = "oci", .oci_runtime = path_});
    return story.try_open({});
  }

  int count() const {
    std::ifstream file(directory_ / "count");
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }

 private:
  fs::path directory_;
  fs::path path_;
};

// Wherever the runtime made some. Others' come and go meanwhile, so this may end early.
std::vector<fs::path> groups_of_this_process() {
  std::vector<fs::path> found;
  const std::string prefix = group_prefix(getpid());
  std::error_code gone;
  for (fs::recursive_directory_iterator at("/sys/fs/cgroup", gone), end; !gone && at != end; at.increment(gone)) {
    if (at->path().filename().string().starts_with(prefix)) found.push_back(at->path());
  }
  return found;
}

std::vector<std::string> runtimes_here() {
  std::vector<std::string> names;
  for (const std::string& driver : drivers_here()) {
    if (driver.starts_with("oci_")) names.push_back(driver.substr(4));
  }
  return names;
}

class OciDriver : public testing::TestWithParam<std::string> {};

TEST_P(OciDriver, Tries_again_when_a_control_group_vanished_under_the_runtime_but_not_for_ever) {
  const Stumbling runtime(GetParam(), vanished);
  const auto box = runtime.open();
  ASSERT_FALSE(box);
  EXPECT_NE(box.error().what.find(vanished), std::string::npos) << box.error().what;
  EXPECT_EQ(runtime.count(), 3);
}

TEST_P(OciDriver, Does_not_try_again_what_would_fail_again) {
  const Stumbling runtime(GetParam(), "open `/nowhere`: No such file or directory");
  EXPECT_FALSE(runtime.open());
  EXPECT_EQ(runtime.count(), 1);
}

TEST_P(OciDriver, Forgets_a_box_whose_line_ends_only_after_its_runtime_and_so_can_be_closed) {
  // Holds the line until the runtime is dead and reaped.
  const Stumbling runtime(GetParam(), "it is broken", "while kill -0 $$ 2>/dev/null; do :; done &");
  EXPECT_FALSE(runtime.open());
}

// The runtime of a live server may be about to use even an empty one.
TEST_P(OciDriver, Leaves_the_empty_groups_of_a_live_server_alone_when_another_starts) {
  BoxStory first({.driver = "oci", .oci_runtime = GetParam()});
  first.kill(*first.open());
  const auto groups = groups_of_this_process();
  const BoxStory second({.driver = "oci", .oci_runtime = GetParam()});
  for (const auto& group : groups) EXPECT_TRUE(fs::exists(group)) << group;
}

// None where the server is not root.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OciDriver);
INSTANTIATE_TEST_SUITE_P(, OciDriver, testing::ValuesIn(runtimes_here()), driver_name);

TEST(OciRuntime, Containers_that_are_not_deleted_in_time_are_left_for_the_next_start) {
  std::string pattern = fs::temp_directory_path() / "sluice-left-XXXXXX";
  const fs::path home = mkdtemp(pattern.data());
  std::ofstream(home / "crun") << "#!/bin/sh\nexec sleep 1000\n";
  fs::permissions(home / "crun", fs::perms::owner_all);
  for (const auto* name : {"a", "b", "c"}) fs::create_directories(home / "state" / name);
  const OciRuntime runtime{.path = home / "crun", .name = "crun", .state_dir = home / "state"};
  EXPECT_EQ(reap_left_containers(runtime, {0}), 3);
  EXPECT_GE(reap_left_containers(runtime, {100}), 2) << "one that is not deleted uses up all of the time";
  std::ofstream(home / "crun") << "#!/bin/sh\nexit 0\n";
  EXPECT_EQ(reap_left_containers(runtime, {60'000}), 0);
  fs::remove_all(home);
}

}  // namespace oci_driver_test
}  // namespace sluice::sandbox
