#include "harness/codex_items.h"
#include "harness/dialogue_fixture.h"

namespace sluice::harness {
namespace codex_test {

using namespace dialogue_fixture;

Assignment assignment() {
  Assignment assignment;
  assignment.agent_type = "codex";
  assignment.program = "/opt/harness/codex/codex";
  assignment.model = {"openai-responses", "gpt-5.5-codex", "https://api.openai.com/v1", "{{secret:SLUICE_MODEL_KEY}}"};
  assignment.prompt = "go";
  return assignment;
}

Assignment asking() {
  auto asks = assignment();
  asks.asks = true;
  return asks;
}

Assignment with_tool() {
  auto has = asking();
  has.tools = {{"host_number", "Gives the host number", R"({"type":"object","properties":{"n":{"type":"integer"}}})"}};
  return has;
}

Lines reported(const Assignment& assignment, const std::string& name, Answer::Kind permission = Answer::Kind::allow) {
  Listener listener(assignment);
  listener.permission.kind = permission;
  listener.play(recorded("codex", name));
  EXPECT_TRUE(listener.dialect().is_done_writing());
  return listener.lines;
}

TEST(Codex, A_command_is_reported_with_its_script_its_output_and_its_exit_code) {
  auto terse = assignment();
  terse.system_prompt = "Be brief.";
  auto lines = reported(terse, "shell");
  lines.resize(6);
  EXPECT_EQ(
      lines,
      (Lines{
          "session id-1",
          "text I will run it.",
          R"(running call_1 command_execution {"command":"echo hi; sleep 1; echo ho; exit 3","cwd":"/workspace"})",
          "output call_1 ho\n",
          "ended call_1 failed: hi\nho\n(exit code 3)",
          "usage 100/20",
      }));
}

TEST(Codex, A_resumed_thread_reports_only_the_tokens_of_this_turn) {
  auto resumes = asking();
  resumes.session_id = "id-1";
  EXPECT_EQ(reported(resumes, "resumed"),
            (Lines{
                "session id-1",
                "text I will run it.",
                R"(running call_1 command_execution {"command":"echo hi","cwd":"/workspace"})",
                R"(permission call_1 command_execution {"command":"echo hi","cwd":"/workspace"})",
                "ended call_1 hi\n",
                "usage 100/20",
                "text Tool said: Chunk ID: 032ced\nWall time: 0.0000 seconds\nProcess exited with code 0\n"
                "Original token count: 1\nOutput:\nhi\n Done.",
                "usage 200/40",
                "finished",
            }));
}

TEST(Codex, What_is_declined_ends_as_failed_and_the_turn_continues) {
  const auto lines = reported(asking(), "denied", Answer::Kind::deny);
  EXPECT_EQ(lines.at(4), "ended call_1 failed: declined");
  EXPECT_EQ(lines.back(), "finished");
}

TEST(Codex, A_change_of_files_is_asked_for_with_its_paths) {
  const std::string change =
      R"(call_1 file_change {"changes":[{"path":"/workspace/n.txt","kind":"add","diff":"hello\n"}]})";
  const auto lines = reported(asking(), "patch");
  EXPECT_EQ(lines.at(2), "running " + change);
  EXPECT_EQ(lines.at(3), "permission " + change);
  EXPECT_EQ(lines.at(4), "ended call_1");
}

TEST(Codex, A_tool_of_the_host_is_called_over_its_own_channel_and_reported_once) {
  EXPECT_EQ(reported(with_tool(), "host-call"), (Lines{
                                                    "session id-1",
                                                    "text Calling.",
                                                    R"(running call_1 host_number {"n":3})",
                                                    R"(host call call_1 host_number {"n":3})",
                                                    "ended call_1 host says 7",
                                                    "usage 100/20",
                                                    "text Tool said: host says 7 Done.",
                                                    "usage 200/40",
                                                    "finished",
                                                }));
}

TEST(Codex, A_tool_of_the_host_behind_the_bridge_has_its_own_name_and_is_not_asked_for_here) {
  auto bridged = with_tool();
  bridged.model.name = "some-model";
  bridged.bridge_url = "http://127.0.0.1:8080/mcp";
  auto lines = reported(bridged, "mcp");
  EXPECT_EQ(lines.at(3), R"(running call_1 host_number {"n":3})");
  EXPECT_EQ(lines.at(4), R"(ended call_1 bridge says {"n": 3})");
}

TEST(Codex, Reasoning_is_reported_apart_from_the_answer) {
  const auto lines = reported(assignment(), "reasoning");
  EXPECT_EQ(lines.at(1), "reasoning Let me think.");
  EXPECT_EQ(lines.at(2), "text Thought.");
}

TEST(Codex, Text_that_is_repeated_after_a_broken_stream_is_not_reported_twice) {
  auto lines = reported(assignment(), "text-after-a-cut");
  EXPECT_EQ(lines.at(1), "text Partial answer");
  EXPECT_TRUE(lines.at(2).starts_with("log warn Reconnecting... 1/3: stream disconnected")) << lines.at(2);
  EXPECT_EQ(lines.at(3), "text , whole.");
  lines = reported(assignment(), "other-text-after-a-cut");
  EXPECT_EQ(lines.at(3), "replaced 8");
  EXPECT_EQ(lines.at(4), "text reply, whole.");
}

TEST(Codex, A_failure_is_reported_by_its_class) {
  EXPECT_EQ(reported(assignment(), "server-error").back(),
            "failed model-error Codex failed: We’re currently experiencing high demand, which may cause temporary "
            "errors.");
  EXPECT_EQ(reported(assignment(), "rate-limited").back(),
            "failed model-error Codex failed: exceeded retry limit, last status: 429 Too Many Requests");
  EXPECT_TRUE(reported(assignment(), "unauthorized").back().starts_with("failed agent-misconfigured Codex failed: "));
}

TEST(Codex, An_interrupted_turn_ends_as_cancelled) {
  EXPECT_EQ(reported(assignment(), "interrupted").back(), "failed run-cancelled Codex was interrupted.");
}

TEST(Codex, A_session_that_is_not_there_is_named) {
  auto resumes = assignment();
  resumes.session_id = "id-1";
  EXPECT_EQ(reported(resumes, "no-such-session"),
            Lines{"failed agent-misconfigured Codex cannot go on with the session id-1: no rollout found for thread "
                  "id id-1"});
}

TEST(Codex, It_reports_the_same_however_its_bytes_are_cut) {
  for (const auto& name : recorded_names("codex")) {
    SCOPED_TRACE(name);
    expect_same_however_cut(with_tool(), {Answer::Kind::allow}, printed(recorded("codex", name)));
  }
}

TEST(Codex, It_reports_an_end_however_its_bytes_are_broken) {
  for (const auto& name : recorded_names("codex")) {
    SCOPED_TRACE(name);
    expect_end_however_broken(with_tool(), printed(recorded("codex", name)));
  }
}

TEST(Codex, A_program_that_prints_nothing_or_stops_in_a_line_has_failed) {
  Listener silent(assignment());
  silent.end("exit code 127", "\x1b[31mcodex: not found\x1b[0m\xff");
  EXPECT_EQ(silent.lines, Lines{"failed agent-failed The agent program ended before it took up its work (exit "
                                "code 127). Its last words: codex: not found?"});
  Listener cut(assignment());
  const auto bytes = printed(recorded("codex", "reasoning"));
  cut.feed(std::string_view(bytes).substr(0, bytes.size() - 3));
  cut.end("signal 9");
  EXPECT_EQ(cut.lines.back(), "failed agent-failed The agent program ended in the middle of its work (signal 9)");
}

// Begins a turn of the thread "t" in which nothing has been said yet.
Listener begun(const Assignment& assignment) {
  Listener listener(assignment);
  listener.feed("{\"id\":1,\"result\":{}}\n{\"id\":2,\"result\":{\"thread\":{\"id\":\"t\"}}}\n");
  listener.feed("{\"id\":3,\"result\":{\"turn\":{\"id\":\"u\"}}}\n");
  listener.lines.clear();
  listener.sent.clear();
  return listener;
}

TEST(Codex, Garbage_is_warned_of_but_not_without_end) {
  auto listener = begun(assignment());
  listener.feed("hello\n[1]\n{\"id\":9}\n");
  EXPECT_EQ(listener.lines, (Lines{"log warn The program printed a line that is not JSON: hello",
                                   "log warn The program printed a line that is no message of JSON-RPC: [1]",
                                   "log warn The program printed a line that is no message of JSON-RPC: {\"id\":9}"}));
  for (int i = 0; i < 1000; ++i) listener.feed("hello\n");
  EXPECT_EQ(listener.lines.size(), 32U);
}

TEST(Codex, Requests_it_does_not_know_are_refused_and_answers_to_nothing_ignored) {
  auto listener = begun(assignment());
  listener.feed(R"({"id":"x","method":"item/tool/requestUserInput","params":{}})"
                "\n{\"id\":77,\"result\":{}}\n{\"id\":\"y\",\"error\":{\"message\":\"no\"}}\n");
  EXPECT_EQ(listener.lines, Lines{});
  EXPECT_EQ(listener.sent, std::deque<std::string>{R"({"id":"x","error":{"code":-32601,"message":)"
                                                   R"("Method not found: item/tool/requestUserInput"}})"});
}

TEST(Codex, A_plan_is_reported_as_todos) {
  auto listener = begun(assignment());
  listener.feed(R"({"method":"turn/plan/updated","params":{"threadId":"t","plan":[{"step":"one","status":"completed"},)"
                R"({"step":"two","status":"inProgress"}]}})"
                "\n");
  EXPECT_EQ(listener.lines, Lines{R"(custom codex.todo {"todos":[{"content":"one","status":"completed"},)"
                                  R"({"content":"two","status":"in_progress"}]})"});
}

TEST(Codex, A_subagent_is_reported_apart) {
  auto unknown = assignment();
  unknown.model.name = "some-model";
  auto lines = reported(unknown, "subagent");
  std::erase_if(lines, [](const auto& line) { return line.starts_with("log ") || line.starts_with("usage "); });
  EXPECT_EQ(lines, (Lines{"session id-1", "text Calling.", R"(running call_1 spawn_agent {"prompt":"say hi"})",
                          "subagent began call_1 say hi of id-3", "ended call_1", "text Calling.",
                          "text Hello of id-3 there.", "subagent ended of id-3", "text Hello there.", "finished"}));
}

TEST(Codex, What_it_says_of_threads_that_are_not_its_own_is_ignored) {
  auto listener = begun(assignment());
  listener.feed(R"({"method":"item/agentMessage/delta","params":{"threadId":"other","itemId":"m","delta":"lost"}})"
                "\n");
  EXPECT_EQ(listener.lines, Lines{});
}

TEST(Codex, A_call_is_reported_once_whatever_is_said_of_it_after_its_end) {
  auto listener = begun(with_tool());
  const std::string item = R"({"threadId":"t","item":{"type":"commandExecution","id":"c","command":"ls"}}})";
  const std::string started = R"({"method":"item/started","params":)" + item + "\n";
  const std::string completed = R"({"method":"item/completed","params":)" + item + "\n";
  const std::string output = R"({"method":"item/commandExecution/outputDelta","params":{"threadId":"t","itemId":)";
  listener.feed(started + output + "\"c\",\"delta\":\"a\"}}\n" + completed);
  listener.feed(started + output + "\"c\",\"delta\":\"b\"}}\n" + completed);
  listener.feed(output + "\"never\",\"delta\":\"b\"}}\n");
  listener.feed(R"({"id":5,"method":"item/commandExecution/requestApproval","params":{"itemId":"c","command":"ls"}})"
                "\n");
  const std::string call = R"(c command_execution {"command":"ls"})";
  EXPECT_EQ(listener.lines, (Lines{"running " + call, "output c a", "ended c", "permission " + call}));
}

TEST(Codex, Calls_beyond_the_bound_are_not_reported_and_one_warning_says_so) {
  auto listener = begun(assignment());
  for (int call = 0; call < 10'003; ++call) {
    const std::string item = R"({"threadId":"t","item":{"type":"commandExecution","id":"c)" + std::to_string(call) +
                             R"(","command":"ls"}}})";
    listener.feed(R"({"method":"item/completed","params":)" + item + "\n");
  }
  ASSERT_EQ(listener.lines.size(), 20'001U);
  EXPECT_EQ(listener.lines.back(),
            "log warn The agent program made more than 10000 calls; the others are not reported.");
}

