#include "engine/engine_fixture.h"

namespace sluice::engine {
namespace engine_test {

using model::EventKind;
using model::RunState;
using model::Slug;

TEST_F(EngineTest, A_message_is_answered_and_its_end_is_byte_for_byte_the_stored_message_I_9) {
  const auto run = send_ok(message("hello"));
  RememberingReader ana;
  const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, ana);
  loop.settle();
  EXPECT_EQ(count_lines(ana.text), 1) << "message_start is sent before the agent speaks";

  agent_says("Hi ");
  agent_says("there.");
  EXPECT_EQ(count_lines(ana.text), 3);
  EXPECT_FALSE(ana.ended);
  agent_finishes();

  EXPECT_TRUE(ana.ended);
  EXPECT_EQ(count_lines(ana.text), 4);
  EXPECT_NE(ana.text.find(R"({"message":)" + stored_message(run.message_id) + "}"), std::string::npos);
  EXPECT_NE(stored_message(run.message_id).find(R"("content":"Hi there.")"), std::string::npos);
  EXPECT_EQ(stored_run(run).state, RunState::completed);
  EXPECT_EQ(dispatcher.working(), 0);
}

// It got the lines from another server, or from the store itself, whose answer is still on its way.
TEST_F(EngineTest, I_8_A_reader_that_is_ahead_of_the_server_gets_no_line_twice_and_takes_none_from_others) {
  for (const bool comes_first : {true, false}) {
    const auto run = send_ok(message_in(make_conversation(), "hello"));
    disk.hold_answers(true);
    agent_says("One ");
    RememberingReader ana, bo;
    std::vector<std::unique_ptr<Reading>> readings;
    const auto read = [&](int64_t after, RememberingReader& reader) {
      readings.push_back(engine->read(run, {.format = wire::Format::ndjson, .after = after}, reader));
      loop.settle();
    };
    if (comes_first) read(1, bo);
    read(-1, ana);
    if (!comes_first) read(1, bo);
    disk.hold_answers(false);
    loop.settle();
    EXPECT_EQ(count_lines(bo.text), 0);
    agent_says("two.");
    agent_finishes();
    EXPECT_EQ(count_lines(ana.text), 4);
    EXPECT_EQ(count_lines(bo.text), 2);
    EXPECT_TRUE(ana.text.ends_with(bo.text));
  }
}

TEST_F(EngineTest, Nothing_is_told_before_it_is_written) {
  const auto run = send_ok(message("hello"));
  RememberingReader ana;
  const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, ana);
  loop.settle();
  disk.hold_answers(true);
  agent_says("secret until durable");
  EXPECT_EQ(count_lines(ana.text), 1);
  disk.hold_answers(false);
  loop.settle();
  EXPECT_EQ(count_lines(ana.text), 2);
}

TEST_F(EngineTest, A_second_message_is_refused_while_one_is_answered_and_names_it) {
  const auto run = send_ok(message("first"));
  auto outcome = send(message("second"));
  ASSERT_TRUE(std::holds_alternative<model::Problem>(outcome));
  const auto& problem = std::get<model::Problem>(outcome);
  EXPECT_EQ(problem.slug, Slug::conversation_busy);
  EXPECT_EQ(problem.conflicting_resource_id, run.id.text());
  agent_finishes();
  send_ok(message("third"));
}

// B-2: a workflow's block that got no answer about its run asks again under the run's name.
TEST_F(EngineTest, A_run_that_is_asked_for_again_by_its_name_is_to_be_looked_for_and_not_made_twice) {
  auto first = message("one");
  first.run = ids.make<model::RunId>();
  auto again = message_in(make_conversation(), "one");
  again.run = first.run;
  const auto run = send_ok(first);
  EXPECT_EQ(run.id, first.run);
  EXPECT_EQ(send_refused(again), model::Slug::unavailable) << "while it is at work";
  agent_says("Hello.");
  agent_finishes();
  EXPECT_EQ(send_refused(again), model::Slug::unavailable) << "and when it is over";
  EXPECT_EQ(stored_run(run).state, model::RunState::completed);
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
  EXPECT_EQ(engine->capacity().running, 0);
}

