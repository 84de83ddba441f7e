#include "engine/store_watch.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr Millis watch_every{1'000};
constexpr int64_t reopen_first_ms = 100;
constexpr int64_t reopen_ms_max = 5'000;
static_assert(reopen_first_ms < reopen_ms_max);

}  // namespace

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
