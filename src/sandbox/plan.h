// How a sandbox is built, decided before anything is done.
//
// make_plan() is pure: it turns what was asked, and what is known of the machine, into lists that
// can be printed, reviewed, compared and refused. What carries a plan out (the box program, an OCI
// runtime) has no opinions. All judgement is in the lists.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {

// Something at the top of the tree that sandboxes see: "usr" is a directory, "bin" a link to "usr/bin".
struct RootEntry {
  std::string name;
  std::string link;  // empty: a directory, or a file
};

// What the root has on the way to certificates_path. Nothing can be made in a directory of it, so that where the file
// is missing the deepest directory is laid out anew, from its own entries, with the file among them.
struct CertificateLocation {
  bool is_file = false;            // it is there: another can lie over it
  std::string directory;           // the deepest that is bound into sandboxes; empty: none
  std::vector<RootEntry> entries;  // of that directory, but for what is in the way
};

enum class ControlGroups : uint8_t {
  none,     // rlimits only
  v1,       // one hierarchy a controller, as root
  unified,  // a subtree of the one hierarchy that is ours to use
};

// What was found out about this machine (machine.h), as plain facts.
struct Machine {
  bool is_root = false;
  uint32_t uid = 0;  // our own
  uint32_t gid = 0;
  bool user_namespaces = false;
  bool tmpfs_xattrs = false;  // an overlay's upper layer may lie on a tmpfs: Linux 6.6
  ControlGroups control_groups = ControlGroups::none;
  std::map<std::string, std::string> controllers;  // "memory", "pids", "cpu" -> directory that our groups go into
  std::vector<RootEntry> root;                     // of the image, or of the host
  std::vector<RootEntry> opt;                      // of opt_source(), but for programs_path
  std::vector<std::string> etc;                    // what exists of etc_paths()
  CertificateLocation certificates;                // where SandboxOptions::ca_bundle_file is to lie
};

// The directory that sandboxes see as /opt, entry by entry, so that programs_path can be among them; empty: none. An
// image's own, or the host's if it is one of extra_paths.
std::string opt_source(const SandboxOptions& options);

// Names below /etc that a sandbox made of the host's directories gets as they are.
std::span<const std::string_view> etc_paths();

// When a step is taken: once for all sandboxes, for each sandbox ahead of time, or when it is claimed.
enum class Stage : uint8_t { root, box, claim };

enum class MountKind : uint8_t {
  bind,       // source, of the host, with all below it
  tmpfs,      // options
  proc,       // options
  devpts,     // options
  directory,  // made where there is none
  link,       // source is what it says
  file,       // source is the text
  mask,       // nothing can be read there: /dev/null, or an empty directory, lies over it
  read_only,  // what is at target cannot be written to from here on
};

enum MountFlag : uint8_t { flag_read_only = 1, flag_nosuid = 2, flag_nodev = 4, flag_noexec = 8 };

struct Mount {
  Stage stage = Stage::root;
  MountKind kind = MountKind::bind;
  std::string source;
  std::string target;  // absolute, as seen inside
  uint8_t flags = 0;   // of MountFlag
  std::string options;
  bool operator==(const Mount&) const = default;
};

struct IdMap {
  uint32_t inside = 0;
  uint32_t outside = 0;
  bool operator==(const IdMap&) const = default;
};

// /workspace: an overlay whose upper layer is the sandbox's own.
struct WorkspaceOverlay {
  std::vector<std::string> layers;  // of the host, topmost first
  bool upper_on_tmpfs = true;       // else in a directory below state_dir, where nothing bounds it
  int64_t bytes_max = 0;
  int64_t files_max = 0;
  bool operator==(const WorkspaceOverlay&) const = default;
};

struct ResourceLimit {
  std::string_view name;  // "nofile", as prlimit(1) spells it
  int resource = 0;       // RLIMIT_NOFILE
  uint64_t soft = 0;
  uint64_t hard = 0;
  bool operator==(const ResourceLimit&) const = default;
};

// A file of a control group, and what is written to it.
struct GroupLimit {
  std::string controller;  // "memory"
  std::string file;        // "memory.limit_in_bytes"
  std::string value;
  bool operator==(const GroupLimit&) const = default;
};

// ── system calls ──
enum class ArgumentIs : uint8_t { equal, not_equal, greater, masked_equal };
struct ArgumentTest {
  uint8_t index = 0;
  ArgumentIs is = ArgumentIs::equal;
  uint64_t value = 0;
  uint64_t mask = UINT64_MAX;  // of masked_equal: (argument & mask) == value
};
// What is allowed is what no rule forbids: agents run compilers, browsers and databases, and a list
// of what those may call would be wrong for one of them every week.
struct SyscallRule {
  std::string_view name;                    // empty: the numbers first_number … last_number, which have no name yet
  int error = 0;                            // what the call fails with
  std::span<const ArgumentTest> when = {};  // all of them; none: always
  int first_number = 0;
  int last_number = 0;
};
// Calls of another architecture (32 bit, x32) end the process: numbers mean other calls there.
std::span<const SyscallRule> syscall_rules();

enum Namespace : uint8_t {
  namespace_user = 1,
  namespace_mount = 2,
  namespace_pid = 4,
  namespace_network = 8,
  namespace_ipc = 16,
  namespace_uts = 32,
  namespace_cgroup = 64,
};

struct Plan {
  uint8_t namespaces = 0;  // of Namespace
  IdMap user;
  IdMap group;
  bool groups_denied = false;  // setgroups(2) is switched off: the price of an unprivileged map
  std::string hostname;
  std::vector<Mount> mounts;  // in order
  WorkspaceOverlay workspace;
  std::vector<ResourceLimit> resource_limits;
  std::vector<GroupLimit> group_limits;
  std::map<std::string, std::string> environment;
  std::span<const SyscallRule> syscalls;
};

// Whose the sandbox's user is inside, and where things are.
inline constexpr uint32_t box_uid = 1000;
inline constexpr uint32_t box_gid = 1000;
inline constexpr std::string_view workspace_path = "/workspace";
inline constexpr std::string_view home_path = "/home/agent";
inline constexpr std::string_view skills_path = "/skills";
inline constexpr std::string_view programs_path = "/opt/harness";
inline constexpr std::string_view certificates_path = "/etc/ssl/certs/ca-certificates.crt";

// `invalid` when a request names what it must not: a layer outside state_dir, a bind outside state_dir
// and harness_dir, a bind that is not to go to /skills/NAME or /opt/harness/NAME, a variable that is no variable.
Result<Plan> make_plan(const SandboxOptions& options, const BoxRequest& request, const Machine& machine);

// For people, and for golden files.
std::string describe(const Plan& plan);

}  // namespace sluice::sandbox
