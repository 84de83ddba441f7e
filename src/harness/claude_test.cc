// What Claude Code said in recorded dialogues, and what it might say (H-1, H-2).
#include "harness/claude_fixture.h"

#include <algorithm>

namespace sluice::harness {
namespace claude_test {

using namespace claude_fixture;

constexpr std::string_view dialogues[] = {"bash",
                                          "cut",
                                          "deferred-resumed",
                                          "deferred",
                                          "denied",
                                          "host-tools",
                                          "interrupted",
                                          "interrupted-while-asking",
                                          "no-such-session",
                                          "permission",
                                          "question",
                                          "server-error",
                                          "subagent-asks",
                                          "subagent",
                                          "text",
                                          "todo",
                                          "unauthorized"};

const std::string session = "session 6b3bc1d1-3395-4a5c-bce9-deb182549826";

Lines reported(const std::string& name, const Assignment& to = assignment()) {
  Listener listener(to);
  listener.feed(recorded(name));
  listener.end();
  return listener.lines;
}

std::string stream(std::string_view event) {
  return R"({"type":"stream_event","parent_tool_use_id":null,"event":)" + std::string(event) + "}\n";
}
std::string message_start(std::string_view id) {
  return stream(R"({"type":"message_start","message":{"id":")" + std::string(id) + R"("}})");
}
std::string text_delta(std::string_view text) {
  return stream(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":")" + std::string(text) +
                R"("}})");
}
std::string whole(std::string_view id, std::string_view blocks) {
  return R"({"type":"assistant","parent_tool_use_id":null,"message":{"id":")" + std::string(id) + R"(","content":[)" +
         std::string(blocks) + "]}}\n";
}
const char* const done = "{\"type\":\"result\",\"is_error\":false}\n";

TEST(Claude, Text_and_thinking_are_reported_as_they_come) {
  EXPECT_EQ(reported("text"), (Lines{session, "reasoning Let me think about it.", "text Hello from the model.",
                                     "usage 123/20", "finished"}));
}

TEST(Claude, A_call_is_reported_as_it_is_written_when_it_runs_and_when_it_ends) {
  const std::string arguments = R"({"command":"echo hi; touch A","description":"d"})";
  EXPECT_EQ(reported("bash"), (Lines{session, "text Running.", "began toolu_1_1 Bash",
                                     R"(piece toolu_1_1 {"command": "echo hi; touch A", "description": "d"})",
                                     "running toolu_1_1 Bash " + arguments, "usage 123/20", "ended toolu_1_1 hi",
                                     "text Done.", "usage 246/40", "finished"}));
}

// Fed in pieces of 1 to `size_max` bytes.
Lines told_in_pieces(const std::string& bytes, const Assignment& to, std::size_t size_max) {
  Listener listener(to);
  listener.answers = nullptr;
  uint32_t random = 1;
  for (std::size_t at = 0; at < bytes.size();) {
    random = random * 1664525 + 1013904223;
    const std::size_t size = 1 + (random >> 8) % size_max;
    listener.feed(std::string_view(bytes).substr(at, size));
    at += size;
  }
  listener.end();
  return listener.lines;
}

TEST(Claude, Every_dialogue_is_reported_the_same_however_its_bytes_are_cut) {
  for (const auto name : dialogues) {
    const auto bytes = recorded(std::string(name));
    for (const bool may_defer : {false, true}) {
      const auto at_once = told_in_pieces(bytes, asking(may_defer), bytes.size() * 100);
      EXPECT_GE(at_once.size(), 1U);
      EXPECT_EQ(at_once, told_in_pieces(bytes, asking(may_defer), 1)) << name;
      EXPECT_EQ(at_once, told_in_pieces(bytes, asking(may_defer), 700)) << name;
    }
  }
}

TEST(Claude, Every_dialogue_that_breaks_off_ends_in_words_once) {
  for (const auto name : dialogues) {
    const auto bytes = recorded(std::string(name));
    const auto last_line = bytes.rfind("\"type\":\"result\"");
    Listener listener(asking());
    listener.feed(std::string_view(bytes).substr(0, bytes.rfind('\n', last_line) + 1));
    EXPECT_FALSE(listener.is_over) << name;
    listener.end("killed by signal 9", "out of memory");
    EXPECT_TRUE(listener.is_over) << name;
    EXPECT_NE(listener.last.text.find("killed by signal 9"), std::string::npos) << name;
    EXPECT_NE(listener.last.text.find("out of memory"), std::string::npos) << name;
    EXPECT_TRUE(listener.dialect->is_done_writing());
    listener.end();
    listener.feed(bytes);
  }
}

