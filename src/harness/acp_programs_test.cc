// What single programs say beside the Agent Client Protocol, or in their own way: H-1, H-6.
#include "harness/acp_fixture.h"

namespace sluice::harness {
namespace acp_programs_test {

using namespace acp_fixture;

TEST(OpenCode, An_answer_that_is_said_again_after_a_broken_stream_replaces_what_was_said_of_it) {
  auto listener = begun(opencode());
  const auto chunk = [&](std::string_view text) {
    listener.feed(update(R"({"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":")" +
                         std::string(text) + R"("}})"));
  };
  const auto retry = [&](std::string_view session) {
    listener.feed(R"({"jsonrpc":"2.0","method":"_sluice/retry","params":{"sessionId":")" + std::string(session) +
                  R"(","update":{"sessionUpdate":"retry","reason":"overloaded"}}})"
                  "\n");
  };
  chunk("Half an ans");
  retry("s");
  chunk("The answer.");
  retry("another");
  EXPECT_EQ(listener.lines, (Lines{"text Half an ans", "log warn The model is asked again: overloaded", "replaced 0",
                                   "text The answer."}));
}

TEST(OpenCode, The_directory_that_it_adds_to_a_command_is_not_part_of_the_call) {
  auto listener = begun(opencode());
  listener.feed(update(
      R"({"sessionUpdate":"tool_call","toolCallId":"c","title":"bash","status":"pending","rawInput":{"cwd":"/workspace"}})"));
  listener.feed(update(R"({"sessionUpdate":"tool_call_update","toolCallId":"c","title":"ls","status":"in_progress",)"
                       R"("rawInput":{"command":"ls","workdir":"/tmp","cwd":"/tmp"}})"));
  listener.feed(update(R"({"sessionUpdate":"tool_call_update","toolCallId":"d","title":"other","status":"in_progress",)"
                       R"("rawInput":{"cwd":"/its/own"}})"));
  EXPECT_EQ(listener.lines,
            (Lines{R"(running c bash {"command":"ls","workdir":"/tmp"})", R"(running d other {"cwd":"/its/own"})"}));
}

TEST(Acp, A_tool_of_the_host_that_is_reached_through_another_tool_is_named_after_itself) {
  auto listener = begun(bridged(assignment("acp")));
  listener.feed(update(R"({"sessionUpdate":"tool_call","toolCallId":"c","status":"pending","title":"ToolCall",)"
                       R"("kind":"other","rawInput":{},"_meta":{"toolName":"tool_call"}})"));
  listener.feed(asked("s",
                      R"({"toolCallId":"c","status":"pending","title":"{\"n\":1}","kind":"other","rawInput":{"n":1},)"
                      R"("_meta":{"toolName":"mcp__sluice__host_number"}})"));
  listener.feed(update(R"({"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed",)"
                       R"("_meta":{"toolName":"mcp__sluice__host_number"},"rawOutput":"41"})"));
  EXPECT_EQ(listener.lines, (Lines{R"(running c host_number {"n":1})", "ended c 41"}));
}

}  // namespace acp_programs_test
}  // namespace sluice::harness
