#include "workspace/beneath.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/bytes.h"

namespace sluice::workspace {

Error failed(const std::string& doing) {
  const int reason = errno;
  const bool full = reason == ENOSPC || reason == EDQUOT;
  return {full ? ErrorKind::overloaded : ErrorKind::unavailable, doing + ": " + std::strerror(reason)};
}

Error stopped() { return {ErrorKind::unavailable, "it was stopped, because it took too long or its caller is gone"}; }

std::string shown(std::string_view path) {
  constexpr std::size_t most = 200;
  std::string out;
  for (const char c : path.substr(0, most)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (!is_utf8(out)) {
    for (char& c : out) c = static_cast<unsigned char>(c) < 0x80 ? c : '?';
  }
  return path.size() > most ? out + "…" : out;
}

std::string joined(std::string_view directory, std::string_view name) {
  std::string out(directory);
  if (!out.empty()) out += '/';
  return out += name;
}

OwnedFd open_beneath(int directory, const std::string& path, int flags, uint32_t mode) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK;  // O_PATH takes nothing that it does not know
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  for (;;) {
    const long fd = syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
    if (fd >= 0) return OwnedFd(static_cast<int>(fd));
    // EAGAIN: a name on the way was moved while it was looked up.
    if (errno != EAGAIN && errno != EINTR) return OwnedFd();
  }
}

namespace {

// By descriptor, because chmod by name follows links; by /proc, because O_PATH takes no fchmod.
bool set_mode(int held, mode_t mode) {
  return chmod(("/proc/self/fd/" + std::to_string(held)).c_str(), mode & 07777) == 0;
}

}  // namespace

OwnedFd open_directory_beneath(int directory, const std::string& path) {
  OwnedFd fd = open_beneath(directory, path, O_RDONLY | O_DIRECTORY);
  struct stat about{};
  if (fd && geteuid() != 0 && fstat(fd.get(), &about) == 0 && (about.st_mode & 0100) == 0) {
    fchmod(fd.get(), about.st_mode | 0700);  // who may list may not yet enter
  }
  if (fd || errno != EACCES) return fd;
  const OwnedFd held = open_beneath(directory, path, O_PATH | O_DIRECTORY);
  if (!held || fstat(held.get(), &about) != 0 || !set_mode(held.get(), about.st_mode | 0700)) {
    return errno = EACCES, OwnedFd();
  }
  return open_beneath(directory, path, O_RDONLY | O_DIRECTORY);
}

std::optional<struct stat> stat_beneath(int directory, const std::string& name) {
  struct stat about{};
  if (fstatat(directory, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return about;
}

std::optional<std::string> read_link(int directory, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = readlinkat(directory, name.c_str(), target.data(), target.size());
  if (size < 0) return std::nullopt;
  target.resize(static_cast<std::size_t>(size));
  return target;
}

std::optional<std::vector<std::string>> list_names(int directory, std::size_t names_max) {
  // Opened anew: the descriptor given may be O_PATH, and two readers of one would share its place.
  OwnedFd fd = open_directory_beneath(directory, ".");
  DIR* const listing = fd ? fdopendir(fd.get()) : nullptr;
  if (listing == nullptr) return std::nullopt;
  fd.release();  // closed with the listing
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == names_max) {
      errno = E2BIG;
      break;
    }
    names.emplace_back(name);
  }
  const int reason = errno;
  closedir(listing);
  if (errno = reason; reason != 0) return std::nullopt;
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

// A file that its owner may not read is unlocked for as long as opening it takes.
OwnedFd open_locked(int directory, const std::string& name) {
  OwnedFd fd = open_beneath(directory, name, O_RDONLY);
  if (fd || errno != EACCES) return fd;
  const OwnedFd held = open_beneath(directory, name, O_PATH);
  struct stat about{};
  const bool plain = held && fstat(held.get(), &about) == 0 && S_ISREG(about.st_mode);
  if (!plain || !set_mode(held.get(), about.st_mode | 0400)) return errno = EACCES, OwnedFd();
  fd = open_beneath(directory, name, O_RDONLY);
  const int reason = errno;
  set_mode(held.get(), about.st_mode);
  errno = reason;
  return fd;
}

}  // namespace

std::optional<PlainFile> open_plain_file(int directory, const std::string& name) {
  // Opening a device can do things; looking first leaves that to a process that swaps a name in between,
  // and a sandbox has no devices to swap.
  const auto before = stat_beneath(directory, name);
  if (!before) return std::nullopt;
  if (!S_ISREG(before->st_mode)) return errno = EINVAL, std::nullopt;
  PlainFile file{.fd = open_locked(directory, name)};
  if (!file.fd || fstat(file.fd.get(), &file.about) != 0) return std::nullopt;
  if (!S_ISREG(file.about.st_mode)) return errno = EINVAL, std::nullopt;
  return file;
}

std::optional<std::string> read_at_most(int fd, std::size_t bytes_max) {
  std::string out;
  struct stat about{};
  if (fstat(fd, &about) != 0) return std::nullopt;
  out.resize(std::min(bytes_max, static_cast<std::size_t>(std::max<off_t>(about.st_size, 0)) + 1));
  std::size_t have = 0;
  while (have < bytes_max) {
    if (have == out.size()) out.resize(std::min(bytes_max, have * 2));
    const ssize_t count = read(fd, out.data() + have, out.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  out.resize(have);
  return out;
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

bool give_to(Owner owner, int fd) { return geteuid() != 0 || fchown(fd, owner.uid, owner.gid) == 0; }

bool is_whiteout(const struct stat& about) { return S_ISCHR(about.st_mode) && about.st_rdev == makedev(0, 0); }

bool is_opaque(int directory) {
  char value = 0;
  return fgetxattr(directory, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

}  // namespace sluice::workspace
