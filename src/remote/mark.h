// The position up to which the lines of a runner are in the journal of a run. It is written after those lines, and the
// server that continues the run reads on from there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::remote {

struct Mark {
  std::string runner;              // its URL
  std::string execution;           // the dispatch, as the runner calls it
  int64_t line = 0;                // all lines up to this one are in the journal
  bool begun = false;              // an effect besides text was reported, so no other runner can do the rest
  bool careful = false;            // nothing is done there before the server has written that it begins
  int losses = 0;                  // of runners that had it before
  bool last = false;               // the line after it was the last, and the run's end is written along with this
  std::vector<std::string> steps;  // ids of those that were running

  friend bool operator==(const Mark&, const Mark&) = default;
};

std::string to_json(const Mark& mark);
// Empty if the text is not a mark.
std::optional<Mark> read_mark(std::string_view text);

}  // namespace sluice::remote
