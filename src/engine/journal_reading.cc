#include "engine/journal_reading.h"

#include "base/check.h"
#include "engine/live_run.h"
#include "engine/run_lifecycle.h"

namespace sluice::engine {
namespace {

constexpr std::size_t page_bytes = 256 * 1024;
constexpr Millis answer_pause{20};

}  // namespace

JournalReading::JournalReading(Needs needs, const model::Run& run, const wire::View& view, Reader& reader)
    : needs_(needs), run_(run.id), view_(view), reader_(reader), fold_(view, run) {
  needs_.loop.defer(lifetime_.guard([this] { go_on(); }));
}

JournalReading::~JournalReading() {
  if (mode_ != Mode::live) return;
  if (auto* run = needs_.live.find(run_)) run->detach(*this);
}

void JournalReading::more() { go_on(); }

void JournalReading::fall_behind(const wire::Fold& fold) {
  SLUICE_CHECK(mode_ == Mode::live);
  fold_ = fold;
  mode_ = Mode::catching_up;
}

void JournalReading::go_on_alone(const wire::Fold& fold) {
  fall_behind(fold);
  go_on();
}

void JournalReading::end(const wire::Fold& fold) {
  SLUICE_CHECK(mode_ != Mode::over);
  mode_ = Mode::over;
  tail_.reset();
  if (const auto count = fold.violations(); count > 0) needs_.violations.add(static_cast<uint64_t>(count));
  reader_.end();
}

void JournalReading::lose(const Error& why) {
  mode_ = Mode::over;
  tail_.reset();
  reader_.lose(why);
}

void JournalReading::go_on() {
  if (mode_ != Mode::catching_up || page_under_way_ || reader_.full()) return;
  if (!join_live_run()) read_page();
}

bool JournalReading::join_live_run() {
  auto* run = needs_.live.find(run_);
  if (run == nullptr) return false;
  const auto& opening = run->opening();
  if (fold_.at() == model::Position{} && run->run().head.value == opening.size()) {
    std::string lines;
    for (const auto& committed : opening) fold_.apply(committed, lines);
    const auto watch = lifetime_.watch();
    if (!lines.empty()) reader_.take(std::make_shared<const std::string>(std::move(lines)));
    if (watch.is_over()) return true;
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
  run->attach(*this, fold_, view_);
  return true;
}

void JournalReading::read_page() {
  SLUICE_CHECK(!page_under_way_ && mode_ == Mode::catching_up);
  page_under_way_ = true;
  news_came_ = false;
  needs_.store.read(run_, fold_.at(), page_bytes,
                    lifetime_.guard([this](Result<journal::JournalPage> page) { on_page(std::move(page)); }));
}

void JournalReading::on_page(Result<journal::JournalPage> page) {
  SLUICE_CHECK(page_under_way_);
  page_under_way_ = false;
  if (!page) {
    const bool may_pass = page.error().kind == ErrorKind::unavailable || page.error().kind == ErrorKind::overloaded;
    return may_pass && wait_for_news() ? void() : lose(page.error());
  }
  std::string lines;
  for (const auto& committed : page.value().events) fold_.apply(committed, lines);
  const auto watch = lifetime_.watch();
  if (!lines.empty()) reader_.take(std::make_shared<const std::string>(std::move(lines)));
  if (watch.is_over()) return;
  if (fold_.ended()) return end(fold_);
  const auto* live = needs_.live.find(run_);
  // The journal has what the server was not told of yet: it will be, or settles it.
  if (live != nullptr && page.value().events.empty() && fold_.at() > live->run().head) {
    again_ = needs_.loop.after(answer_pause, [this] { go_on(); });
    return;
  }
  if (!page.value().events.empty() || news_came_ || live != nullptr) return go_on();
  const auto& run = page.value().run;
  if (is_over(run.state) && fold_.at() < run.head) return go_on();
  if (!is_over(run.state) && wait_for_news()) return;
  // Nothing more to read, no end, and nobody at work on it: the journal stops in the middle.
  lose({ErrorKind::unavailable, "the run is not being carried on by this server"});
}

bool JournalReading::wait_for_news() {
  if (!tail_) tail_ = needs_.remote.follow(run_, [this] { on_news(); });
  return tail_ != nullptr;
}

void JournalReading::on_news() {
  news_came_ = true;
  go_on();
}

}  // namespace sluice::engine
