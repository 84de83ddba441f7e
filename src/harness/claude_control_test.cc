// What Claude Code asks, and what it is answered: permissions, deferred calls, tools of the host (H-6), interrupts.
#include "harness/claude_fixture.h"
#include "harness/json_line.h"

namespace sluice::harness {
namespace claude_control_test {

using namespace claude_fixture;

std::string request(std::string_view id, std::string_view body) {
  return R"({"type":"control_request","request_id":")" + std::string(id) + R"(","request":)" + std::string(body) +
         "}\n";
}
std::string hook(std::string_view id, std::string_view call, std::string_view agent = "") {
  return request(id, R"({"subtype":"hook_callback","callback_id":"sluice-before-call","input":{"tool_name":"Bash",)"
                     R"("tool_input":{"command":"ls"},"agent_id":")" +
                         std::string(agent) + R"(","tool_use_id":")" + std::string(call) + R"("}})");
}
std::string permission(std::string_view id, std::string_view call, std::string_view tool = "Bash") {
  return request(id, R"({"subtype":"can_use_tool","input":{"command":"ls"},"tool_name":")" + std::string(tool) +
                         R"(","tool_use_id":")" + std::string(call) + R"("})");
}
std::string rpc(std::string_view message) {
  return request("r", R"({"subtype":"mcp_message","server_name":"sluice","message":)" + std::string(message) + "}");
}

// The answers that were written, without what surrounds them: "R {…}".
Lines answers_in(const std::string& output) {
  Lines found;
  LineSplitter lines;
  for (const auto& line : lines.feed(output)) {
    const auto document = json::Document::parse(line);
    EXPECT_TRUE(document) << line;
    const auto response = value_in(document.value().root(), "response");
    if (text_in(document.value().root(), "type") != "control_response") continue;
    const auto body = response.find("response").value_or(value_in(response, "error"));
    found.push_back(std::string(text_in(response, "request_id")) + " " + body.to_text());
  }
  EXPECT_EQ(lines.rest(), "");
  return found;
}
std::string decision(std::string_view id, std::string_view word, std::string_view why = "") {
  std::string out = std::string(id) + R"( {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":")";
  out += std::string(word) + "\"";
  if (!why.empty()) out += R"(,"permissionDecisionReason":")" + std::string(why) + "\"";
  return out + "}}";
}
Answer defer(const Heard&) { return {Answer::Kind::defer}; }

TEST(ClaudeControl, It_is_set_up_and_then_gets_the_prompt) {
  auto to = asking();
  to.system_prompt = "Be \"kind\".";
  to.tools = {{"lookup", "", "{}"}};
  EXPECT_EQ(make_claude(to)->opening(),
            R"({"type":"control_request","request_id":"sluice-initialize","request":{"subtype":"initialize",)"
            R"("hooks":{"PreToolUse":[{"matcher":"*","hookCallbackIds":["sluice-before-call"],"timeout":2000000}]},)"
            R"("sdkMcpServers":["sluice"],"appendSystemPrompt":"Be \"kind\"."}})"
            "\n"
            R"({"type":"user","message":{"role":"user","content":[{"type":"text","text":"go"}]},)"
            R"("parent_tool_use_id":null,"session_id":""})"
            "\n");
}

TEST(ClaudeControl, Without_a_prompt_it_only_continues) {
  auto to = assignment();
  to.prompt = "";
  EXPECT_EQ(make_claude(to)->opening(),
            R"({"type":"control_request","request_id":"sluice-initialize","request":{"subtype":"initialize"}})"
            "\n");
}

TEST(ClaudeControl, Every_call_is_asked_about_and_waits_with_the_process) {
  Listener listener(asking());
  listener.feed_lines(recorded("permission"));
  EXPECT_EQ(listener.lines_of("permission"),
            Lines{R"(permission toolu_1_1 Bash {"command":"touch A","description":"d"} #1)"});
  const auto answers = answers_in(listener.output);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_TRUE(answers[0].ends_with(R"("permissionDecision":"ask"}})"));
  EXPECT_TRUE(answers[1].ends_with(R"( {"behavior":"allow","updatedInput":{"command":"touch A","description":"d"}})"));
  EXPECT_EQ(listener.lines_of("ended"), Lines{"ended toolu_1_1 (Bash completed with no output)"});
  EXPECT_EQ(listener.lines.back(), "finished");
}

TEST(ClaudeControl, A_refusal_comes_with_its_words) {
  Listener listener(asking());
  listener.answers = [](const Heard&) { return Answer{Answer::Kind::deny, "The policy says \"no\"\xff"}; };
  listener.feed(permission("p", "t"));
  EXPECT_EQ(answers_in(listener.output), Lines{R"(p {"behavior":"deny","message":"The policy says \"no\"?"})"});
}

