// Where a runner's account of a run stands: written to the journal behind what it told, and found there by whoever goes
// on hearing it.
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
  int64_t line = 0;                // all up to this one were told
  bool begun = false;              // a step was, or something else than words told: nobody else can do the rest
  bool careful = false;            // nothing is done there before the server has written that it begins
  int losses = 0;                  // of runners that had it before
  bool last = false;               // the line after it was the last, and the run's end is written along with this
  std::vector<std::string> steps;  // ids of those that were running

  friend bool operator==(const Mark&, const Mark&) = default;
};

std::string to_json(const Mark& mark);
// Empty when it is none of ours.
std::optional<Mark> read_mark(std::string_view text);

}  // namespace sluice::remote
