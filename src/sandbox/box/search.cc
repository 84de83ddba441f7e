#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <regex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sandbox/box/tools.h"

namespace sluice::sandbox::box {
namespace {

constexpr int depth_max = 100;
constexpr std::size_t searched_bytes_max = 16 * 1024 * 1024;
constexpr int shown_bytes_max = 500;

// Part by part; "**" stands for any number of them.
bool parts_match(const char* pattern, const char* path) {
  if (strncmp(pattern, "**/", 3) == 0) {
    for (;;) {
      if (parts_match(pattern + 3, path)) return true;
      path = strchr(path, '/');
      if (path == nullptr) return false;
      ++path;
    }
  }
  if (strcmp(pattern, "**") == 0) return true;
  const char* const pattern_end = strchrnul(pattern, '/');
  const char* const path_end = strchrnul(path, '/');
  char want[NAME_MAX + 1];
  char have[NAME_MAX + 1];
  snprintf(want, sizeof want, "%.*s", static_cast<int>(pattern_end - pattern), pattern);
  snprintf(have, sizeof have, "%.*s", static_cast<int>(path_end - path), path);
  if (fnmatch(want, have, 0) != 0) return false;
  if (*pattern_end == 0 || *path_end == 0) return *pattern_end == *path_end;
  return parts_match(pattern_end + 1, path_end + 1);
}

// Below "." paths are said without it.
const char* shown_as(const char* path) { return strncmp(path, "./", 2) == 0 ? path + 2 : path; }

// Tries each word of the first {a,b}, and so on within the outcome. `budget`: {a,b}{a,b}{a,b}… doubles each time.
bool any_alternative_matches(const char* pattern, const char* path, int& budget) {
  const char* const open = strchr(pattern, '{');
  const char* const close = open == nullptr ? nullptr : strchr(open, '}');
  if (close == nullptr) return parts_match(pattern, path);
  for (const char* word = open + 1; word <= close && --budget > 0;) {
    const auto* end = static_cast<const char*>(memchr(word, ',', static_cast<std::size_t>(close - word)));
    if (end == nullptr) end = close;
    char one[PATH_MAX];
    snprintf(one, sizeof one, "%.*s%.*s%s", static_cast<int>(open - pattern), pattern, static_cast<int>(end - word),
             word, close + 1);
    if (any_alternative_matches(one, path, budget)) return true;
    word = end + 1;
  }
  return false;
}

bool is_looked_into(const char* name) {
  return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, ".git") != 0 &&
         strcmp(name, "node_modules") != 0;
}

int take_entry(const dirent* entry) { return is_looked_into(entry->d_name) ? 1 : 0; }

// `path` is a buffer of PATH_MAX whose first `bytes` are the directory; `root_bytes` of it were asked for.
bool walk_into(char* path, std::size_t bytes, std::size_t root_bytes, int depth, Visitor& visitor) {
  dirent** entries = nullptr;
  const int count = scandir(path, &entries, take_entry, alphasort);
  bool go_on = true;
  for (int i = 0; i < count; ++i) {
    const char* const separator = path[bytes - 1] == '/' ? "" : "/";
    const int added = snprintf(path + bytes, PATH_MAX - bytes, "%s%s", separator, entries[i]->d_name);
    const std::size_t whole = bytes + static_cast<std::size_t>(added);
    struct stat there{};
    if (go_on && whole < PATH_MAX && lstat(path, &there) == 0) {
      const int64_t changed_ns = there.st_mtim.tv_sec * 1'000'000'000LL + there.st_mtim.tv_nsec;
      if (S_ISREG(there.st_mode)) go_on = visitor.visit(path, path + root_bytes, changed_ns);
      if (S_ISDIR(there.st_mode) && depth < depth_max) go_on = walk_into(path, whole, root_bytes, depth + 1, visitor);
    }
    path[bytes] = 0;
    free(entries[i]);
  }
  free(entries);
  return go_on;
}

struct Found {
  char* path;
  int64_t changed_ns;
};

struct Globbing final : Visitor {
  const char* pattern = "";
  Found* list = nullptr;
  std::size_t count = 0;
  std::size_t room = 0;

  bool visit(const char* path, const char* below, int64_t changed_ns) override {
    if (!glob_matches(pattern, below)) return true;
    if (count == room) {
      room = room * 2 + 256;
      auto* const larger = static_cast<Found*>(realloc(list, room * sizeof(Found)));
      if (larger == nullptr) return false;
      list = larger;
    }
    list[count++] = {strdup(path), changed_ns};
    return true;
  }
};

int latest_first(const void* a, const void* b) {
  const auto* const left = static_cast<const Found*>(a);
  const auto* const right = static_cast<const Found*>(b);
  if (left->changed_ns != right->changed_ns) return left->changed_ns > right->changed_ns ? -1 : 1;
  return strcmp(left->path, right->path);
}

struct Grepping final : Visitor {
  regex_t expression{};
  const char* glob = "";
  bool paths_only = false;
  int results = 0;