TEST(ClaudeControl, A_question_to_the_human_is_a_permission) {
  Listener listener(asking());
  listener.feed_lines(recorded("question"));
  ASSERT_EQ(listener.lines_of("permission").size(), 1U);
  EXPECT_TRUE(listener.lines_of("permission")[0].starts_with("permission toolu_1_0 AskUserQuestion {\"questions\":"));
}

TEST(ClaudeControl, Who_is_not_asked_allows_everything) {
  Listener listener(assignment());
  listener.feed(permission("p", "t"));
  EXPECT_EQ(listener.lines, Lines{});
  EXPECT_EQ(answers_in(listener.output), Lines{R"(p {"behavior":"allow","updatedInput":{"command":"ls"}})"});
}

TEST(ClaudeControl, A_call_is_deferred_and_the_program_ends) {
  Listener listener(asking(true));
  listener.answers = defer;
  listener.feed_lines(recorded("deferred"));
  EXPECT_EQ(listener.lines.back(), R"(deferred toolu_1_1 Bash {"command":"touch A","description":"d"})");
  EXPECT_TRUE(listener.dialect->is_done_writing());
  listener.end();
  const auto answers = answers_in(listener.output);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_TRUE(answers[0].ends_with(R"("permissionDecision":"defer"}})"));
  // The second of two would make the program forget the first.
  EXPECT_NE(answers[1].find(R"("permissionDecision":"deny","permissionDecisionReason":"Another call waits)"),
            std::string::npos);
}

TEST(ClaudeControl, A_deferred_call_is_asked_about_again_and_runs) {
  auto to = asking(true);
  to.prompt = "";
  to.session_id = "6b3bc1d1-3395-4a5c-bce9-deb182549826";
  Listener listener(to);
  listener.feed_lines(recorded("deferred-resumed"));
  const std::string call = R"(toolu_1_1 Bash {"command":"touch A","description":"d"})";
  EXPECT_EQ(listener.lines,
            (Lines{"session " + *to.session_id, "running " + call, "permission " + call + " #1",
                   "ended toolu_1_1 (Bash completed with no output)", "text Resumed.", "usage 123/20", "finished"}));
}

TEST(ClaudeControl, A_subagents_call_cannot_be_deferred) {
  Listener listener(asking(true));
  listener.answers = [](const Heard& heard) {
    return Answer{heard.call.name == "Task" ? Answer::Kind::allow : Answer::Kind::defer};
  };
  listener.feed_lines(recorded("subagent-asks"));
  EXPECT_EQ(listener.lines_of("permission").back(),
            R"(permission toolu_2_2 Bash {"command":"touch S; echo subout","description":"d"} #2 of toolu_1_1)");
  EXPECT_NE(answers_in(listener.output)[1].find("a subagent cannot wait"), std::string::npos);
  EXPECT_EQ(listener.lines.back(), "finished");
}

TEST(ClaudeControl, A_call_that_the_hook_was_allowed_is_not_asked_about_again) {
  Listener listener(asking(true));
  listener.feed_lines(hook("h", "t") + permission("p", "t") + permission("q", "other"));
  EXPECT_EQ(listener.lines_of("permission").size(), 2U);
  EXPECT_EQ(answers_in(listener.output)[0], decision("h", "allow"));
  EXPECT_EQ(answers_in(listener.output)[1], R"(p {"behavior":"allow","updatedInput":{"command":"ls"}})");
}

TEST(ClaudeControl, What_cannot_be_deferred_is_refused) {
  Listener listener(asking(true));
  listener.answers = defer;
  listener.feed(permission("p", "t"));
  EXPECT_TRUE(answers_in(listener.output)[0].starts_with(R"(p {"behavior":"deny",)"));
}

TEST(ClaudeControl, A_question_that_is_withdrawn_is_answered_no_more) {
  Listener listener(asking());
  listener.answers = nullptr;
  listener.feed(permission("p", "t"));
  listener.feed("{\"type\":\"control_cancel_request\",\"request_id\":\"other\"}\n");
  listener.feed("{\"type\":\"control_cancel_request\",\"request_id\":\"p\"}\n");
  EXPECT_EQ(listener.lines.back(), R"(withdrawn t Bash {"command":"ls"} #1)");
  listener.dialect->answer(1, {Answer::Kind::allow});
  listener.dialect->answer(77, {Answer::Kind::allow});
  EXPECT_EQ(listener.dialect->take_output(), "");
}

TEST(ClaudeControl, A_question_is_answered_once) {
  Listener listener(asking());
  listener.feed(permission("p", "t"));
  listener.dialect->answer(1, {Answer::Kind::deny, "late"});
  EXPECT_EQ(listener.dialect->take_output(), "");
}

