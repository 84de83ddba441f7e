#include "sandbox/control_groups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> wanted = {"memory", "pids", "cpu"};
constexpr std::string_view prefix = "sluice-";

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool write_text(const fs::path& path, std::string_view text) {
  const OwnedFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A mounted hierarchy and where in it this process is.
struct Hierarchy {
  std::string directory;
  std::vector<std::string> controllers;  // of v1
  bool is_unified = false;
};

// "/docker/abc" of a hierarchy whose mounted part begins at "/docker/abc" is its top.
std::string own_directory(const std::string& mounted_at, const std::string& root, const std::string& own) {
  std::string below = own;
  if (root != "/" && own.starts_with(root)) below = own.substr(root.size());
  while (below.starts_with("/")) below.erase(0, 1);
  return below.empty() || below.starts_with("..") ? mounted_at : mounted_at + "/" + below;
}

// From "36 25 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory".
std::vector<Hierarchy> hierarchies() {
  std::map<std::string, std::string> own;  // controller (unified: "") -> path of this process
  std::istringstream lines(read_text("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    for (const auto& controller : split(parts[1], ',')) own[controller] = parts[2];
  }
  std::vector<Hierarchy> found;
  std::istringstream mounts(read_text("/proc/self/mountinfo"));
  for (std::string line; std::getline(mounts, line);) {
    const auto words = split(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    if (dash[1] == "cgroup2") found.push_back({own_directory(words[4], words[3], own[""]), {}, true});
    if (dash[1] != "cgroup") continue;
    const auto options = split(dash[3], ',');
    Hierarchy hierarchy;
    for (const auto controller : wanted) {
      if (has(options, controller)) hierarchy.controllers.emplace_back(controller);
    }
    if (hierarchy.controllers.empty()) continue;
    hierarchy.directory = own_directory(words[4], words[3], own[hierarchy.controllers[0]]);
    found.push_back(std::move(hierarchy));
  }
  return found;
}

bool find_unified(const Hierarchy& hierarchy, Machine& machine) {
  const auto offered = split(read_text(hierarchy.directory + "/cgroup.controllers"), ' ');
  std::vector<std::string> names;
  for (auto name : offered) {
    name.erase(std::remove(name.begin(), name.end(), '\n'), name.end());
    if (std::ranges::find(wanted, name) != wanted.end()) names.push_back(name);
  }
  if (!has(names, "memory") || !has(names, "pids")) return false;
  if (access((hierarchy.directory + "/cgroup.subtree_control").c_str(), W_OK) != 0) return false;
  for (const auto& name : names) machine.controllers[name] = hierarchy.directory;
  machine.control_groups = ControlGroups::unified;
  return true;
}

// When that process began; empty when it is gone. One that was killed and waits for its parent to
// notice (Z, X) is gone too: it will never look after its groups again.
std::string start_of(pid_t process) {
  const std::string stat = read_text("/proc/" + std::to_string(process) + "/stat");
  const std::size_t end_of_name = stat.rfind(") ");
  if (end_of_name == stat.npos) return "";
  const auto fields = split(std::string_view(stat).substr(end_of_name + 2), ' ');
  return fields.size() > 19 && fields[0] != "Z" && fields[0] != "X" ? fields[19] : "";
}

bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

// Empty when it cannot be made.
std::string make_home(const std::string& parent) {
  const std::string name = parent + "/" + group_prefix(getpid());
  for (int number = 0;; ++number) {
    std::string path = name + std::to_string(number);
    if (mkdir(path.c_str(), 0755) == 0) return path;
    if (errno != EEXIST) return "";
  }
}

// Lets the groups in `parent` use a controller. The kernel grants that only where no process is, so
// this one moves into a group of its own; others that are there are not ours to move.
bool hand_down(const std::string& parent, const std::string& controller) {
  const std::string control = parent + "/cgroup.subtree_control";
  if (write_text(control, "+" + controller)) return true;
  const std::string room = parent + "/" + group_prefix(getpid()) + "server";
  if (mkdir(room.c_str(), 0755) != 0 && errno != EEXIST) return false;
  return write_text(room + "/cgroup.procs", "0") && write_text(control, "+" + controller);
}

// Processes that are still in there die; twice, as the dead leave a little later than they die.
void remove_group(const fs::path& group) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(group, error)) {
    if (entry.is_directory(error)) remove_group(entry.path());
  }
  for (int attempt = 0; attempt < 50 && rmdir(group.c_str()) != 0 && errno == EBUSY; ++attempt) {
    for (const pid_t process : processes_to_kill(read_text(group / "cgroup.procs"))) ::kill(process, SIGKILL);
    const timespec moment = {0, 2'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
  }
}

}  // namespace

std::string group_prefix(pid_t server) {
  return std::string(prefix) + std::to_string(server) + "." + start_of(server) + ".";
}

std::vector<pid_t> processes_to_kill(std::string_view listed) {
  std::vector<pid_t> found;
  for (const auto& line : split(listed, '\n')) {
    const long process = std::strtol(line.c_str(), nullptr, 10);
    if (process > 0 && process != getpid()) found.push_back(static_cast<pid_t>(process));
  }
  return found;
}

bool is_left_behind(std::string_view name) {
  if (!name.starts_with(prefix)) return false;
  const auto parts = split(name.substr(prefix.size()), '.');
  if (parts.size() != 3 || !is_number(parts[0]) || !is_number(parts[1])) return false;
  const long process = std::strtol(parts[0].c_str(), nullptr, 10);
  return start_of(static_cast<pid_t>(process)) != parts[1];
}

void find_controllers(Machine& machine) {
  const auto found = hierarchies();
  for (const auto& hierarchy : found) {
    if (hierarchy.is_unified && find_unified(hierarchy, machine)) return;
  }
  for (const auto& hierarchy : found) {
    if (hierarchy.is_unified || access(hierarchy.directory.c_str(), W_OK) != 0) continue;
    for (const auto& controller : hierarchy.controllers) machine.controllers.emplace(controller, hierarchy.directory);
    machine.control_groups = ControlGroups::v1;
  }
}

GroupDirectories::GroupDirectories(Machine& machine, const std::vector<GroupLimit>& limits)
    : is_unified_(machine.control_groups == ControlGroups::unified) {
  for (const auto& [controller, parent] : std::map(machine.controllers)) {
    const bool is_needed =
        std::ranges::any_of(limits, [&](const GroupLimit& limit) { return limit.controller == controller; });
    if (!is_needed) continue;
    if (is_unified_ && !hand_down(parent, controller)) {
      machine.controllers.erase(controller);
      continue;
    }
    const std::string path = is_unified_ && !paths_.empty() ? paths_.begin()->second : make_home(parent);
    if (path.empty() || (is_unified_ && !write_text(path + "/cgroup.subtree_control", "+" + controller))) {
      machine.controllers.erase(controller);
      continue;
    }
    controllers_.push_back(controller);
    paths_[controller] = path;
  }
  if (machine.controllers.empty()) machine.control_groups = ControlGroups::none;
}

GroupDirectories::~GroupDirectories() { remove(); }

void GroupDirectories::remove() {
  for (const auto& [controller, path] : paths_) remove_group(path);
  paths_.clear();
}

std::string GroupDirectories::directory(const std::string& controller) const {
  const auto found = paths_.find(controller);
  return found == paths_.end() ? "" : found->second;
}

std::vector<OwnedFd> GroupDirectories::open() const {
  std::vector<OwnedFd> opened;
  for (const auto& controller : controllers_) {
    if (is_unified_ && !opened.empty()) break;
    opened.emplace_back(::open(paths_.at(controller).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return opened;
}

int64_t GroupDirectories::memory_kills(uint64_t slot) const {
  const auto found = paths_.find("memory");
  if (found == paths_.end()) return 0;
  const fs::path group = fs::path(found->second) / ("s" + std::to_string(slot));
  std::istringstream words(read_text(group / (is_unified_ ? "memory.events" : "memory.oom_control")));
  for (std::string word; words >> word;) {
    int64_t count = 0;
    if (word == "oom_kill" && words >> count) return count;
  }
  return 0;
}

int reap_left_groups(const Machine& machine) {
  int count = 0;
  for (const auto& [controller, parent] : machine.controllers) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(parent, error)) {
      if (!is_left_behind(entry.path().filename().string())) continue;
      remove_group(entry.path());
      ++count;
    }
  }
  return count;
}

}  // namespace sluice::sandbox
