// Contents in a directory of the local disk.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/fd.h"
#include "files/mapped_file.h"
#include "files/upkeep.h"

namespace sluice::files {
namespace {

constexpr const char* unfinished = "unfinished";  // the directory of what is being written

Error failed(const std::string& doing) {
  const int reason = errno;
  const bool full = reason == ENOSPC || reason == EDQUOT;
  return {full ? ErrorKind::overloaded : ErrorKind::unavailable, doing + ": " + std::strerror(reason)};
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

OwnedFd open_at(int directory, const std::string& name, int flags) {
  return OwnedFd(openat(directory, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
}

// Each content is a file `ab/cdef…`, so that no directory holds more than a 256th of them.
class Directory final : public Contents {
 public:
  Directory(std::string path, OwnedFd root) : path_(std::move(path)), root_(std::move(root)) {}

  Result<std::string> put(std::string_view bytes) override;
  Result<Content> open(std::string_view sha256_hex) const override;

 private:
  Result<Unit> write_file(const std::string& name, std::string_view bytes) const;
  Result<Unit> move_into_place(const std::string& name, const std::string& sha256_hex) const;

  const std::string path_;
  const OwnedFd root_;
  std::atomic<uint64_t> written_{0};
};

Result<std::string> Directory::put(std::string_view bytes) {
  std::string digest = to_hex(sha256(bytes));
  // What is there is read, not trusted: putting a content again mends a damaged one.
  if (open(digest)) {
    const auto shelf = open_at(root_.get(), digest.substr(0, 2), O_RDONLY | O_DIRECTORY);
    // A concurrent put of the same content may not have synced the directory yet.
    if (!shelf || fsync(shelf.get()) != 0) return failed("keep a file in " + path_);
    return digest;
  }
  const std::string name = std::string(unfinished) + "/" + std::to_string(written_++);
  if (auto written = write_file(name, bytes); !written) {
    unlinkat(root_.get(), name.c_str(), 0);
    return std::move(written.error());
  }
  if (auto moved = move_into_place(name, digest); !moved) {
    unlinkat(root_.get(), name.c_str(), 0);
    return std::move(moved.error());
  }
  return digest;
}

Result<Unit> Directory::write_file(const std::string& name, std::string_view bytes) const {
  const auto file = open_at(root_.get(), name, O_WRONLY | O_CREAT | O_EXCL);
  if (!file || !write_all(file.get(), bytes) || fsync(file.get()) != 0) return failed("write a file in " + path_);
  return Unit{};
}

Result<Unit> Directory::move_into_place(const std::string& name, const std::string& sha256_hex) const {
  const std::string shelf_name = sha256_hex.substr(0, 2);
  const bool made = mkdirat(root_.get(), shelf_name.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return failed("make " + path_ + "/" + shelf_name);
  if (made && fsync(root_.get()) != 0) return failed("keep " + path_ + "/" + shelf_name);
  const auto shelf = open_at(root_.get(), shelf_name, O_RDONLY | O_DIRECTORY);
  if (!shelf || renameat(root_.get(), name.c_str(), shelf.get(), sha256_hex.c_str() + 2) != 0 ||
      fsync(shelf.get()) != 0) {
    return failed("keep a file in " + path_);
  }
  return Unit{};
}

Result<Content> Directory::open(std::string_view sha256_hex) const {
  if (!is_sha256_hex(sha256_hex)) return Error{ErrorKind::not_found, "no content has such a name"};
  const std::string name = std::string(sha256_hex.substr(0, 2)) + "/" + std::string(sha256_hex.substr(2));
  const auto file = open_at(root_.get(), name, O_RDONLY);
  if (!file && errno == ENOENT) return Error{ErrorKind::not_found, "there is no content " + std::string(sha256_hex)};
  if (!file) return failed("read " + path_ + "/" + name);
  return map_verified(file.get(), sha256_hex, path_ + "/" + name);
}

Result<Unit> empty_unfinished(int root, const std::string& path) {
  auto fd = open_at(root, unfinished, O_RDONLY | O_DIRECTORY);
  DIR* const listing = fd ? fdopendir(fd.get()) : nullptr;
  if (listing == nullptr) return failed("look into " + path + "/" + unfinished);
  const int directory = fd.release();  // closed with the listing
  while (const dirent* entry = readdir(listing)) unlinkat(directory, entry->d_name, 0);
  closedir(listing);
  return Unit{};
}

bool make_directory(int parent, const char* name) { return mkdirat(parent, name, 0700) == 0 || errno == EEXIST; }

}  // namespace

Result<std::unique_ptr<Contents>> open_directory(std::string path) {
  if (!make_directory(AT_FDCWD, path.c_str())) return failed("make " + path);
  OwnedFd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return failed("open " + path);
  if (!make_directory(root.get(), unfinished)) return failed("make " + path + "/" + unfinished);
  if (auto emptied = empty_unfinished(root.get(), path); !emptied) return std::move(emptied.error());
  return std::unique_ptr<Contents>(std::make_unique<Directory>(std::move(path), std::move(root)));
}

Result<std::unique_ptr<const Contents>> look_into_directory(std::string path) {
  OwnedFd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return failed("open " + path);
  return std::unique_ptr<const Contents>(std::make_unique<Directory>(std::move(path), std::move(root)));
}

namespace {

using Path = std::filesystem::path;

Result<Unused> each_unused(const std::string& path, Millis age, const std::function<bool(std::string_view)>& is_used,
                           const std::function<Result<Unit>(const Path&)>& take) {
  namespace fs = std::filesystem;
  Unused unused;
  std::error_code why;
  const auto oldest_kept = fs::file_time_type::clock::now() - std::chrono::milliseconds(age.value);
  for (fs::recursive_directory_iterator at(path, why), end; !why && at != end; at.increment(why)) {
    const auto sha256_hex = at->path().parent_path().filename().string() + at->path().filename().string();
    if (!is_sha256_hex(sha256_hex) || !at->is_regular_file() || at->last_write_time() > oldest_kept) continue;
    if (is_used(sha256_hex)) continue;
    const auto size = static_cast<int64_t>(at->file_size());
    if (auto taken = take(at->path()); !taken) return taken.error();
    ++unused.count;
    unused.bytes += size;
  }
  if (why && why != std::errc::no_such_file_or_directory) {
    return Error{ErrorKind::unavailable, "look through " + path + ": " + why.message()};
  }
  return unused;
}

}  // namespace

Result<Unused> count_unused(const std::string& path, Millis age,
                            const std::function<bool(std::string_view sha256)>& is_used) {
  return each_unused(path, age, is_used, [](const Path&) { return Unit{}; });
}

Result<Unused> sweep_directory(const std::string& path, Millis age,
                               const std::function<bool(std::string_view sha256)>& is_used) {
  return each_unused(path, age, is_used, [](const Path& content) -> Result<Unit> {
    if (unlink(content.c_str()) != 0) return failed("remove " + content.string());
    return Unit{};
  });
}

}  // namespace sluice::files
