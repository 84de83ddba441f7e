#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <map>
#include <memory>

#include "base/bytes.h"
#include "workspace/beneath.h"
#include "workspace/staging.h"
#include "workspace/utf8_names.h"
#include "workspace/workspace.h"

namespace sluice::workspace {
namespace {

Error invalid(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

bool has_control_character(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  }
  return false;
}

// Checks the names in one bundle, and that no two of them exclude each other. An error is `invalid`, with a reason for
// the author of the bundle.
class BundlePaths final {
 public:
  explicit BundlePaths(const BundleLimits& limits) : limits_(limits) {}
  Result<Unit> add_file(const std::string& path);
  Result<Unit> add_directory(const std::string& path);

 private:
  enum class Kind : uint8_t { file, directory };
  Result<Unit> check_words(const std::string& path) const;
  Result<Unit> add_parents(const std::string& path);

  const BundleLimits& limits_;
  std::map<std::string, Kind, std::less<>> known_;
};

Result<Unit> BundlePaths::check_words(const std::string& path) const {
  const std::string said = "the bundle's path \"" + shown(path) + "\" ";
  if (path.empty()) return invalid("the bundle has a file without a name");
  if (path.size() > limits_.path_bytes_max) {
    return invalid(said + "is longer than " + std::to_string(limits_.path_bytes_max) + " bytes");
  }
  if (!is_utf8(path)) return invalid(said + "is not UTF-8");
  if (has_control_character(path)) return invalid(said + "has a control character");
  if (path.front() == '/') return invalid(said + "is absolute; paths are relative to the bundle");
  std::size_t at = 0;
  while (at <= path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = std::string_view(path).substr(at, end - at);
    if (part.empty()) return invalid(said + "has an empty part");
    if (part == "." || part == "..") return invalid(said + "has a part \"" + std::string(part) + "\"");
    if (part.size() > NAME_MAX) return invalid(said + "has a part longer than " + std::to_string(NAME_MAX) + " bytes");
    at = end + 1;
  }
  return Unit{};
}

Result<Unit> BundlePaths::add_parents(const std::string& path) {
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    const auto parent = path.substr(0, at);
    if (known_.try_emplace(parent, Kind::directory).first->second == Kind::file) {
      return invalid("the bundle has \"" + shown(parent) + "\" as a file and as a directory");
    }
  }
  return Unit{};
}

Result<Unit> BundlePaths::add_file(const std::string& path) {
  if (auto sound = check_words(path); !sound) return sound;
  if (auto added = add_parents(path); !added) return added;
  const auto [at, fresh] = known_.try_emplace(path, Kind::file);
  if (fresh) return Unit{};
  if (at->second == Kind::file) return invalid("the bundle has \"" + shown(path) + "\" twice");
  return invalid("the bundle has \"" + shown(path) + "\" as a file and as a directory");
}

Result<Unit> BundlePaths::add_directory(const std::string& path) {
  if (auto sound = check_words(path); !sound) return sound;
  if (auto added = add_parents(path + "/"); !added) return added;
  return Unit{};
}

struct FreeReader {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
struct FreeWriter {
  void operator()(archive* writer) const { archive_write_free(writer); }
};
struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

std::string reason_of(archive* any) {
  const char* const text = archive_error_string(any);
  return text == nullptr ? "no reason given" : shown(text);
}

class BundleReader final {
 public:
  BundleReader(std::string_view tar_gz, const BundleLimits& limits)
      : bytes_(tar_gz), limits_(limits), paths_(limits), archive_(archive_read_new()) {}

  Result<std::vector<BundleFile>> read() {
    archive_read_support_filter_gzip(archive_.get());
    archive_read_support_format_tar(archive_.get());
    if (archive_read_open_memory(archive_.get(), bytes_.data(), bytes_.size()) != ARCHIVE_OK) return not_a_bundle();
    for (int count = 0;; ++count) {
      archive_entry* entry = nullptr;
      const int outcome = archive_read_next_header(archive_.get(), &entry);
      if (outcome != ARCHIVE_OK && outcome != ARCHIVE_WARN && outcome != ARCHIVE_EOF) return not_a_bundle();
      // A tar in the clear would be read too, and one that is packed twice.
      if (archive_filter_count(archive_.get()) != 2) return invalid("the bundle is not a tar that was gzipped once");
      if (outcome == ARCHIVE_EOF) break;
      if (count >= limits_.files_max) {
        return invalid("the bundle has more than " + std::to_string(limits_.files_max) + " entries");
      }
      if (auto taken = take(entry); !taken) return std::move(taken.error());
    }
    if (files_.empty()) return invalid("the bundle has no files");
    return std::move(files_);
  }

 private:
  Error not_a_bundle() {
    return invalid("the bundle is not a whole gzipped tar (make it with `tar -czf`): " + reason_of(archive_.get()));
  }

  Result<Unit> take(archive_entry* entry) {
    const char* const raw = archive_entry_pathname(entry);
    std::string path = raw == nullptr ? "" : raw;
    // As `tar -czf x.tgz .` writes them.
    while (path.starts_with("./")) path.erase(0, 2);
    const auto type = archive_entry_filetype(entry);
    if (archive_entry_hardlink(entry) != nullptr || (type != AE_IFREG && type != AE_IFDIR)) {
      return invalid("the bundle's \"" + shown(path) +
                     "\" is a link or a device; only files and directories may be in it");
    }
    if (type == AE_IFDIR) {
      if (path.ends_with('/')) path.pop_back();
      if (path.empty() || path == ".") return Unit{};
      return paths_.add_directory(path);
    }
    if (auto added = paths_.add_file(path); !added) return added;
    BundleFile file{.path = std::move(path), .executable = (archive_entry_mode(entry) & 0100) != 0};
    if (auto read = read_bytes(file); !read) return read;
    files_.push_back(std::move(file));
    return Unit{};
  }

