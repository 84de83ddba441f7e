// H-6: a run that waits for tools of its client. No human is asked; the run is resumed with what the client answers.
#include "engine/gate_fixture.h"

namespace sluice::engine {
namespace client_tool_test {

using model::ApprovalStatus;
using model::RunState;
using model::Slug;
using Results = std::vector<model::ClientResult>;

class ClientToolTest : public GateTest {
 protected:
  Send message_of_client(model::ConversationId where, std::string run_id = "r0") {
    auto send = message_in(where, "Which colour?");
    send.extras.client_tools = {{"pick_colour", "Asks for a colour.", R"({"type":"object"})"}};
    send.extras.agui = model::AguiNames{.thread_id = "t", .run_id = std::move(run_id)};
    return send;
  }
  model::Run run_that_waits(std::vector<std::string> calls = {"step_1"}) {
    const auto run = send_ok(message_of_client(conversation));
    agent_calls(std::move(calls));
    return run;
  }
  void agent_calls(std::vector<std::string> calls) {
    dispatch::Gate gate;
    gate.reason = "The client's tools are to answer.";
    for (auto& id : calls) {
      model::RequestedItem item{.kind = model::ItemKind::client_tool};
      item.call = model::ClientCall{std::move(id), "pick_colour", "{}"};
      gate.items.push_back(std::move(item));
    }
    gate.checkpoint = R"({"round":1})";
    gate.keeps_box = last_dispatch().keeps_box;
    agent_at_work().on_gate(std::move(gate));
    loop.settle();
  }
  Decision answered(Results results, std::string run_id = "r1") {
    Decision made{.tenant = tenant.id, .approval = last_approval().id, .approve = true};
    made.resolved_by = "agui_client";
    made.answers.agui_run_id = std::move(run_id);
    made.answers.agui_thread_id = "t";
    made.answers.results = std::move(results);
    return made;
  }
  std::vector<journal::AguiRun> names_of(const model::Run& run) {
    std::vector<journal::AguiRun> names;
    store::agui_runs_of(store->database(), run.id,
                        [&](Result<std::vector<journal::AguiRun>> found) { names = std::move(found).take(); });
    loop.settle();
    return names;
  }
  std::vector<model::RunEvent> journal_of(const model::Run& run) {
    std::vector<model::RunEvent> events;
    store->read(run.id, {0}, 1'000'000, [&](const Result<journal::JournalPage>& page) {
      for (const auto& committed : page.value().events) events.push_back(committed.event());
    });
    loop.settle();
    return events;
  }
  static Slug slug_of(const DecideOutcome& outcome) {
    const auto* problem = std::get_if<model::Problem>(&outcome);
    return problem == nullptr ? Slug::rate_limited : problem->slug;
  }
};

TEST_F(ClientToolTest, It_parks_as_at_any_gate_but_nobody_is_told_and_nothing_needs_proof) {
  const auto run = run_that_waits();
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  EXPECT_EQ(last_approval().status, ApprovalStatus::pending);
  decide(answered({{"step_1", "blue"}}));
  EXPECT_EQ(last_approval().status, ApprovalStatus::approved);
  EXPECT_EQ(last_approval().resolved_by, "agui_client");
  EXPECT_TRUE(audited().empty());
  EXPECT_EQ(notices_seen, 0);
}

TEST_F(ClientToolTest, Results_are_written_before_it_goes_on_and_reach_whoever_goes_on_H_6) {
  const auto run = run_that_waits({"step_1", "step_2"});
  const Results results = {{"step_1", "blue", false}, {"step_2", "no \"red\" ✓", true}};
  decide(answered(results));
  EXPECT_EQ(last_dispatch().results, results);
  EXPECT_EQ(last_dispatch().checkpoint, R"({"round":1})");
  EXPECT_EQ(last_dispatch().extras.client_tools.at(0).name, "pick_colour");
  const auto events = journal_of(run);
  const auto gate = std::ranges::find(events, model::EventKind::gate, &model::RunEvent::kind);
  ASSERT_GT(events.end() - gate, 2);
  EXPECT_EQ(gate[1].kind, model::EventKind::answers);
  EXPECT_EQ(gate[2].kind, model::EventKind::resumed);
  agent_finishes();
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(ClientToolTest, Results_reach_the_work_that_waits_in_its_box) {
  send_ok(message_of_client(make_conversation(sticky())));
  agent_calls({"step_1"});
  decide(answered({{"step_1", "blue"}}));
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
  EXPECT_EQ(dispatcher.went_on, 1);
  EXPECT_EQ(dispatcher.results, (Results{{"step_1", "blue"}}));
  agent_asks();
  decide(decision());
  EXPECT_TRUE(dispatcher.results.empty()) << "those of the gate before are used up";
}

TEST_F(ClientToolTest, It_does_not_go_on_before_every_call_has_its_result) {
  const auto run = run_that_waits({"step_1", "step_2"});
  const auto outcome = decide(answered({{"step_1", "blue"}, {"step_9", "?"}}));
  ASSERT_EQ(slug_of(outcome), Slug::validation_error);
  const auto& errors = std::get<model::Problem>(outcome).errors;
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].message, "There is none for the call step_2 of pick_colour.");
  EXPECT_EQ(slug_of(decide(decision())), Slug::validation_error) << "nor because a human says so";
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  EXPECT_EQ(names_of(run).size(), 1U);
  decide(answered({{"step_1", "blue"}, {"step_2", "red"}}));
  EXPECT_EQ(stored_run(run).state, RunState::streaming);
}

TEST_F(ClientToolTest, Of_two_answers_the_first_counts) {
  const auto run = run_that_waits();
  const auto first = answered({{"step_1", "blue"}});
  const auto second = answered({{"step_1", "red"}}, "r2");
  std::vector<DecideOutcome> outcomes;
  disk.hold_answers(true);
  for (const auto& made : {first, second}) {
    engine->decide(made, [&](DecideOutcome answer) { outcomes.push_back(std::move(answer)); });
  }
  disk.hold_answers(false);
  loop.settle();
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_TRUE(is_refused_as_late(outcomes[0])) << "the second, while the first is being written";
  EXPECT_TRUE(is_refused_as_late(decide(second)));
  EXPECT_EQ(last_dispatch().results, (Results{{"step_1", "blue"}}));
  EXPECT_EQ(names_of(run).back().run_id, "r1");
}

TEST_F(ClientToolTest, A_server_that_dies_while_it_waits_forgets_neither_the_calls_nor_the_names) {
  const auto run = run_that_waits();
  restart_server();
  decide(answered({{"step_1", "blue"}}));
  EXPECT_EQ(last_dispatch().results, (Results{{"step_1", "blue"}}));
  EXPECT_EQ(last_dispatch().extras.agui->thread_id, "t");
  agent_calls({"step_2"});
  restart_server();
  decide(answered({{"step_2", "red"}}, "r2"));
  EXPECT_EQ(last_dispatch().results, (Results{{"step_2", "red"}})) << "and not those of the gate before";
  const auto names = names_of(run);
  ASSERT_EQ(names.size(), 3U);
  for (int64_t segment = 0; segment < 3; ++segment) {
    EXPECT_EQ(names[static_cast<std::size_t>(segment)].segment, segment);
    EXPECT_EQ(names[static_cast<std::size_t>(segment)].run_id, "r" + std::to_string(segment));
  }
}

TEST_F(ClientToolTest, Answers_of_which_nobody_heard_that_they_were_written_go_on_with_the_run) {
  const auto run = run_that_waits();
  const auto made = answered({{"step_1", "blue"}});
  disk.fail_write(0, store::Fault::after_write);
  EXPECT_TRUE(std::holds_alternative<model::Approval>(decide(made))) << "the journal has them";
  ASSERT_EQ(dispatcher.working(), 1);
  EXPECT_EQ(last_dispatch().results, (Results{{"step_1", "blue"}}));
  EXPECT_EQ(names_of(run).size(), 2U);
  EXPECT_TRUE(is_refused_as_late(decide(made)));
}

TEST_F(ClientToolTest, Answers_that_meet_a_full_disk_are_taken_back_whole) {
  const auto run = run_that_waits();
  disk.fail_write(0, store::Fault::full);
  EXPECT_EQ(slug_of(decide(answered({{"step_1", "blue"}}))), Slug::unavailable);
  loop.advance({10'000});
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  EXPECT_EQ(names_of(run).size(), 1U);
  decide(answered({{"step_1", "red"}}));
  EXPECT_EQ(last_dispatch().results, (Results{{"step_1", "red"}}));
  EXPECT_EQ(names_of(run).back().segment, 1);
}

TEST_F(ClientToolTest, A_name_that_is_not_free_decides_nothing_and_another_one_does) {
  const auto run = run_that_waits();
  const auto outcome = decide(answered({{"step_1", "blue"}}, "r0"));
  EXPECT_EQ(slug_of(outcome), Slug::name_conflict);
  EXPECT_EQ(detail_of(outcome), "Nothing was decided: thread t has a run r0 already.");
  auto astray = answered({{"step_1", "blue"}});
  astray.answers.agui_thread_id = "another";
  EXPECT_EQ(slug_of(decide(astray)), Slug::name_conflict);
  EXPECT_EQ(stored_run(run).state, RunState::parked);
  EXPECT_EQ(last_approval().status, ApprovalStatus::pending);
  decide(answered({{"step_1", "blue"}}));
  EXPECT_EQ(stored_run(run).state, RunState::streaming);
}

TEST_F(ClientToolTest, A_cancel_that_follows_a_name_that_is_not_free_is_kept) {
  const auto run = run_that_waits();
  const auto made = answered({{"step_1", "blue"}}, "r0");
  int cancels = 0;
  engine->decide(made, [](const DecideOutcome&) {});
  engine->cancel(tenant.id, run.id, [&](const auto&) { ++cancels; });
  loop.settle();
  loop.advance({10'000});
  EXPECT_EQ(cancels, 1);
  EXPECT_EQ(stored_run(run).state, RunState::cancelled);
}

TEST_F(ClientToolTest, A_no_ends_the_run_under_the_name_that_it_came_with) {
  const auto run = run_that_waits();
  auto made = answered({});
  made.approve = false;
  decide(made);
  EXPECT_EQ(stored_run(run).state, RunState::failed);
  EXPECT_EQ(names_of(run).back().run_id, "r1");
  EXPECT_EQ(names_of(run).back().segment, 1);
  const auto events = journal_of(run);
  EXPECT_EQ(events[events.size() - 2].kind, model::EventKind::answers);
}

}  // namespace client_tool_test
}  // namespace sluice::engine
