#include "engine/claims.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr std::size_t claimed_at_once = 32;
constexpr int looks_since_beat_max = 3;

}  // namespace

Claims::Claims(Needs needs)
    : needs_(needs),
      claimed_(needs.metrics.counter("sluice_runs_claimed_total",
                                     "Runs that waited on other servers and got a slot here.")) {}

// ── what waits elsewhere ────────────────────────────────────────────────────────────────────────

// Also while all slots are taken: the queue must know whose turn is next when one is free.
void Claims::on_beat(bool any_held_elsewhere) {
  looks_since_beat_ = 0;
  if (any_held_elsewhere) return look();
  if (needs_.admission.lists_elsewhere()) needs_.admission.set_elsewhere({});
}

void Claims::look_if_free() {
  if (needs_.admission.free_slots() > 0) look();
}

void Claims::look() {
  if (!needs_.host.may_claim()) return;
  if (looking_) {
    looks_again_ = true;
    return;
  }
  looking_ = true;
  auto found = [this](const Result<std::vector<journal::HeldElsewhere>>& held) {
    SLUICE_CHECK(looking_);
    looking_ = false;
    const bool looks_again = std::exchange(looks_again_, false);
    if (!held || !needs_.host.may_claim()) return;  // the next beat looks again
    needs_.admission.set_elsewhere(held.value());
    if (looks_again) look_if_free();
  };
  needs_.nodes.held_elsewhere(since_drop_.guard(std::move(found)));
}

// ── claims ──────────────────────────────────────────────────────────────────────────────────────

void Claims::want(const journal::HeldRun& run) {
  wanted_.push_back(run);
  if (wanted_.size() > 1 || claiming_) return;
  // Those whose turn comes at the same moment are claimed together.
  needs_.loop.defer(lifetime_.guard([this] {
    if (!claiming_) claim_wanted();
  }));
}

void Claims::claim_wanted() {
  if (wanted_.empty()) return;
  if (!needs_.host.may_claim()) return drop();
  const auto count = static_cast<std::ptrdiff_t>(std::min(wanted_.size(), claimed_at_once));
  std::vector<journal::HeldRun> asked(wanted_.begin(), wanted_.begin() + count);
  wanted_.erase(wanted_.begin(), wanted_.begin() + count);
  SLUICE_CHECK(!claiming_);
  claiming_ = true;
  auto answered = [this, watch = since_drop_.watch(), asked](const Result<std::vector<model::Run>>& claimed) {
    if (!watch.is_over()) return on_answer(asked, claimed);
    if (!claimed) return;
    for (const auto& run : claimed.value()) needs_.host.on_claimed(run, true);
  };
  needs_.nodes.claim(asked, lifetime_.guard(std::move(answered)));
}

void Claims::on_answer(const std::vector<journal::HeldRun>& asked, const Result<std::vector<model::Run>>& claimed) {
  SLUICE_CHECK(claiming_);
  claiming_ = false;
  if (!claimed) {
    drop();
    return needs_.host.on_claim_failed(claimed.error());
  }
  for (const auto& run : claimed.value()) {
    claimed_.add();
    needs_.log.write(world::LogLevel::info, "held run claimed", {{"run", run.id.text()}});
    needs_.host.on_claimed(run, false);
  }
  for (const auto& [id, epoch] : asked) {
    if (std::ranges::find(claimed.value(), id, &model::Run::id) == claimed.value().end()) needs_.admission.forgo(id);
  }
  claim_wanted();
  if (claiming_ || needs_.admission.lists_elsewhere()) return;
  // There may be more than the list named. Where others were quicker the next beat looks, sooner or later.
  const bool got_any = !claimed.value().empty();
  if (got_any || looks_since_beat_++ < looks_since_beat_max) look_if_free();
}

void Claims::drop() {
  since_drop_.begin_anew();
  claiming_ = looking_ = looks_again_ = false;
  wanted_.clear();
  needs_.admission.forgo_all();
}

}  // namespace sluice::engine