  // What a header says of a size is not believed; what unpacks is counted.
  Result<Unit> read_bytes(BundleFile& file) {
    char piece[16 * 1024];
    for (;;) {
      const la_ssize_t size = archive_read_data(archive_.get(), piece, sizeof piece);
      if (size == 0) return Unit{};
      if (size < 0) return not_a_bundle();
      unpacked_ += static_cast<std::size_t>(size);
      if (unpacked_ > limits_.unpacked_bytes_max) {
        return invalid("the bundle unpacks to more than " + std::to_string(limits_.unpacked_bytes_max) + " bytes");
      }
      file.bytes.append(piece, static_cast<std::size_t>(size));
    }
  }

  const std::string_view bytes_;
  const BundleLimits& limits_;
  BundlePaths paths_;
  std::unique_ptr<archive, FreeReader> archive_;
  std::vector<BundleFile> files_;
  std::size_t unpacked_ = 0;
};

Result<Unit> check_files(const std::vector<BundleFile>& files, const BundleLimits& limits) {
  if (files.empty()) return invalid("a bundle needs at least one file");
  if (files.size() > static_cast<std::size_t>(limits.files_max)) {
    return invalid("a bundle may have " + std::to_string(limits.files_max) + " files at most");
  }
  BundlePaths paths(limits);
  std::size_t bytes = 0;
  for (const auto& file : files) {
    if (auto added = paths.add_file(file.path); !added) return added;
    bytes += file.bytes.size();
  }
  if (bytes > limits.unpacked_bytes_max) {
    return invalid("a bundle may hold " + std::to_string(limits.unpacked_bytes_max) + " bytes at most");
  }
  return Unit{};
}

la_ssize_t append_packed(archive*, void* out, const void* bytes, std::size_t size) {
  static_cast<std::string*>(out)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

bool write_entry(archive* writer, const BundleFile& file) {
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), file.path.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), file.executable ? 0755 : 0644);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(file.bytes.size()));
  archive_entry_set_mtime(entry.get(), 0, 0);
  return archive_write_header(writer, entry.get()) == ARCHIVE_OK &&
         (file.bytes.empty() || archive_write_data(writer, file.bytes.data(), file.bytes.size()) ==
                                    static_cast<la_ssize_t>(file.bytes.size()));
}

Result<OwnedFd> open_parent(int root, const std::string& path, Owner owner) {
  OwnedFd directory = open_directory_beneath(root, ".");
  if (!directory) return failed("open the directory");
  std::size_t at = 0;
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', at)) {
    const std::string part = path.substr(at, end - at);
    const bool made = mkdirat(directory.get(), part.c_str(), 0755) == 0;
    if (!made && errno != EEXIST) return failed("make " + shown(part));
    OwnedFd next = open_directory_beneath(directory.get(), part);
    if (!next || (made && !give_to(owner, next.get()))) return failed("open " + shown(part));
    directory = std::move(next);
    at = end + 1;
  }
  return directory;
}

Result<Unit> write_file(int root, const BundleFile& file, Owner owner) {
  auto parent = open_parent(root, file.path, owner);
  if (!parent) return std::move(parent.error());
  const std::string name = file.path.substr(file.path.rfind('/') + 1);
  const OwnedFd fd = open_beneath(parent.value().get(), name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!fd || !write_all(fd.get(), file.bytes) || !give_to(owner, fd.get()) ||
      fchmod(fd.get(), file.executable ? 0755 : 0644) != 0) {
    return failed("write " + shown(file.path));
  }
  return Unit{};
}

}  // namespace

Result<std::string> pack_bundle(std::vector<BundleFile> files, const BundleLimits& limits) {
  if (auto sound = check_files(files, limits); !sound) return std::move(sound.error());
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  const Utf8Names names;
  std::string packed;
  const std::unique_ptr<archive, FreeWriter> writer(archive_write_new());
  archive_write_set_format_pax_restricted(writer.get());
  archive_write_add_filter_gzip(writer.get());
  archive_write_set_options(writer.get(), "gzip:!timestamp,gzip:compression-level=6");
  archive_write_set_bytes_in_last_block(writer.get(), 1);  // no padding after the end
  bool written = archive_write_open(writer.get(), &packed, nullptr, append_packed, nullptr) == ARCHIVE_OK;
  for (const auto& file : files) written = written && write_entry(writer.get(), file);
  written = written && archive_write_close(writer.get()) == ARCHIVE_OK;
  if (!written) return Error{ErrorKind::unavailable, "pack a bundle: " + reason_of(writer.get())};
  if (packed.size() > limits.packed_bytes_max) {
    return invalid("the bundle packs to more than " + std::to_string(limits.packed_bytes_max) + " bytes");
  }
  return packed;
}

Result<std::vector<BundleFile>> read_bundle(std::string_view tar_gz, const BundleLimits& limits) {
  if (tar_gz.size() > limits.packed_bytes_max) {
    return invalid("the bundle is larger than " + std::to_string(limits.packed_bytes_max) + " bytes");
  }
  const Utf8Names names;
  return BundleReader(tar_gz, limits).read();
}

Result<Unit> write_files(const std::vector<BundleFile>& files, const std::string& into, Owner owner) {
  auto staging = Staging::begin(into, owner);
  if (!staging) return std::move(staging.error());
  for (const auto& file : files) {
    if (auto written = write_file(staging.value().fd(), file, owner); !written)
      return std::move(written.error()).in(into);
  }
  return staging.value().finish();
}

}  // namespace sluice::workspace
