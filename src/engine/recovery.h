// Recovers the runs that no living node carries: after a restart those that the last server left, later those of nodes
// that died or left. Each is fenced from its former writer by a new epoch, its journal is folded into what was sent,
// and the duty of its state is performed again.
//
// Recovering twice is recovering once: a run that is live here already is left alone, and so is one that another server
// was quicker to take. Called from the loop's thread.
#pragma once

#include <deque>
#include <list>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "base/task.h"
#include "engine/admission.h"
#include "engine/live_runs.h"
#include "engine/peers.h"
#include "engine/postbox.h"
#include "engine/run_past.h"

namespace sluice::engine {

class Recovery final {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    virtual LiveRun& enter(const model::Run& run, model::Message message, std::string request_id) = 0;
    virtual void lose_to_other(LiveRun& run, const Error& why) = 0;
    virtual void store_fell_silent(const Error& why) = 0;
  };
  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Counter& recovered;
    world::Counter& taken_over;
  };
  struct Needs {
    Host& host;
    const LiveRuns& live;
    Admission& admission;
    Peers& peers;
    Postbox& postbox;
    StoreClock& clock;
    Figures& figures;
    store::Store& store;
    dispatch::Dispatcher& dispatcher;
    world::Loop& loop;
    world::Log& log;
    const EngineOptions& options;
  };
  explicit Recovery(Needs needs) : needs_(needs) {}
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  enum class Scope : uint8_t {
    own_too,  // runs that no living node carries, and those of this node that it dropped
    orphans,  // only the former
  };
  // `done` when every run of these is live again or over. One look after the other.
  void look(Scope scope, Callback<void(Result<Unit>)> done);
  // This one, whichever node carries it.
  void take(const model::Run& run);
  // It was taken over just now.
  void adopt(const model::Run& taken);
  // Runs that no node carries are being looked for or recovered: they come before those that wait on other nodes.
  bool is_looking() const { return !looks_.empty(); }
  bool is_idle() const { return under_way_.empty() && waiting_.empty() && looks_.empty(); }
  // This run waits for a slot; it queues when all that wait are known.
  void queue_later(LiveRun& live);
  // Runs that waited queue again, in their old order.
  void hold_again();

 private:
  struct Look {
    Scope scope;
    Callback<void(Result<Unit>)> done;
  };
  struct Held {
    Timestamp created_at;
    model::RunId run;
    Place told_place;
    auto operator<=>(const Held&) const = default;
  };

  void begin_look();
  Task<Result<std::vector<model::Run>>> list();
  void on_listed(Result<std::vector<model::Run>> listed);
  bool is_wanted(const model::Run& run) const;
  void take_next();
  void end_look();
  // `then` once it is live again, over, or cannot be recovered.
  void begin(Task<Result<RunPast>> reading, model::RunId run, Callback<void()> then);
  Task<Result<RunPast>> take_over(model::Run run);
  Task<Result<RunPast>> read(model::Run run);
  // False when this Recovery goes with the failure.
  bool on_failed(model::RunId run, const Error& why);
  void recover(const RunPast& past);
  void prepare(LiveRun& live, const RunPast& past) const;
  // The reason why it cannot be carried on; empty if it can.
  std::string obstacle(const RunPast& past) const;
  bool can_reattach(const RunPast& past) const;
  void give_up(const Error& why);

  Needs needs_;
  std::deque<model::Run> waiting_;
  std::vector<Held> held_;  // they queue again when all are known, in their old order
  std::list<Sequence> under_way_;
  Sequence listing_;
  std::deque<Look> looks_;   // the first is under way
  bool is_listing_ = false;  // it does not know yet what there is
  Lifetime lifetime_;
};

}  // namespace sluice::engine
