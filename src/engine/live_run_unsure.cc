// A run the fate of whose last write is unknown. Nothing of it is dropped for that: its journal says what became of the
// write, its epoch says whose it is, and whoever works on it need not notice.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "engine/live_run.h"

namespace sluice::engine {
namespace {

constexpr int conflicts_max = 8;  // in a row, of one write that the journal does not have
constexpr Millis look_again{500};
constexpr std::size_t whole_batch = std::numeric_limits<int32_t>::max();

Error carried_elsewhere() { return {ErrorKind::conflict, "another server carries the run"}; }

// An earlier write of this server, which it did not hear of, may have come through late: then these are others.
bool are_same(const journal::CommittedBatch& found, const std::vector<model::RunEvent>& wanted) {
  return std::ranges::equal(found, wanted, {}, [](const auto& committed) -> const auto& { return committed.event(); });
}

}  // namespace

void LiveRun::be_unsure(const Error& why) {
  SLUICE_CHECK(!unsure_ && !looking_);
  writing_ = true;  // nothing follows until it is known
  doubted_ = true;
  unsure_ = why;
  if (why.kind == ErrorKind::unavailable) return needs_.owner.on_unsure(*this, why);
  settle();
}

// That nothing was written is certain, too: what waits for room on the disk waits for as long as it takes.
void LiveRun::note_answer(const Error& why) {
  if (why.kind == ErrorKind::overloaded && std::exchange(doubted_, false)) needs_.owner.on_sure();
}

void LiveRun::settle() {
  if (!unsure_ || std::exchange(looking_, true)) return;
  needs_.store.read(run_.id, run_.head, whole_batch,
                    lifetime_.guard([this](const Result<journal::JournalPage>& page) { on_looked(page); }));
}

void LiveRun::on_looked(const Result<journal::JournalPage>& page) {
  SLUICE_CHECK(looking_ && unsure_ && writing_);
  looking_ = false;
  if (page) return conclude(page.value());
  if (page.error().kind == ErrorKind::overloaded) {
    again_ = needs_.loop.after(look_again, [this] { settle(); });
    return;
  }
  // Most conflicts are another server's: this one stops rather than act on without knowing.
  if (unsure_->kind == ErrorKind::conflict) return needs_.owner.on_lost(*this, *unsure_);
  if (page.error().kind == ErrorKind::unavailable) return needs_.owner.on_unsure(*this, page.error());
  needs_.owner.on_lost(*this, page.error());
}

void LiveRun::conclude(const journal::JournalPage& page) {
  const auto& found = page.run;
  const bool is_renewed =
      renewal_ && found.node == run_.node && found.epoch.value == run_.epoch.value + 1 && !is_over(found.state);
  if (found.epoch != run_.epoch && !is_renewed) return needs_.owner.on_lost(*this, carried_elsewhere());
  const auto why = *std::exchange(unsure_, std::nullopt);
  writing_ = false;
  if (renewal_) return on_renewed(is_renewed ? Result(found) : Error{ErrorKind::overloaded, why.what});
  // One append is written as a whole or not at all, and only this server writes in this epoch.
  const bool is_written = in_flight_.events.empty() ? in_flight_.state && *in_flight_.state == found.state
                                                    : are_same(page.events, in_flight_.events);
  if (is_written) return on_written(page.events);
  const bool is_strange = !page.events.empty() || (why.kind == ErrorKind::conflict && refusals_ >= conflicts_max);
  if (is_strange)
    return needs_.owner.on_lost(*this, {ErrorKind::conflict, "the journal is not as it was: " + why.what});
  repeat(why, false);
}

// Whoever could not renew tries again: until then somebody else may take the run, and nothing of it is begun.
void LiveRun::on_renewed(const Result<model::Run>& taken) {
  writing_ = false;
  if (taken) {
    SLUICE_CHECK(taken.value().id == run_.id && taken.value().epoch > run_.epoch);
    run_.epoch = taken.value().epoch;
    if (std::exchange(doubted_, false)) needs_.owner.on_sure();
    const auto watch = lifetime_.watch();
    std::exchange(renewal_, nullptr)();
    if (!watch.is_over()) flush();
    return;
  }
  const auto& why = taken.error();
  if (why.kind == ErrorKind::unavailable || why.kind == ErrorKind::conflict) return be_unsure(why);
  if (why.kind != ErrorKind::overloaded) return needs_.owner.on_lost(*this, why);
  writing_ = true;  // until the timer
  again_ = needs_.loop.after(look_again, [this] {
    writing_ = false;
    renew(std::exchange(renewal_, nullptr));
  });
}

}  // namespace sluice::engine
