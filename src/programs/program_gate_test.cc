// An agent program that needs a human waits, standing still in its box or ended and resumed: H-5, H-6, I-14, I-21.
#include "programs/program_fixture.h"

namespace sluice::programs {
namespace program_gate_test {

using model::EventKind;
using model::ItemKind;
using model::Slug;
using model::Subject;
using Bodies = std::vector<std::string>;

INSTANTIATE_TEST_SUITE_P(Placements, ProgramGateTest, testing::Values(Placement::pooled, Placement::sticky),
                         name_of_placement);

// ── permissions ─────────────────────────────────────────────────────────────────────────────────

TEST_P(ProgramGateTest, H_5_What_the_policy_allows_and_denies_is_answered_at_once) {
  forbid(Subject::command, "rm *", "nothing is deleted here");
  begin("hello");
  EXPECT_TRUE(talk().assignment.asks);
  say({permission(1, call("c1", "Bash", R"({"command":"ls -l"})")),
       permission(2, call("c2", "Bash", R"({"command":"rm -rf /"})"))});
  EXPECT_EQ(talk().answers, (Bodies{"allow 1", "deny 2: refused by policy: nothing is deleted here"}));
  EXPECT_EQ(process().input, "allow 1\ndeny 2: refused by policy: nothing is deleted here\n");
  EXPECT_FALSE(heard.gate);
  finish();
}

TEST_P(ProgramGateTest, H_5_What_a_human_must_be_asked_waits_and_is_allowed_once) {
  ask_about(Subject::command, "git push*", "pushing is for all to see");
  begin("hello");
  say({session("s-1"), text("Pushing. "), running(call("c1", "Bash", R"({"command":"git push"})")),
       permission(7, call("c1", "Bash", R"({"command":"git push"})"))});
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "pushing is for all to see");
  ASSERT_EQ(heard.gate->items.size(), 1u);
  EXPECT_EQ(heard.gate->items[0].description, "Run: git push");
  EXPECT_EQ(heard.gate->items[0].call, (model::ClientCall{"step_1", "Bash", R"({"command":"git push"})"}));
  EXPECT_EQ(has_process(), keeps_box) << "it stands still, or it is ended";
  pass(7'200'000);
  approve();
  EXPECT_EQ(talks.size(), keeps_box ? 1u : 2u);
  if (!keeps_box) {
    EXPECT_EQ(talk().assignment.session_id, "s-1");
    EXPECT_NE(talk().assignment.prompt.find("git push"), std::string::npos) << talk().assignment.prompt;
    // The model repeats the call, with its members in another order if it likes.
    say({session("s-1"), running(call("d1", "Bash", R"({ "command" : "git push" })")),
         permission(1, call("d1", "Bash", R"({"command":"git push"})"))});
  }
  EXPECT_EQ(talk().answers, (Bodies{keeps_box ? "allow 7" : "allow 1"}));
  say({ended(keeps_box ? "c1" : "d1", "pushed"), text("Done.")});
  finish();
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(heard.text(), "Pushing. Done.");
  EXPECT_EQ(heard.bodies(EventKind::custom).size(), 1u) << "the session is reported once";
  ASSERT_EQ(steps().size(), 2u) << "one step, that ran while the human thought";
  EXPECT_EQ(steps()[1], R"({"id":"step_1","name":"Bash","status":"succeeded","result":"pushed","durationMs":0})");
}

TEST_P(ProgramGateTest, H_5_A_decision_is_for_one_call) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", R"({"command":"a"})"))});
  approve();
  if (!keeps_box) say({permission(1, call("d1", "Bash", R"({"command":"a"})"))});
  EXPECT_EQ(talk().answers, (Bodies{"allow 1"}));
  say({ended(keeps_box ? "c1" : "d1", ""), permission(2, call("e1", "Bash", R"({"command":"a"})"))});
  EXPECT_TRUE(heard.gate) << "the same call again is another call";
}

TEST_P(ProgramGateTest, Questions_are_asked_one_at_a_time) {
  ask_about(Subject::tool, "*");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", R"({"command":"a"})")),
       permission(2, call("c2", "Bash", R"({"command":"b"})"))});
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->items[0].description, "Run: a");
  approve();
  if (!keeps_box) {
    say({permission(1, call("d1", "Bash", R"({"command":"a"})")),
         permission(2, call("d2", "Bash", R"({"command":"b"})"))});
  }
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate_count, 2);
  EXPECT_EQ(heard.gate->items[0].description, "Run: b");
  approve();
  if (!keeps_box) say({permission(5, call("e2", "Bash", R"({"command":"b"})"))});
  EXPECT_EQ(talk().answers, (keeps_box ? Bodies{"allow 1", "allow 2"} : Bodies{"allow 5"}));
  finish();
  EXPECT_TRUE(heard.usage);
}

