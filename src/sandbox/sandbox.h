// Boxes: each a Linux sandbox of its own in which commands run, watched from outside, and which is
// proven dead when it ends.
//
// A box is built from a plan (sandbox/plan.h: pure, printable) by a driver. Inside there is one
// program of ours, the shim, which starts commands and reaps them; it knows no token, no key and no
// model. Commands' output comes out through pipes that this side made, so the shim never touches it
// and a full pipe stops the command, not the server.
//
// Called from the loop's thread; answers come on the loop's thread, never from inside the call.
// Not its business: what a command means (runner), what is in the workspace (workspace).
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

// What one box may use. 0 where a limit is not wanted.
struct Limits {
  int64_t memory_bytes_max = 2LL << 30;
  int64_t processes_max = 512;
  int64_t cpu_seconds_max = 3600;  // of one process
  int64_t cpu_percent_max = 0;     // of one core, for the whole box
  int64_t open_files_max = 4096;   // of one process
  int64_t file_bytes_max = 1LL << 30;
  int64_t workspace_bytes_max = 1LL << 30;
  int64_t workspace_files_max = 200'000;
  int64_t tmp_bytes_max = 256LL << 20;
  bool operator==(const Limits&) const = default;
};

// A directory of the host that is seen inside, read-only.
struct Bind {
  std::string from;  // absolute, below SandboxOptions::state_dir or harness_dir
  std::string to;    // "/skills/NAME", "/opt/harness/NAME"
};

struct BoxRequest {
  std::string name;                 // whose it is: for people, logs and leftovers
  std::vector<std::string> layers;  // of /workspace, topmost first: directories below state_dir, never written to
  std::vector<Bind> binds;
  std::map<std::string, std::string> environment;  // of every command
};

// A door in the box's own loopback that this side answers: made before anything in the box runs.
inline constexpr uint16_t egress_port = 3128;
inline constexpr uint16_t bridge_port = 3129;

// How a command ended.
enum class ExitCause : uint8_t {
  exited,         // by itself: code
  killed,         // by a signal: code is its number
  timed_out,      // Command::timeout_ms
  stopped,        // by Process::stop() or the box's end
  out_of_memory,  // the box's memory limit
  cpu_limit,      // cpu_seconds_max
  file_limit,     // file_bytes_max
  not_started,    // no such program, no such directory: Exit::what says
  box_lost,       // the box went away under it
};
std::string_view name_of(ExitCause cause);

struct Exit {
  ExitCause cause = ExitCause::exited;
  int code = 0;
  std::string what;  // for people, where the cause alone does not tell
  int64_t cpu_ms = 0;
  int64_t memory_bytes_peak = 0;
};

// argv[0] is looked up in PATH inside; "@read", "@write", "@edit", "@glob", "@grep" and "@list" are
// the shim's own (sandbox/shim_tools.h), which run like any other command.
struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // on top of the box's
  std::string directory = "/workspace";
  std::string input;         // its standard input; then end of file
  bool keeps_input = false;  // after `input` its standard input stays open: for Process::write()
  int64_t timeout_ms = 0;    // 0: none. At the time the whole process group is killed.
  bool background =
      false;  // on_exit comes when argv[0]'s process ends, as always; but dropping the Process leaves it running
};

enum class Stream : uint8_t { out, err };

class ProcessListener {
 public:
  virtual ~ProcessListener() = default;
  // As it comes, in pieces of at most 64 KiB; bytes, not text. All of it comes before on_exit(),
  // unless something that the command left behind holds the pipe open: then on_exit() comes first
  // and ends it.
  virtual void on_output(Stream stream, std::string_view bytes) = 0;
  virtual void on_exit(Exit exit) = 0;
};

// A command at work. Dropping it kills its process group (not a background one); nothing is heard then.
class Process {
 public:
  virtual ~Process() = default;
  virtual void stop() = 0;              // SIGTERM, SIGKILL after a second
  virtual void pause(bool paused) = 0;  // reads no more output until told otherwise
  // Of a command that keeps its input: more of it, in order, held here while the pipe is full; then its end. Neither
  // has an effect once the command is over or has closed its input.
  virtual void write(std::string_view bytes) = 0;
  virtual void close_input() = 0;
  virtual std::size_t unwritten_bytes() const = 0;
};