  bool visit(const char* path, const char* below, int64_t) override {
    const char* const name = strchr(glob, '/') != nullptr    ? below
                             : strrchr(path, '/') != nullptr ? strrchr(path, '/') + 1
                                                             : path;
    if (*glob != 0 && !glob_matches(glob, name)) return true;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0) return true;
    Bytes text;
    if (read_all(file, searched_bytes_max, text) && !looks_binary(text.data, text.size)) search(path, text);
    free(text.data);
    close(file);
    return results < results_max;
  }

  void search(const char* path, const Bytes& text) {
    const char* at = text.data;
    const char* const end = text.data + text.size;
    for (unsigned long number = 1; at < end && results < results_max; ++number) {
      const auto* feed = static_cast<const char*>(memchr(at, '\n', static_cast<std::size_t>(end - at)));
      if (feed == nullptr) feed = end;
      regmatch_t where = {0, static_cast<regoff_t>(feed - at)};
      if (regexec(&expression, at, 1, &where, REG_STARTEND) == 0) {
        ++results;
        if (paths_only) {
          puts(shown_as(path));
          return;
        }
        const auto bytes = static_cast<int>(feed - at < shown_bytes_max ? feed - at : shown_bytes_max);
        printf("%s:%lu:%.*s\n", shown_as(path), number, bytes, at);
      }
      at = feed + 1;
    }
  }
};

void show_entry(const char* directory, const char* name) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  struct stat there{};
  if (lstat(path, &there) != 0) return;
  char target[PATH_MAX];
  const ssize_t bytes = S_ISLNK(there.st_mode) ? readlink(path, target, sizeof target) : -1;
  if (S_ISDIR(there.st_mode)) {
    printf("%s/\n", name);
  } else if (bytes >= 0) {
    printf("%s -> %.*s\n", name, static_cast<int>(bytes), target);
  } else {
    printf("%s\t%lld\n", name, static_cast<long long>(there.st_size));
  }
}

}  // namespace

bool glob_matches(const char* pattern, const char* path) {
  int budget = 256;
  return any_alternative_matches(pattern, path, budget);
}

bool walk(const char* directory, Visitor& visitor) {
  char path[PATH_MAX];
  const int bytes = snprintf(path, sizeof path, "%s", directory);
  if (bytes <= 0 || bytes >= static_cast<int>(sizeof path)) return false;
  const auto root = static_cast<std::size_t>(bytes);
  return walk_into(path, root, path[root - 1] == '/' ? root : root + 1, 0, visitor);
}

int tool_glob(char** arguments) {
  const char* const directory = *arguments[1] == 0 ? "." : arguments[1];
  struct stat there{};
  if (stat(directory, &there) != 0) return refuse("%s: %s", directory, strerror(errno));
  Globbing globbing;
  globbing.pattern = arguments[0];
  walk(directory, globbing);
  qsort(globbing.list, globbing.count, sizeof(Found), latest_first);
  for (std::size_t i = 0; i < globbing.count && i < results_max; ++i) puts(shown_as(globbing.list[i].path));
  if (globbing.count > results_max) fprintf(stderr, "%d of %zu files are shown\n", results_max, globbing.count);
  return 0;
}

int tool_grep(char** arguments) {
  const char* const directory = *arguments[1] == 0 ? "." : arguments[1];
  const char* const glob = arguments[2] == nullptr ? "" : arguments[2];
  const char* const flags = arguments[2] == nullptr || arguments[3] == nullptr ? "" : arguments[3];
  Grepping grepping;
  const int how = REG_EXTENDED | (strchr(flags, 'i') != nullptr ? REG_ICASE : 0);
  if (const int fault = regcomp(&grepping.expression, arguments[0], how); fault != 0) {
    char why[256];
    regerror(fault, &grepping.expression, why, sizeof why);
    return refuse("'%s' is no extended regular expression: %s", arguments[0], why);
  }
  grepping.paths_only = strchr(flags, 'l') != nullptr;
  grepping.glob = glob;
  struct stat there{};
  if (stat(directory, &there) != 0) return refuse("%s: %s", directory, strerror(errno));
  if (S_ISREG(there.st_mode)) {
    grepping.visit(directory, directory, 0);
  } else {
    walk(directory, grepping);
  }
  if (grepping.results >= results_max) fprintf(stderr, "only the first %d are shown\n", results_max);
  return 0;
}

int tool_list(char** arguments) {
  const char* const directory = *arguments[0] == 0 ? "." : arguments[0];
  dirent** entries = nullptr;
  const int count = scandir(directory, &entries, nullptr, alphasort);
  if (count < 0) return refuse("%s: %s", directory, strerror(errno));
  int shown = 0;
  for (int i = 0; i < count; ++i) {
    const char* const name = entries[i]->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    if (++shown <= results_max) show_entry(directory, name);
  }
  if (shown > results_max) fprintf(stderr, "%d of %d names are shown\n", results_max, shown);
  return 0;
}

}  // namespace sluice::sandbox::box
