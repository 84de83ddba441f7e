// The queue of name lookups for sandboxes. A name whose server is silent occupies a thread for seconds, and one tenant
// may have many sandboxes that look up many of them. A tenant holds at most lookups_of_tenant_max threads and a
// sandbox one; tenants take turns, and so do the sandboxes of each. A lookup without an answer after lookup_ms_max is
// given up, and its thread counts as the tenant's until the system's resolver lets go of it. A caller that gave up
// leaves the queue. Called from the loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/addresses.h"
#include "base/callback.h"
#include "base/lifetime.h"
#include "base/result.h"
#include "egress/egress.h"
#include "world/world.h"

namespace sluice::egress {

// Runs on a worker's thread and may block.
using Lookup = std::function<Result<std::vector<Address>>(const std::string& host)>;

inline constexpr std::size_t lookups_waiting_max = 64;                 // of one sandbox
inline constexpr int lookups_of_tenant_max = lookups_at_once_max / 2;  // under way, of all its sandboxes
inline constexpr int64_t lookup_ms_max = 2'000;                        // once it is under way

// The sandbox, and its tenant, for which a name is looked up.
struct Requester {
  std::string tenant;  // empty: not known; the sandbox then takes turns by itself
  const void* sandbox = nullptr;
};

class Lookups final {
 public:
  using Done = Callback<void(Result<std::vector<Address>>)>;

  // `workers` must outlive this.
  Lookups(Lookup lookup, world::Loop& loop, world::Workers& workers);
  ~Lookups();
  Lookups(const Lookups&) = delete;
  Lookups& operator=(const Lookups&) = delete;

  // The lookup is dropped once `wanted` is over. `done` is called from the loop, never from inside this call, and
  // not after this is destroyed.
  void look_up(const Requester& requester, Lifetime::Watch wanted, std::string host, Done done);

 private:
  struct Waiting {
    Lifetime::Watch wanted;
    std::string host;
    Done done;
  };
  struct Sandbox {
    const void* who = nullptr;
    bool is_at_work = false;
    std::deque<Waiting> waiting;
  };
  struct Tenant {
    std::string name;
    const void* unknown = nullptr;  // the sandbox, if its tenant is not known
    int at_work = 0;
    std::deque<Sandbox> sandboxes;  // in the order of their turns
  };
  // A lookup under way whose caller still waits.
  struct Open {
    Lifetime::Watch wanted;
    Done done;
    world::Timer limit;
  };

  std::deque<Tenant>::iterator tenant_of(const Requester& requester);
  Sandbox& sandbox_of(const Requester& requester);
  void begin_some();
  bool begin_one(Tenant& tenant);
  void begin(const Requester& requester, Waiting next);
  void on_returned(const Requester& requester);
  void answer(uint64_t number, Result<std::vector<Address>> found);

  Lookup lookup_;
  world::Loop& loop_;
  world::Workers& workers_;
  std::deque<Tenant> tenants_;  // in the order of their turns
  int at_work_ = 0;
  std::map<uint64_t, Open> open_;
  uint64_t last_number_ = 0;
  Lifetime lifetime_;  // a lookup may return later
};

}  // namespace sluice::egress
