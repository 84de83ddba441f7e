// What a file in a bundle may be called, and that no two of them are in each other's way.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "workspace/workspace.h"

namespace sluice::workspace {

// The names of one bundle as they come. Each answer is `invalid`, in words for whoever made the bundle.
class BundlePaths final {
 public:
  explicit BundlePaths(const BundleLimits& limits) : limits_(limits) {}
  Result<Unit> add_file(const std::string& path);
  Result<Unit> add_directory(const std::string& path);

 private:
  enum class Kind : uint8_t { file, directory };
  Result<Unit> check_words(const std::string& path) const;
  Result<Unit> add_parents(const std::string& path);

  const BundleLimits& limits_;
  std::map<std::string, Kind, std::less<>> known_;
};

}  // namespace sluice::workspace
