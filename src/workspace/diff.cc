#include <git2.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "workspace/beneath.h"
#include "workspace/layered.h"
#include "workspace/workspace.h"

namespace sluice::workspace {
namespace {

// ── one file's change in the words of `git diff` ──

constexpr std::size_t looked_at_bytes = 8000;  // by git too, for a NUL

// libgit2 counts how often it was begun; code that writes patches holds one of these.
class GitSession final {
 public:
  GitSession() { SLUICE_CHECK(git_libgit2_init() > 0); }
  GitSession(const GitSession&) = delete;
  GitSession& operator=(const GitSession&) = delete;
  ~GitSession() { git_libgit2_shutdown(); }
};

enum class GitMode : uint32_t { file = 0100644, program = 0100755, link = 0120000 };

// One side of a change; a link's bytes are where it points.
struct FileVersion {
  GitMode mode = GitMode::file;
  std::string bytes;
  bool whole = true;  // false: too large to be read, and never shown

  // What git would show lines of, and what a JSON string can hold.
  bool is_text() const {
    return whole && std::string_view(bytes).substr(0, looked_at_bytes).find('\0') == std::string_view::npos &&
           is_utf8(bytes);
  }
};

// As git writes names with its default core.quotePath.
std::string quoted(const std::string& path) {
  std::string out = "\"";
  bool plain = true;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr std::string_view named = "\a\b\t\n\v\f\r\"\\";
    constexpr std::string_view letters = "abtnvfr\"\\";
    if (const std::size_t at = named.find(c); at != std::string_view::npos) {
      out += '\\';
      out += letters[at];
    } else if (byte < 0x20 || byte >= 0x7f) {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", byte);
      out += octal;
    } else {
      out += c;
      continue;
    }
    plain = false;
  }
  return plain ? path : out + '"';
}

std::string octal(GitMode mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%06o", static_cast<uint32_t>(mode));
  return text;
}

std::string short_id(const std::optional<FileVersion>& version) {
  if (!version) return "0000000";
  git_oid id{};
  SLUICE_CHECK(git_odb_hash(&id, version->bytes.data(), version->bytes.size(), GIT_OBJECT_BLOB) == 0);
  char text[8];
  return git_oid_tostr(text, sizeof text, &id);
}

// The hunks alone: what stands above them in libgit2's text knows nothing of modes and links.
std::string hunks_of(const std::optional<FileVersion>& before, const std::optional<FileVersion>& after) {
  git_diff_options options{};
  SLUICE_CHECK(git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION) == 0);
  options.flags |= GIT_DIFF_FORCE_TEXT;
  git_patch* patch = nullptr;
  git_buf text{};
  const std::string_view old_bytes = before ? std::string_view(before->bytes) : "";
  const std::string_view fresh_bytes = after ? std::string_view(after->bytes) : "";
  SLUICE_CHECK(git_patch_from_buffers(&patch, old_bytes.data(), old_bytes.size(), "f", fresh_bytes.data(),
                                      fresh_bytes.size(), "f", &options) == 0);
  SLUICE_CHECK(git_patch_to_buf(&text, patch) == 0);
  const std::string_view all(text.ptr, text.size);
  const std::size_t first = all.find("\n@@ ");
  std::string out(first == std::string_view::npos ? "" : all.substr(first + 1));
  git_buf_dispose(&text);
  git_patch_free(patch);
  return out;
}

// Either side may be missing, not both. Only the name is written of a file that is no text or not to be shown.
enum class Show : uint8_t { lines, name_only };
std::string patch_of(const std::string& path, const std::optional<FileVersion>& before,
                     const std::optional<FileVersion>& after, Show show) {
  SLUICE_CHECK(before || after);
  const std::string old_name = quoted("a/" + path), fresh_name = quoted("b/" + path);
  std::string out = "diff --git " + old_name + " " + fresh_name + "\n";
  const bool same_mode = before && after && before->mode == after->mode;
  if (!before) out += "new file mode " + octal(after->mode) + "\n";
  if (!after) out += "deleted file mode " + octal(before->mode) + "\n";
  if (before && after && !same_mode)
    out += "old mode " + octal(before->mode) + "\nnew mode " + octal(after->mode) + "\n";
  const bool whole = (!before || before->whole) && (!after || after->whole);
  if (whole && before && after && before->bytes == after->bytes) return out;
  if (whole) {
    out += "index " + short_id(before) + ".." + short_id(after) + (same_mode ? " " + octal(after->mode) : "") + "\n";
  }
  const std::string from = before ? old_name : "/dev/null", to = after ? fresh_name : "/dev/null";
  if (show == Show::name_only || (before && !before->is_text()) || (after && !after->is_text())) {
    return out + "Binary files " + from + " and " + to + " differ\n";
  }
  const std::string hunks = hunks_of(before, after);
  if (hunks.empty()) return out;  // an empty file came or went
  // Git ends a name that has a blank with a tab: other programs take a time stamp to follow it.
  const std::string end = path.find(' ') == std::string::npos ? "\n" : "\t\n";
  return out + "--- " + from + (before ? end : "\n") + "+++ " + to + (after ? end : "\n") + hunks;
}

