#include "engine/cancelling.h"

#include "base/check.h"
#include "engine/problems.h"

namespace sluice::engine {
namespace {

// Counted from the first request.
constexpr int64_t work_stops_ms = 2'000;
constexpr int64_t unwritten_ms_max = 15'000;
constexpr int64_t unproven_ms_max = 25'000;  // callers wait for half a minute, as a rule
static_assert(work_stops_ms < unwritten_ms_max && unwritten_ms_max < unproven_ms_max);

}  // namespace

void Cancelling::add(Asker asker) {
  if (stage_ == Stage::none) stage_ = Stage::wanted;
  askers_.push_back(std::move(asker));
  if (askers_.size() > 1) return;
  clock_ = loop_.after({work_stops_ms}, [this] {
    // The disk does not take the wish. The work need not continue for that: a server that dies now leaves a run whose
    // work was lost, which the next one ends.
    const bool is_unwritten = stage_ == Stage::wanted && progress_.run().state == RunState::finishing;
    if (is_unwritten && work_.is_active()) stop_work();
    clock_ = loop_.after({unwritten_ms_max - work_stops_ms}, [this] { give_up_writing(); });
  });
}

void Cancelling::begin() {
  SLUICE_CHECK(is_wanted());
  const auto duty = progress_.apply(Happening::cancel_requested);
  SLUICE_CHECK(duty.has_value());
  if (*duty == Duty::reap) end();  // nothing worked on it
}

void Cancelling::interrupt() {
  SLUICE_CHECK(progress_.run().state == RunState::finishing);
  stage_ = Stage::written;
  work_.is_active() ? stop_work() : end_after_work();
}

void Cancelling::stop_work() {
  SLUICE_CHECK(is_wanted());
  work_.stop([this] { stage_ == Stage::written ? end_after_work() : work_.drop(); });
}

void Cancelling::end_after_work() {
  work_.drop();
  SLUICE_CHECK(progress_.apply(Happening::work_stopped) == Duty::reap);
  end();
}

void Cancelling::end() {
  progress_.end(model::EventKind::cancelled,
                problem_of(model::Slug::run_cancelled, "The run was cancelled by request."), "The run was cancelled.");
}

void Cancelling::give_up_writing() {
  if (stage_ == Stage::written) {
    clock_ = loop_.after({unproven_ms_max - unwritten_ms_max}, [this] { give_up(); });
    return;
  }
  answer(Error{ErrorKind::overloaded, "The cancel of run " + progress_.run().id.text() +
                                          " is noted, and its work is stopped, but the store has not written it yet. "
                                          "It is written when the store can; ask again."});
}

void Cancelling::give_up() {
  SLUICE_CHECK(stage_ == Stage::written);
  answer(Error{ErrorKind::overloaded, "Run " + progress_.run().id.text() +
                                          " is being cancelled, but there is no proof yet that its work has stopped. "
                                          "Ask again."});
}

void Cancelling::answer(const Result<model::Run>& outcome) {
  SLUICE_CHECK(!outcome || (outcome.value().id == progress_.run().id && is_over(outcome.value().state)));
  clock_.cancel();
  for (auto& asker : std::exchange(askers_, {})) asker(outcome);
}

}  // namespace sluice::engine
