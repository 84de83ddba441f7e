#include "tests/sim/interruptions.h"

#include <algorithm>

namespace sluice::sim {

void Interruptions::on_beat(model::NodeId node, int64_t now_us) {
  auto& server = servers_[node];
  if (is_silent(server, now_us)) server.silent_until_us = now_us;
  server.beat_us = now_us;
}

bool Interruptions::is_silent(const Carrier& server, int64_t now_us) const {
  return server.is_troubled && now_us - server.beat_us >= dead_us_;
}

void Interruptions::on_moved(model::NodeId by, const model::Run& run, bool begins, int64_t now_us) {
  auto& work = runs_[run.id];
  if (begins) work = {{}, now_us, false};
  work.carriers.insert(by);
  if (model::is_over(run.state) && was_struck(work, now_us)) excused_.insert(run.id);
}

// Silence is a cause only where another server has taken the run over.
bool Interruptions::was_struck(const Work& work, int64_t now_us) const {
  const bool was_taken = work.carriers.size() > 1;
  return work.has_lost_sandbox || std::ranges::any_of(work.carriers, [&](model::NodeId node) {
           const auto found = servers_.find(node);
           if (found == servers_.end()) return false;
           const auto& server = found->second;
           return server.is_gone ||
                  (was_taken && (is_silent(server, now_us) || server.silent_until_us > work.since_us));
         });
}

}  // namespace sluice::sim
