// The driver `oci`: boxes made by crun, runc or another OCI runtime, for machines where those are
// what an operator trusts. Needs root. What runs inside, and how it is spoken to, is the same as
// with `namespaces` (cell.h); a box is always built when it is asked for.
//
// The runtime stays as the parent of its container. When it has ended, and the container's first
// process with it, nothing is left: that is the proof of a box's death.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/cell.h"
#include "sandbox/namespaces_box.h"
#include "sandbox/oci_runtime.h"
#include "sandbox/plan.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {

class OciSandbox final : public Sandbox, public CellKeeper {
 public:
  static Result<std::unique_ptr<Sandbox>> open(SandboxOptions options, world::Reactor& reactor, world::Log& log);
  OciSandbox(SandboxOptions options, Machine machine, GroupHome groups, OciRuntime runtime, world::Reactor& reactor,
             world::Log& log);
  ~OciSandbox() override;

  std::string_view driver() const override { return "oci"; }
  const std::vector<Ability>& abilities() const override { return abilities_; }
  int warm_available() const override { return 0; }
  uint64_t open(BoxRequest request, Callback<void(Result<std::unique_ptr<Box>>)> done) override;
  void give_up(uint64_t ticket) override;
  void close(Callback<void()> done) override;

 private:
  using Done = Callback<void(Result<std::unique_ptr<Box>>)>;

  // A request that a box is being built for.
  struct Opening {
    BoxRequest request;
    int attempts_left = 0;
    uint64_t ticket = 0;
    Done done;  // until it is answered
  };

  // Its runtime's process, and the box in it.
  struct Container {
    std::unique_ptr<Cell> cell;
    pid_t runtime = -1;
    OwnedFd runtime_pidfd;
    std::unique_ptr<world::Watch> runtime_end;  // null: it has ended
    world::Timer runtime_patience;              // after its box
    bool init_ended = false;
    Shown shown;
    std::map<std::string, std::string> environment;
    Opening opening;
  };

  struct Containers final : CellFinder {
    explicit Containers(world::Reactor& loop) : reactor_of_all(loop) {}
    Cell* find(uint32_t number) override;
    world::Reactor& reactor() override { return reactor_of_all; }
    std::map<uint32_t, Container> map;
    world::Reactor& reactor_of_all;
  };

  void attempt(Opening opening);
  Result<Unit> launch(uint32_t number, const Plan& plan, Container& container);
  void fail(Done done, Error error);
  void on_runtime_ended(uint32_t number);
  void end_runtime(Container& container);
  void forget_later(uint32_t number);
  void forget_if_dead(uint32_t number);
  // What does not die is left to the kernel.
  void abandon_undead();
  void close_if_empty();
  void remove_groups();
  std::string id_of(uint32_t number) const { return "box-" + std::to_string(number); }
  std::string log_of(uint32_t number) const { return runtime_.state_dir + "/" + id_of(number) + ".log"; }

  void on_ready(Cell& cell) override;
  void on_claimed(Cell& cell, Shown shown) override;
  void on_lost(Cell& cell, Loss loss, const std::string& what) override;
  void on_dead(Cell& cell) override;
  void on_struck(Cell& cell) override { note(log_, "sandbox killed", cell, cell.age_ms()); }
  void on_overdue(Cell& cell, const std::string& what) override;
  bool has_built_since(int64_t) const override { return false; }

  const SandboxOptions options_;
  const Machine machine_;
  GroupHome groups_;
  const OciRuntime runtime_;
  world::Reactor& reactor_;
  world::Log& log_;
  const std::vector<Ability> abilities_;
  const std::shared_ptr<Containers> containers_;  // shared with boxes, which may outlive the Sandbox
  uint32_t next_number_ = 1;
  uint64_t next_ticket_ = 1;
  bool closing_ = false;
  bool groups_removed_ = false;
  world::Timer close_timer_;
  std::vector<Callback<void()>> when_closed_;
};

// What `sluice doctor` says of this driver.
std::vector<Ability> oci_abilities(const SandboxOptions& options, const Machine& machine);

}  // namespace sluice::sandbox
