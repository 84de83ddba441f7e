// How the parts of a MemoryStore write and answer: with the misfortunes that were ordered for its disk.
#pragma once

#include <memory>
#include <utility>

#include "store/memory_disk.h"

namespace sluice::store {

class MemoryDesk {
 public:
  MemoryDesk(MemoryDisk& disk, world::Loop& loop) : disk_(disk), loop_(loop) {}
  ~MemoryDesk() { *alive_ = false; }
  MemoryDesk(const MemoryDesk&) = delete;
  MemoryDesk& operator=(const MemoryDesk&) = delete;

  template <typename T>
  void answer(Result<T> result, Done<T> done) {
    auto tell = [alive = alive_, result = std::move(result), done = std::move(done)]() mutable {
      if (*alive) done(std::move(result));
    };
    if (disk_.held_) {
      disk_.held_answers_.push_back({&loop_, std::move(tell)});
    } else {
      loop_.post(std::move(tell));
    }
  }

  // Does the work, or has the misfortune that was ordered for this write.
  template <typename T, typename Work>
  void write(Done<T> done, Work work) {
    const auto ordered = disk_.faults_.extract(disk_.write_count_++);
    const Error unknown{ErrorKind::unavailable, "the disk did not say whether it wrote"};
    if (disk_.broken_) return answer<T>(unknown, std::move(done));
    if (ordered.empty()) return answer<T>(work(), std::move(done));
    if (ordered.mapped() == Fault::full) {
      return answer<T>(Error{ErrorKind::overloaded, "the disk is full"}, std::move(done));
    }
    if (ordered.mapped() == Fault::after_write) static_cast<void>(work());
    disk_.broken_ = true;
    answer<T>(unknown, std::move(done));
  }

 private:
  MemoryDisk& disk_;
  world::Loop& loop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // shared with the answers under way
};

}  // namespace sluice::store
