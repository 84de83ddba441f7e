#include "api/request/open_answers.h"

#include <utility>

namespace sluice::api {

void OpenAnswers::keep(std::shared_ptr<OpenAnswer> answer) {
  const OpenAnswer* at = answer.get();
  kept_->open.emplace(at, std::move(answer));
}

void OpenAnswers::let_go(const OpenAnswer& answer) {
  auto found = kept_->open.extract(&answer);
  if (found.empty()) return;
  kept_->leaving.push_back(std::move(found.mapped()));
  if (kept_->leaving.size() > 1) return;
  loop_.defer([weak = std::weak_ptr(kept_)] {
    if (const auto kept = weak.lock()) std::exchange(kept->leaving, {}).clear();
  });
}

}  // namespace sluice::api
