#include "engine/cancelling.h"

#include "base/check.h"

namespace sluice::engine {
namespace {

// Counted from the first who asks.
constexpr int64_t work_stops_ms = 2'000;
constexpr int64_t unwritten_ms_max = 15'000;
constexpr int64_t unproven_ms_max = 25'000;  // callers wait for half a minute, as a rule
static_assert(work_stops_ms < unwritten_ms_max && unwritten_ms_max < unproven_ms_max);

}  // namespace

void Cancelling::add(Asker asker, Callback<void()> stop) {
  wanted_ = true;
  askers_.push_back(std::move(asker));
  if (askers_.size() > 1) return;
  clock_ = loop_.after({work_stops_ms}, [this, stop = std::move(stop)]() mutable {
    if (!written_) stop();
    clock_ = loop_.after({unwritten_ms_max - work_stops_ms}, [this] { give_up_writing(); });
  });
}

void Cancelling::give_up_writing() {
  if (written_) {
    clock_ = loop_.after({unproven_ms_max - unwritten_ms_max}, [this] { give_up(); });
    return;
  }
  answer(Error{ErrorKind::overloaded, "The cancel of run " + run_.text() +
                                          " is noted, and its work is stopped, but the store has not written it yet. "
                                          "It is written when the store can; ask again."});
}

void Cancelling::give_up() {
  SLUICE_CHECK(written_ && wanted_);
  answer(Error{ErrorKind::overloaded, "Run " + run_.text() +
                                          " is being cancelled, but there is no proof yet that its work has stopped. "
                                          "Ask again."});
}

void Cancelling::answer(const Result<model::Run>& outcome) {
  SLUICE_CHECK(!outcome || (outcome.value().id == run_ && model::is_over(outcome.value().state)));
  clock_.cancel();
  for (auto& asker : std::exchange(askers_, {})) asker(outcome);
}

}  // namespace sluice::engine
