// Bytes kept by what they are: each content once, named by its SHA-256, on the local disk or in an object store.
//
// All of it blocks and may be called from any thread (world::Workers). Who may see a content, and
// under which name, is the records' business (store).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sluice::files {

// A content that is open. Its bytes are those of a mapped file: many may read a large one at once without a copy each.
struct Content {
  std::shared_ptr<const void> owner;  // `bytes` stay while a copy of it lives
  std::string_view bytes;
};

class Contents {
 public:
  virtual ~Contents() = default;
  // Kept for good when it returns: on disk (fsync), or where the object store says so. Gives its SHA-256 as 64
  // hexadecimal digits. `overloaded`: nothing was kept, later may work (disk full, store not reached).
  virtual Result<std::string> put(std::string_view bytes) = 0;
  // `not_found`; `corrupt` when the bytes are not what their name says.
  virtual Result<Content> open(std::string_view sha256) const = 0;

  // The same, copied: for what is small.
  Result<std::string> get(std::string_view sha256) const {
    auto content = open(sha256);
    if (!content) return content.error();
    return std::string(content.value().bytes);
  }
};

// A file without a name, gone when it is closed. `overloaded`: disk full.
Result<OwnedFd> make_scratch(const std::string& directory);
// Maps a file that no longer changes as a content; `what` names it in errors.
Result<Content> map_file(int fd, const std::string& what);

// Creates the directory, and removes what an interrupted put() left.
Result<std::unique_ptr<Contents>> open_directory(std::string path);

// A store that speaks S3, addressed by path (ENDPOINT/BUCKET/PREFIX/…).
struct S3Options {
  std::string place;     // "s3://bucket/prefix"
  std::string endpoint;  // "https://s3.eu-central-1.amazonaws.com"
  std::string region;
  std::string access_key;
  std::string secret_key;
  std::string scratch_dir;  // what is being read is here, in files without names
  std::string ca_file;      // PEM; empty: the system's
  int64_t connect_ms_max = 5'000;
  int64_t silence_seconds_max = 30;  // without a byte
  int attempts_max = 3;
};
// Does not ask the store anything yet: it may be down while the server starts.
Result<std::unique_ptr<Contents>> open_s3(S3Options options);

}  // namespace sluice::files
