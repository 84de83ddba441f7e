// Who sandboxes' users are outside of sandboxes, on a server that is root: a range of numbers that nobody else has.
// Files that outlive a sandbox belong to the first of them, so that a data directory keeps the range that it was begun
// with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"
#include "base/result.h"

namespace sluice::app {

// What an earlier version took. useradd gives it to the second person of a machine, for containers of their own.
inline constexpr uint32_t host_uid_of_before = 200'000;

// sandbox.host_uid; if that is 0, what the data directory was begun with; in a new one, a default that is mapped here.
uint32_t host_uid(const Config& config, const std::string& state_dir);
// As it was written down, or, by an earlier version, given to files. Empty: nothing was.
std::optional<uint32_t> host_uid_begun_with(const std::string& state_dir);
// Writes it down if nothing is. `state_dir` must be there.
Result<Unit> note_host_uid(const std::string& state_dir, uint32_t uid);

// The default for a new data directory where /proc/self/uid_map reads like this.
uint32_t default_host_uid(std::string_view uid_map, uint32_t count);

// Whom a file like /etc/subuid gives any of the users `first` to `last`: "anna (165536 to 231071)".
std::vector<std::string> owners_of_range(std::string_view subids, uint32_t first, uint32_t last);

}  // namespace sluice::app
