// One file's change in the words of `git diff`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::workspace {

// libgit2 counts how often it was begun; code that writes patches holds one of these.
class GitSession final {
 public:
  GitSession();
  GitSession(const GitSession&) = delete;
  GitSession& operator=(const GitSession&) = delete;
  ~GitSession();
};

enum class GitMode : uint32_t { file = 0100644, program = 0100755, link = 0120000 };

// One side of a change; a link's bytes are where it points.
struct FileVersion {
  GitMode mode = GitMode::file;
  std::string bytes;
  bool whole = true;  // false: too large to be read, and never shown

  // What git would show lines of, and what a JSON string can hold.
  bool is_text() const;
};

// Either side may be missing, not both. Only the name is written of a file that is no text or not to be shown.
enum class Show : uint8_t { lines, name_only };
std::string patch_of(const std::string& path, const std::optional<FileVersion>& before,
                     const std::optional<FileVersion>& after, Show show);

}  // namespace sluice::workspace
