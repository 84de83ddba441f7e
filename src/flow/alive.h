// Guards callbacks: an answer that arrives after its requester was destroyed is dropped.
#pragma once

#include <memory>
#include <utility>

namespace sluice::flow {

class Alive {
 public:
  std::weak_ptr<char> watch() const { return token_; }
  template <typename F>
  auto guard(F then) const {
    return [watched = watch(), then = std::move(then)](auto&&... args) mutable {
      if (!watched.expired()) then(std::forward<decltype(args)>(args)...);
    };
  }

 private:
  std::shared_ptr<char> token_ = std::make_shared<char>();
};

}  // namespace sluice::flow
