#include "workspace/patch_text.h"

#include <git2.h>

#include <cstdio>

#include "base/bytes.h"
#include "base/check.h"

namespace sluice::workspace {
namespace {

constexpr std::size_t looked_at_bytes = 8000;  // by git too, for a NUL

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

}  // namespace

GitSession::GitSession() { SLUICE_CHECK(git_libgit2_init() > 0); }
GitSession::~GitSession() { git_libgit2_shutdown(); }

bool FileVersion::is_text() const {
  return whole && std::string_view(bytes).substr(0, looked_at_bytes).find('\0') == std::string_view::npos &&
         is_utf8(bytes);
}

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

}  // namespace sluice::workspace
