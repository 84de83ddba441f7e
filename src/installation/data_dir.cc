#include "installation/data_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace sluice::installation {
namespace {

constexpr std::size_t small_file_bytes_max = 1024 * 1024;

Error failed(const std::string& doing) { return {ErrorKind::unavailable, doing + ": " + std::strerror(errno)}; }

// Creates missing parent directories too; only directories that are created here are private.
bool make_directories(const std::string& path) {
  for (std::size_t slash = 0; slash != std::string::npos;) {
    slash = path.find('/', slash + 1);
    if (mkdir(path.substr(0, slash).c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return true;
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<DataDir> DataDir::open(const std::string& path) {
  if (path.empty()) return Error{ErrorKind::invalid, "the data directory has no name"};
  if (!make_directories(path)) return failed("create data directory " + path);
  char real[PATH_MAX];
  if (realpath(path.c_str(), real) == nullptr) return failed("data directory " + path);
  const std::string lock = std::string(real) + "/lock";
  const int fd = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return failed("open " + lock);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const bool held = errno == EWOULDBLOCK;
    auto error = failed("lock " + lock);
    close(fd);
    if (!held) return error;
    return Error{ErrorKind::conflict, "the data directory " + std::string(real) +
                                          " is in use by another server; stop it, or choose another with --data DIR"};
  }
  return DataDir(real, fd);
}

DataDir::DataDir(DataDir&& other) noexcept
    : path_(std::move(other.path_)), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

DataDir::~DataDir() {
  if (lock_fd_ >= 0) close(lock_fd_);
}

Result<std::optional<std::string>> read_small_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::optional<std::string>();
  if (fd < 0) return failed("read " + path);
  std::string content;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = ::read(fd, buffer, sizeof buffer)) > 0 && content.size() <= small_file_bytes_max) {
    content.append(buffer, static_cast<std::size_t>(count));
  }
  close(fd);
  if (count < 0) return failed("read " + path);
  if (content.size() > small_file_bytes_max) return Error{ErrorKind::corrupt, path + " is larger than 1 MiB"};
  return std::optional(std::move(content));
}

Result<Unit> write_private_file(const std::string& path, std::string_view content) {
  const std::string draft = path + ".tmp";
  unlink(draft.c_str());  // left by an earlier process, perhaps with another mode
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return failed("create " + draft);
  const bool written = write_all(fd, content) && fsync(fd) == 0;
  if (close(fd) != 0 || !written) return failed("write " + draft);
  if (rename(draft.c_str(), path.c_str()) != 0) return failed("rename " + draft);
  // The new name is on disk only when its directory is.
  const int directory = ::open(path.substr(0, path.rfind('/')).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return failed("open the directory of " + path);
  const bool synced = fsync(directory) == 0;
  close(directory);
  if (!synced) return failed("sync the directory of " + path);
  return Unit{};
}

}  // namespace sluice::installation
