// Rows of journals as they are read: whole in memory, and from any event on.
//
// A page is a small part of a long row. Unpacking that row for each of its pages would make reading a
// journal cost the square of its length; so the rows that readers are in the middle of are kept for
// the pages to come, and an index finds the event at which one begins. What a journal says at a
// position never changes, so a kept row is right wherever the journal is by now.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "model/batch_walk.h"
#include "model/model.h"

namespace sluice::store {

class UnpackedRow {
 public:
  // `last` is the position of the batch's last event. `corrupt` when it is no batch, or cannot end there.
  static Result<std::shared_ptr<const UnpackedRow>> from(std::string batch, model::Position last);

  const std::string& batch() const { return batch_; }
  model::Position first() const { return {last_.value - count_ + 1}; }
  model::Position last() const { return last_; }
  uint64_t event_count() const { return count_; }

  // Its events from one on.
  class Cursor {
   public:
    Cursor(const UnpackedRow& row, model::Position from);
    bool at_end() const { return place_.offset == row_.batch_.size(); }
    model::EventView next();
    uint64_t walked() const { return walked_; }  // how many events, those before the first included

   private:
    const UnpackedRow& row_;
    model::BatchPlace place_;
    uint64_t walked_ = 0;
  };

 private:
  static constexpr uint64_t index_step = 256;

  UnpackedRow() = default;

  std::string batch_;
  model::Position last_;
  uint64_t count_ = 0;
  std::vector<model::BatchPlace> index_;  // of each index_step-th event
};

// Those that readers are in the middle of, the one used last first. All readers share them.
class UnpackedRows {
 public:
  static constexpr std::size_t row_bytes_min = 16 * 1024;  // a smaller one is as soon read again
  static constexpr std::size_t bytes_max = 16 * 1024 * 1024;

  // The row with this event; empty when it is not here.
  std::shared_ptr<const UnpackedRow> find(model::RunId run, model::Position position);
  // Not if it is small, nor if it is larger than all of them may be.
  void keep(model::RunId run, std::shared_ptr<const UnpackedRow> row);
  void drop(model::RunId run, const UnpackedRow& row);
  // Nothing stays for readers who went away.
  void clear();

  std::size_t bytes() const;

 private:
  struct Kept {
    model::RunId run;
    std::shared_ptr<const UnpackedRow> row;
  };
  std::list<Kept>::iterator place_of(model::RunId run, const UnpackedRow& row);
  void erase(std::list<Kept>::iterator kept);

  mutable std::mutex mutex_;
  std::list<Kept> kept_;   // guarded by mutex_
  std::size_t bytes_ = 0;  // guarded by mutex_
};

}  // namespace sluice::store
