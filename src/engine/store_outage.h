// The time during which the store does not say what became of a write. Runs are kept meanwhile, and each learns from
// its journal what became of it when the store answers again; after a minute they are dropped, and whichever server
// reads the store next carries them.
//
// Called from the loop's thread. It reopens the store (StoreWatch); it does not look for runs itself.
#pragma once

#include "base/lifetime.h"
#include "engine/live_runs.h"

namespace sluice::engine {

// Reopens the store after a write of unknown outcome, because it refuses all writes until then. The write may have been
// a run's, a record's or one of the store's own, so the store is asked every second whether it must be reopened.
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

class StoreOutage final : private StoreWatch::Host {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // What is being recovered is looked for anew when the store answers again.
    virtual void end_recovery() = 0;
    // The store can be read again.
    virtual void run_recovery() = 0;
    virtual void drop_all(const Error& why) = 0;
    virtual void on_lost(LiveRun& run, const Error& why) = 0;
  };
  struct Needs {
    Host& host;
    const LiveRuns& live;
    store::Store& store;
    world::Loop& loop;
    world::Log& log;
  };
  explicit StoreOutage(Needs needs);

  // From now on the store is watched.
  void start() { watch_.start(); }
  // The outcome of a write is unknown, or the store cannot be read.
  void begin(const Error& why);
  bool is_on() const { return is_on_; }
  // A node's heartbeats get through: no need to wait any longer before the store is asked for more.
  void hurry() { watch_.hurry(); }
  // A write got through, or the unfinished runs could be read.
  void on_answer();

 private:
  void on_store_broken() override;
  void on_store_reopened() override;
  void lose_patience(const Error& why);

  Needs needs_;
  StoreWatch watch_;
  bool is_on_ = false;
  bool patient_ = false;  // since the first of the outages that have no good answer between them
  world::Timer patience_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