// I-19
TEST_F(EngineTest, A_refusal_is_told_unless_the_key_is_known_and_takes_no_slot) {
  const model::Problem refusal{.slug = model::Slug::validation_error, .detail = "no such skill"};
  auto known = message("one");
  known.idempotency = journal::Idempotency{ids.make<model::ServiceKeyId>(), "createMessage", "k", "sha"};
  const auto run = send_ok(known);
  agent_finishes();
  auto refused = message("one");
  refused.refusal = refusal;
  EXPECT_EQ(send_refused(refused), model::Slug::validation_error);
  refused.idempotency = known.idempotency;
  const auto outcome = send(refused);
  ASSERT_TRUE(std::holds_alternative<Sent>(outcome));
  EXPECT_TRUE(std::get<Sent>(outcome).replayed);
  EXPECT_EQ(std::get<Sent>(outcome).run.id, run.id);
  refused.idempotency->request_sha256 = "another";
  EXPECT_EQ(send_refused(refused), model::Slug::idempotency_key_conflict);
  refused.idempotency->key = "unknown";
  EXPECT_EQ(send_refused(refused), model::Slug::validation_error);
  EXPECT_EQ(engine->capacity().running, 0);
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
}

TEST_F(EngineTest, A_reader_who_leaves_changes_nothing_for_the_run_I_8) {
  const auto run = send_ok(message("hello"));
  RememberingReader ana;
  auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, ana);
  loop.settle();
  reading.reset();
  agent_says("There is no reader.");
  agent_finishes();
  EXPECT_EQ(stored_run(run).state, RunState::completed);
  EXPECT_EQ(count_lines(ana.text), 1);
}

TEST_F(EngineTest, A_reader_who_returns_at_any_seq_reads_the_very_same_bytes_I_8) {
  const auto run = send_ok(message("hello"));
  RememberingReader ana;
  const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, ana);
  loop.settle();
  agent_says("thinking", EventKind::reasoning);
  agent_says("One ");
  agent_says("bridge", EventKind::filler);
  agent_says("two ");

  std::vector<std::unique_ptr<RememberingReader>> others;
  std::vector<std::unique_ptr<Reading>> readings;
  for (int64_t after = -1; after <= 3; ++after) {
    others.push_back(std::make_unique<RememberingReader>());
    readings.push_back(engine->read(run, {.format = wire::Format::ndjson, .after = after}, *others.back()));
    loop.settle();
  }
  agent_says("three.");
  agent_finishes();

  std::string rest = ana.text;
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_EQ(others[i]->text, rest) << "after " << static_cast<int64_t>(i) - 1;
    EXPECT_TRUE(others[i]->ended);
    EXPECT_EQ(read_all(run, static_cast<int64_t>(i) - 1), rest) << "finished, after " << static_cast<int64_t>(i) - 1;
    rest.erase(0, rest.find('\n') + 1);
  }
}

TEST_F(EngineTest, A_slow_reader_reads_on_from_the_journal_and_misses_nothing) {
  const auto run = send_ok(message("hello"));
  RememberingReader fast;
  RememberingReader slow;
  const auto first = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, fast);
  const auto second = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, slow);
  loop.settle();
  slow.is_full = true;
  for (int i = 0; i < 10; ++i) agent_says("word ");
  EXPECT_EQ(count_lines(slow.text), 1);
  slow.is_full = false;
  second->more();
  loop.settle();
  EXPECT_EQ(slow.text, fast.text);
  slow.is_full = true;
  agent_says("more");
  agent_finishes();
  slow.is_full = false;
  second->more();
  loop.settle();
  EXPECT_EQ(slow.text, fast.text);
  EXPECT_TRUE(slow.ended);
}

