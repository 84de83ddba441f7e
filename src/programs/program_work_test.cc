// An agent program in the box, from its first byte to what is kept of it: H-1, H-2, H-3.
#include "gates/gates.h"
#include "programs/program_fixture.h"
#include "programs/program_home.h"

namespace sluice::programs {
namespace program_work_test {

using model::EventKind;
using model::Slug;
using Bodies = std::vector<std::string>;

class ProgramWorkTest : public ProgramStory {};

// ── refusals: before anything is started ────────────────────────────────────────────────────────

TEST_F(ProgramWorkTest, One_that_is_not_installed_is_refused_with_the_command_that_installs_it) {
  agent.kit.agent_type = "claude-code";
  begin("hello");
  expect_problem(Slug::agent_misconfigured, "`sluice harness install claude-code`");
  EXPECT_EQ(sandbox->opened, 0);
}

TEST_F(ProgramWorkTest, A_program_that_is_installed_while_the_server_runs_is_found_by_the_next_run) {
  is_installed = false;
  begin("hello");
  expect_problem(Slug::agent_misconfigured, "`sluice harness install codex`");
  work.reset();
  heard = {};
  is_installed = true;
  begin("hello");
  EXPECT_EQ(talk().assignment.program, "/opt/harness/codex/bin/codex");
  finish();
}

TEST_F(ProgramWorkTest, A_model_on_the_loopback_is_refused_because_the_sandbox_has_a_loopback_of_its_own) {
  for (const std::string host : {"127.0.0.1:11434", "localhost:11434", "[::1]:11434", "model.localhost"}) {
    options.providers["local"] = {.dialect = "openai-chat", .base_url = "http://" + host + "/v1", .api_key = ""};
    agent.model = {.provider = "local", .name = "m"};
    context = nullptr;
    heard = {};
    begin("hello");
    expect_problem(Slug::agent_misconfigured, "is on the loopback interface");
    EXPECT_EQ(fault_of_program_model(options, agent), heard.problem->detail) << "known before a run, too";
    work.reset();
  }
  EXPECT_EQ(sandbox->opened, 0);
}

TEST_F(ProgramWorkTest, a_model_on_the_loopback_is_a_fault_of_agent_programs_that_ask_it_only) {
  options.providers["local"] = {.dialect = "openai-chat", .base_url = "http://127.0.0.1:1/v1", .api_key = ""};
  agent.model = {.provider = "local", .name = "m"};
  EXPECT_FALSE(fault_of_program_model(options, agent).empty());
  for (const auto* type : {"native", "acp"}) {
    auto other = agent;
    other.kit.agent_type = type;
    EXPECT_EQ(fault_of_program_model(options, other), "") << type;
  }
  agent.model.base_url = "http://models.internal:1/v1";
  EXPECT_EQ(fault_of_program_model(options, agent), "");
  agent.model.base_url = "http://LOCALHOST:1";
  EXPECT_FALSE(fault_of_program_model(options, agent).empty());
  agent.model = {.provider = "anthropic", .name = "m"};
  EXPECT_EQ(fault_of_program_model(options, agent), "");
}

TEST_F(ProgramWorkTest, Without_a_sandbox_there_is_no_agent_program) {
  has_sandbox = false;
  begin("hello");
  expect_problem(Slug::sandbox_failed, "`sluice doctor` says why");
}

TEST_F(ProgramWorkTest, Without_a_way_out_its_model_cannot_be_reached) {
  egress = nullptr;
  begin("hello");
  expect_problem(Slug::sandbox_failed, "switch egress on");
  EXPECT_EQ(sandbox->opened, 0);
}

TEST_F(ProgramWorkTest, A_model_of_the_servers_own_is_none_for_a_program) {
  agent.model = {.provider = "offline", .name = "offline"};
  begin("hello");
  expect_problem(Slug::agent_misconfigured, "asks its model over HTTP");
}

TEST_F(ProgramWorkTest, A_model_that_the_program_does_not_speak_to_is_refused_in_the_programs_words) {
  plan_fails_with = "it speaks to models of OpenAI only";
  begin("hello");
  expect_problem(Slug::agent_misconfigured, "it speaks to models of OpenAI only.");
  EXPECT_EQ(sandbox->opened, 0);
}

TEST_F(ProgramWorkTest, A_policy_that_denies_the_models_host_is_refused_before_the_program_finds_out) {
  forbid(model::Subject::host, "*.anthropic.com");
  begin("hello");
  expect_problem(Slug::agent_misconfigured, "denies requests to api.anthropic.com");
}

TEST_F(ProgramWorkTest, A_base_url_that_this_server_may_not_call_is_refused) {
  agent.model.base_url = "https://elsewhere.example.com";
  begin("hello");
  expect_problem(Slug::agent_misconfigured, "models.agent_base_urls");
}

TEST_F(ProgramWorkTest, An_acp_agent_needs_a_command_and_may_bring_its_own_model) {
  agent.kit.agent_type = "acp";
  agent.model = {.provider = "offline", .name = "offline"};
  begin("hello");
  expect_problem(Slug::agent_misconfigured, "no command");
  heard = {};
  agent.kit.command = {"my-agent", "--acp"};
  begin("hello");
  EXPECT_EQ(process().command.argv[0], "my-agent");
  finish();
  EXPECT_TRUE(heard.usage);
}

TEST_F(ProgramWorkTest, What_cannot_be_the_name_of_a_session_is_refused) {
  auto dispatch = dispatch_of("hello");
  dispatch.extras.session_id = "--dangerous";
  begin(std::move(dispatch));
  expect_problem(Slug::agent_misconfigured, "session_id");
}

TEST_F(ProgramWorkTest, Text_that_was_sent_before_a_restart_cannot_be_repeated) {
  auto dispatch = dispatch_of("hello");
  dispatch.resumed = true;
  dispatch.told_text = "Hel";
  begin(std::move(dispatch));
  expect_problem(Slug::run_interrupted);
}

// ── a turn ──────────────────────────────────────────────────────────────────────────────────────

TEST_F(ProgramWorkTest, H_1_A_turn_is_reported_in_its_order_and_ends_when_the_process_has) {
  begin("hello");
  EXPECT_EQ(process().command.argv, (Bodies{"/opt/harness/codex/bin/codex", "serve"}));
  EXPECT_EQ(process().command.input, "open hello\n");
  ASSERT_EQ(box().request.binds.size(), 1u);
  EXPECT_EQ(box().request.binds[0].to, "/opt/harness/codex");
  say({session("s-1"), {.kind = Heard::Kind::reasoning, .text = "Hm."}, text("Let me look. ")});
  say({{.kind = Heard::Kind::call_began, .call = {"c1", "Bash", ""}},
       {.kind = Heard::Kind::call_piece, .text = R"({"command":"ls"})", .call = {.id = "c1"}},
       running(call("c1", "Bash", R"({"command":"ls"})")),
       {.kind = Heard::Kind::call_output, .text = "a.txt\n", .call = {.id = "c1"}},
       ended("c1", "a.txt")});
  say({text("One file."), {.kind = Heard::Kind::usage, .usage = {10, 5}}, {.kind = Heard::Kind::finished}});
  EXPECT_FALSE(heard.usage) << "its process has not ended";
  EXPECT_TRUE(process().input_closed);
  end_program();
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(heard.usage->input_tokens, 10);
  auto reported = events();
  EXPECT_EQ(reported,
            (Bodies{R"(custom {"name":"codex.session-id","value":{"sessionId":"s-1"}})", "reasoning Hm.",
                    "text Let me look. ", R"(call {"id":"step_1","name":"Bash"})",
                    R"(call {"id":"step_1","args":"{\"command\":\"ls\"}"})",
                    R"(step {"id":"step_1","name":"Bash","status":"running","args":{"command":"ls"}})",
                    R"(output {"id":"step_1","stream":"stdout","text":"a.txt\n"})",
                    R"(step {"id":"step_1","name":"Bash","status":"succeeded","result":"a.txt","durationMs":0})",
                    "text One file.", R"(usage {"input_tokens":10,"output_tokens":5})"}));
  expect_nothing_left();
}

TEST_F(ProgramWorkTest, A_program_is_not_started_before_the_witness_knows_of_it) {
  const auto witness = std::make_shared<FakeWitness>();
  auto dispatch = dispatch_of("hello");
  dispatch.witness = witness;
  begin(std::move(dispatch));
  EXPECT_NE(heard.all(EventKind::log).find(R"("phase":"launch")"), std::string::npos);
  EXPECT_TRUE(talks.empty());
  witness->seen();
  loop.settle();
  ASSERT_EQ(talks.size(), 1u);
  EXPECT_EQ(process().command.input, "open hello\n");
  work->stop([] {});
  loop.settle();
}

TEST_F(ProgramWorkTest, A_program_that_waits_to_be_seen_when_it_is_stopped_is_not_started_afterwards) {
  const auto witness = std::make_shared<FakeWitness>();
  auto dispatch = dispatch_of("hello");
  dispatch.witness = witness;
  begin(std::move(dispatch));
  ASSERT_EQ(witness->asked, 1);
  work->stop([] {});
  witness->seen();
  loop.settle();
  EXPECT_TRUE(talks.empty());
}

TEST_F(ProgramWorkTest, H_2_The_program_has_a_placeholder_for_its_key_which_goes_to_the_models_host_only) {
  begin("hello");
  EXPECT_EQ(process().command.environment.at("KEY"), "{{secret:SLUICE_MODEL_KEY}}");
  const auto& guest = *way_out.proxy().access;
  EXPECT_EQ(gates::rule_on_host(guest.policy, "api.anthropic.com").effect, model::Effect::allow);
  EXPECT_TRUE(gates::host_takes_secrets(guest.policy, "api.anthropic.com"));
  const auto* const key_of_model = guest.secrets->find("SLUICE_MODEL_KEY");
  ASSERT_NE(key_of_model, nullptr);
  EXPECT_EQ(key_of_model->value, key);
  EXPECT_EQ(key_of_model->hosts, (Bodies{"api.anthropic.com"}));
  EXPECT_EQ(key_of_model->places, model::place_header);
  EXPECT_TRUE(guest.secrets->aliases().empty()) << "no model learns of it";
  say({text("It is very-secret."), ended("?", "")});
  finish();
  EXPECT_EQ(heard.text(), "It is {{secret:SLUICE_MODEL_KEY}}.");
}

TEST_F(ProgramWorkTest, A_policy_that_asks_about_every_host_does_not_ask_about_the_models) {
  ask_about(model::Subject::host, "*");
  begin("hello");
  const auto of_model = way_out.proxy().ask({.host = "api.anthropic.com", .method = "CONNECT"});
  const auto of_other = way_out.proxy().ask({.host = "example.com", .method = "CONNECT"});
  EXPECT_TRUE(way_out.proxy().settled.at(of_model).go_on);
  EXPECT_FALSE(way_out.proxy().settled.at(of_other).go_on) << "pooled: the request cannot wait without its box";
  EXPECT_NE(way_out.proxy().settled.at(of_other).words.find("sticky"), std::string::npos);
  finish();
}

TEST_F(ProgramWorkTest, A_provider_without_a_key_is_asked_without_one) {
  options.providers["local"] = {.dialect = "openai-chat", .base_url = "http://models.example.com/v1", .api_key = ""};
  agent.model = {.provider = "local", .name = "m"};
  begin("hello");
  EXPECT_EQ(talk().assignment.model.key, "none");
  EXPECT_EQ(talk().assignment.model.base_url, "http://models.example.com/v1");
  finish();
}

TEST_F(ProgramWorkTest, Text_that_is_taken_back_is_counted_in_the_bytes_that_were_sent) {
  begin("hello");
  say({text("very-secret one"), {.kind = Heard::Kind::replaced, .kept_bytes = 12}, text("two")});
  finish();
  ASSERT_TRUE(heard.usage);
  const std::string kept = "{{secret:SLUICE_MODEL_KEY}} ";
  EXPECT_EQ(heard.bodies(EventKind::replaced), (Bodies{R"({"kept_bytes":)" + std::to_string(kept.size()) + "}"}));
}

TEST_F(ProgramWorkTest, The_texts_of_two_rounds_are_two_paragraphs_also_when_the_second_is_taken_back) {
  begin("hello");
  say({text("First."), running(call("c1", "Bash", "{}")), ended("c1", "x"), text("Sec")});
  say({text("ond."), {.kind = Heard::Kind::replaced, .kept_bytes = 6}, text("Anew."), text(" And on.")});
  say({running(call("c2", "Bash", "{}")), ended("c2", "x"), text("\nA line feed of its own.")});
  finish();
  EXPECT_EQ(heard.text(), "First.\n\nSecond.\n\nAnew. And on.\nA line feed of its own.");
  EXPECT_EQ(heard.bodies(EventKind::replaced), (Bodies{R"({"kept_bytes":6})"}));
}

TEST_F(ProgramWorkTest, Subagents_are_reported_with_what_they_say_and_call) {
  begin("hello");
  say({running(call("c1", "Task", "{}")),
       {.kind = Heard::Kind::subagent_began, .text = "explorer", .call = {.id = "c1"}, .subagent = "a1"},
       {.kind = Heard::Kind::text, .text = "Looking.", .subagent = "a1"},
       {.kind = Heard::Kind::call_running, .call = {"c2", "Read", R"({"file_path":"a"})"}, .subagent = "a1"},
       ended("c2", "x"),
       {.kind = Heard::Kind::subagent_ended, .subagent = "a1"},
       ended("c1", "done")});
  finish();
  EXPECT_EQ(heard.bodies(EventKind::subagent),
            (Bodies{R"({"id":"a1","name":"explorer","status":"started","step_id":"step_1"})",
                    R"({"id":"a1","name":"explorer","status":"finished"})"}));
  EXPECT_EQ(heard.bodies(EventKind::subagent_text), (Bodies{R"({"id":"a1","text":"Looking."})"}));
  EXPECT_NE(steps()[1].find(R"("subagent":"a1")"), std::string::npos) << steps()[1];
  EXPECT_TRUE(heard.text().empty());
}

// ── sessions ────────────────────────────────────────────────────────────────────────────────────

TEST_F(ProgramWorkTest, H_3_The_next_message_resumes_the_session_and_the_state_of_the_program) {
  begin("hello");
  say({session("s-1")});
  finish();
  ASSERT_TRUE(heard.usage);
  EXPECT_TRUE(heard.bodies(EventKind::diff).empty()) << "the program's state is not reported as a change";
  EXPECT_EQ(layers(), (Bodies{"0001"}));
  heard = {};
  begin("go on");
  EXPECT_EQ(talk().assignment.session_id, "s-1");
  EXPECT_EQ(contents(box().workspace() + "/.sluice/.gitignore"), "*\n");
  EXPECT_EQ(contents(box().workspace() + "/.sluice/home/config"), "of codex");
  say({session("s-1")});
  finish();
  EXPECT_EQ(heard.bodies(EventKind::custom).size(), 1u) << "reported once when it is resumed";
}

TEST_F(ProgramWorkTest, H_3_A_caller_can_name_the_session) {
  auto dispatch = dispatch_of("hello");
  dispatch.extras.session_id = "s-7";
  begin(std::move(dispatch));
  EXPECT_EQ(talk().assignment.session_id, "s-7");
  finish();
}

TEST_F(ProgramWorkTest, A_run_that_fails_leaves_the_session_as_it_was) {
  begin("hello");
  say({session("s-1")});
  finish();
  heard = {};
  begin("more");
  say({session("s-2"), {.kind = Heard::Kind::failed, .text = "no credit", .slug = Slug::model_error}});
  expect_problem(Slug::model_error, "no credit");
  heard = {};
  begin("again");
  EXPECT_EQ(talk().assignment.session_id, "s-1");
  finish();
}

TEST_F(ProgramWorkTest, The_session_of_another_program_is_not_gone_on_with) {
  EXPECT_EQ(session_of(session_file("codex", "s-1").text, "codex"), "s-1");
  EXPECT_EQ(session_of(session_file("codex", "s-1").text, "opencode"), "");
  EXPECT_EQ(session_of(session_file("codex", "--flag").text, "codex"), "") << "it may have been written in the box";
  EXPECT_EQ(session_of("not JSON", "codex"), "");
}

TEST_F(ProgramWorkTest, Without_a_session_the_program_gets_the_history) {
  auto dispatch = dispatch_of("And now?");
  dispatch.history = {{model::Role::user, "First."}, {model::Role::assistant, "Second."}};
  dispatch.extras.context = {{"Page", "/orders"}};
  begin(std::move(dispatch));
  EXPECT_EQ(talk().assignment.prompt,
            "The conversation so far:\n\nUser: First.\n\nYou: Second.\n\nThe user's message now:\n\nAnd now?");
  EXPECT_NE(talk().assignment.system_prompt.find("- Page: /orders"), std::string::npos);
  EXPECT_FALSE(talk().assignment.asks) << "no rule objects to anything";
  finish();
}

// ── bad programs ────────────────────────────────────────────────────────────────────────────────

TEST_F(ProgramWorkTest, One_that_exits_without_a_result_has_failed_in_words) {
  begin("hello");
  say({text("Half"), running(call("c1", "Bash", "{}"))});
  sandbox::FakeProcess::say(process(), sandbox::Stream::err, "panic: very-secret\n");
  talk().at_end = {};
  end_program();
  expect_problem(Slug::agent_failed, "without a result: it exited with code 0");
  EXPECT_EQ(talk().stderr_tail, "panic: {{secret:SLUICE_MODEL_KEY}}\n");
  EXPECT_NE(steps().back().find(R"("status":"failed")"), std::string::npos) << "what it began is reported as failed";
}

TEST_F(ProgramWorkTest, Its_dialect_may_still_find_the_turns_end_in_its_last_bytes) {
  begin("hello");
  talk().at_end = {text("All."), {.kind = Heard::Kind::finished}};
  end_program();
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(heard.text(), "All.");
}

TEST_F(ProgramWorkTest, One_that_cannot_be_started_has_failed_in_words) {
  begin("hello");
  end_program({.cause = sandbox::ExitCause::not_started, .what = "no such file"});
  expect_problem(Slug::agent_failed, "could not be started: no such file");
}

TEST_F(ProgramWorkTest, One_that_never_speaks_is_not_waited_for) {
  begin("hello");
  pass(59'000);
  EXPECT_FALSE(heard.problem);
  pass(1'000);
  expect_problem(Slug::agent_failed, "said nothing within 60 s of its start");
}

TEST_F(ProgramWorkTest, One_that_falls_silent_is_not_waited_for_unless_a_tool_runs) {
  begin("hello");
  say({running(call("c1", "Bash", R"({"command":"sleep 1800"})"))});
  pass(1'799'000);
  EXPECT_FALSE(heard.problem) << "its tool may take its time";
  say({ended("c1", "")});
  pass(599'000);
  EXPECT_FALSE(heard.problem);
  pass(601'000);
  expect_problem(Slug::model_timeout, "said nothing for 600 s");
}

TEST_F(ProgramWorkTest, One_that_falls_silent_is_given_up_though_it_had_longer_for_its_first_word) {
  options.programs.start_ms_max = 3'600'000;
  options.programs.silence_ms_max = 5'000;
  begin("hello");
  pass(60'000);
  EXPECT_FALSE(heard.problem) << "it has an hour for its first word";
  say({text("One.")});
  pass(4'000);
  EXPECT_FALSE(heard.problem);
  pass(6'000);
  expect_problem(Slug::model_timeout, "said nothing for 5 s");
}

TEST_F(ProgramWorkTest, One_whose_tool_hangs_is_not_waited_for_to_the_end_of_the_run) {
  begin("hello");
  pass(10'000);
  say({running(call("c1", "task", "{}"))});
  pass(1'799'000);
  EXPECT_FALSE(heard.problem);
  pass(1'000);
  expect_problem(Slug::agent_failed, "said nothing for 1800 s while its tool task was running");
}

TEST_F(ProgramWorkTest, A_tool_that_ended_late_does_not_lengthen_the_silence_after_it) {
  begin("hello");
  say({running(call("c1", "Bash", "{}"))});
  pass(1'000'000);
  say({ended("c1", "")});
  pass(599'000);
  EXPECT_FALSE(heard.problem);
  pass(601'000);
  expect_problem(Slug::model_timeout, "said nothing for 600 s");
}

TEST_F(ProgramWorkTest, A_run_has_its_time_whatever_the_program_does) {
  agent.limits.max_runtime_seconds = 10;
  begin("hello");
  for (int i = 0; i < 9; ++i) {
    say({text(".")});
    pass(1'000);
  }
  EXPECT_FALSE(heard.problem);
  pass(1'000);
  expect_problem(Slug::runtime_exceeded, "10 s");
}

TEST_F(ProgramWorkTest, One_that_does_not_end_after_its_turn_is_ended) {
  begin("hello");
  say({text("Done."), {.kind = Heard::Kind::finished}});
  pass(9'000);
  EXPECT_FALSE(heard.usage);
  pass(1'000);
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(heard.text(), "Done.");
  expect_nothing_left();
}

TEST_F(ProgramWorkTest, One_that_says_too_much_is_cut_off) {
  begin("hello");
  for (int i = 0; i < 9 && !heard.problem; ++i) say({text(std::string(1 << 20, 'x'))});
  expect_problem(Slug::answer_too_large);
}

TEST_F(ProgramWorkTest, A_program_whose_log_fills_the_journal_is_ended) {
  begin("hello");
  for (int i = 0; i < 32 && !heard.problem; ++i) say({{.kind = Heard::Kind::log, .text = std::string(4 << 20, 'x')}});
  expect_problem(Slug::answer_too_large);
}

TEST_F(ProgramWorkTest, One_that_begins_calls_without_end_is_cut_off) {
  begin("hello");
  std::vector<Heard> calls;
  for (int i = 0; i < 1'100; ++i) calls.push_back(running(call("c" + std::to_string(i), "Bash", "{}")));
  say(std::move(calls));
  expect_problem(Slug::agent_failed, "ended none of them");
}

TEST_F(ProgramWorkTest, A_box_that_goes_away_takes_the_run_along) {
  begin("hello");
  box().lose("out of luck");
  loop.settle();
  expect_problem(Slug::sandbox_failed, "out of luck");
}

TEST_F(ProgramWorkTest, Output_of_a_call_is_bounded) {
  options.sessions.tool_output_bytes_max = 10;
  begin("hello");
  say({running(call("c1", "Bash", "{}")),
       {.kind = Heard::Kind::call_output, .text = "0123456789abc", .call = {.id = "c1"}},
       {.kind = Heard::Kind::call_output, .text = "more", .call = {.id = "c1"}},
       ended("c1", "ok")});
  finish();
  const auto output = heard.bodies(EventKind::output);
  ASSERT_EQ(output.size(), 2u);
  EXPECT_NE(output[0].find("0123456789\""), std::string::npos);
  EXPECT_NE(output[1].find("output cut"), std::string::npos);
}

TEST_F(ProgramWorkTest, Stopping_it_leaves_no_process_and_no_box) {
  begin("hello");
  say({session("s-1"), text("Hal")});
  bool gone = false;
  work->stop([&] { gone = true; });
  loop.settle();
  EXPECT_TRUE(gone);
  EXPECT_FALSE(heard.is_over());
  EXPECT_TRUE(sandbox->boxes.empty());
  expect_nothing_left();
}

TEST_F(ProgramWorkTest, The_listener_may_drop_it_at_any_event) {
  for (int at = 1; at < 12; ++at) {
    heard = {};
    int count = 0;
    heard.after_event = [&] {
      if (++count == at) work.reset();
    };
    begin("hello");
    if (work) say({session("s"), text("a"), running(call("c", "Bash", "{}")), ended("c", "x"), text("b")});
    if (work) finish();
    work.reset();
    loop.settle();
    EXPECT_EQ(loop.timer_count(), 0u);
  }
}

}  // namespace program_work_test
}  // namespace sluice::programs
