// Memory of the changes by sandboxes that are in the audit chain already: the thousandth row that a run adds to a table
// gets no entry. The oldest changes are forgotten, and recorded once more if they are repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace sluice::api {

class RecordedChanges final {
 public:
  static constexpr std::size_t count_max = 10'000;

  bool has(const std::string& change) const { return known_.contains(change); }
  void add(const std::string& change) {
    if (!known_.insert(change).second) return;
    order_.push_back(change);
    if (order_.size() <= count_max) return;
    known_.erase(order_.front());
    order_.pop_front();
  }

 private:
  std::unordered_set<std::string> known_;
  std::deque<std::string> order_;
};

// The number of changes by each sandbox. The audit chain is never shortened, so only the first changes get entries of
// their own; later, one entry stands for many changes.
class ChangeCounts final {
 public:
  static constexpr int64_t single_max = 200;  // entries of their own
  static constexpr int64_t sum_of = 200;      // later ones in one entry
  static constexpr std::size_t actors_max = 10'000;

  // The number of this change, from 1. A forgotten actor starts again at 1.
  int64_t next(const std::string& actor) {
    if (counts_.size() >= actors_max && !counts_.contains(actor)) counts_.clear();
    return ++counts_[actor];
  }
  static bool has_own_entry(int64_t number) { return number <= single_max; }
  static bool begins_sum(int64_t number) { return number > single_max && (number - single_max) % sum_of == 1; }

 private:
  std::unordered_map<std::string, int64_t> counts_;
};

}  // namespace sluice::api
