#include "engine/end_waiters.h"

#include "base/check.h"
#include "engine/problems.h"

namespace sluice::engine {

std::unique_ptr<Waiting> EndWaiters::wait(const model::Run& run, Callback<void(Result<wire::Ending>)> done) {
  auto waiter = std::make_unique<EndWaiter>(run, std::move(done));
  auto* live = needs_.live.find(run.id);
  live != nullptr ? join(*live, *waiter) : look_for_end(waiter->ref());
  return waiter;
}

void EndWaiters::look_for_end(const Ref<EndWaiter>& waiter) {
  auto* asking = waiter.get();
  if (asking == nullptr) return;
  auto found = [this](EndWaiter& still, const Result<model::Run>& run) { on_run(still, run); };
  store::run(needs_.store.database(), asking->tenant(), asking->run(), lifetime_.guard(waiter.guard(std::move(found))));
}

void EndWaiters::on_run(EndWaiter& waiter, const Result<model::Run>& found) {
  if (!found) return look_again_later(waiter, found.error());
  if (auto* live = needs_.live.find(found.value().id)) return join(*live, waiter);
  if (is_over(found.value().state)) return read_end(found.value(), waiter);
  look_again_later(waiter, {ErrorKind::unavailable, "the run is not being carried on by this server"});
}

void EndWaiters::read_end(const model::Run& run, EndWaiter& waiter) {
  auto read = [this](EndWaiter& still, const Result<journal::JournalPage>& page) {
    if (!page) return look_again_later(still, page.error());
    auto ending = page.value().events.empty() ? std::nullopt : wire::ending_of(page.value().events.back());
    if (!ending) return still.answer(Error{ErrorKind::corrupt, "a finished run's journal has no end"});
    still.answer(std::move(*ending));
  };
  needs_.store.read(run.id, {run.head.value - 1}, 1, lifetime_.guard(waiter.ref().guard(std::move(read))));
}

void EndWaiters::look_again_later(EndWaiter& waiter, Error why) {
  if (may_pass(why) && !waiter.follows()) {
    waiter.follow(needs_.remote.follow(waiter.run(), [this, ref = waiter.ref()] { look_for_end(ref); }));
  }
  if (!may_pass(why) || !waiter.follows()) waiter.answer(std::move(why));
}

void EndWaiters::join(LiveRun& live, EndWaiter& waiter) {
  const auto id = live.run().id;
  SLUICE_CHECK(id == waiter.run());
  waiter.follow(nullptr);
  live.wait_for_end(waiter.ref());
  if (!needs_.draining.leaves(id)) return;
  needs_.loop.defer(lifetime_.guard([this, id] {
    if (auto* left = needs_.live.find(id)) needs_.draining.let_go(*left);
  }));
}

}  // namespace sluice::engine
