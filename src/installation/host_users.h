// The user ids of sandboxes' users outside of their sandboxes, on a server that is root: a range that no other account
// has. Files that outlive a sandbox belong to the first of them, so a data directory keeps the range that it was
// created with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace sluice::installation {

// The default of an earlier version. useradd assigns it to the second user of a machine, for rootless containers.
inline constexpr uint32_t host_uid_of_earlier_version = 200'000;

// The first user id: sandbox.host_uid; if that is 0, the one that the data directory was created with; in a new data
// directory, a default that is mapped in this user namespace.
uint32_t host_uid(const config::Config& config, const std::string& state_dir);
// The id that the data directory was created with: as recorded, or, if an earlier version recorded none, as owner of
// files. Empty for a new data directory.
std::optional<uint32_t> host_uid_begun_with(const std::string& state_dir);
// Records the id if none is recorded. `state_dir` must exist.
Result<Unit> note_host_uid(const std::string& state_dir, uint32_t uid);

// The default for a new data directory, given the content of /proc/self/uid_map.
uint32_t default_host_uid(std::string_view uid_map, uint32_t count);

// The accounts to which a file like /etc/subuid assigns any of the ids `first` to `last`: "anna (165536 to 231071)".
std::vector<std::string> owners_of_range(std::string_view subids, uint32_t first, uint32_t last);

}  // namespace sluice::installation
