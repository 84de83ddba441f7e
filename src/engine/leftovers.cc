#include "engine/leftovers.h"

#include <algorithm>
#include <utility>

namespace sluice::engine {
namespace {

constexpr std::size_t looked_at_once = 64;
constexpr Millis look_again{500};

}  // namespace

void Leftovers::find() {
  needs_.dispatcher.list_parked(lifetime_.guard([this](const std::vector<dispatch::ParkedRun>& kept) {
    for (const auto& run : kept) watch(run);
    look();
  }));
}

void Leftovers::watch(dispatch::ParkedRun kept) {
  kept_.push_back(kept);
  look_later();
}

void Leftovers::look_later() {
  if (std::exchange(looks_later_, true)) return;
  timer_ = needs_.loop.after(look_again, [this] {
    looks_later_ = false;
    look();
  });
}

void Leftovers::look() {
  for (auto count = std::min(kept_.size(), looked_at_once); count > 0; --count) {
    const auto kept = kept_.front();
    kept_.pop_front();
    if (needs_.live.find(kept.run) != nullptr) continue;  // its end sees to it
    // Not for its first event, but for what the page says of the run, whichever tenant's it is.
    needs_.store.read(kept.run, {}, 1,
                      lifetime_.guard([this, kept](const Result<journal::JournalPage>& page) { judge(kept, page); }));
  }
  if (!kept_.empty()) look_later();
}

void Leftovers::judge(const dispatch::ParkedRun& kept, const Result<journal::JournalPage>& page) {
  if (page && is_over(page.value().run.state)) {
    return needs_.dispatcher.forget_parked(kept.run, kept.conversation);
  }
  // Damaged, or not known, as when a server was started on another database: an operator must look, and may want it.
  const bool is_unclear =
      !page && (page.error().kind == ErrorKind::corrupt || page.error().kind == ErrorKind::not_found);
  if (is_unclear) return;
  // No other server ends it, so it is recovered here, or cannot be.
  if (page && needs_.is_alone) return;
  watch(kept);
}

}  // namespace sluice::engine
