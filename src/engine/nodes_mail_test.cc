// What servers ask of each other: to cancel, to decide, to take a run; and runs that go where there is room.
#include "engine/mail_words.h"
#include "engine/nodes_fixture.h"

namespace sluice::engine {
namespace nodes_mail_test {

using model::RunState;
using store::Fault;

class NodesMailTest : public NodesTest {
 protected:
  void asks(Node& where, bool keeps_box = false) {
    dispatch::Gate gate;
    gate.reason = "The CRM needs a key.";
    gate.items = {{model::ItemKind::secret, "API key for the CRM", "CRM_API_KEY", {}}};
    gate.checkpoint = R"({"round":1})";
    gate.keeps_box = keeps_box;
    worker_of(where)->on_gate(std::move(gate));
    loop.settle();
  }
  // What came of it by now; empty: nothing yet.
  std::shared_ptr<std::optional<DecideOutcome>> decide_on(Node& where, Decision made) {
    auto outcome = std::make_shared<std::optional<DecideOutcome>>();
    where.engine->decide(std::move(made), [outcome](DecideOutcome answer) { *outcome = std::move(answer); });
    return outcome;
  }
  using Cancelled = std::optional<std::variant<model::Run, model::Problem>>;
  std::shared_ptr<Cancelled> cancel_on(Node& where, const model::Run& run) {
    auto outcome = std::make_shared<Cancelled>();
    where.engine->cancel(tenant.id, run.id, [outcome](auto answer) { *outcome = std::move(answer); });
    return outcome;
  }
  static bool counted(const std::shared_ptr<std::optional<DecideOutcome>>& outcome) {
    return *outcome && std::holds_alternative<model::Approval>(**outcome);
  }
};

TEST_F(NodesMailTest, A_run_is_cancelled_from_any_node) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  const auto outcome = cancel_on(node(1), run);
  loop.settle();
  ASSERT_TRUE(*outcome && std::holds_alternative<model::Run>(**outcome));
  EXPECT_EQ(std::get<model::Run>(**outcome).state, RunState::cancelled);
  EXPECT_EQ(node(0).dispatcher.working(), 0);
  const auto again = cancel_on(node(1), run);
  loop.settle();
  EXPECT_TRUE(std::holds_alternative<model::Run>(again->value())) << "it is what was wanted";
}

TEST_F(NodesMailTest, Lost_news_delay_a_cancelling_and_no_more) {
  start_nodes(2);
  disk.lose_news(true);
  const auto run = accepted_by(node(0), message("hello"));
  const auto outcome = cancel_on(node(1), run);
  pass(1'100);
  ASSERT_TRUE(*outcome);
  EXPECT_TRUE(std::holds_alternative<model::Run>(**outcome));
}

TEST_F(NodesMailTest, A_dead_nodes_run_is_cancelled_by_whoever_takes_it_over) {
  start_nodes(3);
  const auto run = accepted_by(node(0), message("hello"));
  kill(0);
  const auto outcome = cancel_on(node(1), run);
  pass(5'000);
  ASSERT_TRUE(*outcome);
  ASSERT_TRUE(std::holds_alternative<model::Run>(**outcome));
  EXPECT_EQ(stored_run(run).state, RunState::cancelled);
}

TEST_F(NodesMailTest, Who_gets_no_answer_is_told_so_after_ten_seconds) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  node(0).dispatcher.proves_at_once = false;
  const auto outcome = cancel_on(node(1), run);
  pass(9'900);
  EXPECT_FALSE(*outcome);
  pass(200);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ(std::get<model::Problem>(**outcome).slug, model::Slug::unavailable);
  node(0).dispatcher.prove_gone();
}

TEST_F(NodesMailTest, I_15_an_approval_is_decided_from_any_node_with_its_secrets) {
  start_nodes(2);
  const auto run = accepted_by(node(0), message("hello"));
  asks(node(0));
  auto made = decision();
  made.note = "fine";
  made.secrets = {sealed("CRM_API_KEY", "s3cret", conversation)};
  const auto outcome = decide_on(node(1), std::move(made));
  loop.settle();
  ASSERT_TRUE(counted(outcome));
  EXPECT_EQ(std::get<model::Approval>(**outcome).status, model::ApprovalStatus::approved);
  ASSERT_EQ(node(0).dispatcher.working(), 1);
  EXPECT_EQ(node(0).dispatcher.jobs.back()->dispatch.secrets->find("CRM_API_KEY")->value, "s3cret");
  finishes(node(0));
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(NodesMailTest, I_15_of_two_decisions_at_once_on_two_nodes_one_counts) {
  start_nodes(3);
  accepted_by(node(0), message("hello"));
  asks(node(0));
  const auto first = decide_on(node(1), decision(true));
  const auto second = decide_on(node(2), decision(false));
  loop.settle();
  pass(2'000);
  ASSERT_TRUE(*first && *second);
  EXPECT_NE(counted(first), counted(second));
  EXPECT_TRUE(is_refused_as_late(counted(first) ? **second : **first));
}

TEST_F(NodesMailTest, A_decision_reaches_whoever_took_the_run_over) {
  start_nodes(3);
  const auto run = accepted_by(node(0), message("hello"));
  asks(node(0));
  kill(0);
  const auto outcome = decide_on(node(1), decision());
  pass(4'000);
  EXPECT_TRUE(counted(outcome));
  EXPECT_EQ(node(1).dispatcher.working() + node(2).dispatcher.working(), 1);
  EXPECT_EQ(stored_run(run).state, RunState::streaming);
}

// By a server that looked while the approval was still pending.
TEST_F(NodesMailTest, A_decision_that_comes_again_by_mail_is_answered_as_at_first_and_counts_once) {
  start_nodes(2);
  accepted_by(node(0), message("hello"));
  asks(node(0));
  const auto made = decision();
  const auto first = decide_on(node(1), made);
  pass(1'000);
  ASSERT_TRUE(counted(first));
  const auto records = audited();
  const auto run = last_approval().run_id;
  auto& mailbox = node(1).store.nodes();
  auto denied = made;
  denied.approve = false;
  std::vector<std::string> answers;
  for (const auto& again : {made, denied}) {
    mailbox.post({.id = ids.make<model::MailId>(),
                  .run = run,
                  .kind = std::string(mail::to_decide),
                  .body = mail::to_json(again)},
                 [](const Result<Unit>& posted) { ASSERT_TRUE(posted); });
    // Given to the one that asks first, which the server itself does at its next beat.
    loop.settle();
    mailbox.answers([&](const Result<std::vector<journal::MailAnswer>>& given) {
      ASSERT_TRUE(given);
      for (const auto& answer : given.value()) answers.push_back(answer.body);
    });
    loop.settle();
  }
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0], mail::object_of("approval", made.approval.text()));
  ASSERT_TRUE(mail::problem_in(answers[1]));
  EXPECT_EQ(mail::problem_in(answers[1])->slug, model::Slug::approval_expired);
  EXPECT_EQ(audited(), records);
}

TEST_F(NodesMailTest, A_decision_is_the_same_after_its_way) {
  Decision made{.tenant = tenant.id, .approval = ids.make<model::ApprovalId>(), .approve = true};
  made.resolved_by = "approver_key:apk_1";
  made.note = "a \"note\"\n";
  made.audit_detail = R"({"x":1})";
  made.secrets = {sealed("CRM_API_KEY", "s3cret", conversation)};
  made.secrets[0].hosts = {"crm.example"};
  made.answers = {"run-2", "thread-1", {{"call_1", "42", false}}};
  const auto read = mail::decision_from_json(mail::to_json(made));
  ASSERT_TRUE(read);
  EXPECT_EQ(mail::to_json(*read), mail::to_json(made));
  EXPECT_EQ(read->answers, made.answers);
  EXPECT_EQ(read->secrets[0].sealed, made.secrets[0].sealed);
  EXPECT_EQ(read->secrets[0].owner, conversation.ulid);
  EXPECT_FALSE(mail::decision_from_json(R"({"approve":true})"));
  const auto problem = mail::problem_in(mail::problem_answer({model::Slug::run_finished, "It ended.", {{"/a", "b"}}}));
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->slug, model::Slug::run_finished);
  EXPECT_EQ(problem->errors.at(0).message, "b");
}

class NodesCapacityTest : public NodesMailTest {
 protected:
  NodesCapacityTest() { options.max_running = 1; }
  void expect_both_to_end(const std::vector<model::Run>& runs) {
    for (int turn = 0; turn < 3; ++turn) {
      for (auto& each : nodes) finishes(*each);
      pass(4'000);
    }
    for (const auto& run : runs) EXPECT_EQ(stored_run(run).state, RunState::completed);
  }
  Send held(const char* text) {
    auto what = message_in(make_conversation(), text);
    what.hold = true;
    return what;
  }
};

TEST_F(NodesCapacityTest, A_held_run_is_claimed_by_the_node_that_has_room) {
  start_nodes(2);
  accepted_by(node(0), held("first"));
  const auto second = accepted_by(node(0), held("second"));
  const auto near = read_on(node(0), second);
  loop.settle();
  EXPECT_EQ(node(1).dispatcher.working(), 1);
  EXPECT_EQ(stored_run(second).node, node(1).id);
  finishes(node(1));
  EXPECT_TRUE(near->reader.ended);
  EXPECT_TRUE(is_one_story(near->reader.text));
}

// The disk fails at the n-th write from when the other node hears that somebody waits: a beat, the claim, or what
// comes after it.
TEST_F(NodesCapacityTest, I_12_a_claim_whose_fate_is_unknown_leaves_no_run_behind) {
  start_nodes(2);
  disk.lose_news(true);
  for (const auto fault : {Fault::before_write, Fault::after_write}) {
    for (int n = 0; n < 10; ++n) {
      SCOPED_TRACE(std::to_string(n) + (fault == Fault::after_write ? " after" : " before"));
      for (auto& each : nodes) each->dispatcher.resumable = true;
      const std::vector runs = {accepted_by(node(0), held("first")), accepted_by(node(0), held("second"))};
      disk.fail_write(n, fault);
      pass(4'000);
      expect_both_to_end(runs);
    }
  }
}

// The disk stands still from one moment of a beat on: in one of them the claim is done and its answer comes too late.
TEST_F(NodesCapacityTest, A_claim_that_is_answered_when_all_was_dropped_is_taken_up_all_the_same) {
  start_nodes(2);
  disk.lose_news(true);
  for (int64_t moment = 0; moment <= 600; moment += 50) {
    SCOPED_TRACE(moment);
    for (auto& each : nodes) each->dispatcher.resumable = true;
    const std::vector runs = {accepted_by(node(0), held("first")), accepted_by(node(0), held("second"))};
    pass(moment);
    disk.hold_answers(true);
    pass(2'000);
    disk.hold_answers(false);
    pass(4'000);
    expect_both_to_end(runs);
  }
}

TEST_F(NodesCapacityTest, I_12_of_two_with_room_one_claims_and_the_others_move_up) {
  start_nodes(1);
  accepted_by(node(0), held("first"));
  const auto second = accepted_by(node(0), held("second"));
  const auto third = accepted_by(node(0), held("third"));
  const auto fourth = accepted_by(node(0), held("fourth"));
  const auto last = read_on(node(0), fourth);
  const auto near = read_on(node(0), second);
  EXPECT_NE(last->reader.text.find(R"("position":3)"), std::string::npos);
  disk.lose_news(true);
  start_node();
  start_node();
  pass(2'000);
  EXPECT_EQ(node(1).dispatcher.working(), 1);
  EXPECT_EQ(node(2).dispatcher.working(), 1);
  EXPECT_NE(stored_run(second).node, node(0).id);
  EXPECT_NE(stored_run(third).node, node(0).id);
  EXPECT_NE(stored_run(second).node, stored_run(third).node);
  EXPECT_NE(last->reader.text.find(R"("position":1)"), std::string::npos) << last->reader.text;
  const auto now = node(0).engine->capacity();
  EXPECT_EQ(now.pool_size, 3);
  EXPECT_EQ(now.running, 3);
  EXPECT_TRUE(now.at_capacity);
  finishes(node(1));
  finishes(node(2));
  pass(2'000);
  EXPECT_TRUE(near->reader.ended);
  EXPECT_TRUE(is_one_story(near->reader.text));
}

TEST_F(NodesMailTest, I_21_a_sticky_conversation_goes_on_in_its_box_wherever_it_is_asked) {
  start_nodes(3);
  const auto where = make_conversation(sticky());
  accepted_by(node(0), message_in(where, "first"));
  finishes(node(0));
  const auto second = accepted_by(node(1), message_in(where, "second"));
  const auto near = read_on(node(1), second);
  EXPECT_EQ(node(1).dispatcher.working(), 0);
  ASSERT_EQ(node(0).dispatcher.working(), 1);
  EXPECT_TRUE(node(0).dispatcher.jobs.back()->dispatch.keeps_box);
  EXPECT_EQ(node(0).engine->sandbox_of(where).state, model::SandboxState::running);
  finishes(node(0));
  EXPECT_TRUE(near->reader.ended);
  EXPECT_TRUE(is_one_story(near->reader.text));
  kill(0);
  pass(2'000);
  accepted_by(node(1), message_in(where, "third"));
  EXPECT_EQ(node(1).dispatcher.working(), 1) << "its home is dead";
}

TEST_F(NodesMailTest, A_home_that_does_not_answer_is_not_waited_for_and_comes_too_late) {
  start_nodes(2);
  const auto where = make_conversation(sticky());
  accepted_by(node(0), message_in(where, "first"));
  finishes(node(0));
  node(0).loop.stop();
  const auto second = accepted_by(node(1), message_in(where, "second"));
  EXPECT_EQ(node(1).dispatcher.working(), 0);
  pass(3'100);
  EXPECT_EQ(node(1).dispatcher.working(), 1);
  node(0).loop.wake();
  pass(2'000);
  EXPECT_EQ(node(0).dispatcher.working(), 0);
  finishes(node(1));
  EXPECT_EQ(stored_run(second).state, RunState::completed);
}

TEST_F(NodesMailTest, S_2_an_answer_to_who_carried_the_run_before_an_outage_starts_nothing) {
  start_nodes(2);
  const auto where = make_conversation(sticky());
  accepted_by(node(0), message_in(where, "first"));
  finishes(node(0));
  node(0).loop.stop();
  const auto second = accepted_by(node(1), message_in(where, "second"));
  disk.hold_answers(true);
  pass(62'000);
  EXPECT_EQ(node(1).dispatcher.jobs.size(), 0U);
  disk.hold_answers(false);
  pass(1'000);
  ASSERT_GT(stored_run(second).epoch, second.epoch) << "dropped and taken up";
  pass(4'000);
  EXPECT_EQ(node(1).dispatcher.jobs.size(), 1U);
  EXPECT_EQ(node(1).dispatcher.working(), 1);
}

// Answers stand still from the moment at which this node takes a run over.
struct StopAtTakeover final : store::DatabaseWatch {
  StopAtTakeover(store::SimulatedDatabase& its_disk, model::NodeId taker) : disk(its_disk), by(taker) {}
  std::optional<Fault> on_write(model::NodeId) override { return std::nullopt; }
  bool reaches(model::NodeId) override { return true; }
  int news_copies(model::NodeId) override { return 1; }
  void on_moved(model::NodeId who, const model::Run& run) override {
    if (who != by || run.epoch == model::Epoch{1} || std::exchange(has_stopped, true)) return;
    disk.hold_answers(true);
  }
  store::SimulatedDatabase& disk;
  const model::NodeId by;
  bool has_stopped = false;
};

TEST_F(NodesMailTest, A_run_that_its_home_took_when_all_was_dropped_is_taken_up_all_the_same) {
  start_nodes(2);
  for (auto& each : nodes) each->dispatcher.resumable = true;
  const auto where = make_conversation(sticky());
  accepted_by(node(0), message_in(where, "first"));
  finishes(node(0));
  StopAtTakeover watch(disk, node(0).id);
  disk.be_watched(&watch);
  const auto second = accepted_by(node(1), message_in(where, "second"));
  ASSERT_TRUE(watch.has_stopped) << "its home took it, and does not know yet";
  pass(62'000);
  EXPECT_EQ(node(0).dispatcher.working() + node(1).dispatcher.working(), 0);
  disk.hold_answers(false);
  pass(4'000);
  EXPECT_EQ(stored_run(second).node, node(0).id);
  EXPECT_EQ(node(0).dispatcher.working(), 1);
  EXPECT_EQ(node(1).dispatcher.working(), 0);
  finishes(node(0));
  EXPECT_EQ(stored_run(second).state, RunState::completed);
  disk.be_watched(nullptr);
}

TEST_F(NodesMailTest, A_sandbox_is_let_go_wherever_its_conversation_is_archived) {
  start_nodes(2);
  const auto where = make_conversation(sticky());
  accepted_by(node(0), message_in(where, "first"));
  finishes(node(0));
  store::update_conversation(store->database(), tenant.id, where, {.status = model::ConversationStatus::archived},
                             loop.now(), [&](const Result<model::Conversation>& archived) {
                               ASSERT_TRUE(archived);
                               node(1).engine->conversation_changed(archived.value());
                             });
  loop.settle();
  EXPECT_EQ(node(0).dispatcher.released, std::vector{where});
}

}  // namespace nodes_mail_test
}  // namespace sluice::engine
