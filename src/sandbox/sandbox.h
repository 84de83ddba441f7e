// Sandboxes: isolated Linux environments in which commands run. The server supervises each from outside, and proves
// that no process is left when it ends.
//
// `Sandbox` opens sandboxes with a driver; a `Box` is one of them; a `Process` is one command in it. A sandbox is built
// from a plan (plan.h). Inside runs one small program of ours, which starts commands and reaps them; it knows no token,
// no key and no model. The output of a command comes through pipes that the server made, so that this program never
// touches it, and a full pipe stops the command and not the server.
//
// Called from the loop's thread; callbacks come on the loop's thread, never from inside the call. This module neither
// knows what a command means (runner) nor what is in the workspace (workspace). README.md shows the flow.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/fd.h"
#include "base/result.h"
#include "world/world.h"

namespace sluice::sandbox {

// Limits of one sandbox. 0: no limit.
struct Limits {
  int64_t memory_bytes_max = 2LL << 30;
  int64_t processes_max = 512;
  int64_t cpu_seconds_max = 3600;  // of one process
  int64_t cpu_percent_max = 0;     // of one core, for the whole sandbox
  int64_t open_files_max = 4096;   // of one process
  int64_t file_bytes_max = 1LL << 30;
  int64_t workspace_bytes_max = 1LL << 30;
  int64_t workspace_files_max = 200'000;
  int64_t tmp_bytes_max = 256LL << 20;
  bool operator==(const Limits&) const = default;
};

// A directory of the host that is mounted read-only.
struct Bind {
  std::string from;  // absolute, below SandboxOptions::state_dir or harness_dir
  std::string to;    // "/skills/NAME", "/opt/harness/NAME"
};

struct BoxRequest {
  std::string name;                 // of its owner, for people and logs
  std::vector<std::string> layers;  // of /workspace, topmost first: directories below state_dir, never written to
  std::vector<Bind> binds;
  std::map<std::string, std::string> environment;  // of every command
};

// Ports on the sandbox's own loopback that the server listens on before any process runs inside.
inline constexpr uint16_t egress_port = 3128;
inline constexpr uint16_t bridge_port = 3129;

// How a command ended.
enum class ExitCause : uint8_t {
  exited,         // by itself: code
  killed,         // by a signal: code is its number
  timed_out,      // Command::timeout_ms
  stopped,        // by Process::stop() or the end of the sandbox
  out_of_memory,  // the sandbox's memory limit
  cpu_limit,      // cpu_seconds_max
  file_limit,     // file_bytes_max
  not_started,    // no such program, no such directory: Exit::what says
  box_lost,       // the sandbox was lost while it ran
};
std::string_view name_of(ExitCause cause);

struct Exit {
  ExitCause cause = ExitCause::exited;
  int code = 0;
  std::string what;  // for people, if the cause alone does not explain it
  int64_t cpu_ms = 0;
  int64_t memory_bytes_peak = 0;
};

// argv[0] is looked up in PATH inside; "@read", "@write", "@edit", "@glob", "@grep" and "@list" are
// the shim's own (sandbox/shim_tools.h), which run like any other command.
struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // in addition to that of the sandbox
  std::string directory = "/workspace";
  std::string input;         // standard input, followed by end of file
  bool keeps_input = false;  // standard input stays open after `input`, for Process::write()
  int64_t timeout_ms = 0;    // 0: none. When it has passed, the whole process group is killed.
  bool background =
      false;  // on_exit comes when argv[0]'s process ends, as always; but dropping the Process leaves it running
};

enum class Stream : uint8_t { out, err };

class ProcessListener {
 public:
  virtual ~ProcessListener() = default;
  // Called as output arrives, in pieces of at most 64 KiB; bytes, not text. All of it comes before on_exit(), unless a
  // process that the command left behind holds the pipe open: then on_exit() comes first, and no output after it.
  virtual void on_output(Stream stream, std::string_view bytes) = 0;
  virtual void on_exit(Exit exit) = 0;
};

// A running command. Destroying it kills its process group, unless it is a background command; no callback comes then.
class Process {
 public:
  virtual ~Process() = default;
  virtual void stop() = 0;              // SIGTERM, SIGKILL after a second
  virtual void pause(bool paused) = 0;  // true: reads no output until it is called with false
  // Appends to the input of a command that keeps it, buffered here while the pipe is full, or ends the input. Neither
  // has an effect once the command is over or has closed its input.
  virtual void write(std::string_view bytes) = 0;
  virtual void close_input() = 0;
  virtual std::size_t unwritten_bytes() const = 0;
};