TEST(Claude, An_answer_that_breaks_off_and_is_streamed_anew_takes_the_old_one_back) {
  Listener listener(assignment());
  listener.feed(recorded("cut"));
  EXPECT_EQ(listener.lines_of("text"), (Lines{"text Before.", "text This is a partial answer", "text Whole answer."}));
  EXPECT_EQ(listener.lines_of("replaced"), Lines{"replaced 7"});
  EXPECT_EQ(listener.lines_of("log"),
            Lines{"log The model did not answer. It is asked again in 500 ms, attempt 1 of 4."});
}

TEST(Claude, An_answer_that_breaks_off_and_comes_whole_takes_the_old_one_back) {
  Listener listener(assignment());
  listener.feed(message_start("m1") + text_delta("Kept.") + whole("m1", R"({"type":"text","text":"Kept."})"));
  listener.feed(message_start("m2") + text_delta("Half an ans"));
  listener.feed(whole("m3", R"({"type":"thinking","thinking":"Again."},{"type":"text","text":"The answer."})"));
  listener.feed(done);
  EXPECT_EQ(listener.lines,
            (Lines{"text Kept.Half an ans", "replaced 5", "reasoning Again.", "text The answer.", "finished"}));
}

TEST(Claude, What_was_not_streamed_of_a_block_is_reported_when_it_is_whole) {
  Listener listener(assignment());
  listener.feed(message_start("m1") + text_delta("Hel") + whole("m1", R"({"type":"text","text":"Hello."})"));
  listener.feed(whole("m2", R"({"type":"text","text":" Bye."})"));
  EXPECT_EQ(listener.lines, Lines{"text Hello. Bye."});
}

TEST(Claude, A_todo_list_is_reported_besides_its_call) {
  Listener listener(assignment());
  listener.feed(recorded("todo"));
  EXPECT_EQ(listener.lines_of("custom"),
            Lines{R"(custom claude-code.todo {"todos":[{"content":"a","status":"in_progress"},)"
                  R"({"content":"b","status":"pending"}]})"});
  EXPECT_EQ(listener.lines_of("running").size(), 1U);
}

TEST(Claude, What_a_subagent_says_and_does_is_reported_as_its_own) {
  const auto lines = reported("subagent");
  const auto from = std::ranges::find(lines, "subagent began toolu_1_1 look around of toolu_1_1");
  ASSERT_NE(from, lines.end());
  const Lines news(from + 1, lines.end());
  ASSERT_EQ(news.size(), 12U);
  EXPECT_EQ(Lines(news.begin(), news.begin() + 7),
            (Lines{"usage 123/20", "reasoning sub thinks of toolu_1_1", "text sub says hi of toolu_1_1",
                   R"(running toolu_2_2 Bash {"command":"touch S; echo subout","description":"d"} of toolu_1_1)",
                   "ended toolu_2_2 subout of toolu_1_1", "text sub report of toolu_1_1",
                   "subagent ended toolu_1_1 of toolu_1_1"}));
  EXPECT_TRUE(news[7].starts_with("ended toolu_1_1 "));
  // The last count has the subagent's tokens too.
  EXPECT_EQ(Lines(news.begin() + 8, news.end()), (Lines{"text main done", "usage 246/40", "usage 492/80", "finished"}));
}

