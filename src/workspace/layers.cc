#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "workspace/beneath.h"
#include "workspace/layered.h"
#include "workspace/staging.h"
#include "workspace/workspace.h"

namespace sluice::workspace {
namespace {

using Kind = LayeredDirectory::Kind;

// Whether there is anything to go on with: the one who works in the tree may take away what was
// listed a moment ago, or put something else there.
bool is_gone(int reason) { return reason == ENOENT || reason == EINVAL || reason == ENOTDIR || reason == ELOOP; }

mode_t permissions(const struct stat& about) { return about.st_mode & 0777; }  // neither setuid nor sticky

// Writes what a layered directory shows, what it hides included, to a directory of ours.
class TreeCopy final {
 public:
  TreeCopy(Owner owner, TreeLimits limits) : owner_(owner), limits_(std::move(limits)) {}

  Result<Unit> run(LayeredDirectory from, int into) {
    OwnedFd target = open_directory_beneath(into, ".");
    struct stat about{};
    if (!target || fstat(from.top(), &about) != 0) return failed("open the tree");
    if (auto entered = enter(std::move(from), std::move(target), about, ""); !entered) return entered;
    while (!levels_.empty()) {
      if (limits_.stop.stop_requested()) return stopped();
      if (auto stepped = step(); !stepped) return stepped;
    }
    return Unit{};
  }

 private:
  struct Level {
    LayeredDirectory from;
    OwnedFd into;
    struct stat about{};
    std::string path;
    std::vector<std::string> names;
    std::size_t next = 0;
  };

  Result<Unit> step() {
    Level& level = levels_.back();
    if (level.next == level.names.size()) return leave();
    const std::string& name = level.names[level.next++];
    const auto entry = level.from.find(name);
    switch (entry.kind) {
      case Kind::none:
      case Kind::other: return Unit{};
      case Kind::hidden: return hide(level, name);
      case Kind::link: return copy_link(level, name, entry);
      case Kind::file: return copy_file(level, name, entry);
      case Kind::directory: return copy_directory(level, name, entry);
    }
    return Unit{};
  }

  Result<Unit> enter(LayeredDirectory from, OwnedFd into, const struct stat& about, std::string path) {
    if (levels_.size() == depth_max) {
      return too_much("directories are nested more than " + std::to_string(depth_max) + " deep, below " + shown(path));
    }
    auto names = from.names(static_cast<std::size_t>(limits_.files_max - files_));
    if (!names && errno == E2BIG) return too_many();
    if (!names) return failed("look into " + shown(path));
    files_ += static_cast<int64_t>(names->size());
    if (from.is_opaque() && fsetxattr(into.get(), "user.overlay.opaque", "y", 1, 0) != 0) {
      return failed("mark " + shown(path) + " as hiding what is below");
    }
    levels_.push_back({std::move(from), std::move(into), about, std::move(path), std::move(*names)});
    return Unit{};
  }

  // Last, because writing into it changes its time, and its mode may forbid that.
  Result<Unit> leave() {
    const Level level = std::move(levels_.back());
    levels_.pop_back();
    return stamp(level.into.get(), level.about, level.path);
  }

  Result<Unit> stamp(int fd, const struct stat& about, const std::string& path) const {
    const std::array<timespec, 2> times = {about.st_mtim, about.st_mtim};
    if (!give_to(owner_, fd) || fchmod(fd, permissions(about)) != 0 || futimens(fd, times.data()) != 0) {
      return failed("write " + shown(path));
    }
    return Unit{};
  }

  bool give_name(const Level& level, const std::string& name) const {
    return geteuid() != 0 || fchownat(level.into.get(), name.c_str(), owner_.uid, owner_.gid, AT_SYMLINK_NOFOLLOW) == 0;
  }

  Result<Unit> hide(const Level& level, const std::string& name) const {
    if (mknodat(level.into.get(), name.c_str(), S_IFCHR, 0) != 0 || !give_name(level, name)) {
      return failed("hide " + shown(joined(level.path, name)));
    }
    return Unit{};
  }

  Result<Unit> copy_link(const Level& level, const std::string& name, const LayeredDirectory::Entry& entry) const {
    const auto target = read_link(entry.directory, name);
    if (!target && is_gone(errno)) return Unit{};
    if (!target || symlinkat(target->c_str(), level.into.get(), name.c_str()) != 0 || !give_name(level, name)) {
      return failed("copy the link " + shown(joined(level.path, name)));
    }
    return Unit{};
  }

