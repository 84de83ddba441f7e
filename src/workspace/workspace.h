// What is in a sandbox's workspace, seen from outside: layers and their changes, the diff, files that
// come back, bundles that go in, and the watch on all of it.
//
// The tree belongs to the processes inside and may be hostile at every instant: links that point
// out, pipes that never end, names that are no text, files that change while they are read. So
// nothing here follows a link or opens what is not a plain file (openat2 with RESOLVE_BENEATH and
// RESOLVE_NO_SYMLINKS).
//
// Everything but the watcher blocks and may be called from any thread (world::Workers).
// Not its business: processes (sandbox), where a conversation's layers are listed (runner).
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "world/world.h"

namespace sluice::workspace {

// Directories that make one tree, topmost first, as overlayfs reads them: a character device 0:0 in
// an upper one hides what is below, `user.overlay.opaque` = "y" on a directory hides all below it.
using Layers = std::vector<std::string>;

struct Owner {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

struct TreeLimits {
  int64_t bytes_max = 2LL << 30;
  int64_t files_max = 300'000;
  std::stop_token stop = {};  // looked at for each file and piece of one
};

// ── layers ──
// Copies `changes_fd` (an overlay's upper directory) to `into`, which must not exist; on failure
// nothing is left there. Plain files, directories, links as links, what is hidden; nothing else.
// As root, what it makes belongs to `owner`.
Result<Unit> freeze(int changes_fd, const std::string& into, Owner owner, TreeLimits limits);
// One layer that reads like all of them.
Result<Unit> merge(const Layers& layers, const std::string& into, Owner owner, TreeLimits limits);
// A whole tree, whatever is in it; missing is fine.
Result<Unit> remove_tree(const std::string& path);

// ── diff (H-5) ──
struct DiffLimits {
  std::size_t bytes_max = 1024 * 1024;       // of the whole text
  std::size_t file_bytes_max = 1024 * 1024;  // larger files are named, not shown
  int files_max = 5'000;
  std::stop_token stop = {};  // looked at for each file
};
struct Diff {
  std::string text;  // as `git diff` writes it, new files included; binary files are named
  int file_count = 0;
  bool cut = false;  // the text ends with a line that says so
};
// `ignored`: names of directories left out wherever they are (".git", "node_modules").
Result<Diff> diff(int changes_fd, const Layers& below, const std::vector<std::string>& ignored, DiffLimits limits);
// The same of several layers of changes.
struct Changes {
  int top_fd;
  Layers more = {};       // below it, topmost first
  bool is_whole = false;  // what is not among them is gone, whatever lies below
};
Result<Diff> diff(const Changes& changes, const Layers& below, const std::vector<std::string>& ignored,
                  DiffLimits limits);

// ── assets (S-12) ──
struct AssetRules {
  int count_max = 20;
  int64_t file_bytes_max = 25LL * 1000 * 1000;
  int64_t total_bytes_max = 50LL * 1000 * 1000;
  std::vector<std::string> extensions;  // lower case, without dot; empty: the built-in list
};
struct Asset {
  std::string name;  // [a-zA-Z0-9._-], unique
  std::string bytes;
};
struct Assets {
  std::vector<Asset> files;
  std::vector<std::string> left_out;  // for people: which, and why
};
// What was written under assets/, sub-directories included, in the order of their paths: of an overlay's
// upper directory, so that what earlier runs left there does not come back once more.
Result<Assets> collect_assets(int changes_fd, const AssetRules& rules);
// The same rules for files that another party collected: their names are not trusted.
Assets admit_assets(std::vector<Asset> given, const AssetRules& rules);

// Whether the name's extension is one of these, or of the built-in list where there are none.
bool has_extension_of(std::string_view name, const std::vector<std::string>& extensions);

// ── zips ──
struct ZipEntry {
  std::string name;
  std::string_view bytes;
};
// Of plain files under plain names; names that come twice are made unique. Written to `fd` piece by piece.
Result<Unit> write_zip(int fd, const std::vector<ZipEntry>& entries);
// Of a stranger's zip, by its name. `invalid` when there is none: directories, links and paths do not count.
Result<std::string> read_from_zip(std::string_view zip, std::string_view name, std::size_t bytes_max);

// ── bundles ──
struct BundleFile {
  std::string path;  // relative, '/' between parts; no "..", no empty part
  std::string bytes;
  bool executable = false;
};
struct BundleLimits {
  std::size_t packed_bytes_max = 8 * 1024 * 1024;
  std::size_t unpacked_bytes_max = 64 * 1024 * 1024;  // a bomb unpacks to more
  int files_max = 2'000;
  std::size_t path_bytes_max = 512;
};
// A gzipped tar: the same files give the same bytes, whatever their order.
Result<std::string> pack_bundle(std::vector<BundleFile> files, const BundleLimits& limits);
// `invalid`, with a reason for the sender: links, devices, absolute paths, "..", the same path twice,
// a file where a directory is, too much of anything.
Result<std::vector<BundleFile>> read_bundle(std::string_view tar_gz, const BundleLimits& limits);
// Writes the files below `into`, which must not exist; on failure nothing is left there.
Result<Unit> write_files(const std::vector<BundleFile>& files, const std::string& into, Owner owner);

struct SkillHead {
  std::string name;         // [a-z0-9][a-z0-9-_]{0,63}
  std::string description;  // one line, at most 1024 characters
};
// From the front matter of SKILL.md, which a bundle must have at its root. `invalid` says what is missing.
Result<SkillHead> read_skill_head(const std::vector<BundleFile>& files);

// ── the watch (H-4) ──
struct FileNews {
  enum class Kind : uint8_t { created, changed, deleted, overflow };
  Kind kind = Kind::changed;
  std::string path;               // relative to the workspace, valid UTF-8; empty for overflow
  std::string_view name() const;  // "create", "change", "delete", "overflow"
};

struct WatchRules {
  std::vector<std::string> ignored = {".git", "node_modules"};  // names of directories, anywhere
  std::string draft_prefix = ".sluice-edit-";  // files on their way to another name, which are not reported
  int64_t gather_ms = 20;                      // changes of one path within it are reported once
  int directories_max = 20'000;                // more: overflow, and the rest is not watched
  std::size_t pending_max = 50'000;            // paths waiting to be reported; more: overflow
};

// Dropping it stops the watch.
class Watching {
 public:
  virtual ~Watching() = default;
  // Tells at once what is known but was still being gathered, and what the kernel holds ready: for
  // the end, when no process writes any more.
  virtual void settle() = 0;
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  // Files only, not directories; also those that were there before anybody could watch their
  // directory. `workspace_fd` must stay open. Called on the loop's thread with what one gathering
  // found, in order of time.
  [[nodiscard]] virtual Result<std::unique_ptr<Watching>> watch(int workspace_fd, WatchRules rules,
                                                                Callback<void(std::vector<FileNews>)> news) = 0;
};
// One inotify instance for all workspaces: a user has only 128 of them.
Result<std::unique_ptr<Watcher>> make_watcher(world::Reactor& reactor, world::Metrics& metrics);

}  // namespace sluice::workspace
