// The time during which the store does not say what became of a write. Runs are kept meanwhile, and each learns from
// its journal what became of it when the store answers again; after a minute they are dropped, and whichever server
// reads the store next carries them.
//
// Called from the loop's thread. It reopens the store (StoreWatch); it does not look for runs itself.
#pragma once

#include "base/lifetime.h"
#include "engine/live_runs.h"
#include "engine/store_watch.h"

namespace sluice::engine {

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
