#include "sandbox/orders.h"

#include <sched.h>

#include <algorithm>

#include "sandbox/packet_socket.h"

namespace sluice::sandbox {
namespace {

static_assert(static_cast<int>(MountKind::read_only) == static_cast<int>(box::Act::read_only));
static_assert(flag_read_only == box::act_read_only && flag_nosuid == box::act_nosuid);
static_assert(egress_port == box::egress_port && bridge_port == box::bridge_port);
static_assert(flag_nodev == box::act_nodev && flag_noexec == box::act_noexec);

// What an init that is being claimed sees of the host.
struct Sources {
  std::string_view state_dir;
  std::string_view harness_dir;
};

std::string place_of(std::string_view path, const Sources& sources) {
  const std::string_view rest = path.substr(std::min(path.size(), sources.state_dir.size()));
  if (path.starts_with(sources.state_dir) && rest.starts_with('/')) return "state" + std::string(rest);
  return "harness" + std::string(path.substr(sources.harness_dir.size()));
}

void put_steps(const Plan& plan, Stage stage, const Sources& sources, Payload& payload) {
  const auto is_of_stage = [&](const Mount& mount) { return mount.stage == stage; };
  payload.number(static_cast<uint64_t>(std::ranges::count_if(plan.mounts, is_of_stage)));
  for (const auto& mount : plan.mounts) {
    if (!is_of_stage(mount)) continue;
    std::string source = mount.source;
    if (stage == Stage::claim && mount.kind == MountKind::bind) source = place_of(source, sources);
    payload.number(static_cast<uint64_t>(mount.kind)).number(mount.flags);
    payload.text(source).text(mount.target).text(mount.options);
  }
}

uint64_t clone_flags(uint8_t namespaces) {
  uint64_t flags = 0;
  if ((namespaces & namespace_user) != 0) flags |= CLONE_NEWUSER;
  if ((namespaces & namespace_mount) != 0) flags |= CLONE_NEWNS;
  if ((namespaces & namespace_pid) != 0) flags |= CLONE_NEWPID;
  if ((namespaces & namespace_network) != 0) flags |= CLONE_NEWNET;
  if ((namespaces & namespace_ipc) != 0) flags |= CLONE_NEWIPC;
  if ((namespaces & namespace_uts) != 0) flags |= CLONE_NEWUTS;
  if ((namespaces & namespace_cgroup) != 0) flags |= CLONE_NEWCGROUP;
  return flags;
}

// A name that has one of these in it would break up the options of the mount.
void append_escaped(std::string& out, std::string_view name) {
  for (const char c : name) {
    if (c == ':' || c == ',' || c == '\\') out += '\\';
    out += c;
  }
}

}  // namespace

std::string prepare_order(const Plan& plan, const Machine& machine, const Site& site,
                          const std::vector<std::string>& controllers) {
  Payload payload;
  payload.number(machine.is_root ? 1 : 0).number(machine.uid).number(machine.gid);
  payload.number(site.slots).number(site.first_slot).number(site.owner).number(site.user_count);
  payload.text(site.staging).text(site.state_dir).text(site.harness_dir);
  payload.number(machine.control_groups == ControlGroups::unified ? 1 : 0).number(plan.group_limits.size());
  for (const auto& limit : plan.group_limits) {
    const auto group = std::ranges::find(controllers, limit.controller) - controllers.begin();
    // In the unified hierarchy there is one directory for all.
    payload.number(machine.control_groups == ControlGroups::unified ? 0 : static_cast<uint64_t>(group));
    payload.text(limit.file).text(limit.value);
  }
  put_steps(plan, Stage::root, {}, payload);
  return payload.take();
}

std::string build_order(const Plan& plan, std::string_view upper_instead) {
  Payload payload;
  payload.number(clone_flags(plan.namespaces));
  payload.number(plan.user.inside).number(plan.user.outside);
  payload.number(plan.group.inside).number(plan.group.outside);
  payload.text(plan.hostname);
  std::string upper_options = "mode=0755";
  if (plan.workspace.bytes_max > 0) upper_options += ",size=" + std::to_string(plan.workspace.bytes_max);
  if (plan.workspace.files_max > 0) upper_options += ",nr_inodes=" + std::to_string(plan.workspace.files_max);
  payload.text(upper_options).text(upper_instead);
  payload.number(plan.resource_limits.size());
  for (const auto& limit : plan.resource_limits) {
    payload.number(static_cast<uint64_t>(limit.resource)).number(limit.soft).number(limit.hard);
  }
  put_steps(plan, Stage::box, {}, payload);
  return payload.take();
}

std::string claim_order(const Plan& plan, std::string_view state_dir, std::string_view harness_dir) {
  const Sources sources = {state_dir, harness_dir};
  Payload payload;
  put_steps(plan, Stage::claim, sources, payload);
  std::string lower;
  for (const auto& layer : plan.workspace.layers) {
    if (!lower.empty()) lower += ':';
    append_escaped(lower, place_of(layer, sources));
  }
  payload.text(lower);
  return payload.take();
}

}  // namespace sluice::sandbox
