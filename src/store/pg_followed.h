// Which of the runs that this node writes are followed from other nodes, so that it tells of those and no others.
//
// A wish is on its way while this node writes on, and the one who wished has read before. So what was written of late
// is remembered, and owed to whoever then wishes for it: told with the next commit, which comes after all of that.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "store/pg_news.h"

namespace sluice::store {

class PgFollowed {
 public:
  // Another node's wish.
  void want(const PgNews& wish, int64_t now_us);
  // This node writes to the run: is anybody to be told?
  bool writes(model::RunId run, int64_t now_us);
  const std::vector<model::RunId>& owed() const { return owed_; }
  // What was owed is told.
  void settle() { owed_.clear(); }

 private:
  void age(int64_t now_us);

  std::unordered_map<model::RunId, int64_t> wanted_;  // until when
  int64_t all_until_us_ = 0;                          // so long somebody wants more than it could name
  // Written since the last turn, and between that and the one before.
  std::unordered_set<model::RunId> fresh_;
  std::unordered_set<model::RunId> recent_;
  int64_t turned_us_ = 0;
  std::vector<model::RunId> owed_;
};

}  // namespace sluice::store
