#include "files/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/fd.h"

namespace sluice::files {
namespace {

constexpr const char* unfinished = "unfinished";  // the directory of what is being written

Error failed(const std::string& doing) {
  const int reason = errno;
  const bool full = reason == ENOSPC || reason == EDQUOT;
  return {full ? ErrorKind::overloaded : ErrorKind::unavailable, doing + ": " + std::strerror(reason)};
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
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

bool read_all(int fd, std::string& out) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return false;
  out.resize(static_cast<std::size_t>(about.st_size));
  std::size_t have = 0;
  while (have < out.size()) {
    const ssize_t count = read(fd, out.data() + have, out.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) break;  // shorter than it was: the digest will tell
    have += static_cast<std::size_t>(count);
  }
  out.resize(have);
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
  Result<std::string> get(std::string_view sha256_hex) const override;

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
  if (get(digest)) {
    const auto shelf = open_at(root_.get(), digest.substr(0, 2), O_RDONLY | O_DIRECTORY);
    // Whoever put it first may not have come to this yet.
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

Result<std::string> Directory::get(std::string_view sha256_hex) const {
  if (!is_sha256_hex(sha256_hex)) return Error{ErrorKind::not_found, "no content has such a name"};
  const std::string name = std::string(sha256_hex.substr(0, 2)) + "/" + std::string(sha256_hex.substr(2));
  const auto file = open_at(root_.get(), name, O_RDONLY);
  if (!file && errno == ENOENT) return Error{ErrorKind::not_found, "there is no content " + std::string(sha256_hex)};
  std::string bytes;
  if (!file || !read_all(file.get(), bytes)) return failed("read " + path_ + "/" + name);
  if (to_hex(sha256(bytes)) != sha256_hex) {
    return Error{ErrorKind::corrupt, path_ + "/" + name + " is not what was written: restore it from a backup"};
  }
  return bytes;
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
  OwnedFd root(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return failed("open " + path);
  if (!make_directory(root.get(), unfinished)) return failed("make " + path + "/" + unfinished);
  if (auto emptied = empty_unfinished(root.get(), path); !emptied) return std::move(emptied.error());
  return std::unique_ptr<Contents>(std::make_unique<Directory>(std::move(path), std::move(root)));
}

}  // namespace sluice::files