TEST(Claude, Failures_are_reported_by_their_class) {
  Listener unauthorized(assignment());
  unauthorized.feed(recorded("unauthorized"));
  EXPECT_EQ(unauthorized.lines.back(),
            "failed agent-misconfigured Claude Code failed: Failed to authenticate. API Error: 401 scripted");
  Listener broken(assignment());
  broken.feed(recorded("server-error"));
  EXPECT_TRUE(broken.lines.back().starts_with("failed model-error Claude Code failed: API Error: 500 scripted."));
  EXPECT_EQ(broken.lines_of("log").size(), 1U);
  EXPECT_EQ(broken.lines_of("text"), Lines{});
  Listener unknown(assignment());
  unknown.feed(recorded("no-such-session"));
  EXPECT_EQ(unknown.lines.back(),
            "failed agent-failed Claude Code failed: No conversation found with session ID: "
            "11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(unknown.lines_of("session"), Lines{}) << "the id in that line is of no session";
}

TEST(Claude, A_failure_without_words_is_reported_by_its_kind) {
  Listener listener(assignment());
  listener.feed(R"({"type":"result","subtype":"error_max_turns","is_error":true})"
                "\n");
  EXPECT_EQ(listener.lines, Lines{"failed model-error Claude Code failed: error_max_turns"});
  EXPECT_TRUE(listener.dialect->is_done_writing());
}

TEST(Claude, Nothing_at_all_is_a_failure) {
  Listener listener(assignment());
  listener.end("exit code 127", "");
  EXPECT_EQ(listener.lines.size(), 1U);
  EXPECT_EQ(listener.last.kind, Kind::failed);
}

TEST(Claude, The_last_line_needs_no_end) {
  Listener listener(assignment());
  listener.feed(R"({"type":"result","is_error":false})");
  EXPECT_FALSE(listener.is_over);
  listener.end();
  EXPECT_EQ(listener.lines, Lines{"finished"});
}

TEST(Claude, Only_the_first_result_counts) {
  Listener listener(assignment());
  listener.feed(std::string(done) +
                R"({"type":"result","is_error":true})"
                "\n" +
                done);
  listener.end("exit code 1");
  EXPECT_EQ(listener.lines, Lines{"finished"});
}

TEST(Claude, Lines_that_cannot_be_read_are_complained_about_but_not_for_ever) {
  Listener listener(assignment());
  for (int i = 0; i < 100; ++i) listener.feed("Segmentation \x1b[31mfault\xff\n[1]\nnull\n\r\n");
  EXPECT_EQ(listener.lines.size(), 10U);
  EXPECT_EQ(listener.lines[0], "log Claude Code printed a line that is not understood: Segmentation fault?");
  listener.feed(done);
  EXPECT_EQ(listener.lines.back(), "finished");
}

TEST(Claude, A_line_without_an_end_is_skipped_and_costs_no_memory) {
  Listener listener(assignment());
  const std::string piece(1024 * 1024, 'x');
  for (int i = 0; i < 50; ++i) listener.feed(piece);
  EXPECT_EQ(listener.lines.size(), 1U);
  EXPECT_EQ(listener.last.level, "warn");
  listener.feed("\n" + std::string(done));
  EXPECT_EQ(listener.lines.back(), "finished");
}

TEST(Claude, Unknown_types_and_members_of_the_wrong_kind_do_no_harm) {
  Listener listener(asking(true));
  for (const auto type : {"stream_event", "assistant", "user", "system", "control_request", "control_response",
                          "control_cancel_request", "weather"}) {
    const std::string head = R"({"type":")" + std::string(type) + R"(",)";
    listener.feed(head + R"("message":7,"event":[],"request":"x","response":null,"subtype":{},"session_id":1})"
                         "\n");
    listener.feed(head + R"("message":{"content":"x"},"event":{"type":1},"request":{"subtype":"can_use_tool"}})"
                         "\n");
    listener.feed(head + R"("message":{"content":[7,{"type":"tool_use"}]},"request":{"subtype":"mcp_message"}})"
                         "\n");
  }
  listener.feed(stream(R"({"type":"content_block_delta","index":-1,"delta":{"type":"input_json_delta"}})"));
  listener.feed(R"({"type":"result","is_error":false,"usage":{"input_tokens":-5,"output_tokens":"x"}})"
                "\n");
  EXPECT_EQ(listener.lines.back(), "finished");
  EXPECT_EQ(listener.lines_of("usage"), Lines{});
}

TEST(Claude, Half_a_surrogate_pair_does_not_lose_the_line) {
  Listener listener(assignment());
  listener.feed(whole("m", R"({"type":"text","text":"\ud83d\ude00 \ud83d \\ud83d"})"));
  EXPECT_EQ(listener.lines, Lines{"text \U0001F600 \uFFFD \\ud83d"});
}

TEST(Claude, Calls_end_only_after_they_ran_and_only_once) {
  Listener listener(assignment());
  const std::string result =
      R"({"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text",)"
      R"("text":"a"},{"type":"image"}],"is_error":true}]}})"
      "\n";
  listener.feed(result);
  const auto call = whole("m", R"({"type":"tool_use","id":"t","name":"Bash","input":{}})");
  listener.feed(call + call + result + result + call);
  EXPECT_EQ(listener.lines, (Lines{"running t Bash {}", "ended t failed: a\n[image]"}));
}

}  // namespace claude_test
}  // namespace sluice::harness
