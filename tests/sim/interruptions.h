// Why a run may be interrupted: the server that carried it died, was drained, or was silent for so long that the others
// had to take it for dead; or its sandbox was lost. Each cause counts for the runs that it struck, and only after their
// work began last.
#pragma once

#include <map>
#include <set>

#include "model/model.h"

namespace sluice::sim {

class Interruptions final {
 public:
  explicit Interruptions(int64_t dead_ms) : dead_us_(dead_ms * 1'000) {}

  void on_beat(model::NodeId node, int64_t now_us);
  // A fault that can keep this server from writing has begun.
  void on_trouble(model::NodeId node) { servers_[node].is_troubled = true; }
  // The server died, or was told to stop.
  void on_gone(model::NodeId node) { servers_[node].is_gone = true; }
  // A sandbox works on the run from now on, or is heard by another server.
  void on_work(model::RunId run, model::NodeId node, int64_t now_us) { runs_[run] = {{node}, now_us, false}; }
  void on_lost_sandbox(model::RunId run) { runs_[run].has_lost_sandbox = true; }
  // A commit of this server wrote the run; `begins`: it is streaming from now on.
  void on_moved(model::NodeId by, const model::Run& run, bool begins, int64_t now_us);

  // At the run's end: whether it may be an interruption.
  bool is_excused(model::RunId run) const { return excused_.contains(run); }

 private:
  struct Carrier {
    bool is_gone = false;
    bool is_troubled = false;
    int64_t beat_us = 0;
    int64_t silent_until_us = 0;  // the end of its last long silence
  };
  struct Work {
    std::set<model::NodeId> carriers;  // since it began
    int64_t since_us = 0;
    bool has_lost_sandbox = false;
  };
  bool is_silent(const Carrier& server, int64_t now_us) const;
  bool was_struck(const Work& work, int64_t now_us) const;

  int64_t dead_us_;
  std::map<model::NodeId, Carrier> servers_;
  std::map<model::RunId, Work> runs_;
  std::set<model::RunId> excused_;
};

}  // namespace sluice::sim