TEST_F(EngineTest, A_reader_that_is_full_after_each_page_gets_every_page_when_it_says_so) {
  const auto run = send_ok(message("hello"));
  for (int i = 0; i < 3'000; ++i) dispatcher.jobs.back()->listener->on_event({EventKind::text, loop.now(), "word "});
  agent_finishes();
  const auto whole = read_all(run);
  EXPECT_EQ(count_lines(whole), 3'002);

  RememberingReader slow;
  slow.fills_at_each_take = true;
  const auto reading = engine->read(run, {.format = wire::Format::ndjson, .after = -1}, slow);
  int pages = 0;
  for (std::size_t before = 1; before != slow.text.size(); ++pages) {
    before = slow.text.size();
    loop.settle();
    slow.is_full = false;
    reading->more();
  }
  EXPECT_EQ(slow.text, whole);
  EXPECT_TRUE(slow.ended);
  EXPECT_GT(pages, 2) << "a page is measured by what it becomes on the wire";
}

TEST_F(EngineTest, A_failure_is_a_terminal_error_and_keeps_what_was_told) {
  const auto run = send_ok(message("hello"));
  agent_says("Half an ans");
  model::Problem problem;
  problem.slug = Slug::model_stream_cut;
  dispatcher.jobs.back()->listener->on_failed(problem);
  loop.settle();
  const auto text = read_all(run);
  EXPECT_NE(text.find("http://test/problems/model-stream-cut"), std::string::npos);
  EXPECT_NE(stored_message(run.message_id).find(R"("content":"Half an ans")"), std::string::npos);
  EXPECT_NE(stored_message(run.message_id).find(R"("status":"failed")"), std::string::npos);
  send_ok(message("again"));
}

TEST_F(EngineTest, Cancelling_answers_when_the_run_is_over_and_its_work_is_gone) {
  const auto run = send_ok(message("hello"));
  agent_says("On my w");
  int answers = 0;
  std::optional<Timestamp> ended_at;
  for (int press = 0; press < 2; ++press) {
    engine->cancel(tenant.id, run.id, [&](std::variant<model::Run, model::Problem> answer) {
      ++answers;
      ASSERT_TRUE(std::holds_alternative<model::Run>(answer));
      EXPECT_EQ(std::get<model::Run>(answer).state, RunState::cancelled);
      ended_at = std::get<model::Run>(answer).ended_at;
      EXPECT_EQ(dispatcher.working(), 0);
    });
  }
  loop.settle();
  EXPECT_EQ(answers, 2);
  EXPECT_EQ(ended_at, stored_run(run).ended_at);
  EXPECT_NE(read_all(run).find("run-cancelled"), std::string::npos);
  send_ok(message("usable again"));
}

TEST_F(EngineTest, Cancelling_a_finished_run_says_so) {
  const auto run = send_ok(message("hello"));
  agent_finishes();
  bool refused = false;
  engine->cancel(tenant.id, run.id, [&](std::variant<model::Run, model::Problem> answer) {
    refused =
        std::holds_alternative<model::Problem>(answer) && std::get<model::Problem>(answer).slug == Slug::run_finished;
  });
  loop.settle();
  EXPECT_TRUE(refused);
}

TEST_F(EngineTest, Whoever_waits_for_the_end_hears_it_live_and_afterwards_I_20) {
  const auto run = send_ok(message("hello"));
  std::vector<std::string> endings;
  const auto hear = [&](Result<wire::Ending> ending) {
    ASSERT_TRUE(ending);
    endings.push_back(std::get<model::events::Completed>(ending.value()).message);
  };
  const auto live = engine->wait_for_end(run, hear);
  auto leaver = engine->wait_for_end(run, [](Result<wire::Ending>) { FAIL() << "it stopped waiting"; });
  loop.settle();
  leaver.reset();
  agent_says("Done.");
  agent_finishes();
  const auto afterwards = engine->wait_for_end(run, hear);
  loop.settle();
  ASSERT_EQ(endings.size(), 2U);
  EXPECT_EQ(endings[0], stored_message(run.message_id));
  EXPECT_EQ(endings[1], endings[0]);
}

TEST_F(EngineTest, The_filler_cascade_lets_the_most_specific_decide_I_11) {
  struct Case {
    bool tenant;
    std::optional<bool> conversation;
    std::optional<bool> message;
    bool streamed;
    bool expected;
  };
  const Case cases[] = {
      {false, {}, {}, true, false},     {true, {}, {}, true, true},       {true, false, {}, true, false},
      {false, true, {}, true, true},    {true, true, false, true, false}, {false, false, true, true, true},
      {true, true, true, false, false},
  };
  for (const auto& c : cases) {
    store::ConversationPatch patch;
    patch.filler_enabled = c.conversation;
    store::update_conversation(store->database(), tenant.id, conversation, patch, loop.now(),
                               [](Result<model::Conversation> done) { ASSERT_TRUE(done); });
    loop.settle();
    auto what = message("hello");
    what.tenant_filler = c.tenant;
    what.message_filler = c.message;
    what.streamed = c.streamed;
    send_ok(std::move(what));
    EXPECT_EQ(dispatcher.jobs.back()->dispatch.filler, c.expected);
    agent_finishes();
  }
}

TEST_F(EngineTest, The_model_is_shown_the_turns_before) {
  dispatcher.wants_history = true;
  send_ok(message("first"));
  EXPECT_TRUE(dispatcher.jobs.back()->dispatch.history.empty());
  agent_says("One.");
  agent_finishes();
  send_ok(message("second"));
  const auto& history = dispatcher.jobs.back()->dispatch.history;
  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(history[0].content, "first");
  EXPECT_EQ(history[1].content, "One.");
  EXPECT_EQ(history[0].at, loop.now());
}

TEST_F(EngineTest, A_chat_is_answered_from_its_last_twenty_turns_A_4) {
  dispatcher.wants_history = true;
  for (int i = 0; i < 12; ++i) {
    send_ok(message("question " + std::to_string(i)));
    agent_says("Answer.");
    agent_finishes();
  }
  auto what = message("and now?");
  what.extras.chat = model::ChatTurn{};
  send_ok(std::move(what));
  const auto& history = dispatcher.jobs.back()->dispatch.history;
  ASSERT_EQ(history.size(), limits::replay_turns_max);
  EXPECT_EQ(history.front().content, "question 2");
}

TEST_F(EngineTest, A_new_conversation_rides_in_message_start_with_its_agent_I_2) {
  auto what = message("hello");
  model::Conversation made{.id = ids.make<model::ConversationId>(), .tenant_id = tenant.id};
  what.conversation = made;
  const auto run = send_ok(std::move(what));
  const auto text = read_all(run);
  EXPECT_NE(text.find(R"("data":{"role":"assistant","conversation":{"object":"conversation","id":")" + made.id.text()),
            std::string::npos);
  EXPECT_NE(text.find(R"("agent_id":")" + agent.id.text()), std::string::npos);
}

TEST_F(EngineTest, Draining_refuses_messages_and_waits_for_the_runs) {
  send_ok(message("hello"));
  bool drained = false;
  engine->drain({5'000}, [&] { drained = true; });
  loop.settle();
  EXPECT_FALSE(drained);
  EXPECT_EQ(send_refused(message("too late")), Slug::unavailable);
  agent_finishes();
  EXPECT_TRUE(drained);
}

TEST_F(EngineTest, Draining_ends_at_its_deadline_and_leaves_the_run_to_the_next_server) {
  const auto run = send_ok(message("hello"));
  bool drained = false;
  engine->drain({5'000}, [&] { drained = true; });
  loop.advance({5'000});
  EXPECT_TRUE(drained);
  restart_server();
  agent_finishes();
  EXPECT_EQ(stored_run(run).state, RunState::completed);
}

TEST_F(EngineTest, A_cancelled_run_is_over_only_when_its_work_is_proven_gone_S_10) {  // S-10, A-6
  dispatcher.proves_at_once = false;
  const auto run = send_ok(message("hello"));
  bool answered = false;
  engine->cancel(tenant.id, run.id, [&](auto) { answered = true; });
  loop.settle();
  EXPECT_EQ(dispatcher.working(), 0) << "it is stopped at once";
  EXPECT_FALSE(answered);
  EXPECT_EQ(stored_run(run).state, RunState::finishing);
  dispatcher.prove_gone();
  loop.settle();
  EXPECT_TRUE(answered);
  EXPECT_EQ(stored_run(run).state, RunState::cancelled);
}

TEST_F(EngineTest, Whatever_way_a_run_ends_each_of_its_steps_does_S_9) {  // S-9
  const auto begin_step = [&] {
    dispatcher.jobs.back()->listener->on_event(
        {model::EventKind::step, loop.now(), R"({"id":"step_1","name":"bash","status":"running","args":{}})"});
    loop.settle();
    loop.advance({7});
  };
  const auto ends_of = [&](const model::Run& run) {
    RememberingReader reader;
    const auto reading = engine->read(run, {.format = wire::Format::trace, .after = -1}, reader);
    loop.settle();
    EXPECT_TRUE(reader.ended);
    return reader.text;
  };
  const std::string end = R"({"type":"step","id":"step_1","name":"bash","status":"failed","durationMs":7,"error":)";

  const auto cancelled = send_ok(message("one"));
  begin_step();
  engine->cancel(tenant.id, cancelled.id, [](auto) {});
  loop.settle();
  EXPECT_NE(ends_of(cancelled).find(end + R"("The run was cancelled.")"), std::string::npos);

  const auto failed = send_ok(message("two"));
  begin_step();
  dispatcher.jobs.back()->listener->on_failed({.slug = Slug::model_error, .detail = "No."});
  loop.settle();
  EXPECT_NE(ends_of(failed).find(end), std::string::npos);

  const auto interrupted = send_ok(message("three"));
  begin_step();
  restart_server();
  EXPECT_NE(ends_of(interrupted).find(end), std::string::npos);
}

TEST_F(EngineTest, A_run_is_given_what_its_message_its_conversation_and_its_agent_name_I_25) {  // I-25
  const auto repository = make_repository("tides");
  const auto skill = make_skill("sums");
  make_environment("lab", {{"A", "of the environment"}, {"B", "2"}}, "make");
  auto what = message("hello");
  what.repository_id = repository.text();
  what.skill_ids = {skill.text()};
  what.env_name = "lab";
  send_ok(std::move(what));
  const auto& given = dispatcher.jobs.back()->dispatch.materials;
  ASSERT_TRUE(given.repository.has_value());
  EXPECT_EQ(given.repository->url, "https://git.example/tides");
  ASSERT_EQ(given.skills.size(), 1U);
  EXPECT_EQ(given.skills[0].name, "sums");
  EXPECT_EQ(given.variables, (std::map<std::string, std::string>{{"A", "of the environment"}, {"B", "2"}}));
  EXPECT_EQ(given.setup_script, "make");
}

TEST_F(EngineTest, A_run_whose_materials_are_gone_fails_and_says_which_I_25) {
  auto what = message("hello");
  what.skill_ids = {ids.make<model::SkillId>().text()};
  const auto missing = what.skill_ids->front();
  const auto run = send_ok(std::move(what));
  EXPECT_EQ(stored_run(run).state, RunState::failed);
  EXPECT_NE(read_all(run).find(missing), std::string::npos);
  EXPECT_TRUE(dispatcher.jobs.empty());
}

TEST_F(EngineTest, A_run_that_had_begun_to_act_is_not_done_again_after_a_restart) {
  dispatcher.resumable = true;
  const auto run = send_ok(message("hello"));
  dispatcher.jobs.back()->listener->on_event(
      {model::EventKind::step, loop.now(), R"({"id":"step_1","name":"bash","status":"running","args":{}})"});
  loop.settle();
  restart_server();
  EXPECT_EQ(stored_run(run).state, RunState::failed);
  EXPECT_NE(read_all(run).find("run-interrupted"), std::string::npos);
}

TEST_F(EngineTest, A_run_has_the_id_that_its_sender_wrote_down_before) {
  auto wanted = message("x");
  wanted.run = ids.make<model::RunId>();
  EXPECT_EQ(send_ok(wanted).id, wanted.run);
  EXPECT_EQ(stored_run({.id = *wanted.run}).state, model::RunState::streaming);
}

TEST_F(EngineTest, One_call_of_a_model_is_dispatched_without_anything_to_act_with) {
  const auto skill = make_skill("pdf");
  model::Agent able{.id = ids.make<model::AgentId>(), .tenant_id = tenant.id, .name = "able", .system_prompt = "Act."};
  able.model = {"offline", "large", std::nullopt};
  able.skill_ids = {skill};
  able.kit.code_mode = true;
  store::create_agent(store->database(), able, [](Result<Unit> made) { ASSERT_TRUE(made); });
  loop.settle();
  auto wanted = message("x");
  wanted.conversation =
      model::Conversation{.id = ids.make<model::ConversationId>(), .tenant_id = tenant.id, .agent_id = able.id};
  wanted.extras.inference = model::Inference{{"offline", "small", std::nullopt, std::nullopt}, "Answer.", 5};
  const auto expect_narrow = [&] {
    const auto& work = dispatcher.jobs.back()->dispatch;
    EXPECT_EQ(work.agent.model.name, "small");
    EXPECT_EQ(work.agent.system_prompt, "Answer.");
    EXPECT_EQ(work.agent.limits.max_output_tokens, 5);
    EXPECT_EQ(work.agent.kit, model::AgentKit{});
    EXPECT_TRUE(work.materials.skills.empty());
    EXPECT_FALSE(work.may_ask);
    EXPECT_EQ(work.max_rounds, 1);
  };
  send_ok(wanted);
  expect_narrow();
  dispatcher.resumable = true;
  restart_server();
  ASSERT_EQ(dispatcher.jobs.size(), 2U);
  expect_narrow();

  wanted.conversation =
      model::Conversation{.id = ids.make<model::ConversationId>(), .tenant_id = tenant.id, .agent_id = able.id};
  wanted.extras.inference = model::Inference{{}, "", 0};
  send_ok(wanted);
  EXPECT_EQ(dispatcher.jobs.back()->dispatch.agent.model.name, "large") << "the agent's, where none is named";
}

}  // namespace engine_test
}  // namespace sluice::engine
