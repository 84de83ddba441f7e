#include "sandbox/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sandbox/syscall_filter.h"

namespace sluice::sandbox {
namespace plan_test {

Machine merged_usr() {
  Machine machine;
  machine.user_namespaces = true;
  machine.tmpfs_xattrs = true;
  machine.root = {{"bin", "usr/bin"}, {"lib", "usr/lib"}, {"lib64", "usr/lib64"}, {"sbin", "usr/sbin"}, {"usr", ""}};
  machine.etc = {"ld.so.cache", "ssl/certs"};
  machine.certificates = {.is_file = true, .directory = "/etc/ssl/certs", .entries = {}};
  return machine;
}

Machine as_root() {
  Machine machine = merged_usr();
  machine.is_root = true;
  machine.control_groups = ControlGroups::v1;
  machine.controllers = {
      {"cpu", "/sys/fs/cgroup/cpu"}, {"memory", "/sys/fs/cgroup/memory"}, {"pids", "/sys/fs/cgroup/pids"}};
  return machine;
}

Machine as_user() {
  Machine machine = merged_usr();
  machine.uid = 1234;
  machine.gid = 1235;
  machine.tmpfs_xattrs = false;
  return machine;
}

SandboxOptions options() {
  SandboxOptions options;
  options.state_dir = "/var/lib/sluice/boxes";
  options.harness_dir = "/var/lib/sluice/harness";
  options.extra_paths = {"/opt/tools"};
  options.ca_bundle_file = "/var/lib/sluice/egress/bundle.pem";
  options.limits.cpu_percent_max = 150;
  return options;
}

BoxRequest request() {
  BoxRequest request;
  request.name = "golden";
  request.layers = {"/var/lib/sluice/boxes/layers/top", "/var/lib/sluice/boxes/layers/base"};
  request.binds = {{"/var/lib/sluice/harness/codex", "/opt/harness/codex"},
                   {"/var/lib/sluice/boxes/skills/1", "/skills/review"}};
  request.environment = {{"CI", "1"}, {"HOME", "/workspace"}};
  return request;
}

// To accept what changed, and show it to a reviewer: SLUICE_GOLDEN_WRITE=1.
void expect_golden(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "testdata" / name;
  if (std::getenv("SLUICE_GOLDEN_WRITE") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << "differs from " << path;
}

Plan plan_of(const BoxRequest& asked, const Machine& machine) {
  auto plan = make_plan(options(), asked, machine);
  SLUICE_CHECK(plan);
  return std::move(plan).take();
}

std::string fault_of(const BoxRequest& asked, const SandboxOptions& given = options()) {
  const auto plan = make_plan(given, asked, as_root());
  return plan ? "" : plan.error().what;
}

TEST(Plan, As_root_reads_as_the_golden_one) { expect_golden("plan_root.txt", describe(plan_of(request(), as_root()))); }

TEST(Plan, As_a_user_reads_as_the_golden_one) { expect_golden("plan_user.txt", describe(plan_of({}, as_user()))); }

// I-17: what leaves goes through the server.
TEST(Plan, Every_sandbox_has_a_network_of_its_own) {
  EXPECT_TRUE((plan_of({}, as_root()).namespaces & namespace_network) != 0);
  EXPECT_TRUE((plan_of({}, as_user()).namespaces & namespace_network) != 0);
}

TEST(Plan, Refuses_what_lies_outside_the_state_directory) {
  EXPECT_NE(fault_of({.layers = {"/etc"}}), "");
  EXPECT_NE(fault_of({.layers = {"/var/lib/sluice/boxes"}}), "") << "itself is not below itself";
  EXPECT_NE(fault_of({.layers = {"/var/lib/sluice/boxes-not/a"}}), "");
  EXPECT_NE(fault_of({.layers = {"/var/lib/sluice/boxes/../../../../etc"}}), "");
  EXPECT_NE(fault_of({.layers = {std::string("/var/lib/sluice/boxes/a\0b", 25)}}), "");
  EXPECT_NE(fault_of({.binds = {{"/root", "/skills/a"}}}), "");
  for (const std::string to :
       {"/etc", "/skills", "/skills/", "/skills/a/b", "/skills/..", "skills/a", "/skills/../etc", "/opt", "/opt/a",
        "/opt/harness", "/opt/harness/", "/opt/harness/a/b", "/opt/harness/..", "/opt/harness-not/a"}) {
    EXPECT_NE(fault_of({.binds = {{"/var/lib/sluice/boxes/a", to}}}), "") << to;
  }
  EXPECT_EQ(fault_of({.binds = {{"/var/lib/sluice/boxes/a", "/skills/a"}}}), "");
  EXPECT_EQ(fault_of({.binds = {{"/var/lib/sluice/harness/a", "/opt/harness/a"}}}), "");
  EXPECT_NE(fault_of({.binds = {{"/var/lib/sluice/harness/../a", "/opt/harness/a"}}}), "");
  EXPECT_NE(fault_of({.layers = {"/var/lib/sluice/harness/a"}}), "") << "programs are no workspace";
  SandboxOptions without = options();
  without.harness_dir.clear();
  EXPECT_NE(fault_of({.binds = {{"/var/lib/sluice/harness/a", "/opt/harness/a"}}}, without), "");
  without.harness_dir = "/var/lib/../harness";
  EXPECT_NE(fault_of({}, without), "");
}

TEST(Plan, Lays_out_opt_entry_by_entry_so_that_programs_fit_in) {
  Machine machine = as_root();
  machine.opt = {{"link", "/usr/lib/x"}, {"vendor", ""}};
  SandboxOptions given = options();
  given.extra_paths = {"/opt", "/srv/data"};
  const auto plan = make_plan(given, {}, machine);
  ASSERT_TRUE(plan);
  std::vector<std::string> seen;
  for (const auto& mount : plan.value().mounts) {
    if (mount.target.starts_with("/opt") || mount.target.starts_with("/srv")) {
      seen.push_back(mount.target + " " + mount.source);
    }
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"/opt/link /usr/lib/x", "/opt/vendor /opt/vendor", "/srv/data /srv/data",
                                            "/opt/harness "}));
  given.root = "/images/debian";
  EXPECT_EQ(opt_source(given), "/opt");
  given.extra_paths.clear();
  EXPECT_EQ(opt_source(given), "/images/debian/opt");
}

TEST(Plan, Refuses_variables_that_are_none) {
  EXPECT_NE(fault_of({.environment = {{"", "x"}}}), "");
  EXPECT_NE(fault_of({.environment = {{"A=B", "x"}}}), "");
  EXPECT_NE(fault_of({.environment = {{"A", std::string("x\0y", 3)}}}), "");
}

TEST(Plan, Everything_of_the_hosts_is_read_only) {
  for (const auto& mount : plan_of(request(), as_root()).mounts) {
    if (mount.kind != MountKind::bind || mount.target.starts_with("/dev/")) continue;
    EXPECT_TRUE((mount.flags & flag_read_only) != 0) << mount.target;
    EXPECT_TRUE((mount.flags & flag_nosuid) != 0) << mount.target;
  }
}

TEST(Plan, An_image_brings_its_own_etc) {
  SandboxOptions image = options();
  image.root = "/images/debian";
  Machine machine = as_root();
  machine.root = {{"bin", "usr/bin"}, {"etc", ""}, {"usr", ""}, {"var", ""}};
  const auto plan = make_plan(image, {}, machine);
  ASSERT_TRUE(plan);
  const auto& mounts = plan.value().mounts;
  EXPECT_TRUE(std::ranges::any_of(mounts, [](const Mount& mount) { return mount.source == "/images/debian/etc"; }));
  EXPECT_TRUE(std::ranges::none_of(mounts, [](const Mount& mount) { return mount.target == "/etc/passwd"; }));
}

TEST(Plan, Lays_out_anew_the_directory_of_an_image_that_has_no_certificates) {
  SandboxOptions image = options();
  image.root = "/images/slim";
  Machine machine = as_root();
  machine.root = {{"etc", ""}, {"usr", ""}};
  machine.certificates = {.directory = "/etc", .entries = {{"mtab", "/proc/mounts"}, {"os-release", ""}}};
  const auto plan = make_plan(image, {}, machine);
  ASSERT_TRUE(plan);
  std::vector<std::string> below_etc;
  for (const auto& mount : plan.value().mounts) {
    if (mount.target.starts_with("/etc")) below_etc.push_back(mount.target + " " + mount.source);
  }
  EXPECT_EQ(below_etc, (std::vector<std::string>{"/etc /images/slim/etc", "/etc ", "/etc/mtab /proc/mounts",
                                                 "/etc/os-release /images/slim/etc/os-release",
                                                 "/etc/ssl/certs/ca-certificates.crt /var/lib/sluice/egress/bundle.pem",
                                                 "/etc "}));
}

TEST(Plan, Refuses_a_certificate_bundle_that_has_no_plain_place) {
  for (const std::string path : {"bundle.pem", "/data/../bundle.pem", "/data//bundle.pem", "/"}) {
    SandboxOptions odd = options();
    odd.ca_bundle_file = path;
    EXPECT_NE(fault_of({}, odd), "") << path;
  }
  Machine machine = as_root();
  machine.root.push_back({"etc", "/usr/etc"});
  EXPECT_FALSE(make_plan(options(), {}, machine)) << "the link would be followed on the host";
}

TEST(Plan, Its_rules_become_a_filter_that_fits_the_kernel) {
  auto filter = compile_filter(syscall_rules());
  ASSERT_TRUE(filter) << filter.error().what;
  const off_t bytes = lseek(filter.value().get(), 0, SEEK_END);
  EXPECT_GT(bytes, 100 * 8);
  EXPECT_LT(bytes, 4096 * 8) << "instructions are eight bytes, and the kernel takes 4096";
}

}  // namespace plan_test
}  // namespace sluice::sandbox
