// The secrets in reach of one run, and what may be one, and the scrubbers that are built for them.
#include <openssl/crypto.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/lifetime.h"
#include "vault/vault.h"

namespace sluice::vault {

struct Secrets::State {
  std::function<bool(const Secret&)> is_looked_for;
  std::vector<Secret> now;
  std::vector<Secret> pinned;
  std::vector<Secret> ever;  // each value once: what is not in `now` may still come back from the network
  std::vector<Secret> ever_pinned;
  std::shared_ptr<const Scrubber> of_ever = std::make_shared<const Scrubber>(std::vector<Secret>());
  std::shared_ptr<const Scrubber> of_pinned;  // null: nothing was pinned
  std::shared_ptr<const Scrubber> scrubber = of_ever;
  uint64_t version = 0;     // of `ever`
  uint64_t last_asked = 0;  // among the replacements that Scrubbers has under way
  uint64_t last_used = 0;

  State() = default;
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // What must be looked for once `next` is in use.
  std::vector<Secret> looked_for_with(const std::vector<Secret>& next) const;
  void use(std::vector<Secret> next, std::vector<Secret> looked_for, std::shared_ptr<const Scrubber> its_scrubber);
  void put_together();
};

Result<Unit> check_value(std::string_view value, std::size_t bytes_min) {
  const auto invalid = [](std::string what) { return Error{ErrorKind::invalid, std::move(what)}; };
  if (value.empty()) return invalid("a secret's value is empty");
  if (value.size() < bytes_min) {
    return invalid("a secret's value has at least " + std::to_string(bytes_min) +
                   " bytes; a shorter one could be guessed from what is scrubbed");
  }
  if (value.size() > value_bytes_max) {
    return invalid("a secret's value has at most " + std::to_string(value_bytes_max) + " bytes");
  }
  if (value.find('\0') != std::string_view::npos) return invalid("a secret's value contains a NUL byte");
  if (!is_utf8(value)) return invalid("a secret's value is not UTF-8; encode binary ones as base64");
  if (value.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return invalid("a secret's value is nothing but white space");
  }
  return Unit{};
}

namespace {

void wipe(std::vector<Secret>& secrets) {
  for (auto& secret : secrets) OPENSSL_cleanse(secret.value.data(), secret.value.size());
}

const Secret* find_in(const std::vector<Secret>& secrets, std::string_view alias) {
  const auto found = std::ranges::find(secrets, alias, &Secret::alias);
  return found == secrets.end() ? nullptr : &*found;
}

// What is looked for when `more` comes to `before`: each value once, under the alias it has now.
std::vector<Secret> with_those_before(std::vector<Secret> more, const std::vector<Secret>& before) {
  for (const auto& secret : before) {
    if (std::ranges::find(more, secret.value, &Secret::value) == more.end()) more.push_back(secret);
  }
  return more;
}

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

Secrets::Secrets(std::function<bool(const Secret&)> is_looked_for) : state_(std::make_unique<State>()) {
  state_->is_looked_for = std::move(is_looked_for);
}
Secrets::~Secrets() = default;

Secrets::State::~State() {
  for (auto* const list : {&now, &pinned, &ever, &ever_pinned}) wipe(*list);
}

std::vector<Secret> Secrets::State::looked_for_with(const std::vector<Secret>& next) const {
  std::vector<Secret> more;
  std::ranges::copy_if(next, std::back_inserter(more),
                       [&](const Secret& secret) { return !is_looked_for || is_looked_for(secret); });
  return with_those_before(std::move(more), ever);
}

void Secrets::State::use(std::vector<Secret> next, std::vector<Secret> looked_for,
                         std::shared_ptr<const Scrubber> its_scrubber) {
  wipe(ever);
  ever = std::move(looked_for);
  ++version;
  of_ever = std::move(its_scrubber);
  put_together();
  wipe(now);
  now.clear();
  for (auto& secret : next) {
    if (!find_in(now, secret.alias)) now.push_back(std::move(secret));
  }
}

void Secrets::State::put_together() {
  if (!of_pinned) {
    scrubber = of_ever;
    return;
  }
  auto automata = of_ever->automata_;
  automata.insert(automata.end(), of_pinned->automata_.begin(), of_pinned->automata_.end());
  scrubber = std::shared_ptr<const Scrubber>(new Scrubber(std::move(automata)));
}

void Secrets::replace(std::vector<Secret> secrets) {
  auto looked_for = state_->looked_for_with(secrets);
  auto scrubber = std::make_shared<const Scrubber>(looked_for);
  state_->use(std::move(secrets), std::move(looked_for), std::move(scrubber));
}

// With an automaton of its own: a run's own token must not make the large set another one than that of the run before.
void Secrets::pin(Secret secret) {
  state_->ever_pinned = with_those_before({secret}, state_->ever_pinned);
  state_->of_pinned = std::make_shared<const Scrubber>(state_->ever_pinned);
  state_->put_together();
  for (auto& before : state_->pinned) {
    if (before.alias == secret.alias) OPENSSL_cleanse(before.value.data(), before.value.size());
  }
  std::erase_if(state_->pinned, [&](const Secret& before) { return before.alias == secret.alias; });
  state_->pinned.push_back(std::move(secret));
}

const Secret* Secrets::find(std::string_view alias) const {
  const auto* const found = find_in(state_->now, alias);
  return found != nullptr ? found : find_in(state_->pinned, alias);
}

std::vector<std::string> Secrets::aliases() const {
  std::vector<std::string> aliases;
  for (const auto& secret : state_->now) aliases.push_back(secret.alias);
  return aliases;
}

std::shared_ptr<const Scrubber> Secrets::scrubber() const { return state_->scrubber; }

std::vector<Secret> open_all(const Sealer& sealer, const std::vector<model::SealedSecret>& sealed,
                             std::vector<std::string>& unreadable) {
  std::vector<Secret> opened;
  for (const auto& secret : sealed) {
    auto value = sealer.open(secret.tenant_id, context_of(secret), secret.sealed);
    if (value) {
      opened.push_back({secret.alias, std::move(value).take(), secret.hosts, secret.places, secret.scope});
    } else {
      unreadable.push_back(secret.alias + ": " + value.error().what);
    }
  }
  return opened;
}

// ── scrubbers ──

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

struct Scrubbers::State {
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
  struct Queue {
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
  std::map<model::TenantId, Queue> queues;
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

