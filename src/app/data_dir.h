// The data directory: private to one user, and to one server at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::app {

// Holds DIR/lock for as long as it lives; the kernel lets go of it however the process ends.
class DataDir {
 public:
  // Creates the directory (0700) if it is missing. `conflict` when another live server has it.
  static Result<DataDir> open(const std::string& path);

  DataDir(DataDir&& other) noexcept;
  DataDir& operator=(DataDir&&) = delete;
  ~DataDir();

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  DataDir(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}

  std::string path_;  // absolute
  int lock_fd_;
};

// The whole of a file; empty when there is none. `unavailable` when it cannot be read.
Result<std::optional<std::string>> read_small_file(const std::string& path);

// Mode 0600, all of it or none of it, on disk on return.
Result<Unit> write_private_file(const std::string& path, std::string_view content);

}  // namespace sluice::app
