#include "world/disk_room.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::world {
namespace {

constexpr int64_t fresh_us = 1'000'000;
constexpr int64_t part_of_disk = 20;
constexpr int64_t floor_bytes_max = 1LL << 30;
constexpr Millis look_every{5'000};  // for metrics, while no request asks

}  // namespace

DiskRoom::DiskRoom(std::string directory, int64_t free_bytes_min, Loop& loop, Metrics& metrics)
    : directory_(std::move(directory)),
      wanted_free_bytes_(free_bytes_min),
      loop_(loop),
      gauge_(metrics.gauge("sluice_disk_free_bytes", "What is free on the disk of the data directory.")) {
  look();
  look_again_later();
}

void DiskRoom::look() {
  looked_us_ = loop_.monotonic_us();
  struct statvfs about{};
  if (statvfs(directory_.c_str(), &about) != 0) {
    free_bytes_ = std::numeric_limits<int64_t>::max();  // it cannot be said, so nothing is refused for it
    return;
  }
  const auto block_bytes = static_cast<int64_t>(about.f_frsize);
  free_bytes_ = static_cast<int64_t>(about.f_bavail) * block_bytes;
  const auto part = static_cast<int64_t>(about.f_blocks) / part_of_disk * block_bytes;
  free_bytes_min_ = wanted_free_bytes_ > 0 ? wanted_free_bytes_ : std::min(part, floor_bytes_max);
  gauge_.set(free_bytes_);
}

void DiskRoom::look_again_later() {
  timer_ = loop_.after(look_every, [this] {
    look();
    look_again_later();
  });
}

bool DiskRoom::is_short() {
  const bool was_short = free_bytes_ < free_bytes_min_;
  if (was_short || loop_.monotonic_us() - looked_us_ >= fresh_us) look();
  return free_bytes_ < free_bytes_min_;
}

}  // namespace sluice::world
