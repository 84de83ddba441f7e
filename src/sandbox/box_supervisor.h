// Supervises one sandbox, for both drivers, from the order to build it to the proof that no process is left in it. It
// speaks with the init process inside (box/commands.h) and owns the commands that run there. Used on the loop's thread.
//
// It outlives the Box that a caller holds: destroying the Box begins the end of the sandbox, which takes a while.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lifetime.h"
#include "sandbox/command_process.h"
#include "sandbox/control_groups.h"
#include "sandbox/packet_socket.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {

// The directories of a sandbox that is ready to be used.
struct WorkspaceDirectories {
  OwnedFd workspace;
  OwnedFd changes;
};

// How long to wait for a sandbox: at each step until it is ready, and after it was killed.
inline constexpr Millis opening_patience = {10'000};
inline constexpr Millis end_patience = {30'000};

class BoxSupervisor;

enum class Loss : uint8_t {
  vanished,  // it ended unexpectedly; another attempt may succeed
  refused,   // it reported why it cannot be built; another attempt would fail too
};

// Events of a sandbox, for its driver. The driver may destroy the BoxSupervisor after any of them, but not inside.
class BoxSupervisorListener {
 public:
  virtual ~BoxSupervisorListener() = default;
  virtual void on_ready(BoxSupervisor& box) = 0;
  virtual void on_claimed(BoxSupervisor& box, WorkspaceDirectories shown) = 0;
  // It could not be built, or it ended without kill(). `what` is for people.
  virtual void on_lost(BoxSupervisor& box, Loss loss, const std::string& what) = 0;
  // All of its processes are dead and reaped. Or it never had one: it was given up before its first process was
  // reported.
  virtual void on_dead(BoxSupervisor& box) = 0;
  // Its processes are being killed now, for whatever reason.
  virtual void on_killed(BoxSupervisor& box) = 0;
  // It was killed, but its death is still not proven, because `what` did not happen in time.
  virtual void on_overdue(BoxSupervisor& box, const std::string& what) = 0;
  // True if the zygote has built another sandbox since then, so that this one is still in its queue.
  virtual bool has_built_since(int64_t monotonic_us) const = 0;
};

class BoxSupervisor final {
 public:
  struct Beginning {
    OwnedFd socket;  // the server's end of the socket to the new init
    Millis patience = opening_patience;
  };
  BoxSupervisor(uint32_t number, world::Reactor& reactor, BoxSupervisorListener& listener,
                const GroupDirectories& groups, Beginning beginning);
  ~BoxSupervisor();
  BoxSupervisor(const BoxSupervisor&) = delete;
  BoxSupervisor& operator=(const BoxSupervisor&) = delete;

  uint32_t number() const { return number_; }
  uint64_t slot() const { return slot_; }
  bool has_process() const { return static_cast<bool>(pidfd_); }
  bool is_dying() const { return dying_; }
  int64_t age_ms() const { return (reactor_.monotonic_us() - began_us_) / 1000; }

  // From the zygote.
  void on_built(Packet packet);
  void on_build_failed(uint64_t slot, Loss loss, const std::string& what);

  void claim(std::string order, std::map<std::string, std::string> environment);
  std::shared_ptr<CommandProcess> start(Command command, ProcessListener& listener);
  // What is started meanwhile waits.
  void freeze(bool frozen);
  void kill();  // its commands end, later, as stopped
  // Its first process is dead; the proof that no process is left still needs `what`.
  void wait_for_proof(std::string what) {
    proving_ = true;
    wait_for(end_patience, std::move(what));
  }
  // Answers all calls of kill().
  void report_dead(const Result<Unit>& proof);

  std::string name;                                     // of the request that it was claimed for; empty: not claimed
  Callback<void(std::string)> lost;                     // set by the Box
  std::vector<Callback<void(Result<Unit>)>> when_dead;  // the callbacks of kill()
  OwnedFd egress_listener;                              // until the Box takes it
  OwnedFd bridge_listener;                              // until the Box takes it

 private:
  void on_packet(Packet packet);
  // Takes descriptors out of the first process by their numbers. False, with the reason in errno, if one is missing.
  bool take_numbered(Packet& packet) const;
  void on_init_ready(Packet packet);
  void fail(Loss loss, const std::string& what);
  void kill_processes();
  void wait_for(Millis patience, std::string what);
  void on_patience_over();
  // For a command that was sent SIGKILL.
  void wait_for_end(uint32_t command);
  void end_commands(const Exit& exit);
  void on_command_exited(const box::Head& head);
  void on_command_not_started(const box::Head& head);
  Exit exit_of(const box::Head& head, const CommandProcess& process);
  std::shared_ptr<CommandProcess> take_command(uint32_t command);
  void signal(uint32_t command, int number);

  const uint32_t number_;
  world::Reactor& reactor_;
  BoxSupervisorListener& listener_;
  const GroupDirectories& groups_;
  std::unique_ptr<PacketSocket> socket_;
  std::vector<Packet> early_;  // received before the pidfd of the first process, which is needed to use them
  OwnedFd pidfd_;
  std::unique_ptr<world::Watch> death_;
  uint64_t slot_ = 0;
  bool dying_ = false;
  bool failed_ = false;
  bool ready_ = false;
  bool claiming_ = false;
  bool shown_ = false;
  bool proving_ = false;
  bool overdue_ = false;
  const int64_t began_us_;
  std::string awaited_;  // what patience_ waits for
  Millis patience_span_;
  world::Timer patience_;
  std::map<uint32_t, world::Timer> ends_;
  uint32_t next_command_ = 1;
  int64_t memory_kills_ = 0;
  std::map<std::string, std::string> environment_;
  std::map<uint32_t, std::shared_ptr<CommandProcess>> commands_;
  bool frozen_ = false;
  std::map<uint32_t, Packet> unsent_;  // orders to start commands once it is thawed
  // For the message when a command could not be started.
  struct Wanted {
    std::string program;
    std::string directory;
  };
  std::map<uint32_t, Wanted> wanted_;
  Lifetime lifetime_;
};

// Writes a debug line about this sandbox to the log; `ms` is how long the event took.
void note(world::Log& log, std::string_view event, const BoxSupervisor& box, int64_t ms);

}  // namespace sluice::sandbox
