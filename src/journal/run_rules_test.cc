// What is decided before anything is written, whatever the database (A-3, I-19).
#include "journal/run_rules.h"

#include <gtest/gtest.h>

#include "world/fake_world.h"

namespace sluice::journal {
namespace run_rules_test {

class RunRules : public testing::Test {
 protected:
  RunRules() {
    made.run = {.id = ids.make<model::RunId>(),
                .tenant_id = ids.make<model::TenantId>(),
                .conversation_id = ids.make<model::ConversationId>()};
    made.user_message.created_at = {7'000};
    made.events = {{model::EventKind::accepted, {7'000}, "{}"}};
    looks.conversation = model::Conversation{.id = made.run.conversation_id, .tenant_id = made.run.tenant_id};
    looks.agent = model::Agent{.id = ids.make<model::AgentId>(), .tenant_id = made.run.tenant_id};
  }
  AcceptOutcome outcome() {
    const auto decided = decide(made, looks, node);
    const auto* found = decided ? std::get_if<AcceptOutcome>(&decided.value()) : nullptr;
    EXPECT_NE(found, nullptr) << "it is answered without anything being written";
    return found == nullptr ? AcceptOutcome(NotCreated{}) : *found;
  }
  ErrorKind refusal() {
    const auto decided = decide(made, looks, node);
    EXPECT_FALSE(decided);
    return decided ? ErrorKind::corrupt : decided.error().kind;
  }

  world::FakeLoop loop;
  world::FakeEntropy entropy;
  world::IdSource ids{loop, entropy};
  const model::NodeId node = ids.make<model::NodeId>();
  NewRun made;
  AcceptLooks looks;
};

TEST_F(RunRules, An_accepted_run_is_its_nodes_in_the_first_epoch_and_moves_its_conversation_to_the_front) {
  const auto decided = decide(made, looks, node);
  ASSERT_TRUE(decided);
  const auto* accepted = std::get_if<Accepted>(&decided.value());
  ASSERT_NE(accepted, nullptr);
  EXPECT_EQ(accepted->run.epoch, model::Epoch{1});
  EXPECT_EQ(accepted->run.head, model::Position{1});
  EXPECT_EQ(accepted->run.node, node);
  EXPECT_EQ(accepted->run.agent_id, looks.agent->id);
  EXPECT_EQ(accepted->conversation.agent_id, looks.agent->id);
  EXPECT_EQ(accepted->conversation.last_message_at, (Timestamp{7'000}));
  EXPECT_TRUE(accepted->events.empty()) << "they are committed only after this";
}

TEST_F(RunRules, A_known_key_is_answered_whatever_else_is_in_the_way) {
  made.idempotency = Idempotency{{}, "send", "key", "digest"};
  looks = {.key = KnownKey{"digest", made.run, std::nullopt}, .names = Error{ErrorKind::invalid, "a name is taken"}};
  const auto known = outcome();
  ASSERT_TRUE(std::holds_alternative<Replay>(known));
  EXPECT_EQ(std::get<Replay>(known).run->id, made.run.id);
  made.idempotency->request_sha256 = "another";
  EXPECT_TRUE(std::holds_alternative<KeyConflict>(outcome()));
}

TEST_F(RunRules, A_conversation_that_is_missing_archived_or_busy_takes_no_run) {
  looks.flight = made.run;
  EXPECT_EQ(std::get<Busy>(outcome()).run.id, made.run.id);
  looks.conversation->status = model::ConversationStatus::archived;
  EXPECT_TRUE(std::holds_alternative<Archived>(outcome())) << "before it is busy";
  looks.conversation.reset();
  EXPECT_EQ(refusal(), ErrorKind::not_found);
}

TEST_F(RunRules, What_is_only_a_replay_creates_nothing) {
  made.only_replay = true;
  looks.secrets = Error{ErrorKind::invalid, "too many secrets"};
  EXPECT_TRUE(std::holds_alternative<NotCreated>(outcome()));
  made.only_replay = false;
  EXPECT_EQ(refusal(), ErrorKind::invalid);
  looks.agent.reset();
  EXPECT_EQ(refusal(), ErrorKind::not_found);
}

TEST_F(RunRules, A_run_changes_hands_in_the_epoch_that_was_seen_and_only_before_its_end) {
  auto run = made.run;
  run.epoch = {3};
  EXPECT_TRUE(refusal_of_takeover(run, {2}));
  EXPECT_FALSE(refusal_of_takeover(run, {3}));
  pass_on(run, node);
  EXPECT_EQ(run.epoch, model::Epoch{4});
  EXPECT_EQ(run.node, node);
  run.state = model::RunState::cancelled;
  EXPECT_EQ(refusal_of_takeover(run, {4})->kind, ErrorKind::conflict);
}

TEST_F(RunRules, Only_a_run_that_still_waits_on_another_node_is_claimed) {
  auto run = made.run;
  run.state = model::RunState::held;
  run.epoch = {2};
  EXPECT_TRUE(may_claim(run, {run.id, {2}}, node));
  EXPECT_FALSE(may_claim(run, {run.id, {1}}, node));
  EXPECT_FALSE(may_claim(run, {run.id, {2}}, run.node));
  run.state = model::RunState::streaming;
  EXPECT_FALSE(may_claim(run, {run.id, {2}}, node));
}

}  // namespace run_rules_test
}  // namespace sluice::journal
