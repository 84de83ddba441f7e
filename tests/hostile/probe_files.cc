// Attacks on the host's files, and on the root that the sandbox sees.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>

#include "tests/hostile/probe.h"

namespace sluice::hostile {
namespace {

constexpr const char* up = "../../../../../../../../../..";
std::string climb_to(const std::string& path) { return up + path; }

Verdict host_file_by_path(const Facts& facts) {
  return worst({opens(facts["secret_file"], O_RDONLY), opens(facts["secret_file"], O_PATH)});
}

Verdict host_file_by_proc_root(const Facts& facts) {
  const std::string& file = facts["secret_file"];
  return worst({opens("/proc/1/root" + file, O_RDONLY), opens("/proc/self/root" + file, O_RDONLY),
                opens("/proc/self/root/.." + file, O_RDONLY), opens("/proc/1/cwd/" + climb_to(file), O_RDONLY)});
}

Verdict host_file_by_dotdot(const Facts& facts) {
  const std::string& file = facts["secret_file"];
  Verdict sum = worst({opens("/proc/self/cwd/" + climb_to(file), O_RDONLY), opens(climb_to(file), O_RDONLY)});
  for (const char* place : {"/tmp", "/dev", "/proc", "/workspace"}) {
    if (chdir(place) == 0) add(sum, opens(climb_to(file), O_RDONLY));
  }
  return sum;
}

Verdict host_password_hashes(const Facts&) {
  Verdict sum = worst(
      {opens("/etc/shadow", O_RDONLY), opens("/etc/gshadow", O_RDONLY), opens("/etc/ssh/ssh_host_rsa_key", O_RDONLY)});
  for (const char* place : {"/root", "/home", "/var/lib", "/boot", "/mnt", "/srv"}) {
    DIR* directory = opendir(place);
    if (directory == nullptr) {
      add(sum, judge(place, -1));
      continue;
    }
    std::string seen;
    while (const dirent* entry = readdir(directory)) {
      const std::string_view name = entry->d_name;
      if (name[0] != '.' && name != "agent") seen += " " + std::string(name);
    }
    closedir(directory);
    add(sum, seen.empty() ? resisted(std::string(place) + ": empty") : escaped(std::string(place) + " shows" + seen));
  }
  return sum;
}

Verdict inherited_descriptors(const Facts&) {
  Verdict sum = resisted("only 0, 1, 2");
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return broken("no /proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    const int fd = atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == dirfd(directory)) continue;
    struct stat status = {};
    if (fstat(fd, &status) != 0) continue;
    std::array<char, 300> target{};
    [[maybe_unused]] const ssize_t n = readlinkat(dirfd(directory), entry->d_name, target.data(), target.size() - 1);
    const std::string what = std::string(entry->d_name) + " -> " + target.data();
    const bool is_socket = S_ISSOCK(status.st_mode);
    const bool is_directory = S_ISDIR(status.st_mode);
    // The probe's own pipe to the process that watches it is the one above 2 that may be there.
    const bool is_own = S_ISFIFO(status.st_mode) && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
    if (is_socket || is_directory || (fd > 2 && !is_own)) add(sum, escaped(what));
  }
  closedir(directory);
  return sum;
}

Verdict other_workspaces(const Facts& facts) {
  return worst({opens(facts["other_workspace"], O_RDONLY),
                opens("/workspace/" + climb_to(facts["other_workspace"]), O_RDONLY),
                opens("/proc/1/root" + facts["other_workspace"], O_RDONLY)});
}

Verdict data_directory(const Facts& facts) {
  return worst({opens(facts["data_dir"], O_RDONLY), opens(facts["data_dir"], O_PATH),
                opens("/proc/1/root" + facts["data_dir"], O_RDONLY)});
}

Verdict symlink_to_host(const Facts& facts) {
  Verdict sum;
  const std::string& file = facts["secret_file"];
  for (const std::string& target : {file, "/proc/1/root" + file, climb_to(file)}) {
    const std::string link = "/workspace/.probe-link";
    unlink(link.c_str());
    if (symlink(target.c_str(), link.c_str()) != 0) return broken("symlink");
    add(sum, opens(link, O_RDONLY));
    add(sum, opens(link, O_WRONLY));
    unlink(link.c_str());
  }
  return sum;
}

Verdict hardlink_to_root(const Facts&) {
  const char* link_path = "/workspace/.probe-hard";
  Verdict sum = judge("link /etc/passwd", link("/etc/passwd", link_path), {EXDEV});
  const int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  add(sum,
      judge("linkat /proc/self/fd",
            linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), AT_FDCWD, link_path, AT_SYMLINK_FOLLOW),
            {EXDEV}));
  add(sum, judge("linkat of a descriptor", linkat(fd, "", AT_FDCWD, link_path, AT_EMPTY_PATH), {EXDEV}));
  close(fd);
  return sum;
}