// ── all changes ──

using Kind = LayeredDirectory::Kind;
using Entry = LayeredDirectory::Entry;

constexpr std::size_t names_max = 300'000;         // in one directory
constexpr off_t compared_bytes_max = 256LL << 20;  // a giant of holes costs nothing to make, and ages to read
constexpr std::size_t last_line_bytes_max = 200;

bool is_file_or_link(const Entry& entry) { return entry.kind == Kind::file || entry.kind == Kind::link; }

GitMode mode_of(const struct stat& about) {
  if (S_ISLNK(about.st_mode)) return GitMode::link;
  return (about.st_mode & 0100) != 0 ? GitMode::program : GitMode::file;
}

// Empty when it went away, or became something else, since it was looked at.
std::optional<FileVersion> read_version(const Entry& entry, const std::string& name, std::size_t bytes_max) {
  if (!is_file_or_link(entry)) return std::nullopt;
  FileVersion version{.mode = mode_of(entry.about)};
  if (entry.kind == Kind::link) {
    auto target = read_link(entry.directory, name);
    if (!target) return std::nullopt;
    version.bytes = std::move(*target);
    return version;
  }
  const auto file = open_plain_file(entry.directory, name);
  if (!file) return std::nullopt;
  version.whole = file->about.st_size <= static_cast<off_t>(bytes_max);
  if (!version.whole) return version;
  auto bytes = read_at_most(file->fd.get(), bytes_max);
  if (!bytes) return std::nullopt;
  version.bytes = std::move(*bytes);
  return version;
}

bool same_bytes(const Entry& before, const Entry& after, const std::string& name) {
  if (before.about.st_size != after.about.st_size || before.about.st_size > compared_bytes_max) return false;
  const auto one = open_plain_file(before.directory, name), other = open_plain_file(after.directory, name);
  if (!one || !other) return false;
  for (;;) {
    const auto some = read_at_most(one->fd.get(), 1 << 20), more = read_at_most(other->fd.get(), 1 << 20);
    if (!some || !more || *some != *more) return false;
    if (some->empty()) return true;
  }
}

// Walks the changes beside what was there. Where the changes hide all that was below (a directory
// that is opaque, or gone), the names of both are walked, else those of the changes alone.
class DiffWalk final {
 public:
  DiffWalk(const std::vector<std::string>& ignored, DiffLimits limits)
      : ignored_(ignored), limits_(std::move(limits)) {}

  Result<Diff> run(LayeredDirectory changes, LayeredDirectory below, bool is_whole) {
    const bool hides = is_whole || changes.is_opaque();
    if (auto entered = enter({.after = std::move(changes), .before = std::move(below), .hides = hides}); !entered) {
      return std::move(entered.error());
    }
    while (!levels_.empty() && !full_) {
      if (limits_.stop.stop_requested()) return stopped();
      if (auto stepped = step(); !stepped) return std::move(stepped.error());
    }
    if (diff_.cut) {
      diff_.text += "# This diff is cut: it may have " + std::to_string(limits_.bytes_max) + " bytes and " +
                    std::to_string(limits_.files_max) + " files; what did not fit is only named, or missing.\n";
    }
    return std::move(diff_);
  }

 private:
  struct Level {
    LayeredDirectory after;
    LayeredDirectory before;
    bool hides = false;
    std::string path;
    std::vector<std::string> names;
    std::size_t next = 0;
  };

