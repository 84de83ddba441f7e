#include "harness/acp_fixture.h"

namespace sluice::harness {
namespace acp_test {

using namespace acp_fixture;

Lines reported(const Assignment& assignment, const std::string& name, Answer::Kind permission = Answer::Kind::allow) {
  Listener listener(assignment);
  listener.permission.kind = permission;
  listener.play(recorded(assignment.agent_type == "opencode" ? "opencode" : "grok", name));
  EXPECT_TRUE(listener.dialect().is_done_writing());
  return listener.lines;
}

// ── OpenCode ──
TEST(OpenCode, A_text_is_reported_with_all_its_tokens) {
  EXPECT_EQ(reported(opencode(), "text"), (Lines{"session ses_1", "text Hello there.", "usage 100/20", "finished"}));
}

TEST(OpenCode, A_resumed_session_asks_with_whole_arguments_and_reports_output_as_it_comes) {
  const std::string call =
      R"(call_1 bash {"command":"echo one; sleep 1; echo two; exit 3","description":"a shell call"})";
  EXPECT_EQ(reported(resuming(opencode(), "ses_1"), "resumed"),
            (Lines{"session ses_1", "text I will run it.", "running " + call, "permission " + call,
                   "output call_1 one\n", "output call_1 two\n", "ended call_1 one\ntwo\n(exit code 3)",
                   "text Tool said: one\ntwo\n Done.", "usage 100/20", "finished"}));
}

TEST(OpenCode, A_denied_call_fails_and_the_turn_ends_well) {
  const auto lines = reported(opencode(), "denied", Answer::Kind::deny);
  EXPECT_EQ(lines.at(4), "ended call_1 failed: The user rejected permission to use this specific tool call.");
  EXPECT_EQ(lines.back(), "finished");
}

TEST(OpenCode, A_file_is_asked_for_with_what_the_model_wrote_not_with_what_the_question_shows) {
  EXPECT_EQ(reported(opencode(), "write").at(3),
            R"(permission call_1 write {"filePath":"/workspace/w.txt","content":"hey"})");
}

TEST(OpenCode, A_tool_of_the_host_has_its_own_name_and_is_not_asked_for_here) {
  const auto lines = reported(bridged(opencode()), "mcp");
  EXPECT_EQ(lines.at(2), R"(running call_1 host_number {"n":3})");
  EXPECT_EQ(lines.at(3), R"(ended call_1 bridge says {"n": 3})");
}

TEST(OpenCode, Its_list_is_reported_as_todos) {
  EXPECT_EQ(reported(opencode(), "todo").at(3),
            R"(custom opencode.todo {"todos":[{"content":"one","status":"completed"},)"
            R"({"content":"two","status":"in_progress"}]})");
}

TEST(OpenCode, Reasoning_is_reported_apart_from_the_answer) {
  EXPECT_EQ(reported(opencode(), "reasoning").at(1), "reasoning Let me think.");
}

TEST(OpenCode, An_interrupted_turn_ends_as_cancelled) {
  EXPECT_EQ(reported(opencode(), "interrupted").back(), "failed run-cancelled The agent was interrupted.");
}

TEST(OpenCode, A_failure_is_reported_by_its_class) {
  EXPECT_EQ(reported(opencode(), "unauthorized").back(),
            "failed agent-misconfigured The agent failed: Internal error: scripted 401");
  EXPECT_EQ(
      reported(resuming(opencode(), "ses_1"), "no-such-session").back(),
      "failed agent-misconfigured The agent cannot go on with the session ses_1: Internal error: OpenCode service "
      "failure");
}

// ── Grok Build ──
TEST(Grok, A_call_is_reported_as_it_is_written_and_run_with_what_the_model_wrote) {
  const std::string arguments =
      R"({"command":"echo one; sleep 1; python3 -c \"print(2)\" ; exit 3","description":"a shell call"})";
  EXPECT_EQ(reported(resuming(grok(), "id-1"), "resumed"),
            (Lines{"session id-1", "text I will run it.", "began call_1 run_terminal_command",
                   "piece call_1 {\"command\": \"echo one; sleep 1; python3 -c \\\"print(2)\\\" ; exit 3\", "
                   "\"description\": \"a shell call\"}",
                   "usage 100/20", "running call_1 run_terminal_command " + arguments,
                   "permission call_1 run_terminal_command " + arguments, "output call_1 one\n", "output call_1 2\n",
                   "ended call_1 one\n2\n(exit code 3)", "text Tool said: exit: 3\none\n2\n Done.", "usage 200/40",
                   "usage 200/40", "finished"}));
}

