#include <openssl/crypto.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "vault/secrets.h"

namespace sluice::vault {
namespace {

constexpr std::size_t at_once_bytes_max = 256;                 // of values: a millisecond or two
constexpr std::size_t kept_bytes_max = std::size_t{64} << 20;  // of scrubbers
constexpr std::size_t kept_max = 256;
constexpr int64_t kept_us = 600'000'000;  // after it was asked for last
constexpr int64_t stands_still_us_max = 30'000'000;
constexpr Millis look_again{100};

// Of everything that makes one set another.
std::string digest_of(const std::vector<Secret>& secrets) {
  std::string all;
  for (const auto& secret : secrets) {
    for (const auto* const part : {&secret.alias, &secret.value}) {
      all += std::to_string(part->size()) + ":";
      all += *part;
    }
  }
  auto digest = sha256(all);
  OPENSSL_cleanse(all.data(), all.size());
  return digest;
}

std::size_t bytes_of(const std::vector<Secret>& secrets) {
  std::size_t bytes = 0;
  for (const auto& secret : secrets) bytes += secret.value.size();
  return bytes;
}

using Found = Callback<void(std::shared_ptr<const Scrubber>)>;

}  // namespace

struct Scrubbers::Order {
  Asker asker;
  uint64_t number = 0;         // of the replacement, among those of its secrets
  int64_t waits_until_us = 0;  // however much the tenant holds; 0: there is no end
};

namespace {

// Wiped when the worker has read it.
struct Job {
  explicit Job(std::vector<Secret> its_secrets) : secrets(std::move(its_secrets)) {}
  ~Job() {
    for (auto& secret : secrets) OPENSSL_cleanse(secret.value.data(), secret.value.size());
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  std::vector<Secret> secrets;
  std::shared_ptr<const Scrubber> scrubber;
};

}  // namespace

struct Scrubbers::State : std::enable_shared_from_this<State> {
  using Key = std::pair<model::TenantId, std::string>;  // with the set's digest
  struct Kept {
    std::shared_ptr<const Scrubber> scrubber;
    int64_t asked_us = 0;
  };
  struct Caller {
    std::function<bool()> is_wanted;
    int64_t waits_until_us = 0;
    Found found;
  };
  struct Build {
    std::string digest;
    std::shared_ptr<Job> job;
    std::vector<Caller> callers;
  };
  // Of one tenant.
  struct Desk {
    std::deque<Build> waiting;
    std::optional<Build> under_way;
    std::map<std::string, std::weak_ptr<const Scrubber>> made;  // by the set's digest; some are gone
  };

  State(world::Loop& its_loop, world::SharedWorkers* its_workers, std::size_t its_held_bytes)
      : loop(its_loop), workers(its_workers), held_bytes(its_held_bytes) {}

  world::Loop& loop;
  world::SharedWorkers* workers;
  const std::size_t held_bytes;
  std::map<Key, Kept> kept;
  std::map<model::TenantId, Desk> desks;
  bool looks = false;  // by this, whether what is held has become less:
  world::Timer look_timer;
  int64_t built = 0;

