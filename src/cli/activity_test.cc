#include "cli/activity.h"

#include <gtest/gtest.h>

namespace sluice::cli {
namespace activity_test {

std::string take(Activity& activity, std::string type, std::string data) {
  client::Event event;
  event.type = std::move(type);
  event.data = std::move(data);
  return activity.take(event);
}

std::string shown(std::string type, std::string data) {
  Activity activity;
  return take(activity, std::move(type), std::move(data));
}

// What is shown of a tool's output that comes in these pieces (as JSON has them), up to the next line of another kind.
std::string printed(std::initializer_list<std::string_view> pieces) {
  Activity activity;
  std::string text;
  for (const auto piece : pieces) {
    text += take(activity, "output", R"({"id":"call_1","stream":"stdout","text":")" + std::string(piece) + "\"}");
  }
  return text + take(activity, "log", R"({"level":"warn","text":"next"})");
}

std::string file(std::string_view type, std::string_view path) {
  return R"({"type":")" + std::string(type) + R"(","path":")" + std::string(path) + "\"}";
}

TEST(Activity, A_command_is_shown_as_it_was_typed_and_other_tools_by_what_they_touch) {
  EXPECT_EQ(shown("step", R"({"name":"bash","status":"running","args":{"command":"ls -la\nwc"}})"), "▸ $ ls -la\n");
  EXPECT_EQ(shown("step", R"({"name":"write","status":"running","args":{"path":"a.md","content":"x"}})"),
            "▸ write a.md\n");
  EXPECT_EQ(shown("step", R"({"name":"odd","status":"running","args":{"n":1}})"), "▸ odd {\"n\":1}\n");
}

TEST(Activity, Only_a_failed_step_is_shown_again) {
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
  Activity activity;
  EXPECT_EQ(take(activity, "file", file("delete", R"(a\u001b[2J)")), "");
  EXPECT_EQ(take(activity, "approval_required", "{}"), "- a\uFFFD[2J\n");
  EXPECT_EQ(shown("output", R"({"stream":"stdout","text":"x\u001b]0;owned\u0007y\n"})"), "xy\n");
  EXPECT_EQ(shown("output", R"({"stream":"stdout","text":"x\u009by\u0007\n"})"), "x\uFFFDy\uFFFD\n");
}

TEST(Activity, Output_is_shown_as_a_terminal_would_leave_it_whatever_pieces_it_comes_in) {
  EXPECT_EQ(printed({R"(\u001b[31mred\u001b[0m\n)"}), "red\n! next\n");
  EXPECT_EQ(printed({R"(\u001b)", R"([3)", R"(1mred\u001b]8;;http://x\u001b)", R"(\\ link\u001b[0m)"}),
            "red link\n! next\n");
  EXPECT_EQ(printed({R"(progress 10%\rprogress 100%\r\ndone\n)"}), "progress 100%\ndone\n! next\n");
  EXPECT_EQ(printed({R"(\r10%)", R"(\r100)", R"(%)"}), "100%\n! next\n");
  EXPECT_EQ(printed({"10%", R"(\r100%)"}), "10%\n100%\n! next\n") << "what was shown cannot be taken back";
  EXPECT_EQ(printed({R"(a\r)", R"(\n\n)", R"(ab\bc)"}), "a\n\nac\n! next\n");
}

TEST(Activity, Dots_are_shown_as_they_come_and_a_long_line_is_not_kept) {
  Activity activity;
  const auto dot = [&](const std::string& text) {
    return take(activity, "output", R"({"id":"call_1","text":")" + text + "\"}");
  };
  EXPECT_EQ(dot("."), ".");
  EXPECT_EQ(dot("ü."), "ü.");
  const std::string large(100'000, 'x');
  EXPECT_EQ(dot(R"(\r)" + large), "\n" + large);
  EXPECT_EQ(dot("y"), "y");
  EXPECT_EQ(activity.end_line(), "\n");
  EXPECT_EQ(activity.end_line(), "");
}

TEST(Activity, A_line_that_a_tool_left_open_ends_before_the_next_one_begins) {
  EXPECT_EQ(printed({"abc"}), "abc\n! next\n");
  EXPECT_EQ(printed({R"(abc\n)"}), "abc\n! next\n");
  EXPECT_EQ(printed({R"(abc\n\u001b[0m)"}), "abc\n! next\n");
  Activity activity;
  EXPECT_EQ(take(activity, "output", R"({"id":"call_1","text":"abc"})"), "abc");
  EXPECT_EQ(take(activity, "output", R"({"id":"call_2","text":"def"})"), "\ndef") << "of another call";
}

TEST(Activity, What_became_of_files_is_shown_with_the_diff_without_those_that_came_and_went) {
  Activity activity;
  for (const auto& news :
       {file("create", "a.txt"), file("change", "a.txt"), file("create", "w.txt.tmp.5"), file("delete", "b.txt"),
        file("delete", "w.txt.tmp.5"), file("delete", "c.txt"), file("create", "c.txt"), file("change", "d.txt")}) {
    EXPECT_EQ(take(activity, "file", news), "");
  }
  EXPECT_EQ(take(activity, "diff", R"({"path":".","diff":"whole\n"})"), "+ a.txt\n- b.txt\n~ c.txt\n~ d.txt\nwhole\n");
  EXPECT_EQ(take(activity, "file", file("change", "e.txt")), "");
  EXPECT_EQ(take(activity, "approval_required", "{}"), "~ e.txt\n") << "the approver needs to see it";
}

TEST(Activity, A_run_that_ends_without_a_diff_or_with_an_empty_one_changed_no_file) {
  for (const auto* end : {"message_end", "error"}) {
    Activity activity;
    take(activity, "file", file("delete", "w.txt.tmp.5"));
    take(activity, "file", file("create", "lost.txt"));
    EXPECT_EQ(take(activity, end, "{}"), "") << end;
  }
  Activity activity;
  take(activity, "file", file("change", "a.txt"));
  EXPECT_EQ(take(activity, "custom", R"({"name":"sluice.run-diff","value":{"diff":""}})"), "");
  EXPECT_EQ(take(activity, "diff", R"({"path":".","diff":"whole\n"})"), "");
}

TEST(Activity, The_diff_of_the_run_is_shown_and_not_the_one_of_the_whole_workspace) {
  EXPECT_EQ(shown("diff", R"({"path":".","diff":"whole\n"})"), "whole\n") << "the run's own, if there is no other";
  Activity activity;
  take(activity, "file", file("change", "a.txt"));
  EXPECT_EQ(take(activity, "custom", R"({"name":"sluice.run-diff","value":{"diff":"own\n"}})"), "~ a.txt\nown\n");
  EXPECT_EQ(take(activity, "diff", R"({"path":".","diff":"whole\n"})"), "");
  EXPECT_EQ(shown("custom", R"({"name":"chart","value":{"diff":"x"}})"), "");
}

TEST(Activity, Lifecycle_logs_stay_in_the_trace_and_warnings_do_not) {
  EXPECT_EQ(shown("log", R"({"level":"info","text":"box opened"})"), "");
  EXPECT_EQ(shown("log", R"({"level":"warn","text":"again"})"), "! again\n");
  EXPECT_EQ(shown("message_end", "{}"), "");
}

}  // namespace activity_test
}  // namespace sluice::cli
