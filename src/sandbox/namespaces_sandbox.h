// The driver `namespaces`: boxes of the kernel's own making, with nothing between us and it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/cell.h"
#include "sandbox/namespaces_box.h"
#include "sandbox/plan.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {

class NamespacesSandbox final : public Sandbox, private CellKeeper {
 public:
  static Result<std::unique_ptr<Sandbox>> open(SandboxOptions options, world::Reactor& reactor, world::Log& log,
                                               world::Metrics& metrics);
  NamespacesSandbox(SandboxOptions options, Machine machine, GroupHome groups, world::Reactor& reactor, world::Log& log,
                    world::Metrics& metrics);
  ~NamespacesSandbox() override;

  std::string_view driver() const override { return "namespaces"; }
  const std::vector<Ability>& abilities() const override { return abilities_; }
  int warm_available() const override { return static_cast<int>(warm_.size()); }
  uint64_t open(BoxRequest request, Callback<void(Result<std::unique_ptr<Box>>)> done) override;
  void give_up(uint64_t ticket) override;
  void close(Callback<void()> done) override;

 private:
  static constexpr Millis zygote_end_patience = {2'000};
  using Done = Callback<void(Result<std::unique_ptr<Box>>)>;

  // Those that live or die. Finds nothing once the Sandbox is gone.
  class Cells final : public CellFinder {
   public:
    explicit Cells(world::Reactor& reactor) : reactor_(reactor) {}
    Cell* find(uint32_t number) override {
      const auto found = map.find(number);
      return found == map.end() ? nullptr : found->second.get();
    }
    world::Reactor& reactor() override { return reactor_; }
    std::map<uint32_t, std::unique_ptr<Cell>> map;

   private:
    world::Reactor& reactor_;
  };

  // A request that a box is being built or claimed for.
  struct Opening {
    Plan plan;
    std::string name;
    Done done;
    int64_t asked_us = 0;
    bool warm = false;
    uint64_t ticket = 0;
    int attempts_left = 2;    // for boxes that vanish before they are handed out
    world::Timer retry = {};  // of the next attempt
  };

  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Gauge& warm;
    world::Gauge& warm_target;
    world::Gauge& live;
    world::Counter& opened_warm;
    world::Counter& opened_cold;
    world::Histogram& open_seconds;
  };

  // The first one, which is waited for.
  Result<Unit> start_zygote();
  // What it answers when it is ready comes on this line.
  Result<OwnedFd> launch_zygote();
  void listen(OwnedFd line);
  Result<Unit> take_prepared(const Packet& answer);
  void heard(Packet packet);
  // Of a box that was given up before it was born.
  void kill_unwanted(const Packet& built);
  void on_zygote_gone();
  void replace_zygote();
  void on_prepared(const Packet& answer);
  void be_broken(const std::string& why);
  void bury_zygote();
  // It is dead, or does not die.
  void on_zygote_buried();
  void end_zygote(Millis patience);
  void bury(uint64_t seat);
  // Null when no descriptor is left for its line.
  Cell* build(const Plan& plan);
  void fail(Done done, Error error);
  int64_t ms_since(int64_t monotonic_us) const { return (reactor_.monotonic_us() - monotonic_us) / 1000; }
  void claim(Cell& cell, Opening opening);
  void retry(Opening opening);
  void order(Opening opening);
  // While another zygote is started.
  void wait_for_zygote(Opening opening);
  void order_waiting();
  void refill();
  void refill_after(Millis delay);
  void forget(uint32_t number);
  void give_up_unborn(const std::string& why);
  void end_zygote_if_empty();
  // What does not die is left to the kernel.
  void abandon_undead();
  void finish_close();
  std::string make_upper(uint32_t number) const;

  void on_ready(Cell& cell) override;
  void on_claimed(Cell& cell, Shown shown) override;
  void on_lost(Cell& cell, Loss loss, const std::string& what) override;
  void on_dead(Cell& cell) override;
  void on_struck(Cell& cell) override { note(log_, "sandbox killed", cell, cell.age_ms()); }
  void on_overdue(Cell& cell, const std::string& what) override;
  bool has_built_since(int64_t monotonic_us) const override { return last_built_us_ >= monotonic_us; }

  const SandboxOptions options_;
  const Machine machine_;
  GroupHome groups_;
  world::Reactor& reactor_;
  world::Log& log_;
  Figures figures_;
  const std::vector<Ability> abilities_;
  std::string staging_;
  Plan warm_plan_;
  pid_t zygote_ = -1;
  uint64_t zygotes_ = 0;  // that there were
  OwnedFd zygote_pidfd_;
  std::unique_ptr<world::Watch> zygote_death_;
  world::Timer zygote_timer_;  // until it must be dead, or ready
  std::unique_ptr<Line> line_;
  bool is_prepared_ = false;              // the zygote builds boxes
  std::vector<uint32_t> without_zygote_;  // openings that wait for one
  uint32_t next_box_ = 1;
  uint64_t next_ticket_ = 1;
  int64_t last_built_us_ = -1;
  const std::shared_ptr<Cells> cells_;   // shared with the boxes that callers hold
  std::map<uint64_t, uint32_t> graves_;  // seat -> box, whose groups are being removed
  std::map<uint32_t, Opening> openings_;
  std::deque<Cell*> warm_;       // built, and nobody's
  std::deque<Cell*> unclaimed_;  // being built for nobody yet
  int refill_failures_ = 0;
  world::Timer refill_timer_;
  world::Timer close_timer_;
  std::string broken_;  // why nothing can be opened any more
  bool closing_ = false;
  std::vector<Callback<void()>> when_closed_;
};

}  // namespace sluice::sandbox
