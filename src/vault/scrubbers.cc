#include <openssl/crypto.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/digest.h"
#include "vault/secrets.h"

namespace sluice::vault {
namespace {

constexpr std::size_t at_once_bytes_max = 256;                 // of values: a millisecond or two
constexpr std::size_t kept_bytes_max = std::size_t{64} << 20;  // of scrubbers
constexpr std::size_t kept_max = 256;
constexpr int64_t kept_us = 600'000'000;  // after it was asked for last

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

struct Scrubbers::State {
  struct Kept {
    std::shared_ptr<const Scrubber> scrubber;
    int64_t asked_us = 0;
  };
  State(world::Loop& its_loop, world::Workers* its_workers) : loop(its_loop), workers(its_workers) {}

  world::Loop& loop;
  world::Workers* workers;
  std::map<std::string, Kept> kept;                   // by the set's digest
  std::map<std::string, std::vector<Found>> waiting;  // for what a worker builds
  int64_t built = 0;

  void keep(const std::string& digest, std::shared_ptr<const Scrubber> scrubber);
  void make_room();
};

void Scrubbers::State::keep(const std::string& digest, std::shared_ptr<const Scrubber> scrubber) {
  ++built;
  kept[digest] = {std::move(scrubber), loop.monotonic_us()};
  make_room();
}

// The oldest go first. What a run uses stays for as long as the run does.
void Scrubbers::State::make_room() {
  const int64_t now_us = loop.monotonic_us();
  std::erase_if(kept, [&](const auto& entry) { return entry.second.asked_us + kept_us < now_us; });
  std::size_t bytes = 0;
  for (const auto& [digest, entry] : kept) bytes += entry.scrubber->size_bytes();
  while (!kept.empty() && (bytes > kept_bytes_max || kept.size() > kept_max)) {
    const auto oldest = std::ranges::min_element(kept, {}, [](const auto& entry) { return entry.second.asked_us; });
    bytes -= oldest->second.scrubber->size_bytes();
    kept.erase(oldest);
  }
}

Scrubbers::Scrubbers(world::Loop& loop, world::Workers* workers) : state_(std::make_shared<State>(loop, workers)) {}
Scrubbers::~Scrubbers() = default;

int64_t Scrubbers::built() const { return state_->built; }

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

void Scrubbers::find(const std::vector<Secret>& secrets, Callback<void(std::shared_ptr<const Scrubber>)> then) {
  const auto digest = digest_of(secrets);
  if (const auto found = state_->kept.find(digest); found != state_->kept.end()) {
    found->second.asked_us = state_->loop.monotonic_us();
    return then(found->second.scrubber);
  }
  if (state_->workers == nullptr || bytes_of(secrets) <= at_once_bytes_max) {
    const auto scrubber = std::make_shared<const Scrubber>(secrets);
    if (!secrets.empty()) state_->keep(digest, scrubber);
    return then(scrubber);
  }
  auto& waiting = state_->waiting[digest];
  waiting.push_back(std::move(then));
  if (waiting.size() > 1) return;
  const auto job = std::make_shared<Job>(secrets);
  state_->workers->run([job] { job->scrubber = std::make_shared<const Scrubber>(job->secrets); },
                       [job, digest, weak = std::weak_ptr(state_)] {
                         const auto state = weak.lock();
                         if (!state) return;
                         state->keep(digest, job->scrubber);
                         auto found = std::move(state->waiting.extract(digest).mapped());
                         for (auto& each : found) each(job->scrubber);
                       });
}

void Scrubbers::replace(std::shared_ptr<Secrets> secrets, std::vector<Secret> by, Callback<void()> then) {
  install(secrets, std::move(by), ++secrets->state_->last_asked, std::move(then));
}

void Scrubbers::install(std::shared_ptr<Secrets> secrets, std::vector<Secret> by, uint64_t number,
                        Callback<void()> then) {
  auto looked_for = secrets->state_->looked_for_with(by);
  const auto version = secrets->state_->version;
  auto use = [this, weak = std::weak_ptr(state_), secrets, by = std::move(by), looked_for, version, number,
              then = std::move(then)](std::shared_ptr<const Scrubber> scrubber) mutable {
    if (!weak.lock()) return;
    auto& state = *secrets->state_;
    // What was asked for later is in use already.
    if (number < state.last_used) return then();
    // Another one came in between: its values must be looked for, too.
    if (version != state.version) return install(std::move(secrets), std::move(by), number, std::move(then));
    state.last_used = number;
    state.use(std::move(by), std::move(looked_for), std::move(scrubber));
    then();
  };
  find(looked_for, std::move(use));
}

}  // namespace sluice::vault
