#include "engine/queue_board.h"

#include <algorithm>

#include "base/json.h"

namespace sluice::engine {
namespace {

constexpr std::size_t first_places = 10;
constexpr Millis pass_every{250};
constexpr std::size_t told_a_pass = 32;

}  // namespace

std::string body_of(Place place) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object().key("position").integer(place.position);
  writer.key("retry_hint_seconds").integer(place.hint_seconds).end_object();
  return body;
}

QueueBoard::QueueBoard(const SlotPool& pool, world::Loop& loop, Tell tell)
    : pool_(pool), loop_(loop), tell_(std::move(tell)), self_(std::make_shared<QueueBoard*>(this)) {}

QueueBoard::~QueueBoard() { *self_ = nullptr; }

void QueueBoard::add(model::RunId run, int64_t told_position) { told_[run] = told_position; }

void QueueBoard::remove(model::RunId run) { told_.erase(run); }

void QueueBoard::note_change() {
  if (told_.empty()) return;
  if (!std::exchange(first_due_, true)) {
    loop_.defer([self = self_] {
      if (*self != nullptr) (*self)->tell_first();
    });
  }
  if (told_.size() > first_places) tell_others_later();
}

bool QueueBoard::tell(model::RunId run, int64_t position) {
  const auto told = told_.find(run);
  if (told == told_.end() || told->second <= position) return false;
  if (tell_(run, {position, pool_.hint_seconds(position)})) told->second = position;
  return true;
}

void QueueBoard::tell_first() {
  first_due_ = false;
  int64_t position = 0;
  for (const auto& run : pool_.first_in_line(first_places)) tell(run, ++position);
}

void QueueBoard::tell_others_later() {
  if (std::exchange(others_due_, true)) return;
  others_timer_ = loop_.after(pass_every, [this] { tell_others(); });
}

void QueueBoard::tell_others() {
  others_due_ = false;
  struct Improvement {
    model::RunId run;
    int64_t position;
    double by;  // as a share of what it was told last
  };
  std::vector<Improvement> improvements;
  int64_t position = 0;
  for (const auto& run : pool_.first_in_line(told_.size())) {
    const auto told = told_.find(run);
    if (++position <= static_cast<int64_t>(first_places) || told == told_.end() || told->second <= position) continue;
    improvements.push_back(
        {run, position, static_cast<double>(told->second - position) / static_cast<double>(told->second)});
  }
  const auto count = std::min(told_a_pass, improvements.size());
  std::partial_sort(improvements.begin(), improvements.begin() + static_cast<std::ptrdiff_t>(count), improvements.end(),
                    [](const Improvement& a, const Improvement& b) { return a.by > b.by; });
  for (std::size_t i = 0; i < count; ++i) tell(improvements[i].run, improvements[i].position);
  if (count < improvements.size()) tell_others_later();
}

}  // namespace sluice::engine
