#include "sandbox/box/tools.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox/box/commands.h"

namespace sluice::sandbox::box {
namespace {

struct Tool {
  const char* name;
  int (*run)(char** arguments);
  int arguments_min;
};

constexpr Tool tools[] = {
    {"@read", tool_read, 3}, {"@write", tool_write, 1}, {"@edit", tool_edit, 2},
    {"@glob", tool_glob, 2}, {"@grep", tool_grep, 2},   {"@list", tool_list, 1},
};

const Tool* find(const char* name) {
  for (const Tool& tool : tools) {
    if (strcmp(tool.name, name) == 0) return &tool;
  }
  return nullptr;
}

}  // namespace

bool is_tool(const char* name) { return find(name) != nullptr; }

int run_tool(char** arguments) {
  const Tool* const tool = find(arguments[0]);
  int count = 0;
  while (arguments[count + 1] != nullptr) ++count;
  if (count < tool->arguments_min) return refuse("%s needs %d arguments", tool->name, tool->arguments_min);
  if (chdir("/workspace") != 0) return refuse("cannot enter /workspace: %s", strerror(errno));
  const int code = tool->run(arguments + 1);
  return fflush(stdout) == 0 ? code : 1;
}

int refuse(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  return 1;
}

bool read_all(int from, std::size_t bytes_max, Bytes& into) {
  std::size_t room = 0;
  for (;;) {
    if (into.size + 1 >= room) {
      room = room == 0 ? 64 * 1024 : room * 2;
      auto* const larger = static_cast<char*>(realloc(into.data, room));
      if (larger == nullptr) return false;
      into.data = larger;
    }
    const ssize_t got = read(from, into.data + into.size, room - into.size - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    into.size += static_cast<std::size_t>(got);
    if (into.size > bytes_max) {
      errno = EFBIG;
      return false;
    }
  }
  into.data[into.size] = 0;
  return true;
}

// O_NONBLOCK: a pipe that waits here may never get a writer.
int open_plain(const char* path, std::size_t* size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    refuse("%s: %s", path, errno == ENXIO ? "not a plain file" : strerror(errno));
    return -1;
  }
  struct stat there{};
  if (fstat(file, &there) == 0 && S_ISREG(there.st_mode)) {
    if (size != nullptr) *size = static_cast<std::size_t>(there.st_size);
    return file;
  }
  refuse("%s: %s", path, S_ISDIR(there.st_mode) ? "is a directory" : "not a plain file");
  close(file);
  return -1;
}

bool looks_binary(const char* data, std::size_t size) {
  constexpr std::size_t looked_at = 8192;
  return memchr(data, 0, size < looked_at ? size : looked_at) != nullptr;
}

}  // namespace sluice::sandbox::box
