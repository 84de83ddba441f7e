// What every handler works with: the modules below, the settings, and what is remembered between two requests.
// There is one object of it per server, used on the loop's thread. What only one surface remembers belongs to that
// surface; here is just a reference to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/request/authentication.h"
#include "api/request/needs.h"
#include "api/request/rate_limits.h"
#include "api/request/route.h"
#include "base/lifetime.h"
#include "engine/engine.h"
#include "model/ids.h"
#include "net/net.h"
#include "world/metrics.h"
#include "world/world.h"

namespace sluice::api {

// Counts the unread bytes of each tenant's answers over all its connections: clients of one tenant that do not read
// must not use the memory of the others. An account exists as long as a connection is charged to it.
class AnswerAccounts final {
 public:
  std::shared_ptr<net::AnswerAccount> of(model::TenantId tenant) {
    auto& known = accounts_[tenant];
    if (auto account = known.lock()) return account;
    const auto forget = [tenant, all = lifetime_.ref(*this)](net::AnswerAccount* account) {
      if (auto* accounts = all.get()) accounts->accounts_.erase(tenant);
      delete account;
    };
    std::shared_ptr<net::AnswerAccount> account(new net::AnswerAccount, forget);
    known = account;
    return account;
  }
  std::size_t count() const { return accounts_.size(); }

 private:
  std::map<model::TenantId, std::weak_ptr<net::AnswerAccount>> accounts_;
  Lifetime lifetime_;  // a connection may outlive the API for a turn
};

// Memory of the changes by sandboxes that are in the audit chain already: the thousandth row that a run adds to a table
// gets no entry. The oldest changes are forgotten, and recorded once more if they are repeated.
class RecordedChanges final {
 public:
  static constexpr std::size_t count_max = 10'000;

  bool has(const std::string& change) const { return known_.contains(change); }
  void add(const std::string& change) {
    if (!known_.insert(change).second) return;
    order_.push_back(change);
    if (order_.size() <= count_max) return;
    known_.erase(order_.front());
    order_.pop_front();
  }

 private:
  std::unordered_set<std::string> known_;
  std::deque<std::string> order_;
};

// The number of changes by each sandbox. The audit chain is never shortened, so only the first changes get entries of
// their own; later, one entry stands for many changes.
class ChangeCounts final {
 public:
  static constexpr int64_t single_max = 200;  // entries of their own
  static constexpr int64_t sum_of = 200;      // later ones in one entry
  static constexpr std::size_t actors_max = 10'000;

  // The number of this change, from 1. A forgotten actor starts again at 1.
  int64_t next(const std::string& actor) {
    if (counts_.size() >= actors_max && !counts_.contains(actor)) counts_.clear();
    return ++counts_[actor];
  }
  static bool has_own_entry(int64_t number) { return number <= single_max; }
  static bool begins_sum(int64_t number) { return number > single_max && (number - single_max) % sum_of == 1; }

 private:
  std::unordered_map<std::string, int64_t> counts_;
};

// An answer that outlives its handler: a stream, or a client that waits for the end of a run.
class OpenAnswer {
 public:
  virtual ~OpenAnswer() = default;
};

// Owns each answer from its first byte to its last. An answer usually ends inside a callback of the engine or of the
// connection, so it is destroyed one turn of the loop later and never below its caller. The callbacks of connections
// are guarded by the answer's lifetime: it may be complete here and still in flight there.
class OpenAnswers final {
 public:
  explicit OpenAnswers(world::Loop& loop) : loop_(loop) {}

  template <typename Answer, typename... Given>
  Answer& open(Given&&... given) {
    auto answer = std::make_unique<Answer>(std::forward<Given>(given)...);
    auto& opened = *answer;
    open_.emplace(&opened, std::move(answer));
    return opened;
  }
  void let_go(const OpenAnswer& answer);
  std::size_t count() const { return open_.size(); }

 private:
  world::Loop& loop_;
  std::unordered_map<const OpenAnswer*, std::unique_ptr<OpenAnswer>> open_;
  std::vector<std::unique_ptr<OpenAnswer>> leaving_;
  Lifetime lifetime_;  // the deferred cleanup may run after the destructor
};

// Samples of the server's load within the last hour, for charts. They are in memory only, so a restart loses them. Used
// on the loop's thread.
class CapacityHistory final {
 public:
  static constexpr Millis interval{5'000};
  static constexpr std::size_t samples_max = 720;

  struct Sample {
    Timestamp at;
    engine::Capacity capacity;
  };

  CapacityHistory(world::Loop& loop, engine::Engine& engine) : loop_(loop), engine_(engine) { wait(); }
  CapacityHistory(const CapacityHistory&) = delete;
  CapacityHistory& operator=(const CapacityHistory&) = delete;

  const std::deque<Sample>& samples() const { return samples_; }

 private:
  void wait() {
    timer_ = loop_.after(interval, [this] { take(); });
  }
  void take() {
    if (samples_.size() == samples_max) samples_.pop_front();
    samples_.push_back({loop_.now(), engine_.capacity()});
    wait();
  }

  world::Loop& loop_;
  engine::Engine& engine_;
  std::deque<Sample> samples_;
  world::Timer timer_;
};

// Metrics of each operation: number of requests, classes of status codes, durations.
class RequestMetrics final {
 public:
  RequestMetrics(world::Metrics& metrics, std::span<const Route> routes);

  // `route` is an element of `routes`, or null for a request that matched none.
  void served(const Route* route, int status, int64_t duration_us);

 private:
  struct OfRoute {
    std::array<world::Counter*, 5> by_class;  // 1xx … 5xx
    world::Histogram* duration;
  };
  std::span<const Route> routes_;
  std::vector<OfRoute> of_routes_;  // in the order of routes_, then one for requests without a route
};

struct Documents;
namespace assistant {
class Turns;
}
namespace console {
struct Console;
}

struct Services {
  struct OfSurfaces {
    assistant::Turns& turns;
    console::Console& console;
    const Documents& documents;
  };

  Services(ApiNeeds its_needs, ApiOptions its_options, OfSurfaces of, std::span<const Route> routes)
      : needs(its_needs),
        options(std::move(its_options)),
        authentication(needs.store, needs.loop, options.admin_key_sha256, options.run_bearer_root),
        requests(options.request_rate),
        wrong_keys(options.wrong_key_rate),
        metrics(needs.metrics, routes),
        open_answers(needs.loop),
        turns(of.turns),
        console(of.console),
        documents(of.documents),
        capacity_history(needs.loop, needs.engine) {}

  ApiNeeds needs;
  ApiOptions options;
  Authentication authentication;
  TokenBuckets requests;    // a bucket for each key
  TokenBuckets wrong_keys;  // a bucket for each address
  AnswerAccounts answer_accounts;
  RecordedChanges recorded_changes;
  ChangeCounts change_counts;
  mutable RequestLines request_lines;  // mutable because Api::refusal() is const and logs, too
  RequestMetrics metrics;
  OpenAnswers open_answers;
  assistant::Turns& turns;
  console::Console& console;
  const Documents& documents;
  CapacityHistory capacity_history;
  bool draining = false;
};

}  // namespace sluice::api
