#include "sessions/layer_bytes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/fd.h"

namespace sluice::sessions {
namespace {

namespace fs = std::filesystem;

constexpr const char* size_attribute = "user.sluice.bytes";
constexpr int64_t block_bytes = 512;     // of st_blocks
constexpr int64_t entry_bytes = 1024;    // an inode and a name: many empty files fill a disk too
constexpr int measured_depth_max = 256;  // deeper is no layer that was kept
constexpr std::string_view draft_mark = ".part";

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

int64_t tree_bytes(OwnedFd fd, int depth) {
  const std::unique_ptr<DIR, CloseDirectory> listing(fdopendir(fd.get()));
  if (listing == nullptr) return 0;
  const int here = fd.release();  // closed with the listing
  int64_t bytes = 0;
  while (const auto* entry = readdir(listing.get())) {
    const char* const name = static_cast<const char*>(entry->d_name);
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
    struct stat about{};
    if (fstatat(here, name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    bytes += about.st_blocks * block_bytes + entry_bytes;
    if (!S_ISDIR(about.st_mode) || depth == measured_depth_max) continue;
    OwnedFd below(openat(here, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below) bytes += tree_bytes(std::move(below), depth + 1);
  }
  return bytes;
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entries(directory, error); !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    paths.push_back(entries->path());
  }
  return paths;
}

bool is_draft(const fs::path& path) { return path.filename().native().find(draft_mark) != std::string::npos; }

// All homes of one conversation; a draft counts when it is kept.
int64_t bytes_below(const fs::path& conversation) {
  int64_t bytes = 0;
  for (const auto& home : entries_of(conversation)) {
    for (const auto& layer : entries_of(home)) {
      if (!is_draft(layer)) bytes += layer_bytes(layer);
    }
  }
  return bytes;
}

}  // namespace

int64_t layer_bytes(const std::string& layer) {
  std::array<char, 32> text{};
  const auto size = getxattr(layer.c_str(), size_attribute, text.data(), text.size() - 1);
  if (size > 0) return std::strtoll(text.data(), nullptr, 10);
  OwnedFd fd(open(layer.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return 0;
  const auto bytes = entry_bytes + tree_bytes(std::move(fd), 0);
  const auto kept = std::to_string(bytes);
  // Where that cannot be kept it is measured again.
  (void)setxattr(layer.c_str(), size_attribute, kept.data(), kept.size(), 0);
  return bytes;
}

int64_t workspace_bytes(const std::string& home) { return bytes_below(fs::path(home).parent_path()); }

int64_t workspace_bytes_with(const std::string& home, const LayerDraft& draft) {
  auto bytes = workspace_bytes(home);
  if (draft.from.empty()) return bytes;
  std::error_code error;
  if (fs::exists(draft.to, error)) bytes -= layer_bytes(draft.to);
  return bytes + layer_bytes(draft.from);
}

std::vector<dispatch::KeptWorkspace> list_workspaces(const std::string& state_dir) {
  std::vector<dispatch::KeptWorkspace> found;
  for (const auto& path : entries_of(state_dir + "/workspaces")) {
    if (const auto conversation = model::ConversationId::parse(path.filename().native())) {
      found.push_back({*conversation, bytes_below(path)});
    }
  }
  return found;
}

std::optional<std::string> set_workspace_aside(const std::string& state_dir, model::ConversationId conversation) {
  const auto where = state_dir + "/workspaces/";
  for (int number = 0; number < 1'000; ++number) {  // the same conversation's may still be being removed
    auto to = where + aside_name(conversation.text()) + "-" + std::to_string(number);
    if (renameat2(AT_FDCWD, (where + conversation.text()).c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
      return to;
    }
    if (errno != EEXIST) break;
  }
  return std::nullopt;
}

}  // namespace sluice::sessions