TEST(ClaudeControl, It_does_not_ask_without_end) {
  Listener listener(asking());
  listener.answers = nullptr;
  for (int i = 0; i < 300; ++i) listener.feed(permission("p" + std::to_string(i), "t"));
  EXPECT_EQ(listener.lines_of("permission").size(), 256U);
  EXPECT_EQ(answers_in(listener.output).size(), 44U);
}

TEST(ClaudeControl, Tools_of_the_host_are_called_over_its_own_channel_and_never_asked_about) {
  auto to = asking();
  to.tools = {{"lookup", "", "{}"}, {"other", "", "{}"}};
  Listener listener(to);
  listener.feed_lines(recorded("host-tools"));
  EXPECT_EQ(listener.lines_of("permission"), Lines{});
  EXPECT_EQ(listener.lines_of("host call"),
            (Lines{R"(host call toolu_1_0 lookup {"key":"k"} #1)", R"(host call toolu_1_1 other {"k":"v"} #2)"}));
  EXPECT_EQ(listener.lines_of("running"),
            (Lines{R"(running toolu_1_0 lookup {"key":"k"})", R"(running toolu_1_1 other {"k":"v"})"}));
  EXPECT_EQ(listener.lines_of("ended"), (Lines{"ended toolu_1_0 host answer", "ended toolu_1_1 host answer"}));
}

TEST(ClaudeControl, It_is_a_server_of_tools) {
  auto to = assignment();
  to.tools = {{"a", "Does \"a\".", R"({"properties":{"x":{}},"type":"object"})"}, {"b", "", "{}"}, {"c", "", "oops"}};
  Listener listener(to);
  listener.answers = [](const Heard&) { return Answer{Answer::Kind::result, "gone wrong", true}; };
  listener.feed(rpc(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})"));
  listener.feed(rpc(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
  listener.feed(rpc(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"));
  listener.feed(rpc(R"({"jsonrpc":"2.0","id":"x","method":"resources/list"})"));
  listener.feed(rpc(R"({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","arguments":{"x":1}}})"));
  EXPECT_EQ(
      answers_in(listener.output),
      (Lines{R"(r {"mcp_response":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25",)"
             R"("capabilities":{"tools":{}},"serverInfo":{"name":"sluice","version":"1"}}}})",
             R"(r {"mcp_response":{"jsonrpc":"2.0","id":0,"result":{}}})",
             R"(r {"mcp_response":{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"Does \"a\".",)"
             R"("inputSchema":{"type":"object","properties":{"x":{}}}},)"
             R"({"name":"b","description":"","inputSchema":{"type":"object"}},)"
             R"({"name":"c","description":"","inputSchema":{"type":"object"}}]}}})",
             R"(r {"mcp_response":{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"Method not found"}}})",
             R"(r {"mcp_response":{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"gone wrong"}],)"
             R"("isError":true}}})"}));
}

TEST(ClaudeControl, An_interrupt_is_asked_for_once_and_ends_the_turn) {
  Listener listener(asking());
  listener.answers = nullptr;
  listener.dialect->interrupt();
  listener.dialect->interrupt();
  EXPECT_EQ(listener.dialect->take_output(),
            R"({"type":"control_request","request_id":"sluice-interrupt","request":{"subtype":"interrupt"}})"
            "\n");
  listener.feed_lines(recorded("interrupted-while-asking"));
  EXPECT_EQ(listener.lines_of("withdrawn").size(), 1U);
  EXPECT_EQ(listener.lines_of("ended").size(), 1U);
  EXPECT_EQ(listener.lines.back(), "failed run-cancelled Claude Code was interrupted.");
  listener.dialect->interrupt();
  EXPECT_EQ(listener.dialect->take_output(), "");
}

TEST(ClaudeControl, An_interrupted_turn_reports_no_usage_but_had_one) {
  Listener listener(assignment());
  listener.dialect->interrupt();
  listener.feed_lines(recorded("interrupted"));
  EXPECT_EQ(listener.lines_of("usage"), Lines{"usage 123/1"});
  EXPECT_EQ(listener.last.slug, model::Slug::run_cancelled);
}

TEST(ClaudeControl, Unknown_requests_are_refused) {
  Listener listener(asking());
  listener.feed(request("r", R"({"subtype":"elicitation"})"));
  EXPECT_EQ(answers_in(listener.output), Lines{R"(r "Sluice does not know the request elicitation.")"});
}

TEST(ClaudeControl, Without_its_hooks_it_must_not_run) {
  Listener listener(asking());
  listener.feed(R"({"type":"control_response","response":{"subtype":"error","request_id":"sluice-initialize",)"
                R"("error":"bad hooks"}})"
                "\n");
  EXPECT_EQ(listener.lines, Lines{"failed agent-misconfigured Claude Code refused to be set up: bad hooks"});
  EXPECT_TRUE(listener.dialect->is_done_writing());
}

}  // namespace claude_control_test
}  // namespace sluice::harness
