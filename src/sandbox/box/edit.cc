#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox/box/steps.h"
#include "sandbox/box/tools.h"
#include "sandbox/shim_tools.h"

namespace sluice::sandbox::box {
namespace {

constexpr std::size_t line_bytes_max = 2000;
constexpr std::size_t answer_bytes_max = 256 * 1024;
constexpr unsigned long lines_default = 2000;

// Prints a line with its line feed; true if all of it.
bool print_line(const char* line, std::size_t bytes) {
  if (bytes <= line_bytes_max) return fwrite(line, 1, bytes, stdout) == bytes;
  fwrite(line, 1, line_bytes_max, stdout);
  fputc('\n', stdout);
  return false;
}

int print_lines(const char* path, const Bytes& text, unsigned long first, unsigned long count) {
  const char* at = text.data;
  const char* const end = text.data + text.size;
  std::size_t printed = 0;
  bool cut = false;
  for (unsigned long number = 1; at < end; ++number) {
    const auto* const feed = static_cast<const char*>(memchr(at, '\n', static_cast<std::size_t>(end - at)));
    const char* const next = feed == nullptr ? end : feed + 1;
    if (number >= first + count || printed > answer_bytes_max) {
      return fprintf(stderr, "%s goes on after line %lu\n", path, number - 1) < 0;
    }
    if (number >= first) {
      const auto bytes = static_cast<std::size_t>(next - at);
      if (!print_line(at, bytes)) cut = true;
      printed += bytes < line_bytes_max ? bytes : line_bytes_max;
    }
    at = next;
  }
  if (cut) fprintf(stderr, "lines of more than %zu bytes are cut\n", line_bytes_max);
  return 0;
}

int make_draft(const char* path, char (&draft)[PATH_MAX]) {
  const char* const slash = strrchr(path, '/');
  const int directory_bytes = slash == nullptr ? 0 : static_cast<int>(slash + 1 - path);
  snprintf(draft, sizeof draft, "%.*s%sXXXXXX", directory_bytes, path, edit_prefix.data());
  return mkostemp(draft, O_CLOEXEC);
}

bool put_all(int to, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t put = write(to, data, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    data += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

// All or nothing: a draft beside it takes its place.
int replace(const char* path, const char* data, std::size_t size, mode_t mode) {
  char draft[PATH_MAX];
  const int to = make_draft(path, draft);
  if (to < 0) return refuse("%s: %s", path, strerror(errno));
  if (put_all(to, data, size) && fchmod(to, mode) == 0 && close(to) == 0 && rename(draft, path) == 0) return 0;
  const int error = errno;
  unlink(draft);
  return refuse("%s: %s", path, strerror(error));
}

bool make_parents(const char* path) {
  char copy[PATH_MAX];
  snprintf(copy, sizeof copy, "%s", path);
  char* const slash = strrchr(copy, '/');
  if (slash == nullptr || slash == copy) return true;
  *slash = 0;
  return make_directories(copy);
}

}  // namespace

int tool_read(char** arguments) {
  const char* const path = arguments[0];
  const unsigned long first = strtoul(arguments[1], nullptr, 10);
  const unsigned long count = strtoul(arguments[2], nullptr, 10);
  const int file = open_plain(path);
  if (file < 0) return 1;
  Bytes text;
  if (!read_all(file, file_bytes_max, text)) return refuse("%s: %s", path, strerror(errno));
  if (looks_binary(text.data, text.size))
    return refuse("%s: not text, but %zu bytes of something else", path, text.size);
  return print_lines(path, text, first == 0 ? 1 : first, count == 0 ? lines_default : count);
}

int tool_write(char** arguments) {
  const char* const path = arguments[0];
  struct stat there{};
  mode_t mode = 0644;
  if (lstat(path, &there) == 0) {
    if (S_ISDIR(there.st_mode)) return refuse("%s: is a directory", path);
    if (!S_ISREG(there.st_mode)) return refuse("%s: not a plain file", path);
    mode = there.st_mode & 0777;
  }
  Bytes text;
  if (!read_all(STDIN_FILENO, file_bytes_max, text)) return refuse("%s: %s", path, strerror(errno));
  if (!make_parents(path)) return refuse("%s: cannot make its directory: %s", path, strerror(errno));
  if (replace(path, text.data, text.size, mode) != 0) return 1;
  printf("%zu\n", text.size);
  return 0;
}

int tool_edit(char** arguments) {
  const char* const path = arguments[0];
  const bool all = strcmp(arguments[1], "1") == 0;
  Bytes asked;
  if (!read_all(STDIN_FILENO, file_bytes_max, asked)) return refuse("%s: %s", path, strerror(errno));
  char* feed = nullptr;
  const std::size_t before_bytes = strtoul(asked.data, &feed, 10);
  if (*feed != '\n' || before_bytes > asked.size - static_cast<std::size_t>(feed + 1 - asked.data)) {
    return refuse("the edit is not framed as it must be");
  }
  const char* const before = feed + 1;
  const char* const after = before + before_bytes;
  const std::size_t after_bytes = static_cast<std::size_t>(asked.data + asked.size - after);
  if (before_bytes == 0) return refuse("the text to replace is empty; write the file instead");

  struct stat there{};
  if (lstat(path, &there) == 0 && S_ISLNK(there.st_mode)) return refuse("%s: not a plain file", path);
  const int file = open_plain(path);
  if (file < 0 || fstat(file, &there) != 0) return 1;
  Bytes text;
  if (!read_all(file, file_bytes_max, text)) return refuse("%s: %s", path, strerror(errno));
  char* made = nullptr;
  std::size_t made_bytes = 0;
  FILE* const out = open_memstream(&made, &made_bytes);
  if (out == nullptr) return refuse("%s: %s", path, strerror(errno));
  std::size_t places = 0;
  const char* at = text.data;
  const char* const end = text.data + text.size;
  while (const void* found = memmem(at, static_cast<std::size_t>(end - at), before, before_bytes)) {
    const auto* const place = static_cast<const char*>(found);
    fwrite(at, 1, static_cast<std::size_t>(place - at), out);
    fwrite(after, 1, after_bytes, out);
    at = place + before_bytes;
    ++places;
  }
  fwrite(at, 1, static_cast<std::size_t>(end - at), out);
  if (fclose(out) != 0) return refuse("%s: %s", path, strerror(errno));
  if (places == 0) return refuse("%s: the text to replace is not in it", path);
  if (places > 1 && !all) {
    return refuse("%s: the text to replace is in it %zu times; give more of what is around it, or replace all", path,
                  places);
  }
  if (replace(path, made, made_bytes, there.st_mode & 0777) != 0) return 1;
  printf("%zu\n", places);
  return 0;
}

}  // namespace sluice::sandbox::box
