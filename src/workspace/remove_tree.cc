#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "workspace/beneath.h"
#include "workspace/workspace.h"

namespace sluice::workspace {
namespace {

// Empties a tree level by level. A tree can be deeper than a process may have descriptors: what lies
// too deep is moved up to the root, and emptied from there.
class Remover final {
 public:
  // False with errno set.
  bool empty(OwnedFd root) {
    if (!enter(std::move(root), "")) return false;
    while (!levels_.empty()) {
      if (!step()) return false;
    }
    return true;
  }

 private:
  struct Level {
    OwnedFd fd;
    std::string name;  // in the level above
    std::vector<std::string> left;
  };

  bool step() {
    Level& top = levels_.back();
    if (top.left.empty()) return leave();
    const std::string name = std::move(top.left.back());
    top.left.pop_back();
    if (unlinkat(top.fd.get(), name.c_str(), 0) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR) return false;
    if (unlinkat(top.fd.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    if (errno != ENOTEMPTY) return false;
    if (levels_.size() >= depth_max) return lift(name);
    OwnedFd fd = open_directory_beneath(top.fd.get(), name);
    return fd && enter(std::move(fd), name);
  }

  bool enter(OwnedFd fd, std::string name) {
    if (fchmod(fd.get(), 0700) != 0) return false;  // its owner may have removed their own permissions
    auto names = list_names(fd.get(), SIZE_MAX);
    if (!names) return false;
    levels_.push_back({.fd = std::move(fd), .name = std::move(name), .left = std::move(*names)});
    return true;
  }

  bool lift(const std::string& name) {
    Level& root = levels_.front();
    for (;;) {
      const std::string lifted = ".lifted-" + std::to_string(lifted_++);
      if (renameat2(levels_.back().fd.get(), name.c_str(), root.fd.get(), lifted.c_str(), RENAME_NOREPLACE) == 0) {
        root.left.push_back(lifted);
        return true;
      }
      if (errno != EEXIST) return false;
    }
  }

  bool leave() {
    const std::string name = std::move(levels_.back().name);
    levels_.pop_back();
    return levels_.empty() || unlinkat(levels_.back().fd.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  }

  std::vector<Level> levels_;
  uint64_t lifted_ = 0;
};

}  // namespace

Result<Unit> remove_tree(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return Unit{};
  if (errno != EISDIR) return failed("remove " + path);
  chmod(path.c_str(), 0700);
  OwnedFd root(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root || !Remover().empty(std::move(root)) || rmdir(path.c_str()) != 0) return failed("remove " + path);
  return Unit{};
}

}  // namespace sluice::workspace
