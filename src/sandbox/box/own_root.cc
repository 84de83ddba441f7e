#include "sandbox/box/own_root.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace sluice::sandbox::box {
namespace {

using Way = RootMount::Way;

constexpr off_t copied_bytes_max = 4 << 20;  // of a file that is mounted alone

// A path that is put together in place.
struct Path {
  char text[PATH_MAX];
  __attribute__((format(printf, 2, 3))) explicit Path(const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
  }
};

char* read_all(const char* path) {
  const int from = open(path, O_RDONLY | O_CLOEXEC);
  if (from < 0) return nullptr;
  std::size_t room = 0;
  std::size_t used = 0;
  char* text = nullptr;
  for (ssize_t n = 1; n > 0; used += static_cast<std::size_t>(n)) {
    if (room - used < 2) {
      room = room * 2 + 16'384;
      text = static_cast<char*>(realloc(text, room));
      if (text == nullptr) abort();
    }
    n = read(from, text + used, room - used - 1);
    if (n < 0) n = 0;
  }
  close(from);
  text[used] = 0;
  return text;
}

// The kernel writes what would break a line up as "\040".
void unescape(char* text) {
  char* to = text;
  for (; *text != 0; ++to) {
    const bool is_escaped = text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' &&
                            text[3] >= '0' && text[3] <= '7';
    *to = is_escaped ? static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0') : *text;
    text += is_escaped ? 4 : 1;
  }
  *to = 0;
}

unsigned long flags_of(const char* path) {
  struct statvfs there{};
  if (statvfs(path, &there) != 0) return 0;
  return ((there.f_flag & ST_RDONLY) != 0 ? MS_RDONLY : 0ul) | ((there.f_flag & ST_NOSUID) != 0 ? MS_NOSUID : 0ul) |
         ((there.f_flag & ST_NODEV) != 0 ? MS_NODEV : 0ul) | ((there.f_flag & ST_NOEXEC) != 0 ? MS_NOEXEC : 0ul);
}

// Once each, although what was made read-only is mounted twice in one place.
void add_mount(OwnRoot& root, const char* path) {
  for (std::size_t i = 0; i < root.count; ++i) {
    if (strcmp(root.mounts[i].path, path) == 0) return;
  }
  root.mounts = static_cast<RootMount*>(realloc(root.mounts, (root.count + 1) * sizeof(RootMount)));
  if (root.mounts == nullptr) abort();
  root.mounts[root.count++] = {strdup(path), 0, Way::bind};
}

int by_depth(const void* one, const void* other) {
  const std::size_t lengths[2] = {strlen(static_cast<const RootMount*>(one)->path),
                                  strlen(static_cast<const RootMount*>(other)->path)};
  return lengths[0] < lengths[1] ? -1 : lengths[0] > lengths[1] ? 1 : 0;
}

// Calls `report` with what follows `tree` in the path of each mount that is there or below it. False: that is not
// known.
template <typename Report>
bool each_mount_below(const char* tree, Report report) {
  char* const table = read_all("/proc/self/mountinfo");
  if (table == nullptr) return false;
  const std::size_t length = strlen(tree);
  char* rest = nullptr;
  for (char* line = strtok_r(table, "\n", &rest); line != nullptr; line = strtok_r(nullptr, "\n", &rest)) {
    char* word = line;  // "36 35 98:0 /mnt1 /mnt2 …": the fifth is where it is mounted
    for (int i = 0; i < 4 && word != nullptr; ++i)
      word = strchr(word, ' ') == nullptr ? nullptr : strchr(word, ' ') + 1;
    if (word == nullptr) continue;
    if (char* const end = strchr(word, ' ')) *end = 0;
    unescape(word);
    if (strncmp(word, tree, length) != 0) continue;
    if (word[length] == 0 || word[length] == '/') report(word + length);
  }
  free(table);
  return true;
}

bool find_mounts(OwnRoot& root, Trouble& trouble) {
  if (!each_mount_below(root.tree, [&](const char* path) { add_mount(root, path); })) {
    return trouble.say("read /proc/self/mountinfo");
  }
  qsort(root.mounts, root.count, sizeof(RootMount), by_depth);  // what is in another one comes after it
  if (root.count > 0 && root.mounts[0].path[0] == 0) return true;
  errno = ENOENT;
  return trouble.say("find what is mounted at %s", root.tree);
}

bool copy_file(const char* from_path, const struct stat& from_stat, const char* to_path) {
  const int from = open(from_path, O_RDONLY | O_CLOEXEC);
  const int to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  off_t left = from_stat.st_size;
  while (from >= 0 && to >= 0 && left > 0) {
    const ssize_t n = sendfile(to, from, nullptr, static_cast<std::size_t>(left));
    if (n <= 0) break;
    left -= n;
  }
  const bool is_done = from >= 0 && to >= 0 && left == 0 && fchown(to, from_stat.st_uid, from_stat.st_gid) == 0 &&
                       fchmod(to, from_stat.st_mode & 0777) == 0;
  if (from >= 0) close(from);
  if (to >= 0) close(to);
  return is_done;
}

// Only root can make devices.
bool copy_alone(const char* from, const char* to) {
  struct stat there{};
  if (stat(from, &there) != 0) return false;
  if (S_ISREG(there.st_mode)) return there.st_size <= copied_bytes_max && copy_file(from, there, to);
  if (!S_ISCHR(there.st_mode)) return false;
  return mknod(to, there.st_mode, there.st_rdev) == 0 && chmod(to, there.st_mode & 0777) == 0;
}

// Without a copy of what is a device, where only root can make one, nothing is said: that is so on every such machine.
void remember_shared(OwnRoot& root, const char* path) {
  struct stat there{};
  const bool is_device = stat(Path("%s%s", root.tree, path).text, &there) == 0 && S_ISCHR(there.st_mode);
  if (is_device && root.is_mapped) return;
  const std::size_t used = strlen(root.shared);
  snprintf(root.shared + used, sizeof root.shared - used, "%s%s", used == 0 ? "" : ", ", *path == 0 ? "/" : path);
}

bool make_work(const OwnRoot& root, Trouble& trouble) {
  for (const char* name : {"", "/root", "/empty", "/spare", "/copies", "/seen"}) {
    const Path path("%s%s", root.work, name);
    if (mkdir(path.text, 0755) != 0 && errno != EEXIST) return trouble.say("make %s", path.text);
  }
  // Bound as it is now: where the owners of the server's files are exchanged later on, not even root would be let in.
  if (*root.spare != 0) mount(root.spare, Path("%s/spare", root.work).text, nullptr, MS_BIND, nullptr);
  const Path copies("%s/copies", root.work);
  return mount("tmpfs", copies.text, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64m") == 0 ||
         trouble.say("mount a tmpfs at %s", copies.text);
}

// The second layer. Where it is of the same file system, a file and its directory have the same device number.
Path empty_for(const OwnRoot& root, const char* lower) {
  const Path spare("%s/spare", root.work);
  struct stat one{};
  struct stat other{};
  const bool is_same = stat(lower, &one) == 0 && stat(spare.text, &other) == 0 && one.st_dev == other.st_dev;
  return Path("%s/%s", root.work, is_same ? "spare" : "empty");
}

bool restrict(const char* path, unsigned long flags) {
  mount_attr wanted{};
  wanted.attr_set =
      ((flags & MS_RDONLY) != 0 ? MOUNT_ATTR_RDONLY : 0u) | ((flags & MS_NOSUID) != 0 ? MOUNT_ATTR_NOSUID : 0u) |
      ((flags & MS_NODEV) != 0 ? MOUNT_ATTR_NODEV : 0u) | ((flags & MS_NOEXEC) != 0 ? MOUNT_ATTR_NOEXEC : 0u);
  return syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &wanted, sizeof wanted) == 0;
}

bool lay(const OwnRoot& root, std::size_t index) {
  const RootMount& at = root.mounts[index];
  const Path from("%s%s", root.tree, at.path);
  const Path to("%s/root%s", root.work, at.path);
  switch (at.way) {
    case Way::overlay:
      return lay_read_only(from.text, empty_for(root, from.text).text, to.text, at.flags, root.is_mapped);
    case Way::copy:
      return mount(Path("%s/seen/%zu", root.work, index).text, to.text, nullptr, MS_BIND, nullptr) ==
             0 && restrict(to.text, at.flags);
    case Way::bind: return mount(from.text, to.text, nullptr, MS_BIND | MS_REC, nullptr) == 0;
  }
  return false;
}

bool lay_copies(const OwnRoot& root) {
  return lay_read_only(Path("%s/copies", root.work).text, Path("%s/empty", root.work).text,
                       Path("%s/seen", root.work).text, MS_NOSUID | MS_NOEXEC, root.is_mapped);
}

// What can be written to is this sandbox's own already.
void choose_ways(OwnRoot& root) {
  for (std::size_t i = 0; i < root.count; ++i) {
    RootMount& at = root.mounts[i];
    const Path from("%s%s", root.tree, at.path);
    struct stat there{};
    if (stat(from.text, &there) != 0) continue;
    at.flags = flags_of(from.text);
    if (S_ISDIR(there.st_mode)) {
      if ((at.flags & MS_RDONLY) != 0) at.way = Way::overlay;
    } else if (copy_alone(from.text, Path("%s/copies/%zu", root.work, i).text)) {
      at.way = Way::copy;
    } else {
      remember_shared(root, at.path);
    }
  }
}

}  // namespace

