// The shim's own commands: what an agent does to files, done inside the sandbox, with the sandbox's eyes.
//
// They are started like any program (Command::argv) and bound by the same limits. Relative paths are
// of /workspace. Exit code 0: done, standard output has the answer, and standard error may say that
// it was cut. Exit code 1: not done, standard error has one sentence for the caller.
//
//   @read PATH FIRST COUNT      Lines FIRST (from 1) and on, at most COUNT (0: 2000), as they are. A
//                               line is cut at 2000 bytes, the answer at 256 KiB. Plain text files only.
//   @write PATH                 Standard input becomes the file; directories are made. All or nothing:
//                               half of it is never seen. Prints the number of bytes. Replaces plain
//                               files only: no link, no device.
//   @edit PATH ALL              Standard input is the length of the old text in decimal, a line feed,
//                               the old text, the new text. The old text must be there, once, unless
//                               ALL is 1. Prints the number of places.
//   @glob PATTERN DIR           Files below DIR that match (*, ?, [], {a,b}, ** for any directories),
//                               latest changed first, at most 1000.
//   @grep PATTERN DIR GLOB FLAGS
//                               "path:line:text" of lines that match an extended regular expression, at
//                               most 1000, in files below DIR (or the file DIR) whose name (or path, if
//                               GLOB has a '/') matches GLOB ("": all). FLAGS: "i" ignores case, "l"
//                               prints paths only. GLOB and FLAGS may be left out.
//   @list DIR                   Names in order, at most 1000: "dir/", "link -> where", "file<TAB>bytes".
//
// @glob and @grep follow no links, and do not look into .git and node_modules. @write and @edit
// write to a file named by edit_prefix first, which is then renamed.
#pragma once

#include <string_view>

namespace sluice::sandbox {

inline constexpr std::string_view edit_prefix = ".sluice-edit-";

}  // namespace sluice::sandbox