TEST_P(ProgramGateTest, A_call_that_needs_approval_is_denied_where_none_can_be_asked_for) {
  may_ask = false;
  ask_about(Subject::file, "/etc/*");
  begin("hello");
  say({permission(1, call("c1", "Edit", R"({"file_path":"/etc/passwd"})"))});
  ASSERT_EQ(talk().answers.size(), 1u);
  EXPECT_EQ(talk().answers[0].find("deny 1: refused by policy: a human would have to be asked"), 0u);
  finish();
}

// OpenCode ends its turn there as if all were well, and Grok breaks it off.
TEST_P(ProgramGateTest, H_5_A_refusal_is_reported_with_the_call_and_the_rules_reason) {
  forbid(Subject::command, "rm *", "nothing is deleted here");
  begin("hello");
  say({permission(1, call("c1", "Bash", R"({"command":"rm -rf /"})"))});
  finish();
  ASSERT_TRUE(heard.usage);
  const std::string refusal = "Bash (rm -rf /) was refused by policy: nothing is deleted here.";
  EXPECT_EQ(warnings(),
            (Bodies{refusal, "The agent program ended its turn without another word after this: " + refusal}));
}

TEST_P(ProgramGateTest, H_5_A_program_that_continues_after_a_refusal_is_not_said_to_have_given_up) {
  forbid(Subject::tool, "WebFetch");
  begin("hello");
  say({permission(1, call("c1", "WebFetch", R"({"url":")" + std::string(300, 'x') + "\"}")), text("Then not.")});
  finish();
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_EQ(warnings()[0].find(R"(WebFetch ({"url":"xxx)"), 0u) << warnings()[0];
  EXPECT_NE(warnings()[0].find(R"(x…) was refused by policy: the rule on "WebFetch".)"), std::string::npos);
}

TEST_P(ProgramGateTest, H_5_A_turn_that_fails_at_a_refusal_says_what_was_refused_and_why) {
  forbid(Subject::command, "rm *", "nothing is deleted here");
  begin("hello");
  say({permission(1, call("c1", "Bash", R"({"command":"rm -rf /"})")),
       {.kind = Heard::Kind::failed, .text = "It gave up.", .slug = Slug::agent_failed}});
  expect_problem(Slug::agent_failed, "It gave up. Bash (rm -rf /) was refused by policy: nothing is deleted here.");
}

TEST_P(ProgramGateTest, A_question_that_is_withdrawn_is_not_asked) {
  ask_about(Subject::tool, "*");
  begin("hello");
  say({permission(1, call("c1", "Bash", "{}")), {.kind = Heard::Kind::withdrawn, .question = 1}});
  EXPECT_FALSE(heard.gate);
  finish();
}

// ── waiting without the process ─────────────────────────────────────────────────────────────────

class PooledProgramTest : public ProgramStory {};
class StickyProgramTest : public ProgramStory {
 protected:
  StickyProgramTest() { keeps_box = true; }
};

TEST_F(PooledProgramTest, H_5_A_program_that_can_defer_ends_by_itself_and_is_resumed_without_a_prompt) {
  defers = true;
  ask_about(Subject::tool, "Bash");
  begin("hello");
  EXPECT_TRUE(talk().assignment.may_defer);
  say({session("s-1"), permission(1, call("c1", "Bash", R"({"command":"a"})"))});
  EXPECT_EQ(talk().answers, (Bodies{"defer 1"}));
  EXPECT_FALSE(heard.gate) << "it has not ended";
  say({{.kind = Heard::Kind::deferred}, {.kind = Heard::Kind::finished}});
  end_program();
  ASSERT_TRUE(heard.gate);
  approve();
  EXPECT_EQ(talk().assignment.prompt, "");
  say({permission(1, call("c1", "Bash", R"({"command":"a"})")), ended("c1", "ok")});
  EXPECT_EQ(talk().answers, (Bodies{"allow 1"}));
  finish();
  EXPECT_TRUE(heard.usage);
  EXPECT_EQ(steps().size(), 2u);
}

