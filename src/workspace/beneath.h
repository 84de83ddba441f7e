// Steps inside a tree that belongs to a hostile user: one name at a time, by descriptor, never
// through a link, and never waiting for a pipe.
//
// Wherever a path is built for opening it again, a process that works in the tree may have put a link there
// in between. So trees are walked by descriptors: each name is one part, and opened beneath its parent.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "workspace/workspace.h"

namespace sluice::workspace {

// Deeper is no tree that people make; each level costs a walk one or two descriptors.
inline constexpr int depth_max = 128;

// With errno in words. A full disk is `overloaded`.
Error failed(const std::string& doing);
// The caller waits no longer.
Error stopped();
// A name for people: without control characters, and not endless.
std::string shown(std::string_view path);
// "a/b", or "b" at the root.
std::string joined(std::string_view directory, std::string_view name);

// openat2() with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS, O_NOFOLLOW,
// O_NONBLOCK and O_CLOEXEC. Empty with errno set.
OwnedFd open_beneath(int directory, const std::string& path, int flags, uint32_t mode = 0);
OwnedFd open_directory_beneath(int directory, const std::string& path);
// What the name itself is, be it a link.
std::optional<struct stat> stat_beneath(int directory, const std::string& name);
std::optional<std::string> read_link(int directory, const std::string& name);

// The names in a directory, sorted. Empty with errno set; E2BIG when there are more than `names_max`.
std::optional<std::vector<std::string>> list_names(int directory, std::size_t names_max);

// A plain file that was opened and looked at: only now is it sure what it is.
struct PlainFile {
  OwnedFd fd;
  struct stat about{};
};
// Empty with errno set; EINVAL for what is no plain file. Makes a file readable that its owner made unreadable.
std::optional<PlainFile> open_plain_file(int directory, const std::string& name);
// At most `bytes_max`, wherever the file ends by now. Empty with errno set.
std::optional<std::string> read_at_most(int fd, std::size_t bytes_max);
bool write_all(int fd, std::string_view bytes);
// As root; anybody else owns what they make already.
bool give_to(Owner owner, int fd);

bool is_whiteout(const struct stat& about);
bool is_opaque(int directory);

}  // namespace sluice::workspace
