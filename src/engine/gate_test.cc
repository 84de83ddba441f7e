#include "engine/gate_fixture.h"
#include "engine/live_run.h"

namespace sluice::engine {
namespace gate_test {

using model::ApprovalStatus;
using model::RunState;
using model::Slug;

TEST_F(GateTest, A_run_that_needs_a_human_parks_and_everything_says_so_at_once_I_14) {  // I-14
  const auto run = send_ok(message("Look it up."));
  RememberingReader ana;
  const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, ana);
  agent_says("Let me see. ");
  const int writes = disk.write_count();
  agent_asks();
  EXPECT_EQ(disk.write_count(), writes + 1) << "one append";
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  EXPECT_NE(stored_message(run.message_id).find(R"("status":"awaiting_approval")"), std::string::npos);
  const auto approval = last_approval();
  EXPECT_EQ(approval.status, ApprovalStatus::pending);
  EXPECT_EQ(approval.run_id, run.id);
  EXPECT_EQ(approval.expires_at.ms, loop.now().ms + 900'000);
  EXPECT_NE(ana.text.find(R"("approval_required")"), std::string::npos);
  EXPECT_NE(ana.text.find(R"("data":)" + model::to_json(approval)), std::string::npos);
  EXPECT_EQ(ana.text.find("round"), std::string::npos) << "no reader sees a checkpoint";
  EXPECT_FALSE(ana.ended);
  EXPECT_EQ(audited(), std::vector<std::string>{"approval.required by server"});
  EXPECT_EQ(notices_seen, 1);
  EXPECT_EQ(dispatcher.working(), 0) << "its sandbox is gone, and so is its work";
  EXPECT_EQ(engine->capacity().running, 0);
  EXPECT_EQ(engine->capacity().parked, 1);
}

TEST_F(GateTest, Approved_it_goes_on_from_its_checkpoint_on_the_same_stream_I_16) {  // I-16
  make_environment("lab", {{"A", "1"}}, "make");
  auto what = message("Look it up.");
  what.env_name = "lab";
  const auto run = send_ok(std::move(what));
  RememberingReader ana;
  const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, ana);
  agent_says("Let me see. ");
  agent_asks();
  auto made = decision();
  made.note = "fine";
  made.secrets.push_back(sealed("CRM_API_KEY", "s3cr3t-value", conversation));
  const auto outcome = decide(std::move(made));
  ASSERT_TRUE(std::holds_alternative<model::Approval>(outcome));
  EXPECT_EQ(std::get<model::Approval>(outcome).status, ApprovalStatus::approved);
  EXPECT_EQ(last_approval().resolved_by, "approver_key:apk_1");
  EXPECT_EQ(last_approval().note, "fine");
  EXPECT_NE(ana.text.find(R"("data":{"approval_id":")" + last_approval().id.text() + R"(","decision":"approved"})"),
            std::string::npos);
  EXPECT_NE(stored_message(run.message_id).find(R"("status":"in_progress")"), std::string::npos);

