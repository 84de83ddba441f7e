#include "sandbox/machine.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/fd.h"
#include "sandbox/control_groups.h"

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> host_entries = {"bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr"};
// What a sandbox gets of its own, whatever an image has there.
constexpr std::array<std::string_view, 9> own_entries = {"dev",    "home", "opt", "proc",     "run",
                                                         "skills", "sys",  "tmp", "workspace"};

std::string read_text(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void add_entry(const fs::path& path, std::vector<RootEntry>& into) {
  std::error_code ignored;
  const auto status = fs::symlink_status(path, ignored);
  if (fs::is_directory(status)) into.push_back({path.filename(), ""});
  if (fs::is_symlink(status)) into.push_back({path.filename(), fs::read_symlink(path, ignored)});
}

std::vector<RootEntry> root_entries(const std::string& image) {
  std::vector<RootEntry> entries;
  if (image.empty()) {
    for (const auto name : host_entries) add_entry(fs::path("/") / name, entries);
    return entries;
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(image, ignored)) {
    if (std::ranges::find(own_entries, entry.path().filename().string()) == own_entries.end()) {
      add_entry(entry.path(), entries);
    }
  }
  std::ranges::sort(entries, {}, &RootEntry::name);
  return entries;
}

std::vector<RootEntry> opt_entries(const SandboxOptions& options) {
  std::vector<RootEntry> entries;
  std::error_code ignored;
  const fs::path opt = opt_source(options);
  if (opt.empty() || !fs::is_directory(fs::symlink_status(opt, ignored))) return entries;
  for (const auto& entry : fs::directory_iterator(opt, ignored)) {
    if ("/opt" / entry.path().filename() != programs_path) add_entry(entry.path(), entries);
  }
  std::ranges::sort(entries, {}, &RootEntry::name);
  return entries;
}

std::vector<std::string> etc_entries() {
  std::vector<std::string> names;
  for (const auto name : etc_paths()) {
    if (access(("/etc/" + std::string(name)).c_str(), R_OK) == 0) names.emplace_back(name);
  }
  return names;
}

// Of the host only the last directory is bound; of an image all that is in it. Links are not followed: in the tree of
// sandboxes they would lead elsewhere.
CertificateLocation find_certificates(const std::string& image) {
  CertificateLocation place;
  std::error_code ignored;
  const fs::path whole(certificates_path);
  if (image.empty()) {
    if (fs::is_directory(whole.parent_path(), ignored)) place.directory = whole.parent_path();
  } else {
    fs::path at = "/";
    for (const fs::path& name : whole.parent_path().relative_path()) {
      at /= name;
      if (!fs::is_directory(fs::symlink_status(image + at.string(), ignored))) break;
      place.directory = at;
    }
  }
  if (place.directory.empty()) return place;
  place.is_file = fs::is_regular_file(fs::symlink_status(image + whole.string(), ignored)) &&
                  place.directory == whole.parent_path();
  if (place.is_file) return place;
  const fs::path in_the_way = *whole.lexically_relative(place.directory).begin();
  for (const auto& entry : fs::directory_iterator(image + place.directory, ignored)) {
    if (entry.path().filename() == in_the_way) continue;
    const auto status = entry.symlink_status(ignored);
    if (fs::is_directory(status) || fs::is_regular_file(status)) place.entries.push_back({entry.path().filename(), ""});
    if (fs::is_symlink(status)) {
      place.entries.push_back({entry.path().filename(), fs::read_symlink(entry.path(), ignored)});
    }
  }
  std::ranges::sort(place.entries, {}, &RootEntry::name);
  return place;
}

bool tmpfs_keeps_attributes() {
  const OwnedFd file(memfd_create("sluice-probe", MFD_CLOEXEC));
  return file && fsetxattr(file.get(), "user.sluice", "y", 1, 0) == 0;
}

// Where nothing speaks against it. That they work is seen when the zygote starts.
bool user_namespaces_are_allowed(bool is_root) {
  if (access("/proc/self/ns/user", F_OK) != 0) return false;
  if (read_text("/proc/sys/user/max_user_namespaces").starts_with("0\n")) return false;
  if (is_root) return true;
  return !read_text("/proc/sys/kernel/unprivileged_userns_clone").starts_with("0") &&
         !read_text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").starts_with("1");
}

}  // namespace

Machine probe_machine(const SandboxOptions& options) {
  Machine machine;
  machine.uid = geteuid();
  machine.gid = getegid();
  machine.is_root = machine.uid == 0;
  machine.user_namespaces = user_namespaces_are_allowed(machine.is_root);
  machine.tmpfs_xattrs = tmpfs_keeps_attributes();
  find_controllers(machine);
  machine.root = root_entries(options.root);
  machine.opt = opt_entries(options);
  machine.etc = etc_entries();
  machine.certificates = find_certificates(options.root);
  return machine;
}

std::vector<Ability> abilities_of(const Machine& machine, const Limits& limits) {
  const auto counts = [&](const char* controller) { return machine.controllers.contains(controller); };
  std::vector<Ability> list;
  list.push_back({"user namespaces", machine.user_namespaces,
                  machine.user_namespaces ? "each box has its own; root inside is not root outside"
                                          : "boxes cannot be built: allow them (sysctl user.max_user_namespaces, "
                                            "kernel.apparmor_restrict_unprivileged_userns=0) or use the oci driver"});
  list.push_back({"a user of their own", machine.is_root,
                  machine.is_root ? "what is inside belongs to another user outside"
                                  : "boxes run as the server's own user; start the server as root to separate them"});
  list.push_back({"memory limit of a box", counts("memory"),
                  counts("memory")
                      ? "kept by control groups"
                      : "kept for each process instead (RLIMIT_DATA); delegate a control group to have it"});
  list.push_back({"process limit of a box", counts("pids") || limits.processes_max > 0,
                  counts("pids") ? "kept by control groups" : "kept by RLIMIT_NPROC"});
  list.push_back({"processor share of a box", counts("cpu"),
                  counts("cpu") ? "kept by control groups" : "sandbox.cpu_percent has no effect"});
  list.push_back({"disk limit of a workspace", machine.tmpfs_xattrs,
                  machine.tmpfs_xattrs
                      ? "changes are kept in memory, within sandbox.workspace_mib"
                      : "changes go to a directory below the state directory, without bounds: needs Linux 6.6"});
  return list;
}

}  // namespace sluice::sandbox
