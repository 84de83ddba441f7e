// One box as its Sandbox keeps it: from the order to build it to the proof that it is empty.
//
// It outlives the Box that a caller holds: dropping that begins the end, which takes a while.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/control_groups.h"
#include "sandbox/line.h"
#include "sandbox/running.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {

// Of a box that is ready to be used.
struct Shown {
  OwnedFd workspace;
  OwnedFd changes;
};

// How long a sandbox is waited for: at each step on the way to its caller, and once it was killed.
inline constexpr Millis opening_patience = {10'000};
inline constexpr Millis end_patience = {30'000};

class Cell;

enum class Loss : uint8_t {
  vanished,  // it was there, and is not: another may be well
  refused,   // it said why it cannot be; another would say the same
};

// What a Cell tells its Sandbox. Any of these may end the Cell's life, except from inside itself.
class CellKeeper {
 public:
  virtual ~CellKeeper() = default;
  virtual void on_ready(Cell& cell) = 0;
  virtual void on_claimed(Cell& cell, Shown shown) = 0;
  // It will not be, or is no more; nobody asked for that. `what` for people.
  virtual void on_lost(Cell& cell, Loss loss, const std::string& what) = 0;
  // Its first process is dead and reaped, and so is every other. Or it never had one: it was given up, and nothing was
  // heard of its birth.
  virtual void on_dead(Cell& cell) = 0;
  // It is being killed now, whoever wanted that.
  virtual void on_struck(Cell& cell) = 0;
  // It was killed, and that it is dead is still not proven; `what` was waited for.
  virtual void on_overdue(Cell& cell, const std::string& what) = 0;
  // Whether what builds sandboxes has been heard of since: then the turn of this one is still to come.
  virtual bool has_built_since(int64_t monotonic_us) const = 0;
};

class Cell final {
 public:
  struct Birth {
    OwnedFd line;  // our end of the new init's socket
    Millis patience = opening_patience;
  };
  Cell(uint32_t number, world::Reactor& reactor, CellKeeper& keeper, const GroupHome& groups, Birth birth);
  ~Cell();
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  uint32_t number() const { return number_; }
  uint64_t seat() const { return seat_; }
  bool is_born() const { return static_cast<bool>(pidfd_); }
  bool is_dying() const { return dying_; }
  int64_t age_ms() const { return (reactor_.monotonic_us() - began_us_) / 1000; }

  // From the zygote.
  void on_built(Packet packet);
  void on_build_failed(uint64_t seat, Loss loss, const std::string& what);

  void claim(std::string order, std::map<std::string, std::string> environment);
  std::shared_ptr<Running> start(Command command, ProcessListener& listener);
  // What is started meanwhile waits.
  void freeze(bool frozen);
  void kill();  // its commands are told, later, that they were stopped
  // Its first process is dead, and the proof that nothing is left still needs `what`.
  void wait_for_proof(std::string what) {
    proving_ = true;
    wait_for(end_patience, std::move(what));
  }
  // Calls those who wait for its death.
  void answer_killers(const Result<Unit>& proof);

  std::string name;                                     // of the request that it was claimed for; empty: nobody's
  Callback<void(std::string)> lost;                     // of the Box
  std::vector<Callback<void(Result<Unit>)>> when_dead;  // of kill(): called by the Sandbox, with the proof
  OwnedFd egress_listener;                              // until the Box takes it, or the end
  OwnedFd bridge_listener;                              // likewise

 private:
  void heard(Packet packet);
  // Out of the first process itself, by their numbers. False: not all could be had, and errno says why.
  bool take_numbered(Packet& packet) const;
  void on_init_ready(Packet packet);
  void fail(Loss loss, const std::string& what);
  void strike();
  void wait_for(Millis patience, std::string what);
  void on_patience_over();
  // Of a command that was sent SIGKILL.
  void wait_for_end(uint32_t command);
  void end_commands(const Exit& exit);
  void on_command_exited(const box::Head& head);
  void on_command_not_started(const box::Head& head);
  Exit exit_of(const box::Head& head, const Running& running);
  std::shared_ptr<Running> take_command(uint32_t command);
  void signal(uint32_t command, int number);

  const uint32_t number_;
  world::Reactor& reactor_;
  CellKeeper& keeper_;
  const GroupHome& groups_;
  std::unique_ptr<Line> line_;
  std::vector<Packet> early_;  // said by the first process before we had its pidfd, without which they are of no use
  OwnedFd pidfd_;
  std::unique_ptr<world::Watch> death_;
  uint64_t seat_ = 0;
  bool dying_ = false;
  bool failed_ = false;
  bool ready_ = false;
  bool claiming_ = false;
  bool shown_ = false;
  bool proving_ = false;
  bool overdue_ = false;
  const int64_t began_us_;
  std::string awaited_;  // what patience_ is for
  Millis patience_span_;
  world::Timer patience_;
  std::map<uint32_t, world::Timer> ends_;
  uint32_t next_command_ = 1;
  int64_t memory_kills_ = 0;
  std::map<std::string, std::string> environment_;
  std::map<uint32_t, std::shared_ptr<Running>> commands_;
  bool frozen_ = false;
  std::map<uint32_t, Packet> unsent_;  // commands to be started when it is thawed
  // To say what could not be started, or where.
  struct Wanted {
    std::string program;
    std::string directory;
  };
  std::map<uint32_t, Wanted> wanted_;
  const std::shared_ptr<int> alive_ =
      std::make_shared<int>(0);  // shared with callbacks under way, which look if we are
};

// A debug line on what became of it. `ms`: how long that took.
void note(world::Log& log, std::string_view event, const Cell& cell, int64_t ms);

}  // namespace sluice::sandbox
