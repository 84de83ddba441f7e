#include "engine/audiences.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::engine {

void Audiences::attach(Follower& follower, const wire::Fold& fold, const wire::View& view) {
  // A reader may know lines that were not sent here: another server sent them, or the disk was quicker than its answer.
  // Those lines are left out for it, but not for the readers that have yet to see them.
  const auto after = view.after < fold.next_seq() ? -1 : view.after;
  auto found = std::ranges::find_if(audiences_, [&](const auto& audience) {
    return audience->format == view.format && audience->segment == view.segment && audience->after == after &&
           audience->fold.at() == fold.at();
  });
  if (found == audiences_.end()) {
    audiences_.push_back(std::make_unique<Audience>(Audience{view.format, view.segment, after, fold, {}}));
    found = std::prev(audiences_.end());
  }
  SLUICE_CHECK((*found)->fold.next_seq() == fold.next_seq());
  SLUICE_CHECK(std::ranges::find((*found)->followers, &follower) == (*found)->followers.end());
  (*found)->followers.push_back(&follower);
}

void Audiences::detach(Follower& follower) {
  for (auto& audience : audiences_) {
    auto& followers = audience->followers;
    std::replace(followers.begin(), followers.end(), &follower, static_cast<Follower*>(nullptr));
  }
  if (!is_calling_) forget_empty();
}

void Audiences::forget_empty() {
  std::erase_if(audiences_, [](const auto& audience) {
    return std::ranges::all_of(audience->followers, [](const auto* left) { return left == nullptr; });
  });
}

void Audiences::add_waiter(Ref<EndWaiter> waiter) {
  std::erase_if(waiters_, [](const auto& left) { return left.get() == nullptr; });
  waiters_.push_back(std::move(waiter));
}

void Audiences::send(const journal::CommittedBatch& news) {
  for (const auto& committed : news) {
    if (auto ending = wire::ending_of(committed)) ending_ = std::make_unique<wire::Ending>(*std::move(ending));
  }
  const auto watch = lifetime_.watch();
  is_calling_ = true;
  // An audience that comes meanwhile has this news in its fold already.
  const auto count = audiences_.size();
  for (std::size_t i = 0; i < count; ++i) {
    send_to(*audiences_[i], news);
    if (watch.is_over()) return;
  }
  is_calling_ = false;
  forget_empty();
}

void Audiences::send_to(Audience& audience, const journal::CommittedBatch& news) {
  auto& followers = audience.followers;
  std::erase(followers, nullptr);
  // A follower that cannot take more continues alone from here, reading the journal at its own pace.
  for (auto& follower : followers) {
    if (follower->is_full()) std::exchange(follower, nullptr)->fall_behind(audience.fold);
  }
  std::erase(followers, nullptr);
  if (followers.empty()) return;
  constexpr std::size_t envelope_bytes = 240;
  std::size_t size = 0;
  for (const auto& committed : news) size += envelope_bytes + committed.event().body.size();
  std::string lines;
  lines.reserve(size);
  for (const auto& committed : news) audience.fold.apply(committed, lines);
  SLUICE_CHECK(news.empty() || audience.fold.at() == news.back().position());
  const auto shared = std::make_shared<const std::string>(std::move(lines));
  const auto watch = lifetime_.watch();
  // By index: a follower may leave, and take others with it, while it is being called.
  const auto count = shared->empty() ? 0 : followers.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (followers[i] != nullptr) followers[i]->deliver(shared);
    if (watch.is_over()) return;
  }
  // The part of the run that they wanted to see is over, and the run is not.
  if (audience.fold.ended() && !ending_) {
    dismiss(audience, [](Follower& follower, const wire::Fold& fold) { follower.end(fold); });
  }
}

template <typename Farewell>
void Audiences::dismiss(Audience& audience, Farewell farewell) {
  const auto watch = lifetime_.watch();
  for (std::size_t i = 0; !watch.is_over() && i < audience.followers.size(); ++i) {
    if (auto* follower = std::exchange(audience.followers[i], nullptr)) farewell(*follower, audience.fold);
  }
}

template <typename Farewell>
void Audiences::dismiss_all(Farewell farewell) {
  const auto watch = lifetime_.watch();
  is_calling_ = true;
  for (std::size_t i = 0; i < audiences_.size(); ++i) {
    dismiss(*audiences_[i], farewell);
    SLUICE_CHECK(!watch.is_over());  // a run is not dropped by those who take leave of it
  }
  is_calling_ = false;
  audiences_.clear();
}

void Audiences::answer_waiters(const Result<wire::Ending>& ending) {
  for (const auto& ref : std::exchange(waiters_, {})) {
    if (auto* waiter = ref.get()) waiter->answer(ending);
  }
}

void Audiences::end() {
  SLUICE_CHECK(ending_ != nullptr);
  dismiss_all([](Follower& follower, const wire::Fold& fold) { follower.end(fold); });
  answer_waiters(*ending_);
}

void Audiences::lose(const Error& why) {
  dismiss_all([&why](Follower& follower, const wire::Fold&) { follower.lose(why); });
  answer_waiters(why);
}

std::vector<Ref<EndWaiter>> Audiences::hand_over() {
  dismiss_all([](Follower& follower, const wire::Fold& fold) { follower.continue_alone(fold); });
  return std::exchange(waiters_, {});
}

}  // namespace sluice::engine
