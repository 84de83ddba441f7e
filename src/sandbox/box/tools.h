// Parts that the shim's tools share. What each tool does is written in sandbox/shim_tools.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::sandbox::box {

inline constexpr std::size_t file_bytes_max = 64 * 1024 * 1024;
inline constexpr int results_max = 1000;

// One sentence on standard error; the exit code 1.
__attribute__((format(printf, 1, 2))) int refuse(const char* format, ...);

// A file's bytes, malloc'ed, with a 0 behind the last.
struct Bytes {
  char* data = nullptr;
  std::size_t size = 0;
};
bool read_all(int from, std::size_t bytes_max, Bytes& into);

// A plain file, opened for reading; -1 after a sentence on standard error.
int open_plain(const char* path, std::size_t* size = nullptr);
bool looks_binary(const char* data, std::size_t size);

// "src/**/*.{h,cc}" against "src/a/b.cc".
bool glob_matches(const char* pattern, const char* path);

// Calls `visit` for every plain file below `directory`, which is given as part of the path, in the
// order of names; stops when it says false. No links are followed.
struct Visitor {
  virtual bool visit(const char* path, const char* below, int64_t changed_ns) = 0;

 protected:
  ~Visitor() = default;
};
bool walk(const char* directory, Visitor& visitor);

int tool_read(char** arguments);
int tool_write(char** arguments);
int tool_edit(char** arguments);
int tool_glob(char** arguments);
int tool_grep(char** arguments);
int tool_list(char** arguments);

}  // namespace sluice::sandbox::box
