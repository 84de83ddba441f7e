#include "sandbox/oci_bundle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"

namespace sluice::sandbox {
namespace oci_bundle_test {

Machine some_machine() {
  Machine machine;
  machine.is_root = true;
  machine.user_namespaces = true;
  machine.tmpfs_xattrs = true;
  machine.control_groups = ControlGroups::v1;
  machine.controllers = {{"memory", "/groups/memory"}, {"pids", "/groups/pids"}, {"cpu", "/groups/cpu"}};
  machine.root = {{"usr", ""}, {"bin", "usr/bin"}, {"lib", "usr/lib"}, {"lib64", "usr/lib64"}};
  machine.etc = {"ld.so.cache", "ssl/certs"};
  return machine;
}

Plan some_plan() {
  SandboxOptions options;
  options.state_dir = "/state";
  options.harness_dir = "/programs";
  options.limits.cpu_percent_max = 150;
  BoxRequest request;
  request.name = "golden";
  request.layers = {"/state/layers/b", "/state/layers/a"};
  request.binds = {{"/state/skills/pdf", "/skills/pdf"}, {"/programs/codex", "/opt/harness/codex"}};
  request.environment = {{"COLOUR", "red"}};
  return make_plan(options, request, some_machine()).take();
}

// One member or element a line, for a reviewer's eye. The rules for system calls are reviewed in the plan.
std::string laid_out(json::Value value, std::string_view name, int depth) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  std::string text;
  if (name == "syscalls") return "as in the plan";
  if (value.kind() == json::Kind::object && name != "rule") {
    value.each_member([&](std::string_view key, json::Value member) {
      text += indent + "  \"" + std::string(key) + "\": " + laid_out(member, key, depth + 1) + ",\n";
    });
    return "{\n" + text + indent + "}";
  }
  if (value.kind() == json::Kind::array && value.size() > 0) {
    value.each_element(
        [&](json::Value element) { text += indent + "  " + laid_out(element, "rule", depth + 1) + ",\n"; });
    return "[\n" + text + indent + "]";
  }
  return value.to_text();
}

std::string described(const OciBundle& bundle) {
  constexpr std::array<std::string_view, 9> kinds = {"bind", "tmpfs", "proc", "devpts",   "directory",
                                                     "link", "file",  "mask", "read-only"};
  std::string text = "steps\n";
  for (const Mount& step : bundle.steps) {
    text += "  " + std::string(kinds[static_cast<size_t>(step.kind)]) + " " + step.target;
    if (step.kind == MountKind::file)
      text += " of " + std::to_string(step.source.size()) + " bytes";
    else if (!step.source.empty())
      text += " from " + step.source;
    if (step.flags != 0) text += " flags " + std::to_string(step.flags);
    text += (step.options.empty() ? "" : " " + step.options) + "\n";
  }
  const auto config = json::Document::parse(bundle.config);
  if (!config) return config.error().what;
  return text + "config.json\n" + laid_out(config.value().root(), "", 0) + "\n";
}

// Set SLUICE_GOLDEN_UPDATE to write it anew, and read what changed.
TEST(OciBundle, Is_what_was_reviewed) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "testdata" / "oci_bundle.txt";
  const std::string now = described(make_bundle(some_plan(), {.cgroups_path = "/sluice-1/s7"}));
  if (std::getenv("SLUICE_GOLDEN_UPDATE") != nullptr) std::ofstream(path) << now;
  std::ifstream file(path);
  EXPECT_EQ(now, std::string(std::istreambuf_iterator<char>(file), {}));
}

json::Document config_of(const Plan& plan, const OciLayout& place) {
  return json::Document::parse(make_bundle(plan, place).config).take();
}

TEST(OciBundle, Gives_no_capability_and_no_way_to_new_ones) {
  const auto config = config_of(some_plan(), {});
  const auto process = config.root().find("process").value();
  EXPECT_EQ(process.find("noNewPrivileges")->boolean(), true);
  int sets = 0;
  process.find("capabilities")->each_member([&](std::string_view name, json::Value set) {
    ++sets;
    EXPECT_EQ(set.size(), 0U) << name;
  });
  EXPECT_EQ(sets, 5);
}

TEST(OciBundle, Says_nothing_of_control_groups_where_there_are_none) {
  const auto without = config_of(some_plan(), {});
  const auto with = config_of(some_plan(), {.cgroups_path = "/a"});
  EXPECT_FALSE(without.root().find("linux")->find("resources"));
  EXPECT_FALSE(without.root().find("linux")->find("cgroupsPath"));
  EXPECT_TRUE(with.root().find("linux")->find("resources"));
}

// A rule that got lost on the way is a hole.
TEST(OciBundle, Names_every_system_call_of_the_plan) {
  const Plan plan = some_plan();
  const auto config = config_of(plan, {});
  const auto named = std::ranges::count_if(plan.syscalls, [](const SyscallRule& rule) { return !rule.name.empty(); });
  EXPECT_EQ(config.root().find("linux")->find("seccomp")->find("syscalls")->size(), static_cast<size_t>(named));
}

}  // namespace oci_bundle_test
}  // namespace sluice::sandbox
