// Which changes by sandboxes the audit chain has already: a row of a table that is the thousandth of its run adds no
// entry. The oldest are forgotten, and recorded once more if they are done again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
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

// How many changes each sandbox has made. The audit chain keeps everything forever, so that only the first of them have
// entries of their own; from then on an entry stands for many that follow.
class DeedCounts final {
 public:
  static constexpr int64_t single_max = 200;  // entries of their own
  static constexpr int64_t sum_of = 200;      // later ones in one entry
  static constexpr std::size_t actors_max = 10'000;

  // The number of this change, from 1. An actor that was forgotten begins anew.
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