class Box {
 public:
  // Kills all processes inside if kill() was not called; the Sandbox then proves their death.
  virtual ~Box() = default;

  // `listener` must outlive the Process. No callback comes from inside start().
  [[nodiscard]] virtual std::unique_ptr<Process> start(Command command, ProcessListener& listener) = 0;

  // The workspace as the sandbox sees it, and its changes (the upper layer of an overlay): directory descriptors that
  // are valid for as long as the Box exists, also after kill().
  virtual int workspace_fd() const = 0;
  virtual int changes_fd() const = 0;

  virtual bool was_warm() const = 0;

  // The nonblocking listener of 127.0.0.1:egress_port inside. Empty at the second call. Connections wait until the
  // listener has been taken.
  virtual OwnedFd take_egress_listener() = 0;
  // The listener of 127.0.0.1:bridge_port, in the same way.
  virtual OwnedFd take_bridge_listener() = 0;

  // Called once, if the sandbox ends without kill().
  virtual void on_lost(Callback<void(std::string what)> then) = 0;

  // While frozen, all processes inside stand still, commands that are started begin when it is thawed, and
  // Command::timeout_ms does not pass. Commands and sandboxes that are stopped or killed end nevertheless.
  virtual void freeze(bool frozen) = 0;

  // Kills all processes inside at once. `done` is called when it is proven that none is left, or with the reason why
  // that could not be proven within half a minute.
  virtual void kill(Callback<void(Result<Unit>)> done) = 0;
};

// A feature of this machine that sandboxes use, found out by trying. Printed by `sluice doctor`.
struct Ability {
  std::string name;  // "user namespaces"
  bool there = false;
  std::string means;  // what is missing without it, or what replaces it
};

class Sandbox {
 public:
  virtual ~Sandbox() = default;
  virtual std::string_view driver() const = 0;  // "namespaces", "oci"
  virtual const std::vector<Ability>& abilities() const = 0;
  // How many sandboxes are built and not claimed.
  virtual int warm_available() const = 0;

  // Opens a sandbox that was never used before: a warm one if there is one, otherwise it is built. Each `done` is
  // called once, in the worst case with an error that says what did not happen in time. Returns a ticket for give_up().
  virtual uint64_t open(BoxRequest request, Callback<void(Result<std::unique_ptr<Box>>)> done) = 0;

  // Cancels open(): what was started for it is killed, and `done` is called with an error soon, whatever state the
  // sandbox is in. Has no effect once `done` was called.
  virtual void give_up(uint64_t ticket) = 0;

  // Kills every sandbox, and calls `done` when that is proven. No sandbox can be opened after this.
  virtual void close(Callback<void()> done) = 0;
};

// User ids below 600,100,000 are assigned to people's containers (SUB_UID_MAX of login.defs), those up to 1,879,048,191
// to systemd's own, and those up to 2,000,200,000 to people of a directory (SSSD). Programs may treat ids as signed.
inline constexpr uint32_t host_uid_default = 2'100'000'000;

struct SandboxOptions {
  std::string driver = "namespaces";
  std::string state_dir;       // layers and bundles that requests name lie below it
  std::string harness_dir;     // agent programs, which binds may name too; empty: none
  std::string root;            // an image directory; empty: the host's own /usr, /bin, /lib, /etc …
  std::string ca_bundle_file;  // mounted over /etc/ssl/certs/ca-certificates.crt in every sandbox; empty: the host's
  std::vector<std::string> extra_paths;  // further directories of the host, mounted read-only at the same path
  Limits limits;
  int warm_target = 2;  // 0: none is built ahead of requests
  uint32_t host_uid =
      host_uid_default;  // as root: the owner of files that sandboxes may write, and the first of host_uid_count
  uint32_t host_uid_count = 4096;  // further users, of which each sandbox gets one; 0: all sandboxes have host_uid
  std::string oci_runtime;         // "crun", "runc"; empty: the first that is installed
};

// Starts the driver and removes what an earlier server left behind. Fails with `unavailable` if this machine lacks a
// feature, with what is missing and what to do.
Result<std::unique_ptr<Sandbox>> open_sandbox(SandboxOptions options, world::Reactor& reactor, world::Log& log,
                                              world::Metrics& metrics);

// The plan of a sandbox as text, for people: `sluice sandbox plan`.
std::string describe_plan(const SandboxOptions& options, const BoxRequest& request);
// The abilities of this machine. Starts no process that stays.
std::vector<Ability> probe_abilities(const SandboxOptions& options);

}  // namespace sluice::sandbox
