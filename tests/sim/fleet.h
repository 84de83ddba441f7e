// Every sandbox of a simulated world, on whichever machine, so that they can be counted. A box follows its prompt's
// script, line by line; a server hears the lines, acknowledges them, stops the box, or goes away.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/chance.h"
#include "tests/sim/interruptions.h"
#include "tests/sim/node_loop.h"
#include "tests/sim/script.h"
#include "tests/sim/verdict.h"

namespace sluice::sim {

// How the boxes of a world behave.
struct FleetHabits {
  bool survives_server = false;  // a box goes on for a while when its server is gone, and can be heard on
  bool resumable = false;        // the model says the same again, so told text can be gone on from
  int64_t reattach_ms = 5'000;
  int64_t stop_ms_max = 0;  // how long it takes to prove that a box is gone
};

class Fleet;

// A server's own way to the fleet.
class BoxDispatcher final : public dispatch::Dispatcher {
 public:
  // `machine`: whose disk it has, as those had who were there before it.
  BoxDispatcher(Fleet& fleet, NodeLoop& loop, model::NodeId node, std::string machine)
      : fleet_(fleet), loop_(loop), node_(node), machine_(std::move(machine)) {}

  std::unique_ptr<dispatch::Work> dispatch(dispatch::Dispatch dispatch, dispatch::DispatchListener& listener) override;
  bool can_resume(const model::Agent& agent, std::string_view told_text) const override;
  bool can_reattach(std::string_view mark) const override;
  bool reads_history(const model::Agent&) const override { return true; }
  void release(model::ConversationId conversation) override;
  void forget_parked(model::RunId run, model::ConversationId conversation) override;
  void list_parked(Callback<void(std::vector<dispatch::ParkedRun>)> done) override;
  bool keeps_boxes() const override { return true; }
  int warm_available() const override { return 0; }

  Fleet& fleet() { return fleet_; }
  NodeLoop& loop() { return loop_; }
  model::NodeId node() const { return node_; }
  const std::string& machine() const { return machine_; }

 private:
  Fleet& fleet_;
  NodeLoop& loop_;
  model::NodeId node_;
  std::string machine_;
};

// Whoever listens to a box; the listener is null once it does not any more.
struct Ear {
  BoxDispatcher* server = nullptr;
  dispatch::DispatchListener* listener = nullptr;
  std::size_t heard = 0;  // lines
};

// The alias of the secret that messages may bring for their conversation.
inline constexpr std::string_view secret_alias = "PIN";

struct Box {
  int64_t id = 0;
  model::RunId run;
  model::ConversationId conversation;
  model::NodeId node;  // whose word it follows
  bool keeps_box = false;
  Script script;
  std::size_t at = 0;  // the next act
  enum class State : uint8_t { working, at_gate, kept, gone } state = State::working;
  std::vector<Act> lines;                      // all that it told
  std::shared_ptr<dispatch::Witness> witness;  // of a box that goes with its server
  bool is_known = false;                       // to whoever would do its work elsewhere: that something is done here
  std::size_t awaited_line = 0;                // it waits until this one is; 0: for none
  bool is_suspended = false;
  bool goes_later = false;    // to its next act, when it resumes
  bool begins_later = false;  // its step
  std::shared_ptr<Ear> ear;
  world::Timer next;
  world::Timer stopping;
  world::Timer patience;  // until a box that nobody hears gives up
  int64_t orphan_us = 0;  // since when another server works on its run; 0: none does
};

class Fleet final {
 public:
  Fleet(world::FakeLoop& loop, Verdict& verdict, Interruptions& interruptions, FleetHabits habits, Chance chance)
      : loop_(loop), verdict_(verdict), interruptions_(interruptions), habits_(habits), chance_(chance) {}

  const FleetHabits& habits() const { return habits_; }
  std::shared_ptr<Box> begin(BoxDispatcher& server, const dispatch::Dispatch& dispatch,
                             const std::shared_ptr<Ear>& ear);
  void hear(const std::shared_ptr<Box>& box, const std::shared_ptr<Ear>& ear, std::size_t after);
  std::shared_ptr<Box> of_mark(std::string_view mark) const;
  void let_go(const std::shared_ptr<Box>& box);
  void stop(const std::shared_ptr<Box>& box, NodeLoop& loop, Callback<void()> gone);
  void go_on(const std::shared_ptr<Box>& box);
  // Its server may have lost the run. One that outlives its server works on.
  void suspend(const std::shared_ptr<Box>& box, bool suspended);
  // So many lines of it are on disk.
  void acknowledge(const std::shared_ptr<Box>& box, std::size_t lines);
  void release(model::ConversationId conversation, model::NodeId node);
  void forget_parked(const std::string& machine, model::RunId run);
  std::vector<dispatch::ParkedRun> parked_at(const std::string& machine) const;

  // This server is gone, and with it what lived there. What it had kept for a run that waits is on its machine's disk.
  void lose_server(model::NodeId node);
  // One box is lost; false when there is none.
  bool lose_one();

  int64_t working_on(model::RunId run, model::NodeId node) const;
  // The values of the conversation's secret that the starts of each run were given; empty: it had none.
  const std::map<model::RunId, std::set<std::string>>& secrets_given() const { return secrets_given_; }
  std::vector<std::string> left() const;  // whatever lives, for people
  std::size_t left_count() const;
  // Two masters for one run for longer than this is wrong; `excused` servers stand still.
  void check_masters(int64_t fence_ms, const std::set<model::NodeId>& excused);

 private:
  void act(const std::shared_ptr<Box>& box);
  void go(const std::shared_ptr<Box>& box);
  void add_line(const std::shared_ptr<Box>& box, Act act);
  void do_step(const std::shared_ptr<Box>& box);
  void deliver(const std::shared_ptr<Box>& box, const std::shared_ptr<Ear>& ear);
  void tell(const std::shared_ptr<Box>& box, Ear& ear, std::size_t line);
  void end(const std::shared_ptr<Box>& box);
  void park(const Box& box, const BoxDispatcher& server);
  void check_start(const Box& box, const dispatch::Dispatch& dispatch, const BoxDispatcher& server);
  void check_shelf(const Box& kept, const Box& next);

  world::FakeLoop& loop_;
  Verdict& verdict_;
  Interruptions& interruptions_;
  FleetHabits habits_;
  Chance chance_;
  std::vector<std::shared_ptr<Box>> boxes_;
  using Shelf = std::pair<std::string, model::RunId>;  // of a machine
  std::map<Shelf, model::ConversationId> parked_;      // workspaces that wait for a human
  std::set<Shelf> forgotten_;                          // and were removed
  std::map<model::RunId, std::set<std::string>> secrets_given_;
  std::set<std::pair<model::RunId, std::string>> used_up_;  // checkpoints that somebody went on from
  std::set<std::pair<model::RunId, std::string>> done_;     // steps, by whomever
};

}  // namespace sluice::sim
