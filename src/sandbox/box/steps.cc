#include "sandbox/box/steps.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "sandbox/box/own_root.h"

namespace sluice::sandbox::box {
namespace {

struct Step {
  Act act{};
  uint64_t flags = 0;
  const char* source = "";
  std::size_t source_bytes = 0;
  const char* options = "";
  char target[PATH_MAX] = "";
};

unsigned long mount_flags(uint64_t flags) {
  return ((flags & act_read_only) != 0 ? MS_RDONLY : 0ul) | ((flags & act_nosuid) != 0 ? MS_NOSUID : 0ul) |
         ((flags & act_nodev) != 0 ? MS_NODEV : 0ul) | ((flags & act_noexec) != 0 ? MS_NOEXEC : 0ul);
}

// Only adds: what the host forbids on a mount stays forbidden, which a remount would have to repeat.
bool restrict(const char* path, uint64_t flags, unsigned how) {
  mount_attr wanted{};
  wanted.attr_set =
      ((flags & act_read_only) != 0 ? MOUNT_ATTR_RDONLY : 0u) | ((flags & act_nosuid) != 0 ? MOUNT_ATTR_NOSUID : 0u) |
      ((flags & act_nodev) != 0 ? MOUNT_ATTR_NODEV : 0u) | ((flags & act_noexec) != 0 ? MOUNT_ATTR_NOEXEC : 0u);
  return syscall(SYS_mount_setattr, AT_FDCWD, path, how, &wanted, sizeof wanted) == 0;
}

bool make_parents(char* path) {
  char* const slash = strrchr(path, '/');
  if (slash == nullptr || slash == path) return true;
  *slash = 0;
  const bool made = make_directories(path);
  *slash = '/';
  return made;
}

bool touch(char* path) {
  struct stat there{};
  if (lstat(path, &there) == 0) return true;
  return make_parents(path) && write_file(path, "", 0);
}

// An overlay shows nothing of what is mounted below its layers.
bool may_be_overlay(const Site& site, const char* source) {
  return site.empty != nullptr && (site.is_mapped || !has_mounts_below(source));
}

bool bind(Step& step, const Site& site) {
  struct stat source{};
  if (stat(step.source, &source) != 0) return false;
  if (!(S_ISDIR(source.st_mode) ? make_directories(step.target) : touch(step.target))) return false;
  // In the sandbox's own user namespace. Where the kernel makes none, as before Linux 5.11, the workspace's fails too.
  if (S_ISDIR(source.st_mode) && may_be_overlay(site, step.source) &&
      lay_read_only(step.source, site.empty, step.target, mount_flags(step.flags), site.is_mapped)) {
    return true;
  }
  return mount(step.source, step.target, nullptr, MS_BIND | MS_REC, nullptr) ==
         0 && restrict(step.target, step.flags, AT_RECURSIVE);
}

bool mask(const Step& step, const char* tree) {
  char null[PATH_MAX];
  snprintf(null, sizeof null, "%s/dev/null", tree);
  return mount(null, step.target, nullptr, MS_BIND, nullptr) == 0 || errno == ENOENT;
}

bool read_only(const Step& step) {
  const bool is_root = step.target[strlen(step.target) - 1] == '/';
  if (!is_root && mount(step.target, step.target, nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
  return restrict(step.target, act_read_only, is_root ? 0 : AT_RECURSIVE);
}

bool file(Step& step, const char* drawer, unsigned number) {
  if (drawer == nullptr) return make_parents(step.target) && write_file(step.target, step.source, step.source_bytes);
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/file-%u", drawer, number);
  return write_file(path, step.source, step.source_bytes) &&
         mount(path, step.target, nullptr, MS_BIND, nullptr) == 0 && restrict(step.target, act_read_only, 0);
}

bool take(Step& step, const Site& site, unsigned number) {
  const unsigned long flags = mount_flags(step.flags);
  switch (step.act) {
    case Act::bind: return bind(step, site);
    case Act::tmpfs: return mount("tmpfs", step.target, "tmpfs", flags, step.options) == 0;
    case Act::proc: return mount("proc", step.target, "proc", flags, step.options) == 0;
    case Act::devpts: return mount("devpts", step.target, "devpts", flags, step.options) == 0;
    case Act::directory: return make_directories(step.target);
    case Act::link: return make_parents(step.target) && symlink(step.source, step.target) == 0;
    case Act::file: return file(step, site.drawer, number);
    case Act::mask: return mask(step, site.tree);
    case Act::read_only: return read_only(step);
  }
  errno = EINVAL;
  return false;
}

const char* word_for(Act act) {
  switch (act) {
    case Act::bind: return "bind";
    case Act::tmpfs: return "mount a tmpfs at";
    case Act::proc: return "mount proc at";
    case Act::devpts: return "mount devpts at";
    case Act::directory: return "make directory";
    case Act::link: return "make link";
    case Act::file: return "write";
    case Act::mask: return "mask";
    case Act::read_only: return "make read-only";
  }
  return "do something unknown to";
}

}  // namespace

bool make_directories(char* path) {
  if (mkdir(path, 0755) == 0 || errno == EEXIST) return true;
  if (errno != ENOENT || !make_parents(path)) return false;
  return mkdir(path, 0755) == 0 || errno == EEXIST;
}

bool write_file(const char* path, const char* text, std::size_t bytes) {
  const int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (to < 0) return false;
  const bool put = write(to, text, bytes) == static_cast<ssize_t>(bytes);
  close(to);
  return put;
}

bool take_steps(Reader& steps, const Site& site, Trouble& trouble) {
  const uint64_t count = steps.number();
  for (uint64_t i = 0; i < count; ++i) {
    Step step;
    step.act = static_cast<Act>(steps.number());
    step.flags = steps.number();
    step.source = steps.text(&step.source_bytes);
    snprintf(step.target, sizeof step.target, "%s%s", site.tree, steps.text());
    step.options = steps.text();
    if (!take(step, site, static_cast<unsigned>(i))) {
      return trouble.say("%s %s", word_for(step.act), step.target + strlen(site.tree));
    }
  }
  return true;
}

}  // namespace sluice::sandbox::box
