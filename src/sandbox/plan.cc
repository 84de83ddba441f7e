#include "sandbox/plan.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <optional>

namespace sluice::sandbox {
namespace {

constexpr uint8_t shut = flag_nosuid | flag_nodev;
constexpr std::string_view opt_path = "/opt";

constexpr std::array<std::string_view, 14> etc_as_is = {
    "alternatives", "ca-certificates.conf", "debian_version", "fonts",
    "ld.so.cache",  "ld.so.conf",           "ld.so.conf.d",   "localtime",
    "mime.types",   "os-release",           "protocols",      "services",
    "ssl/certs",    "ssl/openssl.cnf"};

constexpr std::string_view etc_passwd =
    "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
    "agent:x:1000:1000:agent:/home/agent:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
constexpr std::string_view etc_group = "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n";
constexpr std::string_view etc_hosts = "127.0.0.1 localhost sluice\n::1 localhost\n";
constexpr std::string_view etc_nsswitch =
    "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n";

constexpr std::array<std::string_view, 6> device_names = {"null", "zero", "full", "random", "urandom", "tty"};

// The kernel's insides, which have no use in a sandbox.
constexpr std::array<std::string_view, 7> proc_masks = {"/proc/kcore",      "/proc/keys",          "/proc/kallsyms",
                                                        "/proc/timer_list", "/proc/sysrq-trigger", "/proc/key-users",
                                                        "/proc/cmdline"};

// Absolute, and means what it says: no "..", no "." and no empty part.
bool is_plain(std::string_view path) {
  if (!path.starts_with('/') || path.size() < 2 || path.find('\0') != path.npos) return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(part.size());
  }
  return true;
}

bool is_below(std::string_view path, std::string_view directory) {
  return is_plain(path) && path.starts_with(directory) && path.substr(directory.size()).starts_with('/');
}

bool is_entry_of(std::string_view path, std::string_view directory) {
  return is_below(path, directory) && path.find('/', directory.size() + 1) == path.npos;
}

bool is_program(std::string_view path, const SandboxOptions& options) {
  return !options.harness_dir.empty() && is_below(path, options.harness_dir);
}

bool is_variable(std::string_view name, std::string_view value) {
  return !name.empty() && name.find('=') == name.npos && name.find('\0') == name.npos && value.find('\0') == value.npos;
}

std::string sized(int64_t bytes_max, int64_t files_max, std::string_view mode) {
  std::string options = "mode=" + std::string(mode);
  if (bytes_max > 0) options += ",size=" + std::to_string(bytes_max);
  if (files_max > 0) options += ",nr_inodes=" + std::to_string(files_max);
  return options;
}

std::optional<Error> fault_of(const SandboxOptions& options, const BoxRequest& request, const Machine& machine) {
  const auto invalid = [](std::string what) { return Error{ErrorKind::invalid, std::move(what)}; };
  for (const auto& layer : request.layers) {
    if (!is_below(layer, options.state_dir)) {
      return invalid("layer " + layer + " of box " + request.name + " is not below " + options.state_dir);
    }
  }
  for (const auto& bind : request.binds) {
    if (is_below(bind.from, options.state_dir) || is_program(bind.from, options)) continue;
    return invalid("bind " + bind.from + " of box " + request.name + " is not below " + options.state_dir +
                   (options.harness_dir.empty() ? "" : " or " + options.harness_dir));
  }
  for (const auto& bind : request.binds) {
    if (is_entry_of(bind.to, skills_path) || is_entry_of(bind.to, programs_path)) continue;
    return invalid("bind to " + bind.to + " of box " + request.name + ": must be /skills/NAME or /opt/harness/NAME");
  }
  for (const auto& [name, value] : request.environment) {
    if (!is_variable(name, value)) return invalid("'" + name + "' cannot be an environment variable");
  }
  for (const auto& path : options.extra_paths) {
    if (!is_plain(path)) return invalid("extra path '" + path + "' must be absolute, without '..' and '//'");
  }
  if (!options.harness_dir.empty() && !is_plain(options.harness_dir)) {
    return invalid("harness directory '" + options.harness_dir + "' must be absolute, without '..' and '//'");
  }
  if (options.ca_bundle_file.empty()) return std::nullopt;
  if (!is_plain(options.ca_bundle_file)) {
    return invalid("certificate bundle '" + options.ca_bundle_file + "' must be absolute, without '..' and '//'");
  }
  // Followed while the root is laid out, it would lead to the host's.
  const auto is_linked_etc = [](const RootEntry& entry) { return entry.name == "etc" && !entry.link.empty(); };
  if (std::ranges::any_of(machine.root, is_linked_etc)) {
    return invalid("/etc of image " + options.root + " is a link: certificates cannot be put there");
  }
  return std::nullopt;
}

// Gathers mounts of one stage.
class Mounts final {
 public:
  Mounts(Stage stage, std::vector<Mount>& into) : stage_(stage), into_(into) {}
  void add(MountKind kind, std::string_view target, std::string_view source = {}, uint8_t flags = 0,
           std::string options = {}) {
    into_.push_back({stage_, kind, std::string(source), std::string(target), flags, std::move(options)});
  }