TEST(Codex, Nothing_is_said_after_the_end) {
  auto listener = begun(assignment());
  listener.feed(R"({"method":"turn/completed","params":{"threadId":"t","turn":{"status":"completed"}}})"
                "\nnot JSON\n");
  listener.feed("not JSON\n{\"method\":\"warning\",\"params\":{\"message\":\"late\"}}\n");
  listener.end();
  listener.end();
  EXPECT_EQ(listener.lines, Lines{"finished"});
}

TEST(Codex, A_question_that_is_resolved_elsewhere_is_withdrawn) {
  Listener listener = begun(asking());
  listener.permission.kind = Answer::Kind::defer;
  listener.feed(R"({"id":5,"method":"item/commandExecution/requestApproval","params":{"itemId":"c","command":"ls"}})"
                "\n"
                R"({"method":"serverRequest/resolved","params":{"threadId":"t","requestId":5}})"
                "\n");
  EXPECT_EQ(listener.lines, (Lines{R"(permission c command_execution {"command":"ls"})", "withdrawn"}));
  EXPECT_TRUE(listener.sent.empty());
}

TEST(Codex, A_foreign_server_of_tools_is_asked_for_and_other_questions_of_it_are_declined) {
  Listener listener = begun(asking());
  listener.feed(R"({"method":"item/started","params":{"threadId":"t","item":{"type":"mcpToolCall","id":"c",)"
                R"("server":"docs","tool":"find","arguments":{"q":1}}}})"
                "\n"
                R"({"id":5,"method":"mcpServer/elicitation/request","params":{"serverName":"docs","_meta":)"
                R"({"codex_approval_kind":"mcp_tool_call","tool_params":{"q":1}}}})"
                "\n"
                R"({"id":6,"method":"mcpServer/elicitation/request","params":{"serverName":"docs","message":"Name?"}})"
                "\n");
  EXPECT_EQ(listener.lines, (Lines{R"(running c docs__find {"q":1})", R"(permission c docs__find {"q":1})"}));
  EXPECT_EQ(listener.sent,
            (std::deque<std::string>{R"({"id":6,"result":{"action":"decline"}})",
                                     R"({"id":5,"result":{"action":"accept","content":{},"_meta":null}})"}));
}