TEST(Grok, A_denied_call_ends_its_turn) {
  const auto lines = reported(grok(), "denied", Answer::Kind::deny);
  EXPECT_EQ(lines.at(7), "ended call_1 failed: User rejected the execution for tool `run_terminal_command`");
  EXPECT_EQ(lines.back(),
            "failed agent-failed The agent gave its turn up because it was not allowed what it asked for.");
}

TEST(Grok, Nothing_is_asked_when_it_approves_by_itself) {
  for (const auto& line : reported(grok(), "approving")) EXPECT_FALSE(line.starts_with("permission")) << line;
}

TEST(Grok, A_tool_of_the_host_is_reported_by_its_own_name_and_arguments) {
  EXPECT_EQ(reported(bridged(grok()), "mcp"),
            (Lines{"session id-1", "text Calling.", "usage 100/20", R"(running call_1 host_number {"n":3})",
                   R"(ended call_1 bridge says {"n": 3})", R"(text Tool said: bridge says {"n": 3} Done.)",
                   "usage 200/40", "usage 200/40", "finished"}));
}

TEST(Grok, Text_that_is_repeated_after_a_broken_stream_is_not_reported_twice) {
  auto lines = reported(grok(), "text-after-a-cut");
  EXPECT_EQ(lines.at(1), "text Partial answer");
  EXPECT_TRUE(lines.at(2).starts_with("log warn The model is asked again: ")) << lines.at(2);
  EXPECT_EQ(lines.at(3), "text , whole.");
  lines = reported(grok(), "other-text-after-a-cut");
  EXPECT_EQ(lines.at(3), "replaced 8");
  EXPECT_EQ(lines.at(4), "text reply, whole.");
}

TEST(Grok, Its_plan_is_reported_as_todos) {
  const auto lines = reported(grok(), "todo");
  EXPECT_EQ(lines.at(6), "ended call_1 - [completed] 1: one\n- [in_progress] 2: two\n");
  EXPECT_EQ(lines.at(7), R"(custom grok-build.todo {"todos":[{"content":"one","status":"completed"},)"
                         R"({"content":"two","status":"in_progress"}]})");
}

TEST(Grok, Reasoning_is_reported_apart_from_the_answer) {
  EXPECT_EQ(reported(grok(), "reasoning").at(1), "reasoning Let me think.");
}

TEST(Grok, An_interrupted_turn_ends_as_cancelled) {
  EXPECT_EQ(reported(grok(), "interrupted").back(), "failed run-cancelled The agent was interrupted.");
}

TEST(Grok, A_failure_is_reported_by_its_class) {
  EXPECT_TRUE(reported(grok(), "unauthorized")
                  .back()
                  .starts_with("failed agent-misconfigured The agent failed: Internal error: Unauthorized (401) from"));
  EXPECT_EQ(reported(resuming(grok(), "id-1"), "no-such-session").back(),
            "failed agent-misconfigured The agent cannot go on with the session id-1: Path not found.");
}

// ── both, and agents of which nothing is known ──
TEST(Acp, It_reports_the_same_however_its_bytes_are_cut) {
  for (const auto& [program, type] : {std::pair("opencode", "opencode"), std::pair("grok", "grok-build")}) {
    for (const auto& name : recorded_names(program)) {
      SCOPED_TRACE(program + ("/" + name));
      expect_same_however_cut(assignment(type), {Answer::Kind::allow}, printed(recorded(program, name)));
    }
  }
}

TEST(Acp, It_reports_an_end_however_its_bytes_are_broken) {
  for (const auto& [program, type] : {std::pair("opencode", "opencode"), std::pair("grok", "grok-build")}) {
    for (const auto& name : recorded_names(program)) {
      SCOPED_TRACE(program + ("/" + name));
      expect_end_however_broken(assignment(type), printed(recorded(program, name)));
    }
  }
}

