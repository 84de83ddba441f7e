// Reports which files of a run's workspace changed: the first ones one by one, later ones as a number, because a
// sandbox that makes and removes files all day would fill the disk with them. The operator's hooks get the same. On the
// loop's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "sessions/session_core.h"
#include "workspace/workspace.h"
#include "world/world.h"

namespace sluice::sessions {

class FileEvents final {
 public:
  // `core` must outlive this.
  explicit FileEvents(SessionCore& core) : core_(core), single_left_(core.host.options.file_events_max) {}

  void report(std::vector<workspace::FileNews> news);
  // The number of those that were not reported one by one. False when the listener dropped the session.
  bool report_rest();

 private:
  void trim(std::vector<workspace::FileNews>& news);

  SessionCore& core_;
  int64_t single_left_;
  int64_t counted_ = 0;
  bool is_rest_due_ = false;
  world::Timer rest_timer_;
};

}  // namespace sluice::sessions