  Result<Unit> enter(Level level) {
    if (levels_.size() == depth_max) {
      diff_.cut = true;
      return Unit{};
    }
    auto names = level.after.names(names_max);
    if (!names) return failed("look into " + shown(level.path));
    if (level.hides) {
      auto more = level.before.names(names_max);
      if (!more) return failed("look into " + shown(level.path));
      names->insert(names->end(), std::make_move_iterator(more->begin()), std::make_move_iterator(more->end()));
      std::sort(names->begin(), names->end());
      names->erase(std::unique(names->begin(), names->end()), names->end());
    }
    level.names = std::move(*names);
    levels_.push_back(std::move(level));
    return Unit{};
  }

  Result<Unit> step() {
    Level& level = levels_.back();
    if (level.next == level.names.size()) return levels_.pop_back(), Unit{};
    const std::string& name = level.names[level.next++];
    const Entry after = level.after.find(name), before = level.before.find(name);
    if (name == ".git") return Unit{};
    if (after.kind == Kind::directory || before.kind == Kind::directory) {
      if (std::find(ignored_.begin(), ignored_.end(), name) != ignored_.end()) return Unit{};
    }
    const std::string path = joined(level.path, name);
    tell_file(path, name, before, after);
    if (after.kind != Kind::directory && before.kind != Kind::directory) return Unit{};
    return descend(level, path, name, before, after);
  }

  Result<Unit> descend(const Level& level, const std::string& path, const std::string& name, const Entry& before,
                       const Entry& after) {
    Level next{.path = path};
    if (after.kind == Kind::directory) {
      auto directory = level.after.enter(name);
      if (!directory) return errno == ENOENT || errno == ENOTDIR ? Result<Unit>(Unit{}) : failed("open " + shown(path));
      next.after = std::move(*directory);
    }
    if (before.kind == Kind::directory) {
      auto directory = level.before.enter(name);
      if (!directory) return failed("open " + shown(path));
      next.before = std::move(*directory);
    }
    next.hides = level.hides || next.after.is_nobodys() || next.after.is_opaque();
    return enter(std::move(next));
  }

  void tell_file(const std::string& path, const std::string& name, const Entry& before, const Entry& after) {
    if (!is_file_or_link(before) && !is_file_or_link(after)) return;
    if (before.kind == Kind::file && after.kind == Kind::file) {
      if (mode_of(before.about) == mode_of(after.about) && same_bytes(before, after, name)) return;
    }
    const auto was = read_version(before, name, limits_.file_bytes_max);
    const auto is = read_version(after, name, limits_.file_bytes_max);
    if (was && is && (was->mode == GitMode::link) != (is->mode == GitMode::link)) {
      tell(path, was, std::nullopt);
      tell(path, std::nullopt, is);
      return;
    }
    const bool same = was && is && was->mode == is->mode && was->whole && is->whole && was->bytes == is->bytes;
    if ((was || is) && !same) tell(path, was, is);
  }

  // Lines while there is room for them, then names, then nothing.
  void tell(const std::string& path, const std::optional<FileVersion>& was, const std::optional<FileVersion>& is) {
    for (const Show show : {Show::lines, Show::name_only}) {
      const std::string patch = patch_of(path, was, is, show);
      if (diff_.file_count < limits_.files_max &&
          diff_.text.size() + patch.size() + last_line_bytes_max <= limits_.bytes_max) {
        diff_.text += patch;
        ++diff_.file_count;
        return;
      }
      diff_.cut = true;
    }
    full_ = true;
  }

  const std::vector<std::string>& ignored_;
  const DiffLimits limits_;
  const GitSession git_;
  std::vector<Level> levels_;
  Diff diff_;
  bool full_ = false;
};

}  // namespace

Result<Diff> diff(const Changes& changes, const Layers& below, const std::vector<std::string>& ignored,
                  DiffLimits limits) {
  auto after = LayeredDirectory::open(changes.top_fd, changes.more);
  if (!after) return std::move(after.error());
  auto before = LayeredDirectory::open(below);
  if (!before) return std::move(before.error());
  return DiffWalk(ignored, std::move(limits))
      .run(std::move(after.value()), std::move(before.value()), changes.is_whole);
}

Result<Diff> diff(int changes_fd, const Layers& below, const std::vector<std::string>& ignored, DiffLimits limits) {
  return diff(Changes{.top_fd = changes_fd}, below, ignored, std::move(limits));
}

}  // namespace sluice::workspace
