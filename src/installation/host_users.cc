#include "installation/host_users.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "installation/data_dir.h"
#include "sandbox/sandbox.h"

namespace sluice::installation {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view record_name = "/host_uid";
constexpr int layers_depth = 3;  // workspaces/CONVERSATION/REPOSITORY/LAYER
// Smaller ids belong to people and services; such an owner, or an inherited group, says nothing about sandboxes.
constexpr uint32_t guessed_uid_min = 65'536;

std::optional<uint32_t> number_of(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

// The owner of the first layer that belongs to a sandboxes' user.
std::optional<uint32_t> owner_of_layers(const fs::path& directory, int depth) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    struct stat about{};
    if (lstat(at->path().c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) continue;
    if (depth > 1) {
      if (const auto owner = owner_of_layers(at->path(), depth - 1)) return owner;
    } else if (about.st_uid >= guessed_uid_min) {
      return about.st_uid;
    }
  }
  return std::nullopt;
}

}  // namespace

uint32_t host_uid(const config::Config& config, const std::string& state_dir) {
  if (const auto chosen = config.integer("sandbox.host_uid"); chosen > 0) return static_cast<uint32_t>(chosen);
  if (const auto begun_with = host_uid_begun_with(state_dir)) return *begun_with;
  const auto map = read_small_file("/proc/self/uid_map");
  const auto count = static_cast<uint32_t>(config.integer("sandbox.host_uid_count"));
  return default_host_uid(map && map.value() ? *map.value() : std::string(), count);
}

std::optional<uint32_t> host_uid_begun_with(const std::string& state_dir) {
  const auto record = read_small_file(state_dir + std::string(record_name));
  if (record && record.value()) {
    if (const auto number = number_of(*record.value())) return number;
  }
  if (auto owner = owner_of_layers(state_dir + "/workspaces", layers_depth)) return owner;
  // The group through which the users of sandboxes reach their layers.
  struct stat about{};
  if (stat(state_dir.c_str(), &about) == 0 && about.st_gid >= guessed_uid_min) return about.st_gid;
  return std::nullopt;
}

Result<Unit> note_host_uid(const std::string& state_dir, uint32_t uid) {
  const auto path = state_dir + std::string(record_name);
  const auto record = read_small_file(path);
  if (!record) return record.error();
  if (record.value() && number_of(*record.value())) return Unit{};
  return write_private_file(path, std::to_string(uid) + "\n");
}

uint32_t default_host_uid(std::string_view uid_map, uint32_t count) {
  // A container may map fewer ids, of which the earlier default may be one.
  const auto is_mapped = [&](uint64_t first) {
    std::istringstream lines{std::string(uid_map)};
    for (uint64_t inside = 0, outside = 0, size = 0; lines >> inside >> outside >> size;) {
      if (first >= inside && first + count < inside + size) return true;
    }
    return false;
  };
  return !is_mapped(sandbox::host_uid_default) && is_mapped(host_uid_of_earlier_version) ? host_uid_of_earlier_version
                                                                                         : sandbox::host_uid_default;
}

std::vector<std::string> owners_of_range(std::string_view subids, uint32_t first, uint32_t last) {
  std::vector<std::string> owners;
  std::istringstream lines{std::string(subids)};
  for (std::string line; std::getline(lines, line);) {
    const auto one = line.find(':');
    const auto two = line.find(':', one + 1);
    if (one == std::string::npos || two == std::string::npos) continue;
    const auto begin = number_of(line.substr(one + 1, two - one - 1));
    const auto count = number_of(line.substr(two + 1));
    if (!begin || !count) continue;
    const uint64_t end = uint64_t{*begin} + *count - 1;
    if (*begin > last || end < first) continue;
    owners.push_back(line.substr(0, one) + " (" + std::to_string(*begin) + " to " + std::to_string(end) + ")");
  }
  return owners;
}

}  // namespace sluice::installation