  Result<Unit> copy_directory(const Level& level, const std::string& name, const LayeredDirectory::Entry& entry) {
    auto from = level.from.enter(name);
    const std::string path = joined(level.path, name);
    if (!from && is_gone(errno)) return Unit{};
    if (!from) return failed("open " + shown(path));
    if (mkdirat(level.into.get(), name.c_str(), 0700) != 0) return failed("make " + shown(path));
    OwnedFd into = open_directory_beneath(level.into.get(), name);
    if (!into) return failed("open " + shown(path));
    return enter(std::move(*from), std::move(into), entry.about, path);
  }

  Result<Unit> copy_file(const Level& level, const std::string& name, const LayeredDirectory::Entry& entry) {
    const auto from = open_plain_file(entry.directory, name);
    const std::string path = joined(level.path, name);
    if (!from && is_gone(errno)) return Unit{};
    if (!from) return failed("open " + shown(path));
    const OwnedFd into = open_beneath(level.into.get(), name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!into) return failed("write " + shown(path));
    if (auto copied = copy_bytes(from->fd.get(), into.get(), from->about.st_size, path); !copied) return copied;
    auto about = from->about;
    about.st_mode = entry.about.st_mode;
    return stamp(into.get(), about, path);
  }

  // No more than was there at the start, however fast it grows; holes stay holes, and cost nothing.
  Result<Unit> copy_bytes(int from, int into, off_t size, const std::string& path) {
    off_t at = 0;
    while (at < size) {
      const off_t data = lseek(from, at, SEEK_DATA);
      if (data < 0 && errno == ENXIO) break;  // nothing but a hole
      off_t end = data < 0 ? size : lseek(from, data, SEEK_HOLE);
      at = std::max(data, at);
      for (end = std::min(end, size); at < end;) {
        if (limits_.stop.stop_requested()) return stopped();
        const auto wanted = std::min<std::size_t>(buffer_.size(), static_cast<std::size_t>(end - at));
        const ssize_t count = pread(from, buffer_.data(), wanted, at);
        if (count < 0) return failed("read " + shown(path));
        if (count == 0) return finish_size(into, size, path);  // it was cut while we read
        bytes_ += count;
        if (bytes_ > limits_.bytes_max)
          return too_much("it holds more than " + std::to_string(limits_.bytes_max) + " bytes");
        if (!write_at(into, {buffer_.data(), static_cast<std::size_t>(count)}, at)) {
          return failed("write " + shown(path));
        }
        at += count;
      }
    }
    return finish_size(into, size, path);
  }

  // A disk that is nearly full takes a part, and says why only when it is asked for the rest.
  static bool write_at(int into, std::string_view bytes, off_t at) {
    while (!bytes.empty()) {
      const ssize_t count = pwrite(into, bytes.data(), bytes.size(), at);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
      at += count;
    }
    return true;
  }

  static Result<Unit> finish_size(int into, off_t size, const std::string& path) {
    if (ftruncate(into, size) != 0) return failed("write " + shown(path));
    return Unit{};
  }

  Error too_many() const { return too_much("it has more than " + std::to_string(limits_.files_max) + " files"); }
  static Error too_much(const std::string& what) {
    return {ErrorKind::invalid, "the workspace is too large to keep: " + what};
  }

  const Owner owner_;
  const TreeLimits limits_;
  std::vector<Level> levels_;
  int64_t files_ = 0;
  int64_t bytes_ = 0;
  std::array<char, 128 * 1024> buffer_{};
};

Result<Unit> copy_tree(LayeredDirectory from, const std::string& into, Owner owner, TreeLimits limits) {
  auto staging = Staging::begin(into, owner);
  if (!staging) return std::move(staging.error());
  const auto copy = std::make_unique<TreeCopy>(owner, std::move(limits));  // its buffer is large for a stack
  if (auto copied = copy->run(std::move(from), staging.value().fd()); !copied) return copied;
  return staging.value().finish();
}

}  // namespace

Result<Unit> freeze(int changes_fd, const std::string& into, Owner owner, TreeLimits limits) {
  auto from = LayeredDirectory::open(changes_fd);
  if (!from) return std::move(from.error());
  return copy_tree(std::move(from.value()), into, owner, std::move(limits));
}

Result<Unit> merge(const Layers& layers, const std::string& into, Owner owner, TreeLimits limits) {
  if (layers.empty()) return Error{ErrorKind::invalid, "there are no layers to merge"};
  auto from = LayeredDirectory::open(layers);
  if (!from) return std::move(from.error());
  return copy_tree(std::move(from.value()), into, owner, std::move(limits));
}

}  // namespace sluice::workspace
