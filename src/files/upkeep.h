// The second public header of files: inspects and sweeps a whole directory of contents, beside a server or without one.
// Functions block and may be called from any thread.
#pragma once

#include <functional>

#include "base/time.h"
#include "files/files.h"

namespace sluice::files {

// As open_directory(), beside a server that may be using it: nothing is made, removed or put.
Result<std::unique_ptr<const Contents>> look_into_directory(std::string path);

// Contents that are not used: `is_used` is called for each one that is older than `age`.
struct Unused {
  int64_t count = 0;
  int64_t bytes = 0;
};
Result<Unused> count_unused(const std::string& path, Millis age,
                            const std::function<bool(std::string_view sha256)>& is_used);
// Removes them, while no server is at work.
Result<Unused> sweep_directory(const std::string& path, Millis age,
                               const std::function<bool(std::string_view sha256)>& is_used);

}  // namespace sluice::files
