// This node among the others that share the store: it beats, hears who lives, and tells its host what follows from
// that. Where only one server can use the store it is alone, and nothing here ever happens.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/lifetime.h"
#include "engine/engine.h"
#include "engine/liveness.h"

namespace sluice::engine {

class Peers final : private journal::NodeNews {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    virtual journal::NodeFigures own_figures() const = 0;
    // A beat got through.
    virtual void on_beat() = 0;
    virtual void on_beat_failed(const Error& why) = 0;
    // None did for too long: others may take what this node carries, so it must not act on it any more.
    virtual void on_cut_off() = 0;
    // It was cut off, and is not any more.
    virtual void on_back() = 0;
    // A node died, left or leaves: there may be runs that no node carries.
    virtual void on_orphans() = 0;
    // Another node wrote to this run, or took it over.
    virtual void on_run_moved(model::RunId run) = 0;
    // There may be mail, or an answer.
    virtual void on_post() = 0;
    // A run began to wait for a slot on another node.
    virtual void on_held_elsewhere() = 0;
    // News may have been missed.
    virtual void on_unsure_of_runs() = 0;
  };
  struct Needs {
    Host& host;
    journal::Nodes& nodes;
    world::Loop& loop;
    world::Log& log;
    world::Metrics& metrics;
  };
  Peers(Needs needs, const EngineOptions& options);
  ~Peers() override;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  bool alone() const { return alone_; }
  // From now on it beats.
  void start();
  // Beats now; `done` when a beat that was sent after this call got through, or did not.
  void ask(Callback<void(Result<Unit>)> done);
  // False: it is cut off, or has not begun.
  bool takes_part() const { return alone_ || takes_part_; }
  // The same by the clock of this moment. The timers of a process that was frozen are not due before other work, such
  // as an answer of the store from before that.
  bool takes_part_now() { return alone_ || !check_cut_off(); }
  // As of the last beat. A run that was read before that beat was sent may be judged by it.
  Fate fate_of(model::NodeId node) const { return liveness_.fate_of(node); }
  // Those who live, other than this one.
  std::vector<journal::SeenNode> others() const;
  // Any other was in the list, alive or not: it may take what this one carries, once it reaches the store.
  bool knows_others() const { return liveness_.seen().size() > 1; }
  // Its place among the living, and how many they are.
  std::pair<std::size_t, std::size_t> rank() const;
  // Somebody waits for a slot on another node, as far as it has heard.
  bool held_elsewhere() const { return held_elsewhere_; }
  // It beats no more and is out of the list, or cannot be; `done` never comes from inside.
  void leave(Callback<void()> done);

 private:
  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Gauge& alive;
    world::Counter& missed;
  };

  void on_moved(model::RunId run) override { needs_.host.on_run_moved(run); }
  void on_mail() override { needs_.host.on_post(); }
  void on_held() override { needs_.host.on_held_elsewhere(); }
  void on_unsure() override;

  int64_t now_ms() const { return needs_.loop.monotonic_us() / 1'000; }
  void beat();
  void on_answer(int64_t sent_ms, Result<std::vector<journal::SeenNode>> seen);
  void beat_in(int64_t span_ms);
  void watch();
  // False when it takes part.
  bool check_cut_off();
  // Logs who died, left or leaves since the last beat; true when there was one.
  bool note_changes();

  Needs needs_;
  const EngineOptions& options_;
  Figures figures_;
  bool alone_;
  Liveness liveness_;
  std::unordered_map<model::NodeId, Fate> known_;      // after the last beat
  std::vector<Callback<void(Result<Unit>)>> asked_;    // for the beat that is under way
  std::vector<Callback<void(Result<Unit>)>> waiting_;  // for the next one
  bool under_way_ = false;
  bool started_ = false;
  bool takes_part_ = false;
  bool was_cut_off_ = false;
  bool held_elsewhere_ = false;
  bool left_ = false;
  int64_t looked_ms_ = 0;  // when orphans were last looked for
  world::Timer beat_timer_;
  world::Timer watch_timer_;
  world::Timer leave_timer_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
