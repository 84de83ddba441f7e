// A file in memory as it lies on disk. Part of the room's inside.
#pragma once

#include <string>

#include "files/files.h"

namespace sluice::files {

bool is_sha256_hex(std::string_view text);

// The whole file, which must not change any more; `what` names it in errors. `corrupt` when its digest is another.
Result<Content> map_verified(int fd, std::string_view sha256_hex, const std::string& what);

}  // namespace sluice::files
