// The data directory, which is private to one user and to one server at a time, and the private files in it. Functions
// block on the file system; any thread may call them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::installation {

// Holds a lock on DIR/lock as long as it exists; the kernel releases it when the process ends in any way.
class DataDir {
 public:
  // Creates the directory (0700) if it is missing. `conflict` if another running server uses it.
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

// The content of a file; empty if there is no such file. `unavailable` if it cannot be read.
Result<std::optional<std::string>> read_small_file(const std::string& path);

// Writes a file of mode 0600 atomically; it is on disk on return.
Result<Unit> write_private_file(const std::string& path, std::string_view content);

}  // namespace sluice::installation