std::string ended(const std::string& reason) {
  return R"({"jsonrpc":"2.0","id":3,"result":{"stopReason":")" + reason + "\"}}\n";
}

bool is_prompted(const Listener& listener) { return listener.sent.back().find("session/prompt") != std::string::npos; }

TEST(Acp, The_system_prompt_goes_before_the_first_prompt_of_an_unknown_agent) {
  auto terse = assignment("acp");
  terse.system_prompt = "Be brief.";
  Listener listener(terse);
  listener.feed(greeting("{}"));
  EXPECT_EQ(listener.sent.back(),
            R"({"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":)"
            R"([{"type":"text","text":"Be brief."},{"type":"text","text":"go"}]}})");
}

TEST(Acp, The_system_prompt_is_a_rule_for_grok) {
  auto terse = grok();
  terse.system_prompt = "Be brief.";
  Listener listener(terse);
  listener.feed(greeting("{}"));
  EXPECT_NE(listener.sent.at(1).find(R"("_meta":{"rules":"Be brief."})"), std::string::npos) << listener.sent.at(1);
  EXPECT_EQ(listener.sent.at(2).find("Be brief."), std::string::npos);
}

TEST(Acp, What_a_loaded_session_replays_is_not_reported_again) {
  Listener listener(resuming(assignment("acp"), "s"));
  listener.feed(R"({"jsonrpc":"2.0","id":1,"result":{"agentCapabilities":{"loadSession":true}}})"
                "\n");
  EXPECT_NE(listener.sent.back().find("session/load"), std::string::npos);
  listener.feed(update(R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"old"}})"));
  listener.feed("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":null}\n");
  listener.feed(update(R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"new"}})"));
  listener.feed(ended("end_turn"));
  EXPECT_EQ(listener.lines, (Lines{"log warn The agent does not speak to MCP servers over HTTP: it is not offered the "
                                   "tools of the host.",
                                   "session s", "text new", "finished"}));
}

TEST(Acp, An_agent_that_cannot_go_on_with_sessions_fails_at_once) {
  Listener listener(resuming(assignment("acp"), "s"));
  listener.feed(greeting("{}"));
  EXPECT_EQ(listener.lines, Lines{"failed agent-misconfigured The agent cannot go on with a session: it offers neither "
                                  "session/resume nor session/load."});
}

TEST(Acp, A_turn_that_stopped_short_is_warned_of) {
  auto listener = begun(assignment("acp"));
  listener.feed(ended("max_tokens"));
  EXPECT_EQ(listener.lines, (Lines{"log warn The model stopped because its answer became too long.", "finished"}));
  auto refusing = begun(assignment("acp"));
  refusing.feed(ended("refusal"));
  EXPECT_EQ(refusing.lines, Lines{"failed model-error The model refused to answer."});
  auto cancelled = begun(assignment("acp"));
  cancelled.feed(ended("cancelled"));
  EXPECT_EQ(cancelled.lines, Lines{"failed model-error The agent broke its turn off."});
}

TEST(Acp, A_call_without_a_name_is_reported_by_its_kind) {
  auto listener = begun(assignment("acp"));
  listener.feed(update(R"({"sessionUpdate":"tool_call","toolCallId":"c","title":"Run `ls -l`","kind":"execute",)"
                       R"("status":"pending","rawInput":{"command":"ls -l"}})"));
  listener.feed(update(R"({"sessionUpdate":"tool_call","toolCallId":"d","title":"mcp__sluice__host_number"})"));
  listener.feed(update(R"({"sessionUpdate":"tool_call_update","toolCallId":"d","status":"failed"})"));
  EXPECT_EQ(listener.lines,
            (Lines{R"(running c execute {"command":"ls -l"})", "running d host_number {}", "ended d failed:"}));
}

