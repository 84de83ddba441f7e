#include "store/pg_followed.h"

#include <algorithm>
#include <utility>

#include "store/questions.h"

namespace sluice::store {

namespace {

constexpr int64_t wanted_us = journal::follow_ms * 1'000;
constexpr int64_t turn_us = 1'000'000;  // by then whoever follows has looked for itself

}  // namespace

void PgFollowed::want(const PgNews& wish, int64_t now_us) {
  age(now_us);
  // Whoever wants everything has said so again and again before it followed the next one: nothing is owed to it.
  if (wish.all) all_until_us_ = now_us + wanted_us;
  for (const auto run : wish.runs) {
    wanted_[run] = now_us + wanted_us;
    const bool is_late = fresh_.contains(run) || recent_.contains(run);
    if (is_late && std::ranges::find(owed_, run) == owed_.end()) owed_.push_back(run);
  }
}

bool PgFollowed::writes(model::RunId run, int64_t now_us) {
  age(now_us);
  fresh_.insert(run);
  if (now_us < all_until_us_) return true;
  const auto wish = wanted_.find(run);
  return wish != wanted_.end() && now_us < wish->second;
}

void PgFollowed::age(int64_t now_us) {
  if (now_us - turned_us_ < turn_us) return;
  const bool is_long_ago = now_us - turned_us_ >= 2 * turn_us;
  turned_us_ = now_us;
  recent_ = std::exchange(fresh_, {});
  if (is_long_ago) recent_.clear();
  std::erase_if(wanted_, [now_us](const auto& wish) { return wish.second <= now_us; });
}

}  // namespace sluice::store
