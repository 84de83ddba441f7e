// The driver `namespaces`: the sandboxes are forked by a process of Sluice itself, the zygote, and kept warm ahead of
// requests. Used on the loop's thread only. What happens inside one sandbox is up to BoxSupervisor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box_handle.h"
#include "sandbox/box_supervisor.h"
#include "sandbox/control_groups.h"
#include "sandbox/packet_socket.h"
#include "sandbox/plan.h"
#include "sandbox/sandbox.h"
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

// The process from which sandboxes are forked (box/zygote.h): starts it, notices when it ends, and starts the next one.
// Only start() and end() wait for the process. It does not know which sandboxes there are.
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

class NamespacesSandbox final : public Sandbox, private BoxSupervisorListener, private ZygoteListener {
 public:
  // Starts the zygote and waits until it is ready.
  Result<Unit> start();
  NamespacesSandbox(SandboxOptions options, Machine machine, GroupDirectories groups, world::Reactor& reactor,
                    world::Log& log, world::Metrics& metrics);
  ~NamespacesSandbox() override;

  std::string_view driver() const override { return "namespaces"; }
  const std::vector<Ability>& abilities() const override { return abilities_; }
  int warm_available() const override { return static_cast<int>(warm_.size()); }
  uint64_t open(BoxRequest request, Callback<void(Result<std::unique_ptr<Box>>)> done) override;
  void give_up(uint64_t ticket) override;
  void close(Callback<void()> done) override;

 private:
  using Done = Callback<void(Result<std::unique_ptr<Box>>)>;

  // The sandboxes that are alive or dying. Finds none once the Sandbox is destroyed.
  class Boxes final : public BoxFinder {
   public:
    explicit Boxes(world::Reactor& reactor) : reactor_(reactor) {}
    BoxSupervisor* find(uint32_t number) override {
      const auto found = map.find(number);
      return found == map.end() ? nullptr : found->second.get();
    }
    world::Reactor& reactor() override { return reactor_; }
    std::map<uint32_t, std::unique_ptr<BoxSupervisor>> map;

   private:
    world::Reactor& reactor_;
  };

  // A request that a sandbox is being built or claimed for.
  struct Opening {
    Plan plan;
    std::string name;
    Done done;
    int64_t asked_us = 0;
    bool warm = false;
    uint64_t ticket = 0;
    int attempts_left = 2;    // for sandboxes that vanish before the caller gets them
    world::Timer retry = {};  // of the next attempt
  };

  struct SandboxMetrics {
    explicit SandboxMetrics(world::Metrics& metrics);
    world::Gauge& warm;
    world::Gauge& warm_target;
    world::Gauge& live;
    world::Counter& opened_warm;
    world::Counter& opened_cold;
    world::Histogram& open_seconds;
  };

  void on_zygote_packet(Packet packet) override;
  void on_zygote_lost() override;
  void on_zygote_launched() override;
  void on_zygote_ready() override;
  void on_zygote_broken() override;
  // Kills a sandbox that was given up before its first process was reported.
  void kill_unwanted(const Packet& built);
  void remove_groups(uint64_t slot);
  // Null if no descriptor is left for its socket.
  BoxSupervisor* build(const Plan& plan);
  void fail(Done done, Error error);
  int64_t ms_since(int64_t monotonic_us) const { return (reactor_.monotonic_us() - monotonic_us) / 1000; }
  void claim(BoxSupervisor& box, Opening opening);
  void retry(Opening opening);
  void order(Opening opening);
  // While another zygote is started.
  void wait_for_zygote(Opening opening);
  void order_waiting();
  void refill();
  void refill_after(Millis delay);
  void forget(uint32_t number);
  void forget_removals();
  void give_up_unstarted(const std::string& why);
  void end_zygote_if_empty();
  // Leaves to the kernel the sandboxes that do not die.
  void abandon_undead();
  void finish_close();
  std::string make_upper(uint32_t number) const;

  void on_ready(BoxSupervisor& box) override;
  void on_claimed(BoxSupervisor& box, WorkspaceDirectories shown) override;
  void on_lost(BoxSupervisor& box, Loss loss, const std::string& what) override;
  void on_dead(BoxSupervisor& box) override;
  void on_killed(BoxSupervisor& box) override { note(log_, "sandbox killed", box, box.age_ms()); }
  void on_overdue(BoxSupervisor& box, const std::string& what) override;
  bool has_built_since(int64_t monotonic_us) const override { return last_built_us_ >= monotonic_us; }

  const SandboxOptions options_;
  const Machine machine_;
  GroupDirectories groups_;
  world::Reactor& reactor_;
  world::Log& log_;
  SandboxMetrics metrics_;
  const std::vector<Ability> abilities_;
  std::vector<uint32_t> without_zygote_;  // openings that wait for one
  uint32_t next_box_ = 1;
  uint64_t next_ticket_ = 1;
  int64_t last_built_us_ = -1;
  const std::shared_ptr<Boxes> boxes_;     // shared with the handles that callers hold
  std::map<uint64_t, uint32_t> removals_;  // slot -> sandbox, whose groups are being removed
  std::map<uint32_t, Opening> openings_;
  std::deque<BoxSupervisor*> warm_;       // built, not claimed
  std::deque<BoxSupervisor*> unclaimed_;  // being built, for no request yet
  int refill_failures_ = 0;
  world::Timer refill_timer_;
  world::Timer close_timer_;
  bool closing_ = false;
  std::vector<Callback<void()>> when_closed_;
  ZygoteProcess zygote_;  // last: it calls this
};

}  // namespace sluice::sandbox