TEST(Codex, An_interrupt_before_the_turn_keeps_it_from_beginning) {
  Listener listener(assignment());
  listener.dialect().interrupt();
  listener.feed("{\"id\":1,\"result\":{}}\n{\"id\":2,\"result\":{\"thread\":{\"id\":\"t\"}}}\n");
  EXPECT_EQ(listener.lines, (Lines{"session t", "failed run-cancelled Codex was interrupted."}));
}

TEST(Codex, The_script_of_a_shell_is_taken_out_of_its_quotes) {
  EXPECT_EQ(script_in("/bin/bash -lc 'echo hi; ls'"), "echo hi; ls");
  EXPECT_EQ(script_in("/bin/bash -lc ls"), "ls");
  EXPECT_EQ(script_in(R"(bash -c "echo \"it's\"")"), R"(echo "it's")");
  EXPECT_EQ(script_in(R"(/bin/sh -c 'a '\''b'\''')"), "a 'b'");
  EXPECT_EQ(script_in("git status --short"), "git status --short");
  EXPECT_EQ(script_in(R"(bash -c "a\b \$c")"), R"(a\b $c)");
  EXPECT_EQ(script_in("bash -lc 'unended"), "bash -lc 'unended");
  EXPECT_EQ(script_in(""), "");
}

}  // namespace codex_test
}  // namespace sluice::harness
