#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <span>

#include "base/utf8.h"
#include "workspace/beneath.h"
#include "workspace/workspace.h"

namespace sluice::workspace {
namespace {

// What people open, machines read or programmers wrote. Not here: what a double click would run.
constexpr std::string_view usual_extensions[] = {
    // documents
    "pdf",
    "doc",
    "docx",
    "odt",
    "rtf",
    "xls",
    "xlsx",
    "ods",
    "ppt",
    "pptx",
    "odp",
    "epub",
    "tex",
    "bib",
    // text
    "txt",
    "md",
    "markdown",
    "rst",
    "adoc",
    "log",
    "srt",
    "vtt",
    "diff",
    "patch",
    // data
    "csv",
    "tsv",
    "json",
    "jsonl",
    "ndjson",
    "xml",
    "yaml",
    "yml",
    "toml",
    "ini",
    "parquet",
    "sqlite",
    "db",
    "ics",
    "vcf",
    "geojson",
    "ipynb",
    "npy",
    "npz",
    // pictures, sound, film
    "png",
    "jpg",
    "jpeg",
    "gif",
    "webp",
    "svg",
    "bmp",
    "tif",
    "tiff",
    "ico",
    "avif",
    "heic",
    "drawio",
    "mp3",
    "wav",
    "ogg",
    "flac",
    "m4a",
    "mp4",
    "webm",
    "mov",
    // pages
    "html",
    "htm",
    "css",
    // archives
    "zip",
    "tar",
    "gz",
    "tgz",
    "bz2",
    "xz",
    "zst",
    "7z",
    // code
    "c",
    "cc",
    "cpp",
    "h",
    "hpp",
    "cs",
    "go",
    "java",
    "js",
    "mjs",
    "jsx",
    "ts",
    "tsx",
    "kt",
    "lua",
    "php",
    "pl",
    "py",
    "r",
    "rb",
    "rs",
    "scala",
    "sh",
    "sql",
    "swift",
    "vue",
    "svelte",
    "proto",
    "graphql",
    "tf",
    // fonts
    "ttf",
    "otf",
    "woff",
    "woff2",
};

constexpr std::size_t name_chars_max = 128;
constexpr std::size_t left_out_max = 100;         // sentences; then their number
constexpr std::size_t folder_names_max = 10'000;  // in one directory
constexpr int64_t looked_at_max = 100'000;        // in all

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Without leading dots, which would hide it, or lead upwards.
std::string sanitised(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (continues_utf8(c)) continue;  // the rest of a character that is '_' already
    out += is_plain(c) ? c : '_';
  }
  out.erase(0, std::min(out.find_first_not_of('.'), out.size()));
  return out.empty() ? "file" : out;
}

struct NameParts {
  std::string stem;
  std::string extension;  // with its dot, or empty
};

NameParts split(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return {name, ""};
  return {name.substr(0, dot), name.substr(dot)};
}

std::string megabytes(int64_t bytes) {
  if (bytes >= 1'000'000) return std::to_string(bytes / 1'000'000) + " MB";
  return std::to_string(bytes) + " bytes";
}

class Collector final {
 public:
  explicit Collector(const AssetRules& rules) : rules_(rules) {}

  Result<Assets> run(int changes) {
    const auto root = stat_beneath(changes, "assets");
    if (!root) return errno == ENOENT ? Result<Assets>(Assets{}) : failed("look for assets");
    if (is_whiteout(*root)) return Assets{};
    if (!S_ISDIR(root->st_mode)) {
      leave_out("assets", S_ISLNK(root->st_mode) ? "is a link" : "is not a directory");
      return std::move(out_);
    }
    enter(changes, "assets", "assets");
    while (!levels_.empty()) step();
    return finish();
  }

  Assets admit(std::vector<Asset> given) {
    for (auto& asset : given) {
      // Only the last part of a path, whichever way its slashes lean.
      const std::string clean = sanitised(asset.name.substr(asset.name.find_last_of("/\\") + 1));
      const auto size = static_cast<int64_t>(asset.bytes.size());
      if (!admits_name(clean, asset.name) || !admits_size(size, asset.name)) continue;
      bytes_ += size;
      out_.files.push_back({unique(clean), std::move(asset.bytes)});
    }
    return finish();
  }

 private:
  Assets finish() {
    if (unnamed_ > 0) out_.left_out.push_back("and " + std::to_string(unnamed_) + " more were left out");
    return std::move(out_);
  }

  struct Level {
    OwnedFd fd;
    std::string path;
    std::vector<std::string> names;
    std::size_t next = 0;
  };

  void leave_out(const std::string& path, const std::string& why) {
    if (out_.left_out.size() < left_out_max) {
      out_.left_out.push_back(shown(path) + " " + why);
    } else {
      ++unnamed_;
    }
  }