TEST(Acp, A_call_is_reported_once_however_many_came_between) {
  auto listener = begun(assignment("acp"));
  const auto tell = [&](const std::string& id) {
    listener.feed(
        update(R"({"sessionUpdate":"tool_call","title":"bash","status":"completed","toolCallId":")" + id + "\"}"));
  };
  tell("first");
  for (int call = 1; call < 10'002; ++call) tell(std::to_string(call));
  tell("first");
  ASSERT_EQ(listener.lines.size(), 20'001U);
  EXPECT_EQ(std::ranges::count(listener.lines, "running first bash {}"), 1);
  EXPECT_EQ(listener.lines.back(),
            "log warn The agent program made more than 10000 calls; the others are not reported.");
}

TEST(Acp, A_complaint_about_no_request_of_ours_does_not_end_the_turn) {
  Listener listener(assignment("acp"));
  listener.feed("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}\n");
  EXPECT_EQ(listener.lines, Lines{"log warn The agent complains: Parse error"});
}

TEST(Acp, Nothing_is_said_after_the_end) {
  auto listener = begun(grok());
  listener.feed("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}\nnot JSON\n");
  listener.feed("not JSON\n" + update(R"({"sessionUpdate":"plan","entries":[]})"));
  listener.end();
  listener.end();
  EXPECT_EQ(listener.lines, Lines{"finished"});
}

TEST(Acp, Output_that_lost_its_head_is_reported_from_where_it_continues) {
  auto listener = begun(assignment("acp"));
  const std::string middle(100, 'm');
  for (const auto& output : {"one " + middle, "(cut) " + middle + " two", "(cut) " + middle + " two", std::string("x")})
    listener.feed(
        update(R"({"sessionUpdate":"tool_call_update","toolCallId":"c","title":"bash","status":"in_progress",)"
               R"("content":[{"type":"content","content":{"type":"text","text":")" +
               output + "\"}}]}"));
  EXPECT_EQ(listener.lines, (Lines{"running c bash {}", "output c one " + middle, "output c  two", "output c x"}));
}

TEST(Acp, Options_are_chosen_by_their_kind_and_a_missing_one_is_no_agreement) {
  auto listener = begun(assignment("acp"));
  const std::string question =
      R"({"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":)"
      R"("s","toolCall":{"toolCallId":"c","title":"bash","rawInput":{"command":"ls"}},"options":)";
  listener.feed(question + R"([{"optionId":"1","kind":"allow_always"},{"optionId":"2","kind":"allow_once"}]}})" + "\n");
  EXPECT_EQ(listener.sent.back(),
            R"({"jsonrpc":"2.0","id":"q","result":{"outcome":{"outcome":"selected","optionId":"2"}}})");
  listener.feed(question + R"([{"optionId":"1","kind":"allow_always"}]}})" + "\n");
  EXPECT_EQ(listener.sent.back(), R"({"jsonrpc":"2.0","id":"q","result":{"outcome":{"outcome":"cancelled"}}})");
}

TEST(Acp, A_permission_is_for_what_is_asked_not_for_what_was_reported_before) {
  auto listener = begun(assignment("acp"));
  listener.feed(update(R"({"sessionUpdate":"tool_call","toolCallId":"c","title":"bash","status":"pending",)"
                       R"("rawInput":{"command":"echo harmless"}})"));
  listener.feed(asked("s", R"({"toolCallId":"c","rawInput":{"command":"git push --force"}})"));
  EXPECT_EQ(listener.lines,
            (Lines{R"(running c bash {"command":"echo harmless"})",
                   "log warn The agent asks for leave with other arguments than it reported of bash before; "
                   "those that it asks for are judged.",
                   R"(permission c bash {"command":"git push --force"})"}));
  listener.lines.clear();
  listener.feed(asked("s", R"({"toolCallId":"c"})"));
  EXPECT_EQ(listener.lines, Lines{R"(permission c bash {"command":"echo harmless"})"}) << "nothing else is known of it";
}

