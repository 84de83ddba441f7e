// How long each server of several has been silent. A beat is a change of its row; how long there was none is told by
// the clock of the server that looks, which never jumps: the database's may, and would make every server look dead at
// once, or none for as long as it was put back.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/questions.h"

namespace sluice::store {

struct Beat {
  model::NodeId node;
  int64_t beat_at = 0;  // as its row says; only that it changes counts
};

class Beats {
 public:
  explicit Beats(model::NodeId self) : self_(self) {}

  // `beats` are the rows of `seen`, asked for and answered at these times. Sets how long each was silent.
  void hear(const std::vector<Beat>& beats, int64_t asked_us, int64_t answered_us, std::vector<SeenNode>& seen) {
    auto before = std::exchange(heard_, {});
    for (std::size_t row = 0; row < beats.size(); ++row) {
      const auto known = before.find(beats[row].node);
      const bool is_new = known == before.end() || known->second.beat_at != beats[row].beat_at;
      // When it was heard is not before the answer; that it was silent since is known as of the question.
      const Heard heard{beats[row].beat_at, is_new ? answered_us : known->second.since_us};
      seen[row].silent_ms = std::max<int64_t>(0, asked_us - heard.since_us) / 1'000;
      heard_.emplace(beats[row].node, heard);
    }
  }
  // The last beats of the others that were silent for longer than that.
  std::vector<Beat> silent_for(int64_t span_ms, int64_t at_us) const {
    std::vector<Beat> silent;
    for (const auto& [node, heard] : heard_) {
      if (node != self_ && at_us - heard.since_us > span_ms * 1'000) silent.push_back({node, heard.beat_at});
    }
    return silent;
  }

 private:
  struct Heard {
    int64_t beat_at = 0;
    int64_t since_us = 0;  // when it was first seen
  };

  const model::NodeId self_;
  std::unordered_map<model::NodeId, Heard> heard_;
};

}  // namespace sluice::store