TEST_F(PooledProgramTest, A_program_that_was_to_end_and_does_not_is_ended) {
  defers = true;
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  pass(10'000);
  ASSERT_TRUE(heard.gate);
  approve();
  EXPECT_NE(talk().assignment.prompt, "") << "it knows nothing of what it was about to do";
  finish();
}

TEST_F(PooledProgramTest, No_human_is_asked_by_a_run_whose_sandbox_cannot_be_ended) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  sandbox->kill_fails_with = Error{ErrorKind::unavailable, "waited 30 s for its processes to end"};
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  EXPECT_FALSE(heard.gate);
  expect_problem(Slug::sandbox_failed, "The sandbox could not be ended: waited 30 s for its processes to end.");
}

TEST_F(PooledProgramTest, A_program_without_a_session_is_asked_again_from_the_start) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({permission(1, call("c1", "Bash", "{}"))});
  approve();
  EXPECT_EQ(talk().assignment.prompt, "hello");
  finish();
}

TEST_F(PooledProgramTest, I_21_What_was_changed_before_the_wait_is_there_after_it) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  for (const auto& tree : {box().workspace(), box().changes()}) put(tree + "/a.txt", "one\n");
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  approve();
  EXPECT_EQ(contents(box().workspace() + "/a.txt"), "one\n");
  EXPECT_EQ(contents(box().workspace() + "/.sluice/home/config"), "of codex");
  finish();
  EXPECT_NE(heard.all(EventKind::diff).find("+one"), std::string::npos);
  EXPECT_EQ(heard.all(EventKind::diff).find(".sluice"), std::string::npos);
  EXPECT_EQ(layers(), (Bodies{"0001"}));
}

TEST_F(PooledProgramTest, What_the_program_never_repeats_is_reported_as_failed) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  approve();
  say({text("Rather not.")});
  finish();
  ASSERT_TRUE(heard.usage);
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_EQ(steps()[1],
            R"({"id":"step_1","name":"Bash","status":"failed","error":"The run waited for a human, and the )"
            R"(agent program did not come back to this call afterwards.","durationMs":0})");
}

TEST_F(PooledProgramTest, H_5_A_decision_that_the_program_never_came_back_for_is_for_no_other_call) {
  ask_about(Subject::tool, "*");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", R"({"command":"a"})"))});
  approve();
  say({permission(1, call("d1", "Bash", R"({"command":"a b"})"))});
  EXPECT_EQ(talk().answers, Bodies{}) << "the same tool with other arguments";
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->items[0].description, "Run: a b");
  approve();
  say({permission(1, call("e1", "shell", R"({"command":"a b"})"))});
  EXPECT_EQ(talk().answers, Bodies{}) << "another tool with the same arguments";
  ASSERT_TRUE(heard.gate);
  approve();
  say({permission(1, call("f1", "Bash", R"({"command":"a"})"))});
  EXPECT_EQ(talk().answers, (Bodies{"allow 1"})) << "it was agreed to, in this run";
  finish();
  EXPECT_TRUE(heard.usage);
}

TEST_F(PooledProgramTest, H_5_A_decision_that_the_program_never_came_back_for_ends_with_its_run) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", R"({"command":"a"})"))});
  approve();
  finish();
  ASSERT_TRUE(heard.usage);
  heard = {};
  begin("again");
  EXPECT_EQ(talk().assignment.session_id, "s-1");
  say({permission(1, call("d1", "Bash", R"({"command":"a"})"))});
  EXPECT_EQ(talk().answers, Bodies{});
  EXPECT_TRUE(heard.gate);
}

TEST_F(PooledProgramTest, A_call_that_is_never_repeated_does_not_excuse_silence) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  approve();
  say({text("Hm.")});
  pass(options.programs.silence_ms_max + 1);
  expect_problem(Slug::model_timeout, "no tool was running");
}

TEST_F(PooledProgramTest, Usage_and_text_are_counted_over_all_processes_of_the_run) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"),
       text("One. "),
       {.kind = Heard::Kind::usage, .usage = {10, 1}},
       permission(1, call("c1", "Bash", "{}"))});
  approve();
  say({text("Two."),
       {.kind = Heard::Kind::replaced, .kept_bytes = 0},
       text("Three."),
       {.kind = Heard::Kind::usage, .usage = {20, 2}}});
  finish();
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(heard.usage->input_tokens, 30);
  EXPECT_EQ(heard.usage->output_tokens, 3);
  EXPECT_EQ(heard.bodies(EventKind::replaced), (Bodies{R"({"kept_bytes":5})"}));
}

