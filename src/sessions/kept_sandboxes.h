// Where conversations' sandboxes stand between their runs.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "model/model.h"
#include "sessions/live_sandbox.h"

namespace sluice::sessions {

class KeptSandboxes {
 public:
  // Null: there is none, or one over other layers, which is killed. A session that takes one gives it back, or says
  // that it is gone.
  std::unique_ptr<LiveSandbox> take(model::ConversationId conversation, const std::string& home,
                                    const std::vector<dispatch::SkillUse>& skills);
  // A run has a sandbox that it means to give back.
  void lend(model::ConversationId conversation) { lent_.insert(conversation); }
  // Until then the sandbox has no user. If it was released meanwhile, it is killed.
  void give_back(model::ConversationId conversation, std::unique_ptr<LiveSandbox> box);
  // It does not come back.
  void forget(model::ConversationId conversation);

  void release(model::ConversationId conversation);

 private:
  std::map<model::ConversationId, std::unique_ptr<LiveSandbox>> boxes_;
  std::set<model::ConversationId> lent_;
  std::set<model::ConversationId> released_;  // of those
};

}  // namespace sluice::sessions
