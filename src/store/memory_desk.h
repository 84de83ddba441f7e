// How the parts of a MemoryStore write and answer: with the misfortunes that were ordered for its disk.
#pragma once

#include <memory>
#include <utility>

#include "store/memory_disk.h"

namespace sluice::store {

class MemoryDesk {
 public:
  MemoryDesk(MemoryDisk& disk, world::Loop& loop, model::NodeId node) : disk_(disk), loop_(loop), node_(node) {}
  ~MemoryDesk() { *alive_ = false; }
  MemoryDesk(const MemoryDesk&) = delete;
  MemoryDesk& operator=(const MemoryDesk&) = delete;

  world::Loop& loop() { return loop_; }
  bool broken() const { return broken_; }
  void mend() { broken_ = false; }

  bool reaches_disk() const { return disk_.watch_ == nullptr || disk_.watch_->reaches(node_); }

  template <typename T>
  void answer(Result<T> result, Done<T> done) {
    if (!reaches_disk()) result = Error{ErrorKind::unavailable, "the disk is out of reach"};
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
    const auto fault = fault_of_next_write();
    const Error unknown{ErrorKind::unavailable, "the disk did not say whether it wrote"};
    if (broken_) return answer<T>(unknown, std::move(done));
    if (!fault) return answer<T>(work(), std::move(done));
    if (*fault == Fault::full) {
      return answer<T>(Error{ErrorKind::overloaded, "the disk is full"}, std::move(done));
    }
    if (*fault == Fault::collides) {
      return answer<T>(Error{ErrorKind::conflict, "another row was in its way"}, std::move(done));
    }
    if (*fault == Fault::after_write) static_cast<void>(work());
    broken_ = true;
    answer<T>(unknown, std::move(done));
  }

 private:
  std::optional<Fault> fault_of_next_write() {
    const auto ordered = disk_.faults_.extract(disk_.write_count_++);
    if (!ordered.empty()) return ordered.mapped();
    if (!reaches_disk()) return Fault::before_write;
    return disk_.watch_ == nullptr || broken_ ? std::nullopt : disk_.watch_->on_write(node_);
  }

  MemoryDisk& disk_;
  world::Loop& loop_;
  model::NodeId node_;
  bool broken_ = false;                                         // a write of this server's is unknown
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // shared with the answers under way
};

}  // namespace sluice::store
