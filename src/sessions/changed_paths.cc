#include "sessions/changed_paths.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/fd.h"

namespace sluice::sessions {
namespace {

constexpr int depth_max = 128;            // as deep as workspaces are kept
constexpr int64_t entries_max = 300'000;  // and as large
constexpr std::size_t shown_bytes_max = 200;

bool is_before(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

bool is_same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

class Walk {
 public:
  Walk(timespec since, std::stop_token stop) : since_(since), stop_(std::move(stop)) {}

  // Whether anything below was found.
  bool look_into(int directory, const std::string& path, int depth) {
    OwnedFd fd(openat(directory, path.empty() ? "." : name_of(path).c_str(),
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd || depth > depth_max) return note(path);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(fd.get()), closedir);
    if (!entries) return note(path);
    const int here = fd.release();  // the stream's from now on
    bool found = false;
    while (const dirent* entry = readdir(entries.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (++entry_count_ > entries_max || stop_.stop_requested()) return note(path);
      if (look_at(here, path.empty() ? std::string(name) : path + "/" + std::string(name), depth)) found = true;
      if (paths.size() == changed_paths_max) return true;
    }
    return found;
  }
  bool note(const std::string& path) {
    if (paths.size() == changed_paths_max) return true;
    const bool is_long = path.size() > shown_bytes_max;
    paths.push_back(path.empty() ? "." : is_long ? path.substr(0, shown_bytes_max) + "..." : path);
    return true;
  }

  std::vector<std::string> paths;

 private:
  static std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  bool look_at(int directory, const std::string& path, int depth) {
    struct stat about{};
    if (fstatat(directory, name_of(path).c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return note(path);
    if (S_ISDIR(about.st_mode) && look_into(directory, path, depth + 1)) return true;
    return !is_before(about.st_ctim, since_) && note(path);
  }

  const timespec since_;
  const std::stop_token stop_;
  int64_t entry_count_ = 0;
};

}  // namespace

ChangeMark mark_changes(int changes_fd) {
  ChangeMark mark;
  // The clock that files are stamped with: another may be ahead of it by a tick.
  clock_gettime(CLOCK_REALTIME_COARSE, &mark.at);
  fstat(changes_fd, &mark.top);
  return mark;
}

std::vector<std::string> changed_since(int changes_fd, const ChangeMark& mark, std::stop_token stop) {
  Walk walk(mark.at, std::move(stop));
  const bool is_found = walk.look_into(changes_fd, "", 0);
  struct stat top{};
  const bool is_as_it_was = fstat(changes_fd, &top) == 0 && is_same(top.st_ctim, mark.top.st_ctim) &&
                            top.st_nlink == mark.top.st_nlink && top.st_size == mark.top.st_size;
  if (!is_found && !is_as_it_was) walk.note("");
  std::ranges::sort(walk.paths);
  return std::move(walk.paths);
}

}  // namespace sluice::sessions
