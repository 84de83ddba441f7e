#include "engine/queue_board.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "model/event_codec.h"

namespace sluice::engine {
namespace {

constexpr int64_t first_places = 10;
constexpr Millis first_after{10};
constexpr Millis look_every{250};
constexpr Millis slice_every{50};
constexpr Millis waits_every{1'000};
constexpr std::size_t sent_a_slice = 6;
constexpr std::size_t sent_a_look = 20 * sent_a_slice;

}  // namespace

std::string body_of(Place place) {
  return model::encode(model::events::Queued{place.position, place.hint_seconds}, {}).body;
}

QueueBoard::QueueBoard(const SlotPool& pool, world::Loop& loop, Tell tell)
    : pool_(pool), loop_(loop), tell_(std::move(tell)) {}

void QueueBoard::add(model::RunId run, Place sent) {
  SLUICE_CHECK(sent.position > 0);
  sent_[run] = sent;
  if (std::exchange(waits_due_, true)) return;
  waits_timer_ = loop_.after(waits_every, [this] { look_at_waits(); });
}

void QueueBoard::remove(model::RunId run) { sent_.erase(run); }

void QueueBoard::note_change() {
  if (sent_.empty()) return;
  if (!std::exchange(first_due_, true)) {
    first_timer_ = loop_.after(first_after, [this] { tell_first(); });
  }
  if (std::ssize(sent_) > first_places || pool_.lists_elsewhere()) tell_others_after(look_every);
}

std::optional<Place> QueueBoard::news(Place sent, int64_t position) const {
  const Place now{std::min(position, sent.position), pool_.hint_seconds(position, loop_.monotonic_us())};
  const bool is_news = now.position < sent.position || now.hint_seconds / 2 >= sent.hint_seconds;
  return is_news ? std::optional(now) : std::nullopt;
}

bool QueueBoard::tell(model::RunId run, int64_t position) {
  SLUICE_CHECK(position > 0);
  const auto sent = sent_.find(run);
  if (sent == sent_.end()) return false;
  const auto place = news(sent->second, position);
  if (!place) return false;
  if (tell_(run, *place)) sent->second = *place;
  return true;
}

void QueueBoard::look_at_waits() {
  waits_due_ = !sent_.empty();
  if (!waits_due_) return;
  waits_timer_ = loop_.after(waits_every, [this] { look_at_waits(); });
  if (!first_due_) tell_first();
  if (std::ssize(sent_) > first_places || pool_.lists_elsewhere()) tell_others_after(look_every);
}

void QueueBoard::tell_first() {
  first_due_ = false;
  for (const auto& [run, position] : pool_.first_in_line(first_places)) tell(run, position);
}

void QueueBoard::tell_others_after(Millis span) {
  if (std::exchange(others_due_, true)) return;
  others_timer_ = loop_.after(span, [this] { tell_others(); });
}

void QueueBoard::tell_others() {
  others_due_ = false;
  if (improvements_.empty()) find_improvements();
  for (std::size_t i = 0; i < sent_a_slice && !improvements_.empty(); ++i) {
    tell(improvements_.back().run, improvements_.back().position);
    improvements_.pop_back();
    // All that the look found, or as many as it may bring back: the next one knows.
    if (improvements_.empty()) tell_others_after(look_every);
  }
  if (!improvements_.empty()) tell_others_after(slice_every);
}

void QueueBoard::find_improvements() {
  for (const auto& [run, position] : pool_.first_in_line(std::numeric_limits<int64_t>::max())) {
    const auto sent = sent_.find(run);
    if (position <= first_places || sent == sent_.end()) continue;
    const auto place = news(sent->second, position);
    if (!place) continue;
    const auto share = [](int64_t less, int64_t of) {
      return 1.0 - static_cast<double>(less) / static_cast<double>(of);
    };
    improvements_.push_back({run, position,
                             place->position < sent->second.position
                                 ? share(place->position, sent->second.position)
                                 : share(sent->second.hint_seconds, place->hint_seconds)});
  }
  const auto count = std::min(sent_a_look, improvements_.size());
  const auto last = improvements_.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(improvements_.begin(), last, improvements_.end(),
                    [](const Improvement& a, const Improvement& b) { return a.by > b.by; });
  improvements_.erase(last, improvements_.end());
  std::ranges::reverse(improvements_);
}

}  // namespace sluice::engine
