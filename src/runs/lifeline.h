// Whether an object is still there after it called back: a listener may drop the object that calls it.
#pragma once

#include <memory>

namespace sluice::runs {

class Lifeline {
 public:
  using Watch = std::weak_ptr<const char>;  // expired(): the object is gone

  Lifeline() = default;
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  Watch watch() const { return line_; }

 private:
  // It is not shared: it is a shared_ptr for the sake of the weak ones, which see its end.
  std::shared_ptr<const char> line_ = std::make_shared<const char>('\0');
};

}  // namespace sluice::runs
