#include "sessions/kept_sandboxes.h"

#include <utility>

namespace sluice::sessions {
namespace {

bool has_skills(const LiveSandbox& box, const std::vector<dispatch::SkillUse>& skills) {
  if (box.binds.size() != skills.size()) return false;
  for (std::size_t i = 0; i < skills.size(); ++i) {
    if (box.binds[i].to != "/skills/" + skills[i].name || !box.binds[i].from.ends_with("/" + skills[i].sha256)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::unique_ptr<LiveSandbox> KeptSandboxes::take(model::ConversationId conversation, const std::string& home,
                                                 const std::vector<dispatch::SkillUse>& skills) {
  const auto found = boxes_.find(conversation);
  if (found == boxes_.end()) return nullptr;
  auto box = std::move(found->second);
  boxes_.erase(found);
  // Over another repository, or with other skills, it is not the workspace that the run asks for.
  if (box->home == home && has_skills(*box, skills)) return box;
  box->kill([](const Result<Unit>&) {});
  return nullptr;
}

void KeptSandboxes::give_back(model::ConversationId conversation, std::unique_ptr<LiveSandbox> box) {
  lent_.erase(conversation);
  box->leave();
  // The conversation was archived while the run worked: no run will take the sandbox back.
  if (released_.erase(conversation) > 0) return box->kill([](const Result<Unit>&) {});
  box->when_lost([this, conversation] { boxes_.erase(conversation); });
  boxes_[conversation] = std::move(box);
}

void KeptSandboxes::forget(model::ConversationId conversation) {
  lent_.erase(conversation);
  released_.erase(conversation);
}

void KeptSandboxes::release(model::ConversationId conversation) {
  if (lent_.contains(conversation)) released_.insert(conversation);
  const auto found = boxes_.find(conversation);
  if (found == boxes_.end()) return;
  found->second->kill([](const Result<Unit>&) {});
  boxes_.erase(found);
}

}  // namespace sluice::sessions