  Lifetime lifetime;
};

std::shared_ptr<const Scrubber> Scrubbers::State::made_before(const Key& key) {
  if (const auto found = kept.find(key); found != kept.end()) {
    found->second.asked_us = loop.monotonic_us();
    return found->second.scrubber;
  }
  const auto queue = queues.find(key.first);
  if (queue == queues.end()) return nullptr;
  const auto made = queue->second.made.find(key.second);
  return made == queue->second.made.end() ? nullptr : made->second.lock();
}

void Scrubbers::State::keep(const Key& key, std::shared_ptr<const Scrubber> scrubber) {
  ++built;
  auto& made = queues[key.first].made;
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
  for (const auto& [digest, scrubber] : queues[tenant].made) {
    const long by_cache = kept.contains({tenant, digest}) ? 1 : 0;
    const auto still = scrubber.lock();
    if (still && still.use_count() - 1 > by_cache) bytes += still->size_bytes();
  }
  return bytes;
}

void Scrubbers::State::enqueue(const Key& key, const std::vector<Secret>& secrets, Caller caller) {
  auto& queue = queues[key.first];
  if (queue.under_way && queue.under_way->digest == key.second) {
    return queue.under_way->callers.push_back(std::move(caller));
  }
  auto build = std::ranges::find(queue.waiting, key.second, &Build::digest);
  if (build == queue.waiting.end()) {
    queue.waiting.push_back({key.second, std::make_shared<Job>(secrets), {}});
    build = std::prev(queue.waiting.end());
  }
  build->callers.push_back(std::move(caller));
  begin_next(key.first);
}

void Scrubbers::State::begin_next(model::TenantId tenant) {
  auto& queue = queues[tenant];
  if (queue.under_way) return;
  for (auto& build : queue.waiting) {
    std::erase_if(build.callers, [](const Caller& caller) { return caller.is_wanted && !caller.is_wanted(); });
  }
  std::erase_if(queue.waiting, [](const Build& build) { return build.callers.empty(); });
  if (queue.waiting.empty()) return;
  const int64_t now_us = loop.monotonic_us();
  auto next = queue.waiting.begin();
  if (held_by(tenant) >= held_bytes) {
    const auto is_late = [&](const Caller& caller) {
      return caller.waits_until_us != 0 && caller.waits_until_us <= now_us;
    };
    next = std::ranges::find_if(queue.waiting,
                                [&](const Build& build) { return std::ranges::any_of(build.callers, is_late); });
  }
  if (next == queue.waiting.end()) {
    if (!std::exchange(looks, true)) look_timer = loop.after(look_again, [this] { look_at_all(); });
    return;
  }
  queue.under_way = std::move(*next);
  queue.waiting.erase(next);
  workers->of(tenant.ulid)
      .run([job = queue.under_way->job] { job->scrubber = std::make_shared<const Scrubber>(job->secrets); },
           lifetime.guard([this, tenant] { on_built(tenant); }));
}

void Scrubbers::State::on_built(model::TenantId tenant) {
  auto build = std::move(*queues[tenant].under_way);
  queues[tenant].under_way.reset();
  const auto scrubber = std::exchange(build.job->scrubber, nullptr);
  keep({tenant, build.digest}, scrubber);
  const auto watch = lifetime.watch();
  for (auto& caller : build.callers) {
    caller.found(scrubber);
    if (watch.is_over()) return;
  }
  begin_next(tenant);
}

void Scrubbers::State::look_at_all() {
  looks = false;
  std::vector<model::TenantId> tenants;
  for (const auto& [tenant, queue] : queues) {
    if (!queue.waiting.empty()) tenants.push_back(tenant);
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
  auto use = [this, order, secrets, by = std::move(by), looked_for, version,
              then = std::move(then)](std::shared_ptr<const Scrubber> scrubber) mutable {
    auto& state = *secrets->state_;
    // What was asked for later is in use already.
    if (order.number < state.last_used) return then();
    // Another one came in between: its values must be looked for, too.
    if (version != state.version) return install(std::move(order), std::move(secrets), std::move(by), std::move(then));
    state.last_used = order.number;
    state.use(std::move(by), std::move(looked_for), std::move(scrubber));
    then();
  };
  find(looked_for, order, state_->lifetime.guard(std::move(use)));
}

}  // namespace sluice::vault
