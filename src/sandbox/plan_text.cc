#include <array>
#include <cstring>

#include "sandbox/plan.h"

namespace sluice::sandbox {
namespace {

constexpr std::array<std::string_view, 9> kind_names = {"bind", "tmpfs", "proc", "devpts",   "directory",
                                                        "link", "file",  "mask", "read-only"};
constexpr std::array<std::string_view, 3> stage_names = {"once, for all boxes", "for each box, ahead of time",
                                                         "when it is claimed"};
constexpr std::array<std::string_view, 7> namespace_names = {"user", "mount", "pid", "network", "ipc", "uts", "cgroup"};
constexpr std::array<std::string_view, 4> flag_names = {"read-only", "nosuid", "nodev", "noexec"};

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  if (out.size() < width) out.resize(width, ' ');
  return out;
}

template <std::size_t N>
std::string names_of(uint8_t bits, const std::array<std::string_view, N>& names, std::string_view between) {
  std::string out;
  for (std::size_t i = 0; i < N; ++i) {
    if ((bits >> i & 1) == 0) continue;
    if (!out.empty()) out += between;
    out += names[i];
  }
  return out;
}

std::string line_of(const Mount& mount) {
  std::string line = "  " + padded(kind_names[static_cast<std::size_t>(mount.kind)], 10) + mount.target;
  if (mount.kind == MountKind::file) {
    line += "  " + std::to_string(mount.source.size()) + " bytes";
  } else if (!mount.source.empty() && mount.source != mount.target) {
    line += "  from " + mount.source;
  }
  const std::string flags = names_of(mount.flags, flag_names, ",");
  if (!flags.empty()) line += "  " + flags;
  if (!mount.options.empty()) line += "  " + mount.options;
  return line + "\n";
}

std::string test_of(const ArgumentTest& test) {
  constexpr std::array<std::string_view, 4> signs = {" == ", " != ", " > ", " == "};
  const auto number = [](uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return std::string(text);
  };
  std::string argument = "argument " + std::to_string(test.index);
  if (test.is == ArgumentIs::masked_equal) argument += " & " + number(test.mask);
  return argument + std::string(signs[static_cast<std::size_t>(test.is)]) + number(test.value);
}

std::string line_of(const SyscallRule& rule) {
  std::string line = "  ";
  if (rule.name.empty()) {
    line += padded("number " + std::to_string(rule.first_number) + " to " + std::to_string(rule.last_number), 20);
  } else {
    line += padded(rule.name, 20);
  }
  line += padded(rule.error == 0 ? "(pretended)" : strerrorname_np(rule.error), 14);
  for (const auto& test : rule.when) line += (&test == rule.when.data() ? "when " : " and ") + test_of(test);
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string workspace_of(const WorkspaceOverlay& overlay) {
  std::string text = "workspace\n  upper     ";
  text += overlay.upper_on_tmpfs ? "a tmpfs, at most " + std::to_string(overlay.bytes_max) + " bytes in " +
                                       std::to_string(overlay.files_max) + " files\n"
                                 : "a directory below the state directory, without bounds\n";
  for (const auto& layer : overlay.layers) text += "  layer     " + layer + "\n";
  return text;
}

}  // namespace

std::string describe(const Plan& plan) {
  std::string text = "namespaces  " + names_of(plan.namespaces, namespace_names, " ") + "\n";
  text += "user        " + std::to_string(plan.user.inside) + " inside is " + std::to_string(plan.user.outside) +
          " outside\n";
  text += "group       " + std::to_string(plan.group.inside) + " inside is " + std::to_string(plan.group.outside) +
          " outside" + (plan.groups_denied ? ", no others" : "") + "\n";
  text += "hostname    " + plan.hostname + "\n";
  text += "network     lo, on which the server answers 127.0.0.1:" + std::to_string(egress_port) +
          " and :" + std::to_string(bridge_port) + "\n";
  for (const Stage stage : {Stage::root, Stage::box, Stage::claim}) {
    std::string lines;
    for (const auto& mount : plan.mounts) {
      if (mount.stage == stage) lines += line_of(mount);
    }
    if (!lines.empty()) text += "mounts, " + std::string(stage_names[static_cast<std::size_t>(stage)]) + "\n" + lines;
  }
  text += workspace_of(plan.workspace);
  text += "limits of a process\n";
  for (const auto& limit : plan.resource_limits) {
    text += "  " + padded(limit.name, 10) + std::to_string(limit.soft);
    text += limit.hard == limit.soft ? "\n" : ", then " + std::to_string(limit.hard) + "\n";
  }
  if (!plan.group_limits.empty()) text += "limits of the box\n";
  for (const auto& limit : plan.group_limits) text += "  " + padded(limit.file, 28) + limit.value + "\n";
  text += "environment\n";
  for (const auto& [name, value] : plan.environment) text += "  " + name + "=" + value + "\n";
  text += "capabilities none; no new privileges\nsystem calls that fail\n";
  for (const auto& rule : plan.syscalls) text += line_of(rule);
  return text + "  any of another architecture ends the process\n";
}

}  // namespace sluice::sandbox
