// The answers that outlast their handler: streams, and callers who wait for the end of a run.
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

// Owns them from the first byte to the last. An answer is as a rule let go from inside a callback of
// the engine or of the connection, so it is destroyed a turn later, never under its caller's feet.
// Shared with the connection, which holds only weak pointers: it may still speak of an answer that
// is complete here and in flight there.
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
  std::shared_ptr<Kept> kept_;  // shared with a deferred sweep, which may come after our end
};

}  // namespace sluice::api