Verdict write_root(const Facts& facts) {
  Verdict sum;
  for (const std::string& place :
       {std::string("/"), std::string("/usr"), std::string("/usr/bin"), std::string("/etc"), std::string("/bin"),
        std::string("/lib"), std::string("/dev"), std::string("/dev/pts"), std::string("/proc"), facts["bound"]}) {
    const std::string file = place + "/.probe-file";
    const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    add(sum, judge(place, fd));
    if (fd >= 0) close(fd);
    add(sum, judge("mkdir in " + place, mkdir((place + "/.probe-dir").c_str(), 0755)));
  }
  for (const char* file : {"/etc/passwd", "/etc/ld.so.preload", "/usr/bin/env"}) add(sum, opens(file, O_WRONLY));
  add(sum, judge("rename /usr", rename("/usr", "/rsu"), {EBUSY}));
  return sum;
}

Verdict chmod_root(const Facts&) {
  return worst({judge("chmod /usr", chmod("/usr", 0777)), judge("chown /usr", chown("/usr", getuid(), getgid())),
                judge("utimes /usr", utimensat(AT_FDCWD, "/usr", nullptr, 0)), judge("chmod /", chmod("/", 0777))});
}

// From inside, a forged mark must be an ordinary attribute: the directory stays as it was.
Verdict overlay_xattrs(const Facts&) {
  const char* directory = "/workspace/.probe-overlay";
  mkdir(directory, 0755);
  Verdict sum = judge("trusted.overlay.opaque", setxattr(directory, "trusted.overlay.opaque", "y", 1, 0));
  add(sum, judge("trusted.overlay.redirect", setxattr(directory, "trusted.overlay.redirect", "/etc", 4, 0)));
  for (const char* name : {"user.overlay.opaque", "user.overlay.redirect"}) setxattr(directory, name, "/etc", 4, 0);
  DIR* open_directory = opendir(directory);
  int entries = 0;
  while (open_directory != nullptr && readdir(open_directory) != nullptr) ++entries;
  if (open_directory != nullptr) closedir(open_directory);
  add(sum, entries == 2 ? resisted("redirect shows nothing") : escaped("redirect shows /etc"));
  const std::string whiteout = std::string(directory) + "/whiteout";
  add(sum, judge("whiteout", mknod(whiteout.c_str(), S_IFCHR | 0600, makedev(0, 0))));
  rmdir(directory);
  return sum;
}

Verdict file_capabilities(const Facts&) {
  const char* file = "/workspace/.probe-caps";
  close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
  // Revision 2: cap_sys_admin and all others, permitted and effective.
  const std::array<unsigned, 5> capabilities = {0x02000001, 0xffffffff, 0, 0x1ff, 0};
  const Verdict verdict =
      judge("security.capability", setxattr(file, "security.capability", capabilities.data(), sizeof capabilities, 0));
  unlink(file);
  return verdict;
}

constexpr std::array probes = {
    Probe{"host_file_by_path", host_file_by_path},
    Probe{"host_file_by_proc_root", host_file_by_proc_root},
    Probe{"host_file_by_dotdot", host_file_by_dotdot},
    Probe{"host_password_hashes", host_password_hashes},
    Probe{"inherited_descriptors", inherited_descriptors},
    Probe{"other_workspaces", other_workspaces},
    Probe{"data_directory", data_directory},
    Probe{"symlink_to_host", symlink_to_host},
    Probe{"hardlink_to_root", hardlink_to_root},
    Probe{"write_root", write_root},
    Probe{"chmod_root", chmod_root},
    Probe{"overlay_xattrs", overlay_xattrs},
    Probe{"file_capabilities", file_capabilities},
};

}  // namespace

std::span<const Probe> file_probes() { return probes; }

}  // namespace sluice::hostile
