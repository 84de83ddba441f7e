#include "ops/backup_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/running_digest.h"
#include "installation/data_dir.h"

namespace sluice::ops {
namespace {

namespace fs = std::filesystem;

constexpr int64_t backup_format = 1;
constexpr std::size_t piece_bytes = 1024 * 1024;

Error failed(const std::string& doing) {
  const int reason = errno;
  const bool full = reason == ENOSPC || reason == EDQUOT;
  return {full ? ErrorKind::overloaded : ErrorKind::unavailable, doing + ": " + std::strerror(reason)};
}

Result<std::string> digest_of_file(const std::string& path) {
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return failed("read " + path);
  RunningSha256 digest;
  std::string piece(piece_bytes, '\0');
  for (;;) {
    const auto count = ::read(fd.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read " + path);
    if (count == 0) return to_hex(digest.finish());
    digest.add({piece.data(), static_cast<std::size_t>(count)});
  }
}

// What is on disk is what is read again: not what the kernel still has in memory.
Result<Unit> sync_file(const std::string& path) {
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0) return failed("keep " + path);
  posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  return Unit{};
}

// Relative names of all files, in order; folders are synced on the way.
Result<std::vector<std::string>> files_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code why;
  for (fs::recursive_directory_iterator at(folder, why), end; !why && at != end; at.increment(why)) {
    if (at->is_directory()) {
      if (auto synced = sync_folder(at->path()); !synced) return synced.error();
      continue;
    }
    auto name = fs::path(at->path()).lexically_relative(folder).string();
    if (name != "SHA256SUMS" && name != "manifest.json") names.push_back(std::move(name));
  }
  if (why) return Error{ErrorKind::unavailable, "look through " + folder + ": " + why.message()};
  std::ranges::sort(names);
  return names;
}

Result<std::string> read_whole(const std::string& path) {
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return failed("read " + path);
  std::string all;
  std::string piece(piece_bytes, '\0');
  ssize_t count = 0;
  while ((count = ::read(fd.get(), piece.data(), piece.size())) > 0)
    all.append(piece, 0, static_cast<std::size_t>(count));
  if (count < 0) return failed("read " + path);
  return all;
}

Error damaged(const std::string& folder, const std::string& what) {
  return {ErrorKind::corrupt, "the backup " + folder + " is damaged: " + what + ". Take another one"};
}

Result<BackupManifest> parse_manifest(const std::string& folder, std::string_view text, const std::string& sums) {
  const auto document = json::Document::parse(text);
  if (!document) return damaged(folder, "manifest.json is not JSON");
  const auto root = document.value().root();
  const auto word = [&](std::string_view name) {
    const auto found = root.find(name);
    return std::string(found ? found->string().value_or("") : "");
  };
  const auto format = root.find("sluice_backup");
  if (!format || format->integer() != backup_format) {
    return Error{ErrorKind::invalid,
                 folder + " is a backup of another format: restore it with sluice " + word("version")};
  }
  if (word("sums_sha256") != to_hex(sha256(sums))) return damaged(folder, "SHA256SUMS is not what was written");
  const auto keys = root.find("has_keys");
  return BackupManifest{word("version"), word("store"), keys && keys->boolean().value_or(false)};
}

}  // namespace

Result<Unit> sync_folder(const std::string& path) {
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0) return failed("keep " + path);
  return Unit{};
}

Result<Unit> copy_file(const std::string& from, const std::string& to) {
  std::error_code why;
  fs::copy_file(from, to, why);
  if (why) return Error{ErrorKind::overloaded, "copy " + from + " to " + to + ": " + why.message()};
  fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, why);
  return sync_file(to);
}

Result<Unit> seal_backup(const std::string& folder, const BackupManifest& manifest) {
  const auto names = files_in(folder);
  if (!names) return names.error();
  std::string sums;
  for (const auto& name : names.value()) {
    const auto path = folder + "/" + name;
    if (auto synced = sync_file(path); !synced) return synced;
    const auto digest = digest_of_file(path);
    if (!digest) return digest.error();
    // A content is named by its digest: files/ab/cdef…
    if (name.starts_with("files/") && name.substr(6, 2) + name.substr(9) != digest.value()) {
      return Error{ErrorKind::corrupt, path + " is not what was written a moment ago: the disk is failing"};
    }
    sums += digest.value() + "  " + name + "\n";
  }
  if (auto written = installation::write_private_file(folder + "/SHA256SUMS", sums); !written) return written;
  std::string text;
  json::Writer(text)
      .begin_object()
      .key("sluice_backup")
      .integer(backup_format)
      .key("version")
      .string(manifest.version)
      .key("store")
      .string(manifest.store)
      .key("has_keys")
      .boolean(manifest.has_keys)
      .key("file_count")
      .integer(static_cast<int64_t>(names.value().size()))
      .key("sums_sha256")
      .string(to_hex(sha256(sums)))
      .end_object();
  return installation::write_private_file(folder + "/manifest.json", text + "\n");
}

Result<BackupManifest> check_backup(const std::string& folder) {
  auto text = installation::read_small_file(folder + "/manifest.json");
  if (!text) return text.error();
  if (!text.value()) return Error{ErrorKind::invalid, folder + " is no backup: it has no manifest.json"};
  const auto sums = read_whole(folder + "/SHA256SUMS");
  if (!sums) return sums.error();
  auto manifest = parse_manifest(folder, *text.value(), sums.value());
  if (!manifest) return manifest;
  auto names = files_in(folder);
  if (!names) return names.error();
  std::size_t known = 0;
  for (std::size_t at = 0; at < sums.value().size();) {
    const auto end = sums.value().find('\n', at);
    if (end == std::string::npos || end < at + 67) return damaged(folder, "SHA256SUMS has a line that is none");
    const auto name = sums.value().substr(at + 66, end - at - 66);
    const auto written = sums.value().substr(at, 64);
    at = end + 1;
    if (!std::ranges::binary_search(names.value(), name)) return damaged(folder, name + " is missing");
    const auto digest = digest_of_file(folder + "/" + name);
    if (!digest) return digest.error();
    if (digest.value() != written) return damaged(folder, name + " is not what was written");
    ++known;
  }
  if (known != names.value().size()) return damaged(folder, "it has files that its list does not know");
  return manifest;
}

}  // namespace sluice::ops
