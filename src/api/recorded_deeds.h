// Which changes by sandboxes the audit chain has already: a row of a table that is the thousandth of its run adds no
// entry. The oldest are forgotten, and recorded once more if they are done again.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_set>

namespace sluice::api {

class RecordedDeeds final {
 public:
  static constexpr std::size_t count_max = 10'000;

  bool has(const std::string& deed) const { return known_.contains(deed); }
  void add(const std::string& deed) {
    if (!known_.insert(deed).second) return;
    order_.push_back(deed);
    if (order_.size() <= count_max) return;
    known_.erase(order_.front());
    order_.pop_front();
  }

 private:
  std::unordered_set<std::string> known_;
  std::deque<std::string> order_;
};

}  // namespace sluice::api