class Box {
 public:
  // Kills what is inside, if kill() was not called; the proof is then the Sandbox's business.
  virtual ~Box() = default;

  // `listener` must outlive the Process. No callback comes from inside start().
  [[nodiscard]] virtual std::unique_ptr<Process> start(Command command, ProcessListener& listener) = 0;

  // The workspace as the box sees it, and what it changed (an overlay's upper layer): directory
  // descriptors that stay good for as long as the Box lives, also after kill().
  virtual int workspace_fd() const = 0;
  virtual int changes_fd() const = 0;

  virtual bool was_warm() const = 0;

  // Accepts what is sent to 127.0.0.1:egress_port inside; nonblocking. Once; empty the second time. While
  // nobody has taken it, connections wait.
  virtual OwnedFd take_egress_listener() = 0;
  // The same for 127.0.0.1:bridge_port.
  virtual OwnedFd take_bridge_listener() = 0;

  // Called once, if the box ends without kill().
  virtual void on_lost(Callback<void(std::string what)> then) = 0;

  // Frozen: all processes inside stop where they are, commands that are started begin when it is thawed, and the time
  // of Command::timeout_ms stands still. What is stopped, dropped or killed ends all the same.
  virtual void freeze(bool frozen) = 0;

  // Kills everything inside at once; `done` when it is proven that no process is left, or with the reason why that
  // could not be proven within half a minute.
  virtual void kill(Callback<void(Result<Unit>)> done) = 0;
};

// What this machine can do, found out by trying. Printed by `sluice doctor`.
struct Ability {
  std::string name;  // "user namespaces"
  bool there = false;
  std::string means;  // what is lost without it, or how it is done instead
};

class Sandbox {
 public:
  virtual ~Sandbox() = default;
  virtual std::string_view driver() const = 0;  // "namespaces", "oci"
  virtual const std::vector<Ability>& abilities() const = 0;
  // Boxes that are built and not claimed.
  virtual int warm_available() const = 0;

  // A box nobody has used before: warm if one is waiting, else built. Each `done` is called once, in the worst case
  // with an error that says what was waited for. Returns a ticket for give_up().
  virtual uint64_t open(BoxRequest request, Callback<void(Result<std::unique_ptr<Box>>)> done) = 0;

  // The caller does not want that box any more: what was begun for it is killed, and `done` is called with an error
  // soon, whatever state the box is in. Has no effect once `done` was called.
  virtual void give_up(uint64_t ticket) = 0;

  // Kills every box and proves it; `done` then. Nothing can be opened any more.
  virtual void close(Callback<void()> done) = 0;
};

// Users below 600,100,000 are given to people for their containers (SUB_UID_MAX of login.defs), those up to
// 1,879,048,191 by systemd to its own, and those up to 2,000,200,000 to people of a directory (SSSD). Programs may
// count them signed.
inline constexpr uint32_t host_uid_default = 2'100'000'000;

struct SandboxOptions {
  std::string driver = "namespaces";
  std::string state_dir;                 // layers, bundles: what requests may name lies below it
  std::string harness_dir;               // agent programs: what binds may name too; empty: none
  std::string root;                      // an image directory; empty: made of the host's own /usr, /bin, /lib, /etc …
  std::string ca_bundle_file;            // lies over /etc/ssl/certs/ca-certificates.crt in every box; empty: the host's
  std::vector<std::string> extra_paths;  // more of the host's directories, read-only, at their own place
  Limits limits;
  int warm_target = 2;                   // 0: none is built ahead
  uint32_t host_uid = host_uid_default;  // as root: whose files are that boxes may write; the next are counted from it
  uint32_t host_uid_count = 4096;        // users outside that boxes take turns at, after that; 0: it is the user of all
  std::string oci_runtime;               // "crun", "runc"; empty: whichever is there
};

// Starts what it needs and reaps what an earlier life left. `unavailable` when this machine cannot
// do it, with what is missing and what to do.
Result<std::unique_ptr<Sandbox>> open_sandbox(SandboxOptions options, world::Reactor& reactor, world::Log& log,
                                              world::Metrics& metrics);

// The plan of a box as text, for people: `sluice sandbox plan`.
std::string describe_plan(const SandboxOptions& options, const BoxRequest& request);
// What this machine can do, without starting anything that stays.
std::vector<Ability> probe_abilities(const SandboxOptions& options);

}  // namespace sluice::sandbox
