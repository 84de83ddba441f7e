// Items that wait in lanes, which take turns: one lane with a thousand items delays another lane's item by one of them,
// not by a thousand. Within a lane the order is that of arrival. No threads, no clock.
#pragma once

#include <cstddef>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <utility>

namespace sluice {

template <typename Lane, typename Item>
class Turns final {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t waiting_in(const Lane& lane) const {
    const auto found = index_.find(lane);
    return found == index_.end() ? 0 : found->second->items.size();
  }

  // A lane that had nothing waiting gets its turn after those that have.
  void push(const Lane& lane, Item item) {
    auto found = index_.find(lane);
    if (found == index_.end()) found = begin_lane(lane);
    found->second->items.push_back(std::move(item));
    ++size_;
  }

  // Undoes a pop(): the item is the next one again, and so is its lane.
  void push_front(const Lane& lane, Item item) {
    auto found = index_.find(lane);
    if (found == index_.end()) found = begin_lane(lane);
    queues_.splice(queues_.begin(), queues_, found->second);
    queues_.front().items.push_front(std::move(item));
    ++size_;
  }

  // The item whose turn it is, and its lane. Only while there is one.
  const Item& front() const { return queues_.front().items.front(); }
  const Lane& front_lane() const { return queues_.front().lane; }
  Item pop() { return take(queues_.begin()); }

  // The first in turn of a lane that `may(lane)` go; empty when there is none. The turn of others is not lost.
  template <typename May>
  std::optional<std::pair<Lane, Item>> pop_if(May may) {
    for (auto its = queues_.begin(); its != queues_.end(); ++its) {
      if (!may(its->lane)) continue;
      auto lane = its->lane;
      return std::pair<Lane, Item>(std::move(lane), take(its));
    }
    return std::nullopt;
  }

 private:
  struct Queue {
    Lane lane;
    std::deque<Item> items;
  };
  using Queues = std::list<Queue>;
  using Index = std::map<Lane, typename Queues::iterator>;

  typename Index::iterator begin_lane(const Lane& lane) {
    if (spare_.empty()) return index_.emplace(lane, queues_.insert(queues_.end(), Queue{lane, {}})).first;
    queues_.splice(queues_.end(), spare_);
    queues_.back().lane = lane;
    spare_entry_.key() = lane;
    spare_entry_.mapped() = std::prev(queues_.end());
    return index_.insert(std::move(spare_entry_)).position;
  }

  Item take(typename Queues::iterator its) {
    auto item = std::move(its->items.front());
    its->items.pop_front();
    --size_;
    if (its->items.empty()) {
      spare_entry_ = index_.extract(its->lane);
      spare_.clear();
      spare_.splice(spare_.end(), queues_, its);
    } else {
      queues_.splice(queues_.end(), queues_, its);
    }
    return item;
  }

  Queues queues_;  // in the order of their turns; none is empty
  Index index_;
  // The lane that was emptied last is used again: most of the time one lane has one item, and would be made for each.
  Queues spare_;
  typename Index::node_type spare_entry_;
  std::size_t size_ = 0;
};

}  // namespace sluice