bool has_mounts_below(const char* path) {
  bool has_one = false;
  const bool is_known = each_mount_below(path, [&](const char* below) { has_one = has_one || *below == '/'; });
  return has_one || !is_known;
}

bool lay_read_only(const char* lower, const char* empty, const char* target, unsigned long flags, bool is_mapped) {
  char options[2 * PATH_MAX];
  char* to = options + snprintf(options, sizeof options, "%slowerdir=", is_mapped ? "userxattr," : "");
  // What would break up the options.
  for (const char* from = lower; *from != 0 && to < options + PATH_MAX; ++from) {
    if (*from == ':' || *from == ',' || *from == '\\') *to++ = '\\';
    *to++ = *from;
  }
  snprintf(to, static_cast<std::size_t>(options + sizeof options - to), ":%s", empty);
  if (strlen(options) >= 4096) {  // what mount(2) takes: a page
    errno = ENAMETOOLONG;
    return false;
  }
  return mount("overlay", target, "overlay", flags | MS_RDONLY, options) == 0;
}

bool prepare_own_root(OwnRoot& root, Trouble& trouble) {
  if (!find_mounts(root, trouble) || !make_work(root, trouble)) return false;
  choose_ways(root);
  if (!lay_copies(root)) return trouble.say("mount an overlay of files");
  for (std::size_t i = 0; i < root.count; ++i) {
    if (lay(root, i)) continue;
    // Without one of the top, nothing that is made in it would be the sandbox's own.
    if (i == 0) return trouble.say("mount an overlay of the root");
    remember_shared(root, root.mounts[i].path);
    root.mounts[i].way = Way::bind;
    if (!lay(root, i)) return trouble.say("bind %s", root.mounts[i].path);
  }
  umount2(Path("%s/root", root.work).text, MNT_DETACH);
  umount2(Path("%s/seen", root.work).text, MNT_DETACH);
  return true;
}

bool lay_own_root(const OwnRoot& root, Trouble& trouble) {
  if (!lay_copies(root)) return trouble.say("mount an overlay of files");
  for (std::size_t i = 0; i < root.count; ++i) {
    if (!lay(root, i)) return trouble.say("lay out %s/ anew", root.mounts[i].path);
  }
  return mount(Path("%s/root", root.work).text, root.tree, nullptr, MS_MOVE, nullptr) == 0 ||
         trouble.say("put the sandbox's own root into its place");
}

}  // namespace sluice::sandbox::box
