#include "engine/kept_workspaces.h"

#include <utility>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr Millis look_at_all_every{600'000};

}  // namespace

KeptWorkspaces::KeptWorkspaces(store::Store& store, dispatch::Dispatcher& dispatcher, world::Loop& loop,
                               FindRun find_run)
    : store_(store), dispatcher_(dispatcher), loop_(loop), find_run_(std::move(find_run)) {}

void KeptWorkspaces::look_at_all() {
  again_ = loop_.after(look_at_all_every, [this] { look_at_all(); });
  if (!unseen_.empty()) return;  // the last look is still under way
  dispatcher_.list_workspaces(lifetime_.guard([this](const std::vector<dispatch::KeptWorkspace>& kept) {
    if (!unseen_.empty()) return;
    unseen_.assign(kept.begin(), kept.end());
    look_at_next();
  }));
}

// One at a time: there is no hurry, and there may be many.
void KeptWorkspaces::look_at_next() {
  if (unseen_.empty()) return;
  look_at(unseen_.front(), [this] {
    SLUICE_CHECK(!unseen_.empty());
    unseen_.pop_front();
    look_at_next();
  });
}

void KeptWorkspaces::on_archived(model::ConversationId conversation) {
  look_at({conversation, 0}, [] {});
}

void KeptWorkspaces::on_run_over(model::ConversationId conversation) {
  if (after_run_.erase(conversation) > 0) on_archived(conversation);
}

void KeptWorkspaces::look_at(const dispatch::KeptWorkspace& kept, Callback<void()> then) {
  store::find_conversation(
      store_.database(), kept.conversation,
      lifetime_.guard([this, kept, then = std::move(then)](const Result<model::Conversation>& found) mutable {
        judge(kept, found, std::move(then));
      }));
}

void KeptWorkspaces::judge(const dispatch::KeptWorkspace& kept, const Result<model::Conversation>& found,
                           Callback<void()> then) {
  const auto id = kept.conversation;
  if (!found) {
    if (found.error().kind == ErrorKind::not_found) dispatcher_.remove_workspace(id);
    return then();
  }
  const auto tenant = found.value().tenant_id;
  if (found.value().status != model::ConversationStatus::archived) {
    if (kept.bytes > 0) dispatcher_.count_workspace(kept, tenant);
    return then();
  }
  // A run may wait for a human until the conversation is taken out of the archive again.
  find_run_(tenant, id,
            lifetime_.guard(
                [this, kept, tenant, then = std::move(then)](const Result<std::optional<model::RunId>>& run) mutable {
                  if (run && !run.value()) {
                    dispatcher_.remove_workspace(kept.conversation);
                  } else {
                    after_run_.insert(kept.conversation);
                    if (kept.bytes > 0) dispatcher_.count_workspace(kept, tenant);
                  }
                  then();
                }));
}

}  // namespace sluice::engine
