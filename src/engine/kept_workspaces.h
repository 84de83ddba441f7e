// Workspaces that are kept on this server's disk between the runs of their conversations: each counts for its
// conversation's tenant, and goes when that is archived or there is no such conversation any more, whichever server
// archived it and whether or not this one was up then.
#pragma once

#include <deque>
#include <functional>
#include <unordered_set>

#include "base/lifetime.h"
#include "dispatch/dispatch.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::engine {

class KeptWorkspaces final {
 public:
  // Whether the conversation has a run that is not over, wherever that is carried.
  using FindRun = std::function<void(model::TenantId tenant, model::ConversationId conversation,
                                     Callback<void(Result<std::optional<model::RunId>>)> done)>;
  KeptWorkspaces(store::Store& store, dispatch::Dispatcher& dispatcher, world::Loop& loop, FindRun find_run);
  KeptWorkspaces(const KeptWorkspaces&) = delete;
  KeptWorkspaces& operator=(const KeptWorkspaces&) = delete;

  // Looks at all of them: now, and again now and then, because a word of another server can be lost.
  void look_at_all();
  void on_archived(model::ConversationId conversation);
  void on_run_over(model::ConversationId conversation);

 private:
  void look_at_next();
  void look_at(const dispatch::KeptWorkspace& kept, Callback<void()> then);
  void judge(const dispatch::KeptWorkspace& kept, const Result<model::Conversation>& found, Callback<void()> then);

  store::Store& store_;
  dispatch::Dispatcher& dispatcher_;
  world::Loop& loop_;
  const FindRun find_run_;
  std::deque<dispatch::KeptWorkspace> unseen_;           // of the look at all that is under way
  std::unordered_set<model::ConversationId> after_run_;  // archived while a run was under way
  world::Timer again_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
