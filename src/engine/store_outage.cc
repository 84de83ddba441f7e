#include "engine/store_outage.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::engine {
namespace {

// Work is kept for so long while the store says nothing: a database that fails over takes less.
constexpr Millis silence_max{60'000};
constexpr Millis watch_every{1'000};
constexpr int64_t reopen_first_ms = 100;
constexpr int64_t reopen_ms_max = 5'000;
static_assert(reopen_first_ms < reopen_ms_max);

}  // namespace

StoreOutage::StoreOutage(Needs needs) : needs_(needs), watch_({*this, needs.store, needs.loop, needs.log}) {}

void StoreOutage::begin(const Error& why) {
  if (std::exchange(is_on_, true)) return;
  needs_.log.write(world::LogLevel::error, "store fell silent", {{"why", why.what}});
  // Not from inside a callback of what is ended here. Runs are kept: each learns from its journal what became of it.
  needs_.loop.defer(lifetime_.guard([this, why] {
    needs_.host.end_recovery();
    if (!std::exchange(patient_, true)) {
      patience_ = needs_.loop.after(silence_max, [this, why] { lose_patience(why); });
    }
    watch_.reopen();
  }));
}

void StoreOutage::lose_patience(const Error& why) {
  SLUICE_CHECK(patient_);
  patient_ = false;
  if (is_on_) return needs_.host.drop_all(why);
  std::vector<LiveRun*> doubted;
  for (const auto& [id, live] : needs_.live.all()) {
    if (live->writer().is_unsettled()) doubted.push_back(live.get());
  }
  for (auto* live : doubted) needs_.host.on_lost(*live, why);
}

// A store that can be read but not written does not count as one that answers.
void StoreOutage::on_answer() {
  const bool is_unsettled =
      std::ranges::any_of(needs_.live.all(), [](const auto& live) { return live.second->writer().is_unsettled(); });
  if (is_on_ || is_unsettled) return;
  watch_.note_answers();
  patience_.cancel();
  patient_ = false;
}

// A record, or something of the store itself, was written with an unknown outcome: no run is in doubt for that.
void StoreOutage::on_store_broken() { begin({ErrorKind::unavailable, "the outcome of a write is unknown"}); }

// Writes of runs whose outcome was not known are looked for in the journal.
void StoreOutage::on_store_reopened() {
  SLUICE_CHECK(is_on_);
  is_on_ = false;
  for (const auto& [id, live] : needs_.live.all()) live->writer().settle();
  needs_.host.run_recovery();
}

// ── reopening the store ─────────────────────────────────────────────────────────────────────────

void StoreWatch::start() {
  look_timer_ = needs_.loop.after(watch_every, [this] { look(); });
}

void StoreWatch::look() {
  look_timer_ = needs_.loop.after(watch_every, [this] { look(); });
  if (needs_.store.needs_reopening()) needs_.host.on_store_broken();
}

void StoreWatch::reopen() {
  SLUICE_CHECK(!is_later_);
  const int tries = tries_++;
  if (tries == 0) return try_reopening();
  const int64_t wait = std::min(reopen_ms_max, reopen_first_ms << std::min(tries, 10));
  is_later_ = true;
  try_timer_ = needs_.loop.after({wait}, [this] { try_reopening(); });
}

void StoreWatch::hurry() {
  if (!is_later_) return;
  try_timer_.cancel();
  try_reopening();
}

void StoreWatch::try_reopening() {
  is_later_ = false;
  needs_.store.reopen(lifetime_.guard([this](const Result<Unit>& opened) {
    if (opened) return needs_.host.on_store_reopened();
    needs_.log.write(world::LogLevel::error, "store cannot be reopened", {{"why", opened.error().what}});
    reopen();
  }));
}

}  // namespace sluice::engine