TEST(Grok, A_permission_is_for_what_is_asked_not_for_what_was_reported_before) {
  auto listener = begun(grok());
  const std::string meta = R"("_meta":{"x.ai/tool":{"name":"run_terminal_command","input":{"command":")";
  listener.feed(
      update(R"({"sessionUpdate":"tool_call","toolCallId":"c","rawInput":{"variant":"Bash"},)" + meta + R"(ls"}}}})"));
  listener.feed(asked("s", R"({"toolCallId":"c","rawInput":{"variant":"Bash","command":"x"},)" + meta + R"(rm"}}}})"));
  EXPECT_EQ(listener.lines.back(), R"(permission c run_terminal_command {"command":"rm"})");
  listener.feed(asked("s", R"({"toolCallId":"c","rawInput":{"variant":"Bash","command":"x","is_background":false}})"));
  EXPECT_EQ(listener.lines.back(), R"(permission c run_terminal_command {"command":"x"})") << "in a form of its own";
}

TEST(Grok, Is_prompted_when_it_knows_the_tools_of_the_host_so_that_a_quick_model_does_not_miss_them) {
  Listener listener(bridged(grok()));
  listener.feed(greeting(R"({"mcpCapabilities":{"http":true}})"));
  listener.feed(tools_known("another"));
  EXPECT_FALSE(is_prompted(listener));
  listener.feed(tools_known("s"));
  EXPECT_TRUE(is_prompted(listener));
  const auto sent = listener.sent.size();
  listener.feed(tools_known("s"));
  EXPECT_EQ(listener.sent.size(), sent) << "once";
}

TEST(Grok, Tools_that_are_known_before_the_session_is_reported_are_not_waited_for) {
  Listener listener(bridged(grok()));
  const auto words = greeting(R"({"mcpCapabilities":{"http":true}})");
  const auto session_at = words.find('\n') + 1;
  listener.feed(words.substr(0, session_at) + tools_known("s"));
  EXPECT_FALSE(is_prompted(listener));
  listener.feed(words.substr(session_at));
  EXPECT_TRUE(is_prompted(listener));
}

TEST(Grok, Without_tools_of_the_host_nothing_is_waited_for) {
  Listener listener(grok());
  listener.feed(greeting(R"({"mcpCapabilities":{"http":true}})"));
  EXPECT_TRUE(is_prompted(listener));
}

TEST(Grok, Interrupted_while_it_looks_for_tools_it_is_not_prompted) {
  Listener listener(bridged(grok()));
  listener.feed(greeting(R"({"mcpCapabilities":{"http":true}})"));
  listener.dialect().interrupt();
  listener.feed(tools_known("s"));
  EXPECT_FALSE(is_prompted(listener));
  EXPECT_EQ(listener.lines.back(), "failed run-cancelled The agent was interrupted.");
}

TEST(Grok, Leave_for_a_tool_of_the_host_is_leave_for_no_other) {
  auto listener = begun(bridged(grok()));
  const std::string use = R"("_meta":{"x.ai/tool":{"name":"use_tool"}},"rawInput":{"variant":"UseTool","tool_name":")";
  listener.feed(update(R"({"sessionUpdate":"tool_call","toolCallId":"c",)" + use +
                       R"(sluice__host_number","tool_input":{"n":3}}})"));
  listener.feed(asked("s", R"({"toolCallId":"c",)" + use + R"(other__drop","tool_input":{"n":4}}})"));
  EXPECT_EQ(listener.lines.back(), R"(permission c other__drop {"n":4})");
}

TEST(Grok, A_subagent_is_reported_with_its_calls_which_are_asked_for_in_the_agents_own_session) {
  auto listener = begun(grok());
  const auto notify = [&](const std::string& body) {
    listener.feed(R"({"jsonrpc":"2.0","method":"_x.ai/session_notification","params":{"sessionId":"s","update":)" +
                  body + "}}\n");
  };
  const auto below = [&](const std::string& body) {
    listener.feed(R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"child","update":)" + body +
                  "}}\n");
  };
  const std::string call = R"("toolCallId":"c","title":"run_terminal_command","rawInput":{"command":"ls"}})";
  notify(R"({"sessionUpdate":"subagent_spawned","child_session_id":"child","description":"looks"})");
  below(R"({"sessionUpdate":"tool_call",)" + call);
  listener.feed(asked("s", "{" + call));
  below(R"({"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":"a"})");
  below(R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"There is a."}})");
  notify(R"({"sessionUpdate":"subagent_finished","child_session_id":"child","status":"completed","output":"x"})");
  EXPECT_EQ(listener.lines,
            (Lines{"subagent began looks of child", R"(running child/c run_terminal_command {"command":"ls"} of child)",
                   R"(permission child/c run_terminal_command {"command":"ls"} of child)", "ended child/c a of child",
                   "text There is a. of child", "subagent ended of child"}));
}

