// Bytes kept by what they are: each content once, named by its SHA-256, on the local disk.
//
// All of it blocks and may be called from any thread (world::Workers). Who may see a content, and
// under which name, is the records' business (store).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::files {

class Contents {
 public:
  virtual ~Contents() = default;
  // On disk (fsync) when it returns. Gives its SHA-256 as 64 hexadecimal digits. `overloaded`: disk full.
  virtual Result<std::string> put(std::string_view bytes) = 0;
  // `not_found`; `corrupt` when the bytes are not what their name says.
  virtual Result<std::string> get(std::string_view sha256) const = 0;
};

// Creates the directory, and removes what an interrupted put() left.
Result<std::unique_ptr<Contents>> open_directory(std::string path);

}  // namespace sluice::files
