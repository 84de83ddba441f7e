#include "flow/flows_fixture.h"

namespace sluice::flow {
namespace flows_test {

const std::string two_agents =
    definition_of(agents_block("draft", "Write about {{inputs.topic}}.") + "," +
                      agents_block("review", "Review: {{blocks.draft.response}}"),
                  R"({"from":"draft","to":"review"})",
                  R"(,"inputs":[{"name":"topic","type":"text","required":true}],"environment":{"SANDBOX_URL":)"
                  R"("http://runner.example","TONE":"dry"},"outputs":{"text":"{{blocks.review.response}}"})");

TEST_F(FlowsTest, B_1_a_saved_agent_runs_from_a_workflow_prompt_in_response_out) {
  const auto run = start_ok(two_agents, R"({"topic":"rain"})");
  EXPECT_EQ(last_dispatch().prompt, "Write about rain.");
  EXPECT_EQ(last_dispatch().agent.id, last_agent);
  EXPECT_EQ(last_dispatch().agent.system_prompt, "Write.");
  EXPECT_EQ(last_dispatch().materials.variables, (std::map<std::string, std::string>{{"TONE", "dry"}}));
  EXPECT_EQ(stored(run).blocks[0].run_id, last_dispatch().run);
  agent_answers("It rains.");
  EXPECT_EQ(last_dispatch().prompt, "Review: It rains.");
  agent_answers("Good.");
  const auto over = stored(run);
  EXPECT_EQ(over.status, model::WorkflowRunStatus::succeeded);
  EXPECT_EQ(over.outputs, R"({"text":"Good."})");
  EXPECT_TRUE(over.ended_at);
  EXPECT_EQ(over.blocks[1].status, model::BlockStatus::succeeded);
  EXPECT_EQ(text_of_lines(lines_of(run)),
            "run.started, block.started draft, block.line draft, block.finished draft succeeded, block.started review, "
            "block.line review, block.finished review succeeded, run.finished succeeded");
}

TEST_F(FlowsTest, S_8_the_blocks_runner_counts_before_the_workflows) {
  start_ok(keep(two_agents, "one"), R"({"topic":"rain"})");
  EXPECT_EQ(last_dispatch().extras.sandbox_url, "http://runner.example");
  start_ok(keep(definition_of(agents_block("a", "x", R"(,"sandbox_url":"http://own.example")"), "",
                              R"(,"environment":{"SANDBOX_URL":"http://runner.example"})"),
                "two"));
  EXPECT_EQ(last_dispatch().extras.sandbox_url, "http://own.example");
  start_ok(keep(definition_of(agents_block("a", "x")), "three"));
  EXPECT_EQ(last_dispatch().extras.sandbox_url, "") << "the server's own choice";
}

TEST_F(FlowsTest, S_8_a_runner_that_the_operator_does_not_allow_is_not_asked) {
  const auto run = start_ok(definition_of(agents_block("a", "x", R"(,"sandbox_url":"http://other.example")")));
  EXPECT_EQ(stored(run).error->code, "sandbox-not-allowed");
  EXPECT_TRUE(dispatcher.jobs.empty());
}

TEST_F(FlowsTest, S_8_an_agents_block_fails_at_once_where_there_is_no_sandbox_and_no_runner_is_named) {
  flow_options.has_sandbox = false;
  restart();
  const auto run = start_ok(keep(definition_of(agents_block("a", "x")), "none"));
  EXPECT_EQ(stored(run).error->code, "sandbox-missing");
  EXPECT_TRUE(dispatcher.jobs.empty());
  start_ok(keep(definition_of(agents_block("a", "x", R"(,"sandbox_url":"http://own.example")")), "named"));
  EXPECT_EQ(last_dispatch().extras.sandbox_url, "http://own.example");
}

TEST_F(FlowsTest, B_2_the_runners_lines_are_told_as_they_are_inside_of_the_block) {
  const auto run = start_ok(definition_of(agents_block("a", "x")));
  agent_says(R"({"level":"info","text":"Thinking."})", model::EventKind::log);
  const auto live = lines_of(run);
  EXPECT_EQ(text_of_lines(live), "run.started, block.started a, block.line a");
  agent_answers("Done.");
  const auto lines = lines_of(run);
  EXPECT_TRUE(lines.starts_with(live));

  // The run's own stream, line for line.
  const auto block_run = stored_run({.id = *stored(run).blocks[0].run_id});
  engine::RememberingReader reader;
  const auto reading = engine->read(block_run, {.format = wire::Format::trace}, reader);
  loop.settle();
  std::size_t begin = 0;
  for (auto end = reader.text.find('\n'); end != std::string::npos; end = reader.text.find('\n', begin)) {
    const auto line = reader.text.substr(begin, end - begin);
    EXPECT_NE(lines.find(R"("type":"block.line","block":"a","line":)" + line + "}\n"), std::string::npos) << line;
    begin = end + 1;
  }
  EXPECT_GT(begin, 0U);
  const auto extended = lines_of(run, {.extended = true});
  EXPECT_GT(engine::count_lines(extended), engine::count_lines(lines));
  EXPECT_NE(extended.find(R"("type":"delta")"), std::string::npos);
}

TEST_F(FlowsTest, A_reader_who_returns_is_told_the_rest_wherever_it_left_off) {
  const auto run = start_ok(two_agents, R"({"topic":"rain"})");
  agent_answers("It rains.");
  agent_answers("Good.");
  const auto all = lines_of(run);
  std::size_t begin = 0;
  for (int64_t after = 0; after < engine::count_lines(all); ++after) {
    begin = all.find('\n', begin) + 1;
    EXPECT_EQ(lines_of(run, {.after = after}), all.substr(begin)) << after;
  }
}

TEST_F(FlowsTest, A_slow_reader_waits_and_misses_nothing) {
  const auto run = start_ok(two_agents, R"({"topic":"rain"})");
  engine::RememberingReader slow;
  slow.fills_at_each_take = true;
  const auto reading = flows->read(run, {}, slow);
  loop.settle();
  EXPECT_EQ(engine::count_lines(slow.text), 1);
  agent_answers("It rains.");
  agent_answers("Good.");
  for (int i = 0; i < 100 && !slow.ended; ++i) {
    slow.is_full = false;
    reading->more();
    loop.settle();
  }
  EXPECT_TRUE(slow.ended);
  EXPECT_EQ(slow.text, lines_of(run));
}

TEST_F(FlowsTest, Readers_hear_what_comes_as_it_comes) {
  const auto run = start_ok(two_agents, R"({"topic":"rain"})");
  engine::RememberingReader reader;
  const auto reading = flows->read(run, {}, reader);
  loop.settle();
  EXPECT_EQ(text_of_lines(reader.text), "run.started, block.started draft");
  agent_answers("It rains.");
  EXPECT_TRUE(text_of_lines(reader.text).ends_with("block.started review"));
  EXPECT_FALSE(reader.ended);
  agent_answers("Good.");
  EXPECT_TRUE(reader.ended);
  EXPECT_EQ(reader.text, lines_of(run));
}

TEST_F(FlowsTest, B_2_cancelling_the_workflow_cancels_the_run_and_answers_when_it_is_gone) {
  const auto run = start_ok(two_agents, R"({"topic":"rain"})");
  dispatcher.proves_at_once = false;
  std::optional<RunOutcome> answer;
  flows->cancel(tenant.id, run.id, [&](RunOutcome outcome) { answer = std::move(outcome); });
  loop.settle();
  EXPECT_FALSE(answer) << "its box is not proven gone";
  EXPECT_EQ(dispatcher.working(), 0);
  dispatcher.prove_gone();
  loop.settle();
  ASSERT_TRUE(answer && std::holds_alternative<model::WorkflowRun>(*answer));
  EXPECT_EQ(std::get<model::WorkflowRun>(*answer).status, model::WorkflowRunStatus::cancelled);
  EXPECT_EQ(stored_run({.id = *stored(run).blocks[0].run_id}).state, model::RunState::cancelled);
  EXPECT_TRUE(text_of_lines(lines_of(run)).ends_with("block.finished draft failed, run.finished cancelled"));

  flows->cancel(tenant.id, run.id, [&](RunOutcome outcome) { answer = std::move(outcome); });
  loop.settle();
  EXPECT_TRUE(std::holds_alternative<model::WorkflowRun>(*answer)) << "that is what was wanted";
}

TEST_F(FlowsTest, What_is_over_cannot_be_cancelled) {
  const auto run = start_ok(definition_of(agents_block("a", "x")));
  agent_answers("Done.");
  std::optional<RunOutcome> answer;
  flows->cancel(tenant.id, run.id, [&](RunOutcome outcome) { answer = std::move(outcome); });
  loop.settle();
  ASSERT_TRUE(std::holds_alternative<model::Problem>(*answer));
  EXPECT_EQ(std::get<model::Problem>(*answer).slug, model::Slug::run_finished);
  flows->cancel(ids.make<model::TenantId>(), run.id, [&](RunOutcome outcome) { answer = std::move(outcome); });
  loop.settle();
  EXPECT_EQ(std::get<model::Problem>(*answer).slug, model::Slug::not_found);
}

TEST_F(FlowsTest, Cancelling_a_blocks_own_run_cancels_the_workflow) {
  const auto run = start_ok(two_agents, R"({"topic":"rain"})");
  EXPECT_EQ(cancel(stored_run({.id = *stored(run).blocks[0].run_id})), 1U);
  EXPECT_EQ(status_of(run), "cancelled");
}

TEST_F(FlowsTest, A_block_that_fails_ends_the_run_with_its_problem) {
  const auto run = start_ok(two_agents, R"({"topic":"rain"})");
  dispatcher.jobs.back()->listener->on_failed({.slug = model::Slug::model_timeout, .detail = "It took too long."});
  loop.settle();
  const auto over = stored(run);
  EXPECT_EQ(over.status, model::WorkflowRunStatus::failed);
  EXPECT_EQ(over.error, (model::WorkflowError{"model-timeout", "It took too long."}));
  EXPECT_EQ(over.blocks[1].status, model::BlockStatus::pending);
}

TEST_F(FlowsTest, An_agent_that_is_not_there_fails_its_block_in_words) {
  const auto run = start_ok(R"({"blocks":[{"id":"a","type":"agents","agent":"unknown","prompt":"x"}]})");
  EXPECT_EQ(stored(run).error,
            (model::WorkflowError{"agent-not-found", "There is no agent \"unknown\" in this workspace."}));
  EXPECT_EQ(text_of_lines(lines_of(run)), "run.started, block.started a, block.finished a failed, run.finished failed");
  const auto by_id = start_ok(
      keep(R"({"blocks":[{"id":"a","type":"agents","agent":")" + last_agent.text() + R"(","prompt":"x"}]})", "by id"));
  EXPECT_EQ(status_of(by_id), "running");
}

TEST_F(FlowsTest, An_inference_block_is_one_call_of_a_model_without_tools) {
  const auto run = start_ok(definition_of(
      R"({"id":"a","type":"inference","model":{"provider":"anthropic","name":"small"},"system":"Say {{inputs.w}}.",)"
      R"("prompt":"Now {{inputs.w}}.","max_output_tokens":7})",
      "", R"(,"inputs":[{"name":"w","type":"text","default":"no"}])"));
  const auto& work = last_dispatch();
  EXPECT_EQ(work.prompt, "Now no.");
  EXPECT_EQ(work.agent.system_prompt, "Say no.");
  EXPECT_EQ(work.agent.model, (model::ModelChoice{"anthropic", "small"}));
  EXPECT_EQ(work.agent.limits.max_output_tokens, 7);
  EXPECT_TRUE(work.extras.inference);
  EXPECT_FALSE(work.may_ask);
  EXPECT_EQ(work.max_rounds, 1);
  agent_answers(R"( {"a":1} )");
  EXPECT_EQ(status_of(run), "succeeded");
  EXPECT_NE(lines_of(run).find(R"("json":{"a":1})"), std::string::npos);
}

TEST_F(FlowsTest, A_condition_compares_text_and_numbers) {
  struct Case {
    std::string left, op, right;
    std::string_view answer;
  };
  const Case cases[] = {{"a", "eq", "a", "true"},
                        {"a", "eq", "A", "false"},
                        {"a", "ne", "b", "true"},
                        {"abc", "contains", "b", "true"},
                        {"abc", "contains", "x", "false"},
                        {"abc", "starts_with", "ab", "true"},
                        {"abc", "starts_with", "b", "false"},
                        {"9", "lt", "10", "true"},
                        {" 9.5 ", "gt", "-1e3", "true"},
                        {"10", "lt", "10", "false"},
                        {" ", "is_empty", "", "true"},
                        {"x", "is_empty", "", "false"},
                        {"nine", "lt", "10", "failed"},
                        {"1", "gt", "", "failed"},
                        {"inf", "gt", "1", "failed"}};
  int count = 0;
  for (const auto& [left, op, right, answer] : cases) {
    const auto run = start_ok(keep(definition_of(R"({"id":"c","type":"condition","left":")" + left + R"(","op":")" +
                                                 op + R"(","right":")" + right + "\"}"),
                                   "condition " + std::to_string(count++)));
    if (answer == "failed") {
      EXPECT_EQ(stored(run).error->code, "condition-failed") << left << op << right;
    } else {
      EXPECT_NE(lines_of(run).find(R"("response":")" + std::string(answer) + '"'), std::string::npos)
          << left << op << right;
    }
  }
}

TEST_F(FlowsTest, A_run_that_waits_for_a_human_lets_the_workflow_wait) {
  const auto run = start_ok(definition_of(agents_block("a", "x")));
  dispatcher.jobs.back()->listener->on_gate({.reason = "Why", .items = {{.description = "Do it"}}, .checkpoint = "{}"});
  loop.settle();
  EXPECT_EQ(status_of(run), "running");
  EXPECT_NE(lines_of(run, {.extended = true}).find("approval_required"), std::string::npos);
  restart();
  EXPECT_EQ(status_of(run), "running");
  std::optional<RunOutcome> answer;
  flows->cancel(tenant.id, run.id, [&](RunOutcome outcome) { answer = std::move(outcome); });
  loop.settle();
  EXPECT_EQ(status_of(run), "cancelled");
}

TEST_F(FlowsTest, Wrong_inputs_begin_nothing) {
  const auto outcome = start(keep(two_agents), R"({"topic":1,"x":2})");
  ASSERT_TRUE(std::holds_alternative<model::Problem>(outcome));
  const auto& problem = std::get<model::Problem>(outcome);
  EXPECT_EQ(problem.slug, model::Slug::validation_error);
  ASSERT_EQ(problem.errors.size(), 2U);
  EXPECT_EQ(problem.errors[0].pointer, "/inputs/x");
  EXPECT_EQ(problem.errors[1].pointer, "/inputs/topic");
  EXPECT_TRUE(dispatcher.jobs.empty());
}

TEST_F(FlowsTest, A_tenant_has_so_many_at_once_and_no_more) {
  flow_options.runs_at_once_max = 2;
  close_flows();
  open_flows();
  const auto workflow = keep(definition_of(agents_block("a", "x")));
  start_ok(workflow);
  start_ok(workflow);
  const auto refused = start(workflow);
  ASSERT_TRUE(std::holds_alternative<model::Problem>(refused));
  EXPECT_EQ(std::get<model::Problem>(refused).slug, model::Slug::capacity_exhausted);
  agent_answers("Done.");
  start_ok(workflow);
}

TEST_F(FlowsTest, A_server_that_stops_leaves_the_run_to_the_next_one) {
  const auto run = start_ok(two_agents, R"({"topic":"rain"})");
  engine::RememberingReader reader;
  auto reading = flows->read(run, {}, reader);
  loop.settle();
  bool drained = false;
  flows->drain({1'000}, [&] { drained = true; });
  engine->drain({1'000}, [] {});
  loop.settle();
  EXPECT_TRUE(drained) << "the block is the engine's business";
  agent_answers("It rains.");
  EXPECT_EQ(reader.lost, "the server stops; the next one continues the workflow run");
  EXPECT_EQ(dispatcher.jobs.size(), 1U);
  const auto refused = start(keep(definition_of(agents_block("a", "x")), "late"));
  EXPECT_EQ(std::get<model::Problem>(refused).slug, model::Slug::unavailable);
  reading.reset();
  restart();
  EXPECT_EQ(last_dispatch().prompt, "Review: It rains.");
  agent_answers("Good.");
  EXPECT_EQ(status_of(run), "succeeded");
}

TEST_F(FlowsTest, A_database_that_is_busy_at_the_start_delays_it) {
  const auto run = start_ok(definition_of(agents_block("a", "x")));
  close_flows();
  restart_server();
  flows = make_flows({*store, *engine, client, loop, ids, log}, flow_options);
  disk.refuse_reads(3);
  std::optional<bool> recovered;
  flows->recover([&](const Result<Unit>& done) { recovered = bool(done); });
  loop.settle();
  EXPECT_FALSE(recovered);
  loop.advance({2'000});
  EXPECT_EQ(recovered, true);
  EXPECT_EQ(stored(run).status, model::WorkflowRunStatus::running);
  agent_says("done");
  agent_finishes();
  EXPECT_EQ(stored(run).status, model::WorkflowRunStatus::succeeded);
}

}  // namespace flows_test
}  // namespace sluice::flow