TEST(OpenCode, What_its_question_says_otherwise_than_the_call_counts) {
  auto listener = begun(opencode());
  listener.feed(update(R"({"sessionUpdate":"tool_call_update","toolCallId":"c","title":"bash","status":"in_progress",)"
                       R"("rawInput":{"command":"ls","description":"d"}})"));
  listener.feed(asked("s", R"({"toolCallId":"c","rawInput":{"command":"rm","cwd":"/"}})"));
  EXPECT_EQ(listener.lines.back(), R"(permission c bash {"command":"rm","description":"d"})");
}

TEST(Acp, A_session_below_the_agents_own_is_asked_for_and_reported_as_a_subagent) {
  auto listener = begun(assignment("acp"));
  listener.feed(update(R"({"sessionUpdate":"tool_call","toolCallId":"c","title":"bash","rawInput":{"command":"ls"}})"));
  listener.lines.clear();
  listener.feed(asked("child", R"({"toolCallId":"c","title":"bash"})"));
  listener.feed(R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"child","update":)"
                R"({"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}}})"
                "\n");
  EXPECT_EQ(listener.lines, (Lines{"running child/c bash {} of child", "permission child/c bash {} of child",
                                   "ended child/c of child"}))
      << "its calls are not those of the agent, whatever their ids";
  EXPECT_EQ(listener.sent.back(),
            R"({"jsonrpc":"2.0","id":"q","result":{"outcome":{"outcome":"selected","optionId":"yes"}}})");
}

TEST(Acp, An_interrupt_answers_what_is_still_asked) {
  auto listener = begun(assignment("acp"));
  listener.permission.kind = Answer::Kind::defer;
  listener.feed(R"({"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"s",)"
                R"("toolCall":{"toolCallId":"c","title":"bash"},"options":[]}})"
                "\n");
  listener.dialect().interrupt();
  EXPECT_EQ(listener.dialect().take_output(),
            R"({"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}})"
            "\n"
            R"({"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"cancelled"}}})"
            "\n");
}

TEST(Acp, Files_and_terminals_of_ours_are_refused_and_foreign_sessions_ignored) {
  auto listener = begun(assignment("acp"));
  listener.feed(R"({"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"path":"/etc/passwd"}})"
                "\n"
                R"({"jsonrpc":"2.0","id":"skills-reload","result":{}})"
                "\n"
                R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":)"
                R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}})"
                "\n");
  EXPECT_EQ(listener.lines, Lines{});
  EXPECT_EQ(listener.sent, std::deque<std::string>{R"({"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":)"
                                                   R"("Method not found: fs/read_text_file"}})"});
}

TEST(Acp, Values_of_other_types_are_taken_for_missing) {
  auto listener = begun(grok());
  for (const std::string body : {R"({"sessionUpdate":7})", R"({"sessionUpdate":"agent_message_chunk","content":[1]})",
                                 R"({"sessionUpdate":"tool_call","toolCallId":{}})",
                                 R"({"sessionUpdate":"plan","entries":[3,null]})", "[]", "1"})
    listener.feed(update(body));
  listener.feed("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":[]}\n");
  EXPECT_EQ(listener.lines, Lines{R"(custom grok-build.todo {"todos":[{"content":"","status":""},)"
                                  R"({"content":"","status":""}]})"});
}

TEST(Acp, A_program_that_prints_nothing_has_failed) {
  Listener silent(assignment("acp"));
  silent.end("exit code 127", "agent: not found");
  EXPECT_EQ(silent.lines, Lines{"failed agent-failed The agent program ended before it took up its work (exit "
                                "code 127). Its last words: agent: not found"});
}

}  // namespace acp_test
}  // namespace sluice::harness
