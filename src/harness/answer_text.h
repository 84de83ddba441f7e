// The answer as it was reported so far, for programs that repeat a message from its start when the model's stream
// broke: text that is equal is not reported twice, and text that differs takes the old text back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/harness.h"

namespace sluice::harness {

class AnswerText final {
 public:
  // A message begins here; without meaning while one is awaited again.
  void begin();
  void add(std::string_view piece, std::vector<Heard>& heard);
  // The message will be said again, from its start.
  void again() { repeating_ = !message_.empty(), matched_ = 0; }
  // The message has ended: what was not said again is taken back.
  void complete(std::vector<Heard>& heard);
  // The message as a whole, whatever was reported of it.
  void whole(std::string_view text, std::vector<Heard>& heard);

 private:
  void take_back(std::vector<Heard>& heard);
  void report(std::string_view piece, std::vector<Heard>& heard);

  std::size_t before_ = 0;   // bytes reported before this message
  std::string message_;      // reported of it so far
  bool repeating_ = false;   // it is being repeated
  std::size_t matched_ = 0;  // of message_, when repeating
};

}  // namespace sluice::harness