TEST_F(PooledProgramTest, A_checkpoint_that_cannot_be_read_ends_the_run_in_words) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  ASSERT_TRUE(heard.gate);
  const auto whole = std::exchange(heard.gate, std::nullopt)->checkpoint;
  const auto read = program_checkpoint_from_json(whole);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(read.value()), whole);
  for (const auto& bad :
       {std::string("{}"), whole.substr(0, whole.size() / 2), std::string(R"({"version":2})"), std::string("[]")}) {
    const auto refused = program_checkpoint_from_json(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().kind, ErrorKind::corrupt);
  }
  last.agent.kit.agent_type = "codex";
  go_on_from(R"({"version":1})");
  expect_problem(Slug::run_interrupted, "its checkpoint cannot be read");
}

// ── waiting with the process ────────────────────────────────────────────────────────────────────

TEST_F(StickyProgramTest, H_5_A_program_that_died_while_a_human_thought_is_resumed) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), text("One. "), permission(1, call("c1", "Bash", R"({"command":"a"})"))});
  ASSERT_TRUE(heard.gate);
  process().paused = false;
  end_program({.cause = sandbox::ExitCause::killed, .code = 9});
  approve();
  ASSERT_EQ(talks.size(), 2u);
  EXPECT_EQ(talk().assignment.session_id, "s-1");
  say({permission(1, call("d1", "Bash", R"({"command":"a"})")), ended("d1", "ok"), text("Two.")});
  finish();
  ASSERT_TRUE(heard.usage) << (heard.problem ? heard.problem->detail : "");
  EXPECT_EQ(heard.text(), "One. Two.");
  EXPECT_EQ(steps().size(), 2u);
}

TEST_F(StickyProgramTest, After_the_servers_death_another_resumes_the_session) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  ASSERT_TRUE(heard.gate);
  const auto checkpoint = std::exchange(heard.gate, std::nullopt)->checkpoint;
  work.reset();
  context.reset();
  loop.settle();
  go_on_from(checkpoint);
  EXPECT_EQ(talk().assignment.session_id, "s-1");
  say({permission(3, call("d1", "Bash", "{}"))});
  EXPECT_EQ(talk().answers, (Bodies{"allow 3"}));
  finish();
  EXPECT_TRUE(heard.usage);
}

TEST_F(StickyProgramTest, The_program_is_not_listened_to_while_a_human_thinks) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  ASSERT_TRUE(heard.gate);
  EXPECT_TRUE(process().paused);
  say({text("Meanwhile.")});
  EXPECT_EQ(heard.text(), "");
  approve();
  EXPECT_EQ(heard.text(), "Meanwhile.");
  finish();
}

TEST_F(StickyProgramTest, A_program_that_waits_for_a_human_is_not_read_when_the_journal_has_room_again) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  ASSERT_TRUE(heard.gate);
  work->hold_back(true);
  work->hold_back(false);
  say({text("Meanwhile."), {.kind = Heard::Kind::finished}});
  EXPECT_EQ(heard.text(), "");
  approve();
  EXPECT_EQ(heard.text(), "Meanwhile.");
  end_program();
  EXPECT_TRUE(heard.usage);
}

TEST_F(StickyProgramTest, A_program_is_not_read_after_the_approval_while_the_journal_is_full) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  ASSERT_TRUE(heard.gate);
  work->hold_back(true);
  approve();
  EXPECT_EQ(talk().answers, (Bodies{"allow 1"}));
  say({text("Done.")});
  EXPECT_EQ(heard.text(), "");
  work->hold_back(false);
  loop.settle();
  EXPECT_EQ(heard.text(), "Done.");
  finish();
}

TEST_F(StickyProgramTest, A_program_that_is_resumed_while_the_journal_is_full_is_read_later) {
  ask_about(Subject::tool, "Bash");
  begin("hello");
  say({session("s-1"), permission(1, call("c1", "Bash", "{}"))});
  ASSERT_TRUE(heard.gate);
  process().paused = false;
  end_program({.cause = sandbox::ExitCause::killed, .code = 9});
  work->hold_back(true);
  approve();
  ASSERT_EQ(talks.size(), 2u);
  say({text("Done.")});
  EXPECT_EQ(heard.text(), "");
  work->hold_back(false);
  loop.settle();
  EXPECT_EQ(heard.text(), "Done.");
  finish();
}

TEST_F(StickyProgramTest, I_16_A_request_that_needs_a_human_waits_at_the_way_out) {
  ask_about(Subject::host, "example.com", "outside");
  begin("hello");
  const auto host = way_out.proxy().ask({.host = "example.com", .method = "GET", .reason = "outside"});
  const auto secret = way_out.proxy().ask({.host = "api.example.com", .method = "GET", .alias = "TOKEN"});
  loop.settle();
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->reason, "outside");
  EXPECT_TRUE(way_out.proxy().settled.empty());
  approve();
  EXPECT_TRUE(way_out.proxy().settled.at(host).go_on);
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->items[0].alias, "TOKEN");
  secrets->replace({{.alias = "TOKEN", .value = "token-value"}});
  approve();
  EXPECT_TRUE(way_out.proxy().settled.at(secret).go_on);
  finish();
  EXPECT_TRUE(heard.usage);
}