 private:
  const Stage stage_;
  std::vector<Mount>& into_;
};

void plan_etc(const SandboxOptions& options, const Machine& machine, Mounts& mounts) {
  if (!options.root.empty()) return;  // an image brings its own
  mounts.add(MountKind::file, "/etc/passwd", etc_passwd);
  mounts.add(MountKind::file, "/etc/group", etc_group);
  mounts.add(MountKind::file, "/etc/hosts", etc_hosts);
  mounts.add(MountKind::file, "/etc/nsswitch.conf", etc_nsswitch);
  mounts.add(MountKind::file, "/etc/resolv.conf", "");
  for (const auto& name : machine.etc) {
    mounts.add(MountKind::bind, "/etc/" + name, "/etc/" + name, flag_read_only | shut | flag_noexec);
  }
}

void plan_opt(const SandboxOptions& options, const Machine& machine, Mounts& mounts) {
  const std::string source = opt_source(options);
  for (const auto& entry : machine.opt) {
    const std::string path = std::string(opt_path) + "/" + entry.name;
    if (entry.link.empty()) {
      mounts.add(MountKind::bind, path, source + "/" + entry.name, flag_read_only | shut);
    } else {
      mounts.add(MountKind::link, path, entry.link);
    }
  }
}

// After all else of the root, over which it lies.
void plan_certificates(const SandboxOptions& options, const CertificateLocation& place, Mounts& mounts) {
  if (options.ca_bundle_file.empty()) return;
  constexpr uint8_t flags = flag_read_only | shut | flag_noexec;
  const bool opens_directory = !place.is_file && !place.directory.empty();
  if (opens_directory) {
    mounts.add(MountKind::tmpfs, place.directory, {}, shut | flag_noexec, "mode=0755,size=1048576");
    for (const auto& entry : place.entries) {
      const std::string path = place.directory + "/" + entry.name;
      if (entry.link.empty()) {
        mounts.add(MountKind::bind, path, options.root + path, flags);
      } else {
        mounts.add(MountKind::link, path, entry.link);
      }
    }
  }
  mounts.add(MountKind::bind, certificates_path, options.ca_bundle_file, flags);
  if (opens_directory) mounts.add(MountKind::read_only, place.directory);
}

void plan_root(const SandboxOptions& options, const Machine& machine, std::vector<Mount>& into) {
  Mounts mounts(Stage::root, into);
  for (const auto& entry : machine.root) {
    if (entry.link.empty()) {
      mounts.add(MountKind::bind, "/" + entry.name, options.root + "/" + entry.name, flag_read_only | shut);
    } else {
      mounts.add(MountKind::link, "/" + entry.name, entry.link);
    }
  }
  plan_etc(options, machine, mounts);
  plan_opt(options, machine, mounts);
  for (const auto& path : options.extra_paths) {
    if (path != opt_path) mounts.add(MountKind::bind, path, path, flag_read_only | shut);
  }
  plan_certificates(options, machine.certificates, mounts);
  for (const auto name : device_names) {
    const std::string path = "/dev/" + std::string(name);
    mounts.add(MountKind::bind, path, path, flag_nosuid | flag_noexec);
  }
  mounts.add(MountKind::link, "/dev/fd", "/proc/self/fd");
  mounts.add(MountKind::link, "/dev/stdin", "/proc/self/fd/0");
  mounts.add(MountKind::link, "/dev/stdout", "/proc/self/fd/1");
  mounts.add(MountKind::link, "/dev/stderr", "/proc/self/fd/2");
  mounts.add(MountKind::link, "/dev/ptmx", "pts/ptmx");
  for (const auto path :
       {"/dev/pts", "/dev/shm", "/home/agent", "/opt/harness", "/proc", "/run", "/skills", "/tmp", "/workspace"}) {
    mounts.add(MountKind::directory, path);
  }
  const bool has_var = std::ranges::any_of(machine.root, [](const RootEntry& entry) { return entry.name == "var"; });
  if (!has_var) mounts.add(MountKind::link, "/var/tmp", "/tmp");
  mounts.add(MountKind::read_only, "/");
}

void plan_box(const SandboxOptions& options, std::vector<Mount>& into) {
  constexpr int64_t files_max = 100'000;
  const int64_t bytes_max = options.limits.tmp_bytes_max;
  Mounts mounts(Stage::box, into);
  mounts.add(MountKind::tmpfs, "/tmp", {}, shut, sized(bytes_max, files_max, "1777"));
  mounts.add(MountKind::tmpfs, home_path, {}, shut, sized(bytes_max, files_max, "0755"));
  mounts.add(MountKind::tmpfs, "/dev/shm", {}, shut | flag_noexec, sized(bytes_max, files_max, "1777"));
  mounts.add(MountKind::devpts, "/dev/pts", {}, flag_nosuid | flag_noexec,
             "newinstance,ptmxmode=0666,mode=0620,max=64");
  mounts.add(MountKind::proc, "/proc", {}, shut | flag_noexec, "hidepid=2");
  for (const auto path : proc_masks) mounts.add(MountKind::mask, path);
  mounts.add(MountKind::read_only, "/proc/sys");
}

void plan_claim(const BoxRequest& request, std::vector<Mount>& into) {
  Mounts mounts(Stage::claim, into);
  for (const auto directory : {skills_path, programs_path}) {
    const auto is_here = [&](const Bind& bind) { return is_entry_of(bind.to, directory); };
    if (std::ranges::none_of(request.binds, is_here)) continue;
    mounts.add(MountKind::tmpfs, directory, {}, shut, "mode=0755,size=65536");
    for (const auto& bind : request.binds) {
      if (is_here(bind)) mounts.add(MountKind::bind, bind.to, bind.from, flag_read_only | shut);
    }
    mounts.add(MountKind::read_only, directory);
  }
}

std::vector<ResourceLimit> plan_resources(const Limits& limits, bool memory_is_counted) {
  std::vector<ResourceLimit> list = {{"core", RLIMIT_CORE, 1, 1}};  // 0 would let a handler have it: syscall_rules.cc
  const auto add = [&](std::string_view name, int resource, int64_t most, uint64_t grace = 0) {
    if (most > 0) list.push_back({name, resource, static_cast<uint64_t>(most), static_cast<uint64_t>(most) + grace});
  };
  // The soft limit sends SIGXCPU, which says why; the hard one ends a process that ignores it.
  add("cpu", RLIMIT_CPU, limits.cpu_seconds_max, 2);
  add("nofile", RLIMIT_NOFILE, limits.open_files_max);
  add("nproc", RLIMIT_NPROC, limits.processes_max);
  add("fsize", RLIMIT_FSIZE, limits.file_bytes_max);
  // Counts what is reserved, of which a language's runtime uses half at best: at the bare limit a program that keeps
  // within it would spend its time collecting garbage.
  if (!memory_is_counted) add("data", RLIMIT_DATA, 2 * limits.memory_bytes_max);
  return list;
}

std::vector<GroupLimit> plan_groups(const Limits& limits, const Machine& machine) {
  std::vector<GroupLimit> list;
  const bool unified = machine.control_groups == ControlGroups::unified;
  const auto add = [&](std::string controller, std::string file, std::string value) {
    if (machine.controllers.contains(controller))
      list.push_back({std::move(controller), std::move(file), std::move(value)});
  };
  if (limits.memory_bytes_max > 0) {
    const std::string most = std::to_string(limits.memory_bytes_max);
    add("memory", unified ? "memory.max" : "memory.limit_in_bytes", most);
    add("memory", unified ? "memory.swap.max" : "memory.memsw.limit_in_bytes", unified ? "0" : most);
  }
  if (limits.processes_max > 0) add("pids", "pids.max", std::to_string(limits.processes_max + 1));
  if (limits.cpu_percent_max > 0) {
    const std::string quota = std::to_string(limits.cpu_percent_max * 1000);
    add("cpu", unified ? "cpu.max" : "cpu.cfs_quota_us", unified ? quota + " 100000" : quota);
  }
  return list;
}

}  // namespace