  void enter(int parent, const std::string& name, const std::string& path) {
    if (levels_.size() == depth_max) return leave_out(path, "lies too deep");
    OwnedFd fd = open_directory_beneath(parent, name);
    if (!fd) return leave_out(path, "cannot be opened");
    auto names = list_names(fd.get(), folder_names_max);
    if (!names) return leave_out(path, errno == E2BIG ? "holds too many files" : "cannot be read");
    levels_.push_back({std::move(fd), path, std::move(*names)});
  }

  void step() {
    Level& level = levels_.back();
    if (level.next == level.names.size()) return levels_.pop_back();
    const std::string name = level.names[level.next++];
    const std::string path = joined(level.path, name);
    if (++looked_at_ > looked_at_max) {
      leave_out(level.path, "and what follows: too many files to look at");
      return levels_.clear();
    }
    const auto about = stat_beneath(level.fd.get(), name);
    if (!about || is_whiteout(*about)) return;  // it went
    if (S_ISDIR(about->st_mode)) return enter(level.fd.get(), name, path);
    if (S_ISLNK(about->st_mode)) return leave_out(path, "is a link; links are not followed");
    if (!S_ISREG(about->st_mode)) return leave_out(path, "is not a plain file");
    take(level.fd.get(), name, path);
  }

  // Does the rules' part for one file: false when it was left out.
  bool admits_name(const std::string& clean, const std::string& path) {
    if (const std::string why = against_extension(clean); !why.empty()) return leave_out(path, why), false;
    if (out_.files.size() < static_cast<std::size_t>(std::max(rules_.count_max, 0))) return true;
    leave_out(path, "is one too many: at most " + std::to_string(rules_.count_max) + " files come back");
    return false;
  }

  bool admits_size(int64_t size, const std::string& path) {
    if (size > rules_.file_bytes_max) {
      return leave_out(path, "is larger than " + megabytes(rules_.file_bytes_max)), false;
    }
    if (bytes_ + size <= rules_.total_bytes_max) return true;
    leave_out(path, "does not fit: all files together may have " + megabytes(rules_.total_bytes_max));
    return false;
  }

  void take(int directory, const std::string& name, const std::string& path) {
    const std::string clean = sanitised(name);
    if (!admits_name(clean, path)) return;
    const auto file = open_plain_file(directory, name);
    if (!file) return leave_out(path, errno == EINVAL ? "is not a plain file" : "cannot be opened");
    const int64_t size = file->about.st_size;
    if (!admits_size(size, path)) return;
    auto bytes = read_at_most(file->fd.get(), static_cast<std::size_t>(size) + 1);
    if (!bytes) return leave_out(path, "cannot be read");
    struct stat later{};
    if (bytes->size() != static_cast<std::size_t>(size) || fstat(file->fd.get(), &later) != 0 ||
        later.st_size != size || later.st_mtim.tv_sec != file->about.st_mtim.tv_sec ||
        later.st_mtim.tv_nsec != file->about.st_mtim.tv_nsec) {
      return leave_out(path, "changed while it was read");
    }
    bytes_ += size;
    out_.files.push_back({unique(clean), std::move(*bytes)});
  }

  std::string against_extension(const std::string& clean) const {
    if (split(clean).extension.size() < 2) return "has no extension, and those decide what comes back";
    return has_extension_of(clean, rules_.extensions) ? "" : "has an extension that is not allowed";
  }

  // Unique also where names are compared without regard to case.
  std::string unique(const std::string& clean) {
    auto [stem, extension] = split(clean);
    stem.resize(std::min(stem.size(), name_chars_max - std::min(extension.size(), name_chars_max / 2)));
    std::string name = stem + extension;
    for (int n = 1; !taken_.insert(lower(name)).second; ++n) name = stem + "-" + std::to_string(n) + extension;
    return name;
  }

  const AssetRules& rules_;
  Assets out_;
  std::vector<Level> levels_;
  std::set<std::string> taken_;
  int64_t bytes_ = 0;
  int64_t looked_at_ = 0;
  int64_t unnamed_ = 0;
};

}  // namespace

bool has_extension_of(std::string_view name, const std::vector<std::string>& extensions) {
  const std::string extension = lower(split(std::string(name)).extension);
  if (extension.size() < 2) return false;
  const std::string_view bare = std::string_view(extension).substr(1);
  return extensions.empty() ? std::ranges::find(usual_extensions, bare) != std::end(usual_extensions)
                            : std::ranges::find(extensions, bare) != extensions.end();
}

Result<Assets> collect_assets(int changes_fd, const AssetRules& rules) { return Collector(rules).run(changes_fd); }

Assets admit_assets(std::vector<Asset> given, const AssetRules& rules) {
  return Collector(rules).admit(std::move(given));
}

}  // namespace sluice::workspace
