#include "engine/tail.h"

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr Millis look_every{1'000};

}  // namespace

Tail::Tail(Tails& tails, model::RunId run, Callback<void()> look) : tails_(&tails), run_(run), look_(std::move(look)) {
  tails_->tails_.emplace(run_, this);
  look_later();
}

Tail::~Tail() {
  if (tails_ == nullptr) return;
  const auto [first, last] = tails_->tails_.equal_range(run_);
  for (auto at = first; at != last; ++at) {
    if (at->second != this) continue;
    tails_->tails_.erase(at);
    return;
  }
}

void Tail::look_later() {
  SLUICE_CHECK(tails_ != nullptr);
  timer_ = tails_->loop_.after(look_every, [this] { wake(); });
}

void Tail::wake() {
  if (!look_) return;  // it is being woken
  const auto watch = lifetime_.watch();
  // Kept here meanwhile: the callee may drop this tail.
  auto look = std::move(look_);
  look();
  if (watch.is_over() || tails_ == nullptr) return;
  look_ = std::move(look);
  look_later();
}

Tails::~Tails() {
  for (const auto& [run, tail] : tails_) {
    tail->tails_ = nullptr;
    tail->timer_.cancel();
  }
}

std::vector<model::RunId> Tails::runs() const {
  std::vector<model::RunId> found;
  for (auto at = tails_.begin(); at != tails_.end(); at = tails_.equal_range(at->first).second) {
    found.push_back(at->first);
  }
  return found;
}

void Tails::wake(model::RunId run) {
  Woken woken;
  const auto [first, last] = tails_.equal_range(run);
  for (auto at = first; at != last; ++at) woken.push_back(at->second->lifetime_.ref(*at->second));
  wake(woken);
}

void Tails::wake_all() {
  Woken woken;
  for (const auto& [run, tail] : tails_) woken.push_back(tail->lifetime_.ref(*tail));
  wake(woken);
}

void Tails::wake(const Woken& woken) {
  for (const auto& ref : woken) {
    if (auto* tail = ref.get()) tail->wake();
  }
}

}  // namespace sluice::engine
