// How much room is left on the disk that a directory lies on, looked at now and then.
#pragma once

#include <cstdint>
#include <string>

#include "world/metrics.h"
#include "world/world.h"

namespace sluice::world {

class DiskRoom final {
 public:
  // `free_bytes_min`: with less it is short. 0: a twentieth of the disk, 1 GiB at most.
  DiskRoom(std::string directory, int64_t free_bytes_min, Loop& loop, Metrics& metrics);

  // A look at the disk, unless there was room a moment ago.
  bool is_short();
  // For others than the superuser; both as they were at the last look.
  int64_t free_bytes() const { return free_bytes_; }
  int64_t free_bytes_min() const { return free_bytes_min_; }

 private:
  void look();
  void look_again_later();

  const std::string directory_;
  const int64_t wanted_free_bytes_;
  Loop& loop_;
  Gauge& gauge_;
  int64_t free_bytes_min_ = 0;
  int64_t free_bytes_ = 0;
  int64_t looked_us_ = 0;
  Timer timer_;
};

}  // namespace sluice::world
