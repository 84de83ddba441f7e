// Reopens the store after a write of unknown outcome, because it refuses all writes until then. The write may have been
// a run's, a record's or one of the store's own, so the store is asked every second whether it must be reopened.
#pragma once

#include "base/lifetime.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::engine {

class StoreWatch final {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // It calls reopen(), unless it knew.
    virtual void on_store_broken() = 0;
    virtual void on_store_reopened() = 0;
  };
  struct Needs {
    Host& host;
    store::Store& store;
    world::Loop& loop;
    world::Log& log;
  };
  explicit StoreWatch(Needs needs) : needs_(needs) {}
  StoreWatch(const StoreWatch&) = delete;
  StoreWatch& operator=(const StoreWatch&) = delete;

  // From now on it looks.
  void start();
  // At once the first time; later with growing patience, until the store answers.
  void reopen();
  // The store answers something: a reopening that waits need not.
  void hurry();
  // Writes and reads get through, so the next reopening is the first one again.
  void note_answers() { tries_ = 0; }

 private:
  void look();
  void try_reopening();

  Needs needs_;
  int tries_ = 0;          // since it answered last
  bool is_later_ = false;  // the next try, by this:
  world::Timer try_timer_;
  world::Timer look_timer_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
