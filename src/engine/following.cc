#include "engine/following.h"

#include "base/check.h"
#include "engine/problems.h"

namespace sluice::engine {
namespace {

constexpr std::size_t page_bytes = 256 * 1024;
constexpr Millis answer_pause{20};

}  // namespace

JournalReading::JournalReading(Needs needs, const model::Run& run, const wire::View& view, Reader& reader)
    : needs_(needs), run_(run.id), view_(view), reader_(reader), fold_(view, run) {
  needs_.loop.defer(lifetime_.guard([this] { read_on(); }));
}

JournalReading::~JournalReading() {
  if (mode_ != Mode::live) return;
  if (auto* run = needs_.live.find(run_)) run->audiences().detach(*this);
}

void JournalReading::more() { read_on(); }

void JournalReading::fall_behind(const wire::Fold& fold) {
  SLUICE_CHECK(mode_ == Mode::live);
  fold_ = fold;
  mode_ = Mode::catching_up;
}

void JournalReading::continue_alone(const wire::Fold& fold) {
  fall_behind(fold);
  read_on();
}

void JournalReading::end(const wire::Fold& fold) {
  SLUICE_CHECK(mode_ != Mode::over);
  mode_ = Mode::over;
  tail_.reset();
  if (const auto count = fold.violations(); count > 0) needs_.violations.add(static_cast<uint64_t>(count));
  reader_.end();
}

void JournalReading::lose(const Error& why) {
  SLUICE_CHECK(mode_ != Mode::over);
  mode_ = Mode::over;
  tail_.reset();
  reader_.lose(why);
}

void JournalReading::read_on() {
  if (mode_ != Mode::catching_up || page_under_way_ || reader_.full()) return;
  if (!join_live_run()) read_page();
}

bool JournalReading::join_live_run() {
  auto* run = needs_.live.find(run_);
  if (run == nullptr) return false;
  const auto& opening = run->audiences().opening();
  if (fold_.at() == model::Position{} && run->run().head.value == opening.size()) {
    if (!take(opening)) return true;
    if (fold_.ended()) return end(fold_), true;
  }
  if (fold_.at() > run->run().head) needs_.remote.suspect(run_);
  if (fold_.at() != run->run().head) return false;
  if (needs_.draining.leaves(run_)) {
    lose(Draining::why());
    return true;
  }
  mode_ = Mode::live;
  tail_.reset();
  SLUICE_CHECK(!page_under_way_ && fold_.at() == run->run().head);
  run->audiences().attach(*this, fold_, view_);
  return true;
}

bool JournalReading::take(const journal::CommittedBatch& events) {
  std::string lines;
  for (const auto& committed : events) fold_.apply(committed, lines);
  SLUICE_CHECK(events.empty() || fold_.at() == events.back().position());
  const auto watch = lifetime_.watch();
  if (!lines.empty()) reader_.take(std::make_shared<const std::string>(std::move(lines)));
  return !watch.is_over();
}

void JournalReading::read_page() {
  SLUICE_CHECK(!page_under_way_ && mode_ == Mode::catching_up);
  page_under_way_ = true;
  news_came_ = false;
  needs_.store.read(run_, fold_.at(), page_bytes,
                    lifetime_.guard([this](Result<journal::JournalPage> page) { on_page(std::move(page)); }));
}

void JournalReading::on_page(Result<journal::JournalPage> page) {
  SLUICE_CHECK(page_under_way_ && mode_ == Mode::catching_up);
  page_under_way_ = false;
  if (!page) return may_pass(page.error()) && wait_for_news() ? void() : lose(page.error());
  if (!take(page.value().events)) return;
  if (fold_.ended()) return end(fold_);
  const auto* live = needs_.live.find(run_);
  // The journal has events whose append has not been answered here yet. The answer comes, or the run settles it.
  if (live != nullptr && page.value().events.empty() && fold_.at() > live->run().head) {
    again_ = needs_.loop.after(answer_pause, [this] { read_on(); });
    return;
  }
  if (!page.value().events.empty() || news_came_ || live != nullptr) return read_on();
  const auto& run = page.value().run;
  if (is_over(run.state) && fold_.at() < run.head) return read_on();
  if (!is_over(run.state) && wait_for_news()) return;
  // There is nothing more to read, no end, and no node that works on the run: the journal stops in the middle.
  lose({ErrorKind::unavailable, "the run is not being carried on by this server"});
}

bool JournalReading::wait_for_news() {
  if (!tail_) tail_ = needs_.remote.follow(run_, [this] { on_news(); });
  return tail_ != nullptr;
}

void JournalReading::on_news() {
  news_came_ = true;
  read_on();
}

// ── ends ────────────────────────────────────────────────────────────────────────────────────────

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
  live.audiences().add_waiter(waiter.ref());
  if (!needs_.draining.leaves(id)) return;
  needs_.loop.defer(lifetime_.guard([this, id] {
    if (auto* left = needs_.live.find(id)) left->let_go(needs_.draining.let_go(left->run()));
  }));
}

}  // namespace sluice::engine