// ── tools of the host ───────────────────────────────────────────────────────────────────────────

TEST_P(ProgramGateTest, H_6_A_tool_of_the_client_is_carried_out_by_the_client) {
  auto dispatch = dispatch_of("hello");
  dispatch.extras.client_tools = {{"pick_color", "Lets the user pick", R"({"type":"object"})"}};
  begin(std::move(dispatch));
  ASSERT_FALSE(talk().assignment.tools.empty());
  EXPECT_EQ(talk().assignment.tools[0].name, "pick_color");
  say({session("s-1"), running(call("c1", "pick_color", R"({"of":3})")),
       permission(1, call("c1", "pick_color", R"({"of":3})")), host_call(2, call("c1", "pick_color", R"({"of":3})"))});
  ASSERT_TRUE(heard.gate);
  ASSERT_EQ(heard.gate->items.size(), 1u);
  EXPECT_EQ(heard.gate->items[0].kind, ItemKind::client_tool);
  EXPECT_EQ(heard.gate->items[0].call, (model::ClientCall{"step_1", "pick_color", R"({"of":3})"}));
  approve({{.call_id = "step_1", .content = "blue"}});
  if (!keeps_box) say({host_call(9, call("d1", "pick_color", R"({"of":3})"))});
  EXPECT_EQ(talk().answers.back(), keeps_box ? "result 2: blue" : "result 9: blue");
  finish();
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_EQ(steps()[1], R"({"id":"step_1","name":"pick_color","status":"succeeded","result":"blue","durationMs":0})");
}

TEST_P(ProgramGateTest, H_6_Calls_of_the_clients_tools_that_come_together_are_asked_together) {
  auto dispatch = dispatch_of("hello");
  dispatch.extras.client_tools = {{"pick", "Lets the user pick", R"({"type":"object"})"}};
  begin(std::move(dispatch));
  say({session("s-1"), host_call(1, call("c1", "pick", R"({"n":1})")), host_call(2, call("c2", "pick", R"({"n":2})"))});
  ASSERT_TRUE(heard.gate);
  ASSERT_EQ(heard.gate->items.size(), 2u);
  approve({{.call_id = "step_2", .content = "two", .failed = true}});
  if (!keeps_box) {
    say({host_call(2, call("d2", "pick", R"({"n":2})")), host_call(1, call("d1", "pick", R"({"n":1})"))});
  }
  auto answers = talk().answers;
  std::ranges::sort(answers);
  EXPECT_EQ(answers, (Bodies{"result 1 failed: The client gave no result.", "result 2 failed: two"}));
  finish();
}

TEST_P(ProgramGateTest, I_17_A_secret_is_asked_for_and_known_by_its_alias_only) {
  begin("hello");
  const auto asked = call("c1", "request_secret", R"({"alias":"CRM_KEY","description":"the CRM's key"})");
  say({session("s-1"), host_call(1, asked)});
  ASSERT_TRUE(heard.gate);
  EXPECT_EQ(heard.gate->items[0].kind, ItemKind::secret);
  secrets->replace({{.alias = "CRM_KEY", .value = "crm-value"}});
  approve();
  if (!keeps_box) say({host_call(1, asked)});
  ASSERT_EQ(talk().answers.size(), 1u);
  EXPECT_EQ(talk().answers[0].find("result 1: Approved. {{secret:CRM_KEY}} is on file"), 0u) << talk().answers[0];
  say({host_call(2, call("c2", "request_secret", R"({"alias":"CRM_KEY","description":"again"})")), text("crm-value")});
  EXPECT_EQ(talk().answers.size(), 2u) << "it is on file";
  finish();
  EXPECT_EQ(heard.text(), "{{secret:CRM_KEY}}");
}

TEST_P(ProgramGateTest, H_6_An_unknown_tool_is_answered_in_words) {
  begin("hello");
  say({host_call(1, call("c1", "nonsense", "{}")), host_call(2, call("c2", "request_approval", R"({"no":1})"))});
  ASSERT_EQ(talk().answers.size(), 2u);
  EXPECT_EQ(talk().answers[0], "result 1 failed: There is no tool named nonsense.");
  EXPECT_EQ(talk().answers[1].find("result 2 failed: "), 0u);
  finish();
}

}  // namespace program_gate_test
}  // namespace sluice::programs