  std::shared_ptr<const Scrubber> made_before(const Key& key);
  void keep(const Key& key, std::shared_ptr<const Scrubber> scrubber);
  void make_room();
  void enqueue(const Key& key, const std::vector<Secret>& secrets, Caller caller);
  void begin_next(model::TenantId tenant);
  void look_at_all();
  void on_built(model::TenantId tenant);
  std::size_t held_by(model::TenantId tenant);
};

std::shared_ptr<const Scrubber> Scrubbers::State::made_before(const Key& key) {
  if (const auto found = kept.find(key); found != kept.end()) {
    found->second.asked_us = loop.monotonic_us();
    return found->second.scrubber;
  }
  const auto desk = desks.find(key.first);
  if (desk == desks.end()) return nullptr;
  const auto made = desk->second.made.find(key.second);
  return made == desk->second.made.end() ? nullptr : made->second.lock();
}

void Scrubbers::State::keep(const Key& key, std::shared_ptr<const Scrubber> scrubber) {
  ++built;
  auto& made = desks[key.first].made;
  std::erase_if(made, [](const auto& entry) { return entry.second.expired(); });
  made[key.second] = scrubber;
  kept[key] = {std::move(scrubber), loop.monotonic_us()};
  make_room();
}

// The oldest go first. What a run uses stays for as long as the run does.
void Scrubbers::State::make_room() {
  const int64_t now_us = loop.monotonic_us();
  std::erase_if(kept, [&](const auto& entry) { return entry.second.asked_us + kept_us < now_us; });
  std::size_t bytes = 0;
  for (const auto& [key, entry] : kept) bytes += entry.scrubber->size_bytes();
  while (!kept.empty() && (bytes > kept_bytes_max || kept.size() > kept_max)) {
    const auto oldest = std::ranges::min_element(kept, {}, [](const auto& entry) { return entry.second.asked_us; });
    bytes -= oldest->second.scrubber->size_bytes();
    kept.erase(oldest);
  }
}

// What only the cache holds is not counted: it goes when there is too much of it.
std::size_t Scrubbers::State::held_by(model::TenantId tenant) {
  std::size_t bytes = 0;
  for (const auto& [digest, scrubber] : desks[tenant].made) {
    const long by_cache = kept.contains({tenant, digest}) ? 1 : 0;
    const auto still = scrubber.lock();
    if (still && still.use_count() - 1 > by_cache) bytes += still->size_bytes();
  }
  return bytes;
}

void Scrubbers::State::enqueue(const Key& key, const std::vector<Secret>& secrets, Caller caller) {
  auto& desk = desks[key.first];
  if (desk.under_way && desk.under_way->digest == key.second) {
    return desk.under_way->callers.push_back(std::move(caller));
  }
  auto build = std::ranges::find(desk.waiting, key.second, &Build::digest);
  if (build == desk.waiting.end()) {
    desk.waiting.push_back({key.second, std::make_shared<Job>(secrets), {}});
    build = std::prev(desk.waiting.end());
  }
  build->callers.push_back(std::move(caller));
  begin_next(key.first);
}

void Scrubbers::State::begin_next(model::TenantId tenant) {
  auto& desk = desks[tenant];
  if (desk.under_way) return;
  for (auto& build : desk.waiting) {
    std::erase_if(build.callers, [](const Caller& caller) { return caller.is_wanted && !caller.is_wanted(); });
  }
  std::erase_if(desk.waiting, [](const Build& build) { return build.callers.empty(); });
  if (desk.waiting.empty()) return;
  const int64_t now_us = loop.monotonic_us();
  auto next = desk.waiting.begin();
  if (held_by(tenant) >= held_bytes) {
    const auto is_late = [&](const Caller& caller) {
      return caller.waits_until_us != 0 && caller.waits_until_us <= now_us;
    };
    next = std::ranges::find_if(desk.waiting,
                                [&](const Build& build) { return std::ranges::any_of(build.callers, is_late); });
  }
  if (next == desk.waiting.end()) {
    if (!std::exchange(looks, true)) look_timer = loop.after(look_again, [this] { look_at_all(); });
    return;
  }
  desk.under_way = std::move(*next);
  desk.waiting.erase(next);
  workers->of(tenant.ulid)
      .run([job = desk.under_way->job] { job->scrubber = std::make_shared<const Scrubber>(job->secrets); },
           [weak = weak_from_this(), tenant] {
             if (const auto state = weak.lock()) state->on_built(tenant);
           });
}

void Scrubbers::State::on_built(model::TenantId tenant) {
  auto build = std::move(*desks[tenant].under_way);
  desks[tenant].under_way.reset();
  const auto scrubber = std::exchange(build.job->scrubber, nullptr);
  keep({tenant, build.digest}, scrubber);
  for (auto& caller : build.callers) caller.found(scrubber);
  begin_next(tenant);
}

void Scrubbers::State::look_at_all() {
  looks = false;
  std::vector<model::TenantId> tenants;
  for (const auto& [tenant, desk] : desks) {
    if (!desk.waiting.empty()) tenants.push_back(tenant);
  }
  for (const auto tenant : tenants) begin_next(tenant);
}

Scrubbers::Scrubbers(world::Loop& loop, world::SharedWorkers* workers, std::size_t held_bytes)
    : state_(std::make_shared<State>(loop, workers, held_bytes)) {}
Scrubbers::~Scrubbers() = default;

int64_t Scrubbers::built() const { return state_->built; }

void Scrubbers::find(const std::vector<Secret>& secrets, const Order& order,
                     Callback<void(std::shared_ptr<const Scrubber>)> then) {
  const State::Key key(order.asker.tenant, digest_of(secrets));
  if (auto found = state_->made_before(key)) return then(std::move(found));
  if (state_->workers == nullptr || bytes_of(secrets) <= at_once_bytes_max) {
    const auto scrubber = std::make_shared<const Scrubber>(secrets);
    if (!secrets.empty()) state_->keep(key, scrubber);
    return then(scrubber);
  }
  state_->enqueue(key, secrets, {order.asker.is_wanted, order.waits_until_us, std::move(then)});
}

void Scrubbers::replace(Asker asker, std::shared_ptr<Secrets> secrets, std::vector<Secret> by, Callback<void()> then) {
  Order order{std::move(asker), ++secrets->state_->last_asked};
  if (order.asker.stands_still) order.waits_until_us = state_->loop.monotonic_us() + stands_still_us_max;
  install(std::move(order), secrets, std::move(by), std::move(then));
}

void Scrubbers::install(Order order, std::shared_ptr<Secrets> secrets, std::vector<Secret> by, Callback<void()> then) {
  auto looked_for = secrets->state_->looked_for_with(by);
  const auto version = secrets->state_->version;
  auto use = [this, weak = std::weak_ptr(state_), order, secrets, by = std::move(by), looked_for, version,
              then = std::move(then)](std::shared_ptr<const Scrubber> scrubber) mutable {
    if (!weak.lock()) return;
    auto& state = *secrets->state_;
    // What was asked for later is in use already.
    if (order.number < state.last_used) return then();
    // Another one came in between: its values must be looked for, too.
    if (version != state.version) return install(std::move(order), std::move(secrets), std::move(by), std::move(then));
    state.last_used = order.number;
    state.use(std::move(by), std::move(looked_for), std::move(scrubber));
    then();
  };
  find(looked_for, order, std::move(use));
}

}  // namespace sluice::vault
