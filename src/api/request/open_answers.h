// Answers that outlive their handler: streams, and clients that wait for the end of a run. Used on the loop's thread.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "world/world.h"

namespace sluice::api {

class OpenAnswer {
 public:
  virtual ~OpenAnswer() = default;
};

// Owns each answer from its first byte to its last. An answer usually ends inside a callback of the engine or of the
// connection, so it is destroyed one turn of the loop later and never below its caller. Connections hold weak pointers
// only: the answer may be complete here and still in flight there.
class OpenAnswers final {
 public:
  explicit OpenAnswers(world::Loop& loop) : loop_(loop), kept_(std::make_shared<Kept>()) {}

  void keep(std::shared_ptr<OpenAnswer> answer);
  void let_go(const OpenAnswer& answer);
  std::size_t count() const { return kept_->open.size(); }

 private:
  struct Kept {
    std::unordered_map<const OpenAnswer*, std::shared_ptr<OpenAnswer>> open;
    std::vector<std::shared_ptr<OpenAnswer>> leaving;
  };

  world::Loop& loop_;
  std::shared_ptr<Kept> kept_;  // shared with a deferred cleanup, which may run after the destructor
};

}  // namespace sluice::api
