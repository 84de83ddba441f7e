// Workspaces that are kept between runs count for their tenants, and go with their conversations.
#include "engine/engine_fixture.h"

namespace sluice::engine {
namespace kept_workspaces_test {

using Conversations = std::vector<model::ConversationId>;

class KeptWorkspacesTest : public EngineTest {
 protected:
  void set_status(model::ConversationStatus status, bool is_told = true) {
    store::update_conversation(store->database(), tenant.id, conversation, {.status = status}, loop.now(),
                               [this, is_told](const Result<model::Conversation>& changed) {
                                 ASSERT_TRUE(changed);
                                 if (is_told) engine->conversation_changed(changed.value());
                               });
    loop.settle();
  }
};

TEST_F(KeptWorkspacesTest, The_workspace_of_a_conversation_goes_when_that_is_archived) {
  set_status(model::ConversationStatus::archived);
  EXPECT_EQ(dispatcher.removed, Conversations{conversation});
}

TEST_F(KeptWorkspacesTest, The_workspace_of_a_conversation_that_answers_stays_until_the_run_is_over) {
  send_ok(message("hello"));
  set_status(model::ConversationStatus::archived);
  EXPECT_TRUE(dispatcher.removed.empty());
  agent_finishes();
  EXPECT_EQ(dispatcher.removed, Conversations{conversation});
}

TEST_F(KeptWorkspacesTest,
       A_conversation_that_was_taken_out_of_the_archive_before_its_run_was_over_keeps_its_workspace) {
  send_ok(message("hello"));
  set_status(model::ConversationStatus::archived);
  set_status(model::ConversationStatus::active);
  agent_finishes();
  EXPECT_TRUE(dispatcher.removed.empty());
}

TEST_F(KeptWorkspacesTest,
       A_server_that_starts_counts_the_workspaces_that_it_finds_and_removes_what_nobody_goes_on_with) {
  const auto archived = conversation;
  const auto active = make_conversation();
  const auto unknown = ids.make<model::ConversationId>();
  set_status(model::ConversationStatus::archived, false);
  dispatcher.workspaces = {{archived, 10}, {active, 20}, {unknown, 30}};
  restart_server();
  EXPECT_EQ(dispatcher.removed, (Conversations{archived, unknown}));
  EXPECT_EQ(dispatcher.counted, (std::vector{std::pair(active, tenant.id)}));
}

TEST_F(KeptWorkspacesTest, A_workspace_whose_conversation_was_archived_by_another_server_goes_after_a_while) {
  dispatcher.workspaces = {{conversation, 10}};
  set_status(model::ConversationStatus::archived, false);
  EXPECT_TRUE(dispatcher.removed.empty());
  loop.advance({600'000});
  loop.settle();
  EXPECT_EQ(dispatcher.removed, Conversations{conversation});
}

}  // namespace kept_workspaces_test
}  // namespace sluice::engine
