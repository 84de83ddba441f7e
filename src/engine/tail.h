// Those who wait for what another node writes to a run: woken by its news, and every second, because news may be lost.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/callback.h"
#include "base/lifetime.h"
#include "model/model.h"
#include "wire/wire.h"
#include "world/world.h"

namespace sluice::engine {

class Tails;

// Dropping it stops waiting; it may be dropped while it is being woken.
class Tail final {
 public:
  Tail(Tails& tails, model::RunId run, Callback<void()> look);
  ~Tail();
  Tail(const Tail&) = delete;
  Tail& operator=(const Tail&) = delete;

 private:
  friend class Tails;
  void wake();
  void look_later();

  Tails* tails_;  // null once they are gone
  model::RunId run_;
  Callback<void()> look_;
  world::Timer timer_;
  Lifetime lifetime_;
};

class Tails final {
 public:
  explicit Tails(world::Loop& loop) : loop_(loop) {}
  ~Tails();
  Tails(const Tails&) = delete;
  Tails& operator=(const Tails&) = delete;

  // `look` is called when there may be more to read; never from inside.
  std::unique_ptr<Tail> follow(model::RunId run, Callback<void()> look) {
    return std::make_unique<Tail>(*this, run, std::move(look));
  }
  // Somebody wrote to the run.
  void wake(model::RunId run);
  void wake_all();
  bool empty() const { return tails_.empty(); }
  bool follows(model::RunId run) const { return tails_.contains(run); }
  std::vector<model::RunId> runs() const;

 private:
  friend class Tail;
  using Woken = std::vector<Ref<Tail>>;
  static void wake(const Woken& woken);

  world::Loop& loop_;
  std::unordered_multimap<model::RunId, Tail*> tails_;
};

}  // namespace sluice::engine
