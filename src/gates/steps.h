// How much work one ruling may be. A tenant chooses the rules and an agent the command, and both meet on the server's
// one event loop, so that their product must be bounded. Steps are counted and not timed: a ruling does not depend on
// how busy the machine is.
#pragma once

#include <cstddef>

namespace sluice::gates {

// Some milliseconds. A command of 100 KiB under ten ordinary rules costs less than half of it.
inline constexpr std::size_t ruling_steps_max = 4'000'000;

class Steps final {
 public:
  explicit Steps(std::size_t most = ruling_steps_max) : left_(most) {}

  // False once they are used up; from then on what was not looked at is not known.
  bool spend(std::size_t steps) {
    spent_ += steps;
    exhausted_ = exhausted_ || steps > left_;
    left_ -= exhausted_ ? left_ : steps;
    return !exhausted_;
  }
  bool exhausted() const { return exhausted_; }
  std::size_t spent() const { return spent_; }

 private:
  std::size_t left_;
  std::size_t spent_ = 0;
  bool exhausted_ = false;
};

}  // namespace sluice::gates
