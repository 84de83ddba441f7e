// A clock and an HTTP client of one run, which stand still while the run is suspended. On the loop's thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "net/net.h"
#include "world/world.h"

namespace sluice::runs {

// Time as it counts for the run. While it stands still no timer is due; what is deferred or posted comes all the same.
class RunClock final : public world::Loop, private world::Timer::Keeper {
 public:
  explicit RunClock(world::Loop& loop) : loop_(loop) {}

  Timestamp now() const override { return loop_.now(); }
  int64_t monotonic_us() const override { return (is_still_ ? still_from_us_ : loop_.monotonic_us()) - still_us_; }
  world::Timer after(Millis delay, Callback<void()> then) override;
  void defer(Callback<void()> then) override { loop_.defer(std::move(then)); }
  void post(Callback<void()> then) override { loop_.post(std::move(then)); }

  void stand_still(bool still);
  bool stands_still() const { return is_still_; }

 private:
  struct Waiting {
    int64_t due_us;  // by this clock
    Callback<void()> then;
    world::Timer timer;  // not set while it stands still
  };
  void forget(uint64_t ticket) override { waiting_.erase(ticket); }
  void watch(uint64_t ticket, Waiting& waiting);

  world::Loop& loop_;
  bool is_still_ = false;
  int64_t still_from_us_ = 0;
  int64_t still_us_ = 0;  // altogether, before that
  uint64_t next_ticket_ = 1;
  std::map<uint64_t, Waiting> waiting_;
};

// Requests of models' providers, webhooks and servers of MCP. While they are held none is begun; those under way are
// heard to their end.
class RunClient final : public net::Client {
 public:
  explicit RunClient(net::Client& client) : client_(client) {}

  std::unique_ptr<net::Call> call(net::ClientRequest request, net::CallListener& listener) override;

  void hold(bool held);

 private:
  class HeldCall;

  net::Client& client_;
  bool is_held_ = false;
  std::list<HeldCall*> waiting_;  // in order
};

}  // namespace sluice::runs