  ASSERT_EQ(dispatcher.working(), 1);
  EXPECT_EQ(last_dispatch().checkpoint, R"({"round":1})");
  EXPECT_EQ(last_dispatch().prompt, "Look it up.");
  EXPECT_EQ(last_dispatch().materials.variables.at("A"), "1");
  EXPECT_FALSE(last_dispatch().resumed);
  EXPECT_TRUE(last_dispatch().may_ask);
  ASSERT_NE(last_dispatch().secrets->find("CRM_API_KEY"), nullptr);
  EXPECT_EQ(last_dispatch().secrets->find("CRM_API_KEY")->value, "s3cr3t-value");
  agent_says("Done.");
  agent_finishes();
  EXPECT_TRUE(ana.ended);
  EXPECT_EQ(read_all(run), ana.text);
  EXPECT_NE(stored_message(run.message_id).find(R"("content":"Let me see. Done.")"), std::string::npos);
  EXPECT_EQ(audited(),
            (std::vector<std::string>{"approval.required by server", "approval.approved by approver_key:apk_1"}));
  EXPECT_TRUE(dispatcher.forgotten.empty());
  EXPECT_NE(metrics.to_text().find(R"(sluice_approvals_total{status="approved"} 1)"), std::string::npos);
}

TEST_F(GateTest, Denied_expired_and_cancelled_are_told_apart_I_16) {
  const auto denied = send_ok(message("one"));
  agent_begins_step();
  agent_asks();
  auto no = decision(false);
  no.note = "not today";
  EXPECT_EQ(std::get<model::Approval>(decide(std::move(no))).status, ApprovalStatus::denied);
  EXPECT_NE(read_all(denied).find("approval-denied"), std::string::npos);
  EXPECT_NE(read_all(denied).find("not today"), std::string::npos);
  EXPECT_EQ(read_all(denied).find("resumed"), std::string::npos);
  EXPECT_EQ(stored_run(denied).state, RunState::failed);

  const auto expired = send_ok(message("two"));
  agent_asks(60);
  loop.advance({59'999});
  EXPECT_EQ(stored_run(expired).state, RunState::parked);
  loop.advance({1});
  EXPECT_NE(read_all(expired).find("approval-expired"), std::string::npos);
  EXPECT_EQ(last_approval().status, ApprovalStatus::expired);
  EXPECT_EQ(last_approval().resolved_by, "expiry");
  EXPECT_TRUE(is_refused_as_late(decide(decision())));

  const auto cancelled = send_ok(message("three"));
  agent_asks();
  EXPECT_EQ(cancel(cancelled), 1U);
  EXPECT_EQ(last_approval().status, ApprovalStatus::expired);
  EXPECT_EQ(last_approval().resolved_by, "cancel");
  EXPECT_EQ(stored_run(cancelled).state, RunState::cancelled);
  const auto late = decide(decision());
  EXPECT_TRUE(is_refused_as_late(late));
  EXPECT_EQ(detail_of(late), "The run was cancelled, and the approval with it.");
  EXPECT_EQ(dispatcher.forgotten, (std::vector{denied.id, expired.id, cancelled.id}));
  EXPECT_EQ(engine->capacity().parked, 0);
  const std::vector<std::string> story = {"approval.required by server", "approval.denied by approver_key:apk_1",
                                          "approval.required by server", "approval.expired by server",
                                          "approval.required by server", "approval.cancelled by server"};
  EXPECT_EQ(audited(), story);
}

TEST_F(GateTest, A_gates_time_is_bounded_by_the_server) {
  options.approval_seconds_max = 100;
  options.approval_seconds = 50;
  restart_server();
  for (const auto& [asked, given] : {std::pair<int64_t, int64_t>{0, 50}, {10, 10}, {5'000, 100}}) {
    send_ok(message("hello"));
    agent_asks(asked);
    EXPECT_EQ(last_approval().expires_at.ms, loop.now().ms + given * 1'000);
    decide(decision(false));
  }
}

TEST_F(GateTest, A_decision_that_is_repeated_by_the_same_key_is_answered_as_the_first_was) {
  send_ok(message("hello"));
  agent_asks();
  const auto yes = decision(true);
  auto by_another = yes;
  by_another.resolved_by = "approver_key:apk_2";
  auto no = yes;
  no.approve = false;
  const auto first = std::get<model::Approval>(decide(yes));
  const auto again = decide(yes);
  ASSERT_TRUE(std::holds_alternative<model::Approval>(again)) << detail_of(again);
  EXPECT_EQ(model::to_json(std::get<model::Approval>(again)), model::to_json(first));
  EXPECT_TRUE(is_refused_as_late(decide(by_another)));
  EXPECT_TRUE(is_refused_as_late(decide(no)));
  auto with_a_note = yes;
  with_a_note.note = "Only this once.";
  EXPECT_TRUE(is_refused_as_late(decide(with_a_note))) << "the note would not be kept";
  EXPECT_EQ(audited(),
            (std::vector<std::string>{"approval.required by server", "approval.approved by approver_key:apk_1"}));
}

TEST_F(GateTest, A_decision_that_is_repeated_while_it_is_being_written_is_answered_with_the_first) {
  send_ok(message("hello"));
  agent_asks();
  const auto no = decision(false);
  std::vector<DecideOutcome> outcomes;
  disk.hold_answers(true);
  for (int i = 0; i < 2; ++i) {
    engine->decide(no, [&](DecideOutcome answer) { outcomes.push_back(std::move(answer)); });
  }
  disk.hold_answers(false);
  loop.settle();
  ASSERT_EQ(outcomes.size(), 2U);
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(std::holds_alternative<model::Approval>(outcome)) << detail_of(outcome);
    EXPECT_EQ(std::get<model::Approval>(outcome).status, ApprovalStatus::denied);
  }
}

TEST_F(GateTest, Of_two_decisions_at_once_one_counts_I_16) {
  const auto run = send_ok(message("hello"));
  agent_asks();
  const auto yes = decision(true);
  const auto no = decision(false);
  std::vector<DecideOutcome> outcomes;
  disk.hold_answers(true);
  const auto hear = [&](DecideOutcome answer) { outcomes.push_back(std::move(answer)); };
  engine->decide(yes, hear);
  engine->decide(no, hear);
  disk.hold_answers(false);
  loop.settle();
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_TRUE(is_refused_as_late(outcomes[0])) << "the second is refused while the first is being written";
  EXPECT_TRUE(std::holds_alternative<model::Approval>(outcomes[1]));
  EXPECT_TRUE(is_refused_as_late(decide(no))) << "and afterwards";
  EXPECT_EQ(stored_run(run).state, RunState::streaming);
  EXPECT_EQ(dispatcher.working(), 1);
}

TEST_F(GateTest, Another_tenants_approval_is_not_found) {
  send_ok(message("hello"));
  agent_asks();
  auto foreign = decision();
  foreign.tenant = ids.make<model::TenantId>();
  const auto outcome = decide(std::move(foreign));
  ASSERT_TRUE(std::holds_alternative<model::Problem>(outcome));
  EXPECT_EQ(std::get<model::Problem>(outcome).slug, Slug::not_found);
  EXPECT_EQ(last_approval().status, ApprovalStatus::pending);
}

TEST_F(GateTest, A_full_disk_delays_a_gate_and_loses_nothing) {
  const auto run = send_ok(message("hello"));
  for (int n = 0; n < 3; ++n) disk.fail_write(n, store::Fault::full);
  agent_asks();
  EXPECT_TRUE(approvals().empty());
  EXPECT_EQ(dispatcher.working(), 1) << "nothing is let go before it is written";
  loop.advance({10'000});
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  EXPECT_EQ(dispatcher.working(), 0);
}

TEST_F(GateTest, A_decision_that_meets_a_full_disk_is_taken_back_and_said_so) {
  const auto run = send_ok(message("hello"));
  agent_begins_step();
  agent_asks(60);
  const auto asked = model::to_json(last_approval());
  RememberingReader ana;
  const auto reading = engine->read(run, {.format = wire::Format::trace, .after = -1}, ana);
  loop.settle();
  const auto before = ana.text;
  for (const bool approve : {true, false}) {
    disk.fail_write(0, store::Fault::full);
    auto made = decision(approve);
    made.note = "a note";
    made.secrets.push_back(sealed("CRM_API_KEY", "s3cr3t-value", conversation));
    const auto outcome = decide(std::move(made));
    ASSERT_TRUE(std::holds_alternative<model::Problem>(outcome));
    EXPECT_EQ(std::get<model::Problem>(outcome).slug, Slug::unavailable);
    EXPECT_EQ(detail_of(outcome), "The store cannot write right now; the approval is still pending.");
    loop.advance({10'000});
    EXPECT_EQ(model::to_json(last_approval()), asked);
    EXPECT_EQ(stored_run(run).state, RunState::parked);
    EXPECT_EQ(ana.text, before) << "nothing of it is left to be written";
    EXPECT_EQ(engine->capacity().parked, 1);
  }
  EXPECT_EQ(audited().size(), 1U);
  decide(decision());
  ASSERT_EQ(dispatcher.working(), 1);
  EXPECT_EQ(last_dispatch().secrets->find("CRM_API_KEY"), nullptr);
  agent_finishes();
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(GateTest, A_decision_that_was_taken_back_does_not_prolong_its_gate) {
  const auto run = send_ok(message("hello"));
  agent_asks(60);
  loop.advance({50'000});
  disk.fail_write(0, store::Fault::full);
  decide(decision());
  loop.advance({9'999});
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  loop.advance({1});
  EXPECT_EQ(stored_run(run).state, RunState::failed);
  EXPECT_EQ(last_approval().resolved_by, "expiry");
}

TEST_F(GateTest, A_cancel_that_follows_a_decision_onto_a_full_disk_is_kept) {
  for (const bool approve : {true, false}) {
    const auto run = send_ok(message("hello"));
    agent_asks();
    const auto made = decision(approve);
    for (int n = 0; n < 3; ++n) disk.fail_write(n, store::Fault::full);
    int cancels = 0;
    engine->decide(made, [](const DecideOutcome&) {});
    engine->cancel(tenant.id, run.id, [&](const auto&) { ++cancels; });
    loop.settle();
    loop.advance({10'000});
    EXPECT_EQ(cancels, 1);
    EXPECT_TRUE(is_over(stored_run(run).state));
  }
}

TEST_F(GateTest, A_gate_that_expires_before_the_disk_has_room_is_told_whole) {
  const auto run = send_ok(message("hello"));
  for (int n = 0; n < 40; ++n) disk.fail_write(n, store::Fault::full);
  agent_asks(60);
  loop.advance({600'000});
  EXPECT_EQ(stored_run(run).state, RunState::failed);
  EXPECT_EQ(last_approval().status, ApprovalStatus::expired);
  const auto text = read_all(run);
  EXPECT_NE(text.find("approval_required"), std::string::npos);
  EXPECT_NE(text.find("approval-expired"), std::string::npos);
}

TEST_F(GateTest, A_decision_of_unknown_outcome_is_what_the_disk_says_it_is) {
  for (const auto fault : {store::Fault::before_write, store::Fault::after_write}) {
    const auto run = send_ok(message("hello"));
    agent_asks();
    const auto made = decision();
    disk.fail_write(0, fault);
    const auto outcome = decide(made);
    EXPECT_EQ(std::holds_alternative<model::Approval>(outcome), fault == store::Fault::after_write);
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) EXPECT_EQ(problem->slug, Slug::unavailable);
    EXPECT_TRUE(std::holds_alternative<model::Approval>(decide(made))) << "a caller that is not sure asks again";
    ASSERT_EQ(dispatcher.working(), 1);
    EXPECT_EQ(last_dispatch().checkpoint, R"({"round":1})");
    agent_finishes();
    EXPECT_EQ(stored_run(run).state, RunState::completed);
  }
}

TEST_F(GateTest, The_wall_clock_neither_expires_nor_revives_a_gate) {
  const auto run = send_ok(message("hello"));
  agent_asks(60);
  loop.jump_wall_clock({3'600'000});
  loop.advance({1'000});
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  loop.jump_wall_clock({-7'200'000});
  loop.advance({59'000});
  EXPECT_EQ(stored_run(run).state, RunState::failed);
}

TEST_F(GateTest, A_run_may_ask_more_than_once) {
  const auto run = send_ok(message("hello"));
  for (int round = 1; round <= 3; ++round) {
    agent_says("text ");
    agent_asks(0, R"({"round":)" + std::to_string(round) + "}");
    decide(decision());
    EXPECT_EQ(last_dispatch().checkpoint, R"({"round":)" + std::to_string(round) + "}");
  }
  agent_finishes();
  EXPECT_EQ(approvals().size(), 3U);
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(GateTest, Whoever_waits_for_the_end_waits_through_a_park_I_20) {  // I-20
  const auto run = send_ok(message("hello"));
  int answers = 0;
  const auto waiting =
      engine->wait_for_end(run, [&](const Result<wire::Ending>& ending) { answers += ending ? 1 : 0; });
  agent_asks();
  decide(decision());
  EXPECT_EQ(answers, 0);
  agent_finishes();
  EXPECT_EQ(answers, 1);
}

TEST_F(GateTest, A_cancel_that_meets_a_gate_wins_and_leaves_nothing_behind) {
  const auto run = send_ok(message("hello"));
  disk.fail_write(0, store::Fault::full);
  EXPECT_EQ(cancel(run), 0U) << "the wish cannot be written yet";
  agent_asks();
  loop.advance({1'000});
  EXPECT_EQ(stored_run(run).state, RunState::cancelled);
  EXPECT_TRUE(approvals().empty()) << "there is no open approval any more";

  const auto second = send_ok(message("again"));
  disk.hold_answers(true);
  agent_asks();
  disk.hold_answers(false);
  EXPECT_EQ(cancel(second), 1U);
  EXPECT_EQ(stored_run(second).state, RunState::cancelled);
  EXPECT_EQ(last_approval().status, ApprovalStatus::expired);
  EXPECT_EQ(dispatcher.forgotten, (std::vector{run.id, second.id}));
}

TEST_F(GateTest, A_gate_that_is_closed_before_it_could_be_written_is_told_whole) {
  const auto run = send_ok(message("hello"));
  disk.hold_answers(true);
  agent_says("slow disk ");
  agent_asks(60);
  loop.advance({60'000});
  disk.hold_answers(false);
  loop.settle();
  EXPECT_EQ(stored_run(run).state, RunState::failed);
  EXPECT_EQ(last_approval().status, ApprovalStatus::expired);
  EXPECT_EQ(audited().size(), 2U);
  EXPECT_EQ(engine->capacity().running, 0);
  EXPECT_EQ(engine->capacity().parked, 0);
}

TEST_F(GateTest, A_step_that_was_running_at_the_gate_ends_where_the_agent_ends_it) {
  const auto run = send_ok(message("hello"));
  agent_begins_step();
  agent_asks();
  restart_server();
  decide(decision());
  agent_says(R"({"id":"step_1","name":"bash","status":"succeeded","result":"ok","durationMs":1})",
             model::EventKind::step);
  agent_finishes();
  RememberingReader reader;
  const auto reading = engine->read(run, {.format = wire::Format::trace, .after = -1}, reader);
  loop.settle();
  EXPECT_NE(reader.text.find(R"("succeeded")"), std::string::npos);
  EXPECT_EQ(reader.text.find(R"("failed")"), std::string::npos);
}

TEST_F(GateTest, Secrets_in_reach_are_opened_and_follow_their_rows) {
  const auto put = [&](std::vector<model::SealedSecret> rows) {
    store::put_secrets(store->database(), std::move(rows), {}, [](Result<Unit> done) { ASSERT_TRUE(done); });
    loop.settle();
  };
  auto foreign = sealed("BROKEN", "four", conversation);
  foreign.sealed = "not a seal";
  put({sealed("FIRST", "value one", conversation), foreign});
  const auto run = send_ok(message("hello"));
  const auto secrets = last_dispatch().secrets;
  ASSERT_NE(secrets, nullptr);
  EXPECT_EQ(secrets->find("FIRST")->value, "value one");
  EXPECT_EQ(secrets->find("BROKEN"), nullptr);
  RememberingReader reader;
  const auto reading = engine->read(run, {.format = wire::Format::full_ndjson, .after = -1}, reader);
  loop.settle();
  EXPECT_NE(reader.text.find("BROKEN"), std::string::npos) << "what cannot be opened is named";

  put({sealed("SECOND", "value two", conversation)});
  EXPECT_EQ(secrets->find("SECOND"), nullptr);
  engine->secrets_changed(tenant.id);
  loop.settle();
  EXPECT_EQ(secrets->find("SECOND")->value, "value two");
}

// I-17
TEST_F(GateTest, A_secret_of_the_tenant_is_looked_for_only_in_runs_that_can_use_it) {
  const auto seal = [&](std::string alias, std::string_view value) {
    model::SealedSecret secret{.tenant_id = tenant.id,
                               .scope = model::SecretScope::tenant,
                               .owner = tenant.id.ulid,
                               .alias = std::move(alias)};
    secret.sealed = sealer.seal(tenant.id, vault::context_of(secret), value);
    return secret;
  };
  store::put_secrets(store->database(),
                     {seal("SHARED", "a value of the tenant"), seal("MODEL_KEY", "a key to a model"),
                      sealed("OWN", "of the conversation", conversation)},
                     {}, [](Result<Unit> done) { ASSERT_TRUE(done); });
  loop.settle();
  send_ok(message("hello"));
  auto secrets = last_dispatch().secrets;
  EXPECT_NE(secrets->find("SHARED"), nullptr) << "so that it is refused and not asked for";
  EXPECT_EQ(secrets->scrubber()->scrub("a value of the tenant, of the conversation"),
            "a value of the tenant, {{secret:OWN}}");
  agent_finishes();

  store::AgentPatch patch;
  patch.policy = model::Policy{{.subject = model::Subject::host, .pattern = "api.example", .secrets = {"SHARED"}}};
  patch.model = agent.model;
  patch.model->key_alias = "MODEL_KEY";
  store::update_agent(store->database(), tenant.id, agent.id, patch, loop.now(),
                      [](Result<model::Agent> done) { ASSERT_TRUE(done); });
  loop.settle();
  send_ok(message("again"));
  secrets = last_dispatch().secrets;
  EXPECT_EQ(secrets->scrubber()->scrub("a value of the tenant, a key to a model"),
            "{{secret:SHARED}}, {{secret:MODEL_KEY}}");
}

TEST_F(GateTest, A_parked_run_is_small) {
  EXPECT_LT(sizeof(LiveRun), 1'280U);  // the strings of a short message and its approval, and a slot, come on top
}

}  // namespace gate_test
}  // namespace sluice::engine
