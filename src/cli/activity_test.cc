#include "cli/activity.h"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace activity_test {

std::string shown(std::string type, std::string data) {
  client::Event event;
  event.type = std::move(type);
  event.data = std::move(data);
  return activity_text(event);
}

TEST(Activity, A_command_is_shown_as_it_was_typed_and_other_tools_by_what_they_touch) {
  EXPECT_EQ(shown("step", R"({"name":"bash","status":"running","args":{"command":"ls -la\nwc"}})"), "▸ $ ls -la\n");
  EXPECT_EQ(shown("step", R"({"name":"write","status":"running","args":{"path":"a.md","content":"x"}})"),
            "▸ write a.md\n");
  EXPECT_EQ(shown("step", R"({"name":"odd","status":"running","args":{"n":1}})"), "▸ odd {\"n\":1}\n");
}

TEST(Activity, Only_a_step_that_failed_is_told_of_again) {
  EXPECT_EQ(shown("step", R"({"name":"read","status":"succeeded","result":"x"})"), "");
  EXPECT_EQ(shown("step", R"({"name":"read","status":"failed","error":"no such file"})"), "✗ read: no such file\n");
}

TEST(Activity, Why_a_step_failed_is_the_last_line_that_it_left) {
  const auto why = [](std::string_view error) {
    return shown("step", R"({"name":"bash","status":"failed","error":")" + std::string(error) + "\"}");
  };
  EXPECT_EQ(why(R"(one\ntwo\nexit code 2)"), "✗ bash: exit code 2\n");
  EXPECT_EQ(why(R"(one\nkilled because it took longer than 300 ms\r\n \n)"),
            "✗ bash: killed because it took longer than 300 ms\n");
  EXPECT_EQ(why(R"(\n\n)"), "✗ bash: \n");
}

TEST(Activity, Files_and_output_are_shown_without_what_could_command_a_terminal) {
  EXPECT_EQ(shown("file", R"({"type":"create","path":"a"})"), "+ a\n");
  EXPECT_EQ(shown("file", R"({"type":"change","path":"a"})"), "~ a\n");
  EXPECT_EQ(shown("file", R"({"type":"delete","path":"a\u001b[2J"})").find('\x1b'), std::string::npos);
  EXPECT_EQ(shown("output", R"({"stream":"stdout","text":"x\u001b]0;owned\u0007y\n"})").find('\x1b'),
            std::string::npos);
}

TEST(Activity, Lifecycle_logs_stay_in_the_trace_and_warnings_do_not) {
  EXPECT_EQ(shown("log", R"({"level":"info","text":"box opened"})"), "");
  EXPECT_EQ(shown("log", R"({"level":"warn","text":"again"})"), "! again\n");
  EXPECT_EQ(shown("message_end", "{}"), "");
}

}  // namespace activity_test
}  // namespace sluice::cli