std::span<const std::string_view> etc_paths() { return etc_as_is; }

std::string opt_source(const SandboxOptions& options) {
  if (std::ranges::find(options.extra_paths, opt_path) != options.extra_paths.end()) return std::string(opt_path);
  return options.root.empty() ? "" : options.root + std::string(opt_path);
}

Result<Plan> make_plan(const SandboxOptions& options, const BoxRequest& request, const Machine& machine) {
  if (auto fault = fault_of(options, request, machine)) return *std::move(fault);
  Plan plan;
  plan.namespaces = namespace_user | namespace_mount | namespace_pid | namespace_network | namespace_ipc |
                    namespace_uts | namespace_cgroup;
  plan.user = {box_uid, machine.is_root ? options.host_uid : machine.uid};
  plan.group = {box_gid, machine.is_root ? options.host_uid : machine.gid};
  plan.groups_denied = !machine.is_root;
  plan.hostname = "sluice";
  plan_root(options, machine, plan.mounts);
  plan_box(options, plan.mounts);
  plan_claim(request, plan.mounts);
  plan.workspace = {request.layers, machine.tmpfs_xattrs, options.limits.workspace_bytes_max,
                    options.limits.workspace_files_max};
  plan.resource_limits = plan_resources(options.limits, machine.controllers.contains("memory"));
  plan.group_limits = plan_groups(options.limits, machine);
  plan.environment = {{"HOME", std::string(home_path)},
                      {"LANG", "C.UTF-8"},
                      {"LOGNAME", "agent"},
                      {"PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"},
                      {"SHELL", "/bin/bash"},
                      {"TERM", "dumb"},
                      {"TMPDIR", "/tmp"},
                      {"USER", "agent"}};
  for (const auto& [name, value] : request.environment) plan.environment[name] = value;
  plan.syscalls = syscall_rules();
  return plan;
}

}  // namespace sluice::sandbox
