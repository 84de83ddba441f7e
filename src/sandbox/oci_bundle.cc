#include "sandbox/oci_bundle.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "sandbox/packet_socket.h"

namespace sluice::sandbox {
namespace {

constexpr std::string_view program_inside = "/sluice-box";

bool is_dev(const Mount& mount) { return mount.target.starts_with("/dev/"); }

// /proc is the runtime's, and so is /dev: it knows how to fill it without the right to make devices.
bool is_left_to_runtime(const Mount& mount) {
  return is_dev(mount) || mount.kind == MountKind::proc || mount.kind == MountKind::devpts ||
         mount.kind == MountKind::mask || mount.target == "/" || mount.target.starts_with("/proc/");
}

std::vector<Mount> steps_of(const Plan& plan) {
  std::vector<Mount> steps = {{.kind = MountKind::directory, .target = "/dev"}};
  for (Mount mount : plan.mounts) {
    if (is_left_to_runtime(mount)) continue;
    // Mounted by a root that the sandbox's user is not.
    if (mount.kind == MountKind::tmpfs && mount.target == home_path) {
      mount.options += ",uid=" + std::to_string(plan.user.outside) + ",gid=" + std::to_string(plan.group.outside);
    }
    steps.push_back(std::move(mount));
  }
  return steps;
}

std::string room_of(const WorkspaceOverlay& overlay) {
  std::string options = "mode=0755";
  if (overlay.bytes_max > 0) options += ",size=" + std::to_string(overlay.bytes_max);
  if (overlay.files_max > 0) options += ",nr_inodes=" + std::to_string(overlay.files_max);
  return options;
}

// A name that has one of these in it would break up the options of the mount.
std::string lower_of(const WorkspaceOverlay& overlay) {
  std::string lower;
  for (const std::string& layer : overlay.layers) {
    if (!lower.empty()) lower += ':';
    for (const char c : layer) {
      if (c == ':' || c == ',' || c == '\\') lower += '\\';
      lower += c;
    }
  }
  return lower;
}

// ── config.json ──

void write_strings(json::Writer& to, std::string_view key, const std::vector<std::string>& values) {
  to.key(key).begin_array();
  for (const std::string& value : values) to.string(value);
  to.end_array();
}

std::vector<std::string> options_of(const Mount& mount) {
  std::vector<std::string> options;
  if ((mount.flags & flag_nosuid) != 0) options.emplace_back("nosuid");
  if ((mount.flags & flag_nodev) != 0) options.emplace_back("nodev");
  if ((mount.flags & flag_noexec) != 0) options.emplace_back("noexec");
  for (std::string_view rest = mount.options; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    options.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return options;
}

void write_mount(json::Writer& to, std::string_view type, std::string_view target,
                 const std::vector<std::string>& options) {
  to.begin_object().key("destination").string(target).key("type").string(type).key("source").string(type);
  write_strings(to, "options", options);
  to.end_object();
}

void write_mounts(json::Writer& to, const Plan& plan) {
  to.key("mounts").begin_array();
  write_mount(to, "tmpfs", "/dev", {"nosuid", "noexec", "mode=0755", "size=65536"});
  for (const Mount& mount : plan.mounts) {
    if (!is_left_to_runtime(mount)) continue;
    if (mount.kind == MountKind::tmpfs) write_mount(to, "tmpfs", mount.target, options_of(mount));
    if (mount.kind == MountKind::proc) write_mount(to, "proc", mount.target, options_of(mount));
    if (mount.kind == MountKind::devpts) write_mount(to, "devpts", mount.target, options_of(mount));
  }
  to.end_array();
}

void write_process(json::Writer& to, const Plan& plan) {
  to.key("process").begin_object().key("terminal").boolean(false);
  to.key("user").begin_object().key("uid").integer(plan.user.inside).key("gid").integer(plan.group.inside).end_object();
  write_strings(to, "args", {std::string(program_inside), "guest"});
  write_strings(to, "env", {});
  to.key("cwd").string("/");
  to.key("capabilities").begin_object();
  for (const char* set : {"bounding", "effective", "inheritable", "permitted", "ambient"}) write_strings(to, set, {});
  to.end_object();
  to.key("rlimits").begin_array();
  for (const ResourceLimit& limit : plan.resource_limits) {
    std::string name = "RLIMIT_" + std::string(limit.name);
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    to.begin_object().key("type").string(name);
    to.key("soft").integer(static_cast<int64_t>(limit.soft)).key("hard").integer(static_cast<int64_t>(limit.hard));
    to.end_object();
  }
  to.end_array().key("noNewPrivileges").boolean(true).end_object();
}

void write_id_map(json::Writer& to, std::string_view key, const IdMap& user) {
  // A runtime must be the root of its sandbox for a moment; no process becomes it later.
  to.key(key).begin_array();
  to.begin_object()
      .key("containerID")
      .integer(0)
      .key("hostID")
      .integer(int64_t{user.outside} + 1)
      .key("size")
      .integer(1);
  to.end_object().begin_object().key("containerID").integer(user.inside).key("hostID").integer(user.outside);
  to.key("size").integer(1).end_object().end_array();
}

void write_namespaces(json::Writer& to, const Plan& plan) {
  constexpr std::array<std::string_view, 7> names = {"user", "mount", "pid", "network", "ipc", "uts", "cgroup"};
  to.key("namespaces").begin_array();
  for (size_t bit = 0; bit < names.size(); ++bit) {
    if ((plan.namespaces >> bit & 1) != 0) to.begin_object().key("type").string(names[bit]).end_object();
  }
  to.end_array();
  write_id_map(to, "uidMappings", plan.user);
  write_id_map(to, "gidMappings", plan.group);
}

void write_resources(json::Writer& to, const Plan& plan) {
  to.key("resources").begin_object();
  to.key("devices").begin_array().begin_object().key("allow").boolean(false).key("access").string("rwm").end_object();
  to.end_array();
  for (const GroupLimit& limit : plan.group_limits) {
    if (limit.file == "memory.max" || limit.file == "memory.limit_in_bytes") {
      to.key("memory").begin_object().key("limit").raw(limit.value).key("swap").raw(limit.value).end_object();
    } else if (limit.file == "pids.max") {
      to.key("pids").begin_object().key("limit").raw(limit.value).end_object();
    } else if (limit.controller == "cpu") {
      const std::string quota = limit.value.substr(0, limit.value.find(' '));
      to.key("cpu").begin_object().key("quota").raw(quota).key("period").integer(100'000).end_object();
    }
  }
  to.end_object();
}

void write_test(json::Writer& to, const ArgumentTest& test) {
  constexpr std::array<std::string_view, 4> signs = {"SCMP_CMP_EQ", "SCMP_CMP_NE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ"};
  const bool is_masked = test.is == ArgumentIs::masked_equal;
  to.begin_object().key("index").integer(test.index);
  to.key("value").raw(std::to_string(is_masked ? test.mask : test.value));
  if (is_masked) to.key("valueTwo").raw(std::to_string(test.value));
  to.key("op").string(signs[static_cast<size_t>(test.is)]).end_object();
}

void write_seccomp(json::Writer& to, const Plan& plan) {
  to.key("seccomp").begin_object().key("defaultAction").string("SCMP_ACT_ALLOW");
  write_strings(to, "architectures", {"SCMP_ARCH_X86_64"});  // alone: any other ends the process
  to.key("syscalls").begin_array();
  for (const SyscallRule& rule : plan.syscalls) {
    if (rule.name.empty()) continue;  // a runtime knows calls by name only
    to.begin_object();
    write_strings(to, "names", {std::string(rule.name)});
    to.key("action").string("SCMP_ACT_ERRNO").key("errnoRet").integer(rule.error);
    if (!rule.when.empty()) {
      to.key("args").begin_array();
      for (const ArgumentTest& test : rule.when) write_test(to, test);
      to.end_array();
    }
    to.end_object();
  }
  to.end_array().end_object();
}

void write_paths(json::Writer& to, const Plan& plan, std::string_view key, MountKind kind) {
  std::vector<std::string> paths;
  for (const Mount& mount : plan.mounts) {
    if (mount.kind == kind && mount.target.starts_with("/proc/")) paths.push_back(mount.target);
  }
  write_strings(to, key, paths);
}

std::string config_of(const Plan& plan, const OciLayout& place) {
  std::string text;
  json::Writer to(text);
  to.begin_object().key("ociVersion").string("1.0.2");
  to.key("root").begin_object().key("path").string(place.stage + "/root").key("readonly").boolean(true).end_object();
  to.key("hostname").string(plan.hostname);
  write_process(to, plan);
  write_mounts(to, plan);
  to.key("linux").begin_object();
  write_namespaces(to, plan);
  if (!place.cgroups_path.empty()) {
    to.key("cgroupsPath").string(place.cgroups_path);
    write_resources(to, plan);
  }
  write_seccomp(to, plan);
  write_paths(to, plan, "maskedPaths", MountKind::mask);
  write_paths(to, plan, "readonlyPaths", MountKind::read_only);
  to.end_object().end_object();
  return text;
}

}  // namespace

OciBundle make_bundle(const Plan& plan, const OciLayout& place) { return {steps_of(plan), config_of(plan, place)}; }

std::string launch_order(const Plan& plan, const OciLayout& place, const std::vector<std::string>& hides,
                         const std::vector<std::string>& command) {
  const OciBundle bundle = make_bundle(plan, place);
  Payload order;
  order.number(hides.size());
  for (const std::string& path : hides) order.text(path);
  order.text(place.stage).number(bundle.steps.size());
  for (const Mount& step : bundle.steps) {
    order.number(static_cast<uint64_t>(step.kind)).number(step.flags);
    order.text(step.source).text(step.target).text(step.options);
  }
  // Attributes of the user's kind, as the other driver's overlays have them, if a tmpfs keeps those.
  order.text(room_of(plan.workspace)).text(plan.workspace.upper_on_tmpfs ? "userxattr," : "");
  order.number(plan.user.outside).text(lower_of(plan.workspace)).text(bundle.config);
  order.number(command.size());
  for (const std::string& word : command) order.text(word);
  return order.take();
}

}  // namespace sluice::sandbox
