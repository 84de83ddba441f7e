// Names that are looked up for sandboxes, in turn: a name whose server is silent holds up a thread for seconds, and one
// sandbox may ask for many of them. Each sandbox has one lookup under way at most, and they take turns; who gave up
// leaves the queue. Called from the loop's thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/addresses.h"
#include "base/callback.h"
#include "base/result.h"
#include "egress/egress.h"
#include "world/world.h"

namespace sluice::egress {

// Runs on a worker's thread and may block.
using Lookup = std::function<Result<std::vector<Address>>(const std::string& host)>;

inline constexpr std::size_t lookups_waiting_max = 64;  // of one sandbox; lookups_at_once_max are under way

class Lookups final {
 public:
  using Done = Callback<void(Result<std::vector<Address>>)>;

  // `workers` must outlive this.
  Lookups(Lookup lookup, world::Loop& loop, world::Workers& workers);
  ~Lookups();
  Lookups(const Lookups&) = delete;
  Lookups& operator=(const Lookups&) = delete;

  // `asker` is the sandbox, and `wanted` what waits for the answer: once it is gone the lookup is dropped. `done` comes
  // from the loop, never from inside this call; not after this is gone.
  void look_up(const void* asker, std::weak_ptr<const void> wanted, std::string host, Done done);

 private:
  struct Waiting {
    std::weak_ptr<const void> wanted;
    std::string host;
    Done done;
  };
  struct Asker {
    const void* who = nullptr;
    bool is_at_work = false;
    std::deque<Waiting> waiting;
  };

  void begin_some();
  void begin(Asker& asker);
  void on_found(const void* who);

  Lookup lookup_;
  world::Loop& loop_;
  world::Workers& workers_;
  std::deque<Asker> askers_;  // in the order of their turns
  int at_work_ = 0;
  std::shared_ptr<const bool> here_ = std::make_shared<bool>(true);  // a lookup may come back after this is gone
};

}  // namespace sluice::egress
