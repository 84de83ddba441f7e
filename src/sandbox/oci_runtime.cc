#include "sandbox/oci_runtime.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr int64_t run_ms_max = 30'000;
constexpr std::string_view groups_top = "/sys/fs/cgroup";

// sbin too, which an ordinary PATH lacks and where Debian puts runc.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* const own = std::getenv("PATH");
  std::istringstream places((own != nullptr ? std::string(own) : "") +
                            ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin");
  for (std::string place; std::getline(places, place, ':');) {
    std::string path = place + "/" + name;
    if (place.starts_with('/') && access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::vector<std::string> unified_mounts() {
  std::vector<std::string> found;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device;
    std::string place;
    std::string kind;
    if (words >> device >> place >> kind && kind == "cgroup2") found.push_back(place);
  }
  return found;
}

int run_and_wait(const std::vector<std::string>& words, int64_t ms_max) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  pid_t child = -1;
  char* nothing[] = {nullptr};
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), nothing);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (error != 0) return status;
  const OwnedFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  pollfd end = {pidfd.get(), POLLIN, 0};
  if (pidfd && poll(&end, 1, static_cast<int>(ms_max)) == 0) kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return status;
}

Error unavailable(std::string what) { return {ErrorKind::unavailable, "oci driver: " + std::move(what)}; }

}  // namespace

std::vector<std::string> OciRuntime::run_command(const std::string& id, const std::string& bundle,
                                                 const std::string& log) const {
  std::vector<std::string> words = {path, "--root", state_dir, "--log", log};
  if (groups_path.empty()) words.emplace_back("--cgroup-manager=disabled");
  words.insert(words.end(), {"run", "--bundle", bundle, "--preserve-fds", "1", id});
  return words;
}

Result<OciRuntime> find_runtime(const SandboxOptions& options, const Machine& machine) {
  OciRuntime runtime;
  const auto names = options.oci_runtime.empty() ? std::vector<std::string>{"crun", "runc"}
                                                 : std::vector<std::string>{options.oci_runtime};
  for (const std::string& name : names) {
    if (runtime.path.empty()) runtime.path = find_program(name);
  }
  if (runtime.path.empty()) {
    return unavailable(options.oci_runtime.empty() ? "neither crun nor runc is installed; install one"
                                                   : "there is no program " + options.oci_runtime + "; install it");
  }
  if (!machine.is_root) {
    return unavailable(
        "needs root, to lay out a box's root and workspace; run the server as root or use the driver "
        "\"namespaces\", which does not");
  }
  runtime.name = fs::path(runtime.path).filename();
  runtime.state_dir = options.state_dir + "/oci";
  if (machine.control_groups == ControlGroups::none && runtime.name != "crun") {
    return unavailable(runtime.name +
                       " cannot work without control groups, and there are none that this server may "
                       "use; delegate one, or install crun");
  }
  if (runtime.name == "crun" && machine.control_groups == ControlGroups::v1) runtime.hides = unified_mounts();
  return runtime;
}

std::string path_in_hierarchy(const std::string& directory, ControlGroups kind) {
  if (!directory.starts_with(groups_top)) return "";
  std::string below = directory.substr(groups_top.size());
  // Of the old kind each controller has a hierarchy of its own: /sys/fs/cgroup/memory/…
  if (kind == ControlGroups::v1) below = below.substr(std::min(below.find('/', 1), below.size()));
  return below.empty() ? "/" : below;
}

bool lost_its_group(std::string_view complaint) {
  return complaint.find("cgroup") != complaint.npos && complaint.find("No such file or directory") != complaint.npos;
}

void remove_left_groups(const OciRuntime& runtime) {
  if (runtime.groups_path.size() < 2) return;
  std::error_code none;
  rmdir((std::string(groups_top) + runtime.groups_path).c_str());
  for (const auto& entry : fs::directory_iterator(groups_top, none)) {
    rmdir((entry.path().string() + runtime.groups_path).c_str());
  }
}

// What lies where GroupDirectories makes its groups is its to reap.
void reap_groups_elsewhere(const OciRuntime& runtime, const Machine& machine) {
  if (runtime.groups_path.size() < 2) return;
  const std::string parent = fs::path(runtime.groups_path).parent_path();
  std::error_code none;
  for (const auto& hierarchy : fs::directory_iterator(groups_top, none)) {
    const std::string place = hierarchy.path().string() + parent;
    if (std::ranges::any_of(machine.controllers, [&](const auto& home) { return home.second == place; })) continue;
    for (const auto& group : fs::directory_iterator(place, none)) {
      if (!is_left_behind(group.path().filename().string())) continue;
      for (const auto& box : fs::directory_iterator(group.path(), none)) rmdir(box.path().c_str());
      rmdir(group.path().c_str());
    }
  }
}

int reap_left_containers(const OciRuntime& runtime, Millis all_of_them) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(all_of_them.value);
  std::error_code none;
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(runtime.state_dir, none)) {
    if (entry.is_directory(none)) left.push_back(entry.path().filename());
  }
  int count = static_cast<int>(left.size());
  for (const std::string& id : left) {
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    if (left_ms <= 0) break;
    run_and_wait({runtime.path, "--root", runtime.state_dir, "delete", "--force", id}, std::min(run_ms_max, left_ms));
    fs::remove_all(fs::path(runtime.state_dir) / id, none);
    --count;
  }
  return count;
}

}  // namespace sluice::sandbox
