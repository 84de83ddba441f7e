// The process from which the driver `namespaces` forks sandboxes (box/zygote.h): starts it, notices when it ends, and
// starts the next one. Used on the loop's thread. Only start() and end() wait for the process. It does not know which
// sandboxes there are.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/control_groups.h"
#include "sandbox/packet_socket.h"
#include "sandbox/plan.h"
#include "world/world.h"

namespace sluice::sandbox {

class ZygoteListener {
 public:
  virtual ~ZygoteListener() = default;
  virtual void on_zygote_packet(Packet packet) = 0;
  // It has ended, and all sandboxes with it. Another one is started.
  virtual void on_zygote_lost() = 0;
  // Another one was launched: orders can be sent to it, although it is not ready to build yet.
  virtual void on_zygote_launched() = 0;
  virtual void on_zygote_ready() = 0;
  // No other can be started, for the reason why_broken().
  virtual void on_zygote_broken() = 0;
};

class ZygoteProcess final {
 public:
  // All must outlive this.
  ZygoteProcess(const SandboxOptions& options, const Machine& machine, const GroupDirectories& groups,
                world::Reactor& reactor, world::Log& log, ZygoteListener& listener);
  ~ZygoteProcess();

  // The first one; waits until it is ready.
  Result<Unit> start();
  void send(Packet packet) { socket_->send(std::move(packet)); }

  bool is_connected() const { return socket_ != nullptr; }
  bool is_ready() const { return is_ready_; }
  bool is_running() const { return process_ >= 0; }
  bool is_ending() const { return death_ != nullptr; }
  const std::string& why_broken() const { return broken_; }
  // The plan of a sandbox for no request in particular.
  const Plan& plan() const { return plan_; }

  // From here on a lost zygote is not replaced.
  void close();
  // Lets it end by itself; `ended` is called once it has. It must be running.
  void hang_up(Callback<void()> ended);
  // Kills it and waits for its death for as long as `patience`.
  void end(Millis patience);

 private:
  // Returns the socket on which its first packet, that it is ready, will arrive.
  Result<OwnedFd> launch();
  void listen(OwnedFd socket);
  Result<Unit> take_prepared(const Packet& answer);
  void on_packet(Packet packet);
  void on_prepared(const Packet& answer);
  void on_gone();
  void replace();
  void give_up(const std::string& why);
  void kill_process();
  void on_killed();

  const SandboxOptions& options_;
  const Machine& machine_;
  const GroupDirectories& groups_;
  world::Reactor& reactor_;
  world::Log& log_;
  ZygoteListener& listener_;
  Plan plan_;
  std::string staging_;
  pid_t process_ = -1;
  uint64_t launched_count_ = 0;
  OwnedFd pidfd_;
  std::unique_ptr<world::Watch> death_;
  world::Timer patience_;  // until it must be ready, or dead
  std::unique_ptr<PacketSocket> socket_;
  bool is_ready_ = false;
  bool closing_ = false;
  std::string broken_;
};

}  // namespace sluice::sandbox
