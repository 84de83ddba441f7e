// One call has one step, wherever it is heard of; and what rules make of a program's calls: H-5, H-6.
#include <gtest/gtest.h>

#include "model/event_codec.h"
#include "programs/program_policy.h"
#include "programs/program_steps.h"

namespace sluice::programs {
namespace program_steps_test {

using harness::Heard;
using model::Effect;
using model::Subject;

Heard running(std::string id, std::string name, std::string arguments) {
  return {.kind = Heard::Kind::call_running, .call = {std::move(id), std::move(name), std::move(arguments)}};
}

class ProgramStepsTest : public testing::Test {
 protected:
  ProgramSteps steps{{.output_bytes_max = 100, .result_chars_max = 100}, nullptr};
  StepEvents reported;
};

std::string body_of(const model::EventData& event) { return model::encode(event, {}).body; }

TEST_F(ProgramStepsTest, H_6_A_call_at_the_bridge_joins_the_oldest_step_of_the_same_name_and_arguments) {
  EXPECT_EQ(steps.hear(running("c1", "lookup", R"({"a":1,"b":2})"), 0).size(), 1u);
  EXPECT_EQ(steps.hear(running("c2", "lookup", R"({"a":1,"b":2})"), 0).size(), 1u);
  EXPECT_EQ(steps.claim({"", "lookup", R"({"b":2, "a":1})"}, true, 0, reported), "step_1");
  EXPECT_EQ(steps.claim({"", "lookup", R"({"b":2, "a":1})"}, true, 0, reported), "step_2");
  EXPECT_TRUE(reported.empty());
  EXPECT_EQ(steps.claim({"", "lookup", R"({"b":2, "a":1})"}, true, 0, reported), "step_3")
      << "the stream knows nothing of it";
  EXPECT_EQ(reported.size(), 1u);
}

TEST_F(ProgramStepsTest, H_6_The_bridge_may_hear_of_a_call_first_and_even_be_done_with_it) {
  EXPECT_EQ(steps.claim({"", "lookup", "{}"}, true, 0, reported), "step_1");
  EXPECT_TRUE(steps.hear(running("c1", "lookup", "{}"), 0).empty());
  EXPECT_EQ(steps.end("step_1", {.text = "found"}, 5'000).size(), 1u);
  EXPECT_TRUE(steps.hear({.kind = Heard::Kind::call_ended, .text = "found", .call = {.id = "c1"}}, 0).empty());

  EXPECT_EQ(steps.claim({"", "lookup", "{}"}, true, 0, reported), "step_2");
  EXPECT_EQ(steps.end("step_2", {.text = "found"}, 0).size(), 1u);
  EXPECT_TRUE(steps.hear(running("c2", "lookup", "{}"), 0).empty());
  EXPECT_EQ(steps.hear(running("c3", "lookup", "{}"), 0).size(), 1u) << "another one";
}

TEST_F(ProgramStepsTest, A_call_that_both_name_by_its_id_is_one) {
  steps.hear(running("c1", "lookup", R"({"a":1})"), 0);
  EXPECT_EQ(steps.claim({"c1", "lookup", R"({"a":2})"}, true, 0, reported), "step_1");
  EXPECT_TRUE(steps.hear({.kind = Heard::Kind::call_ended, .call = {.id = "c1"}}, 0).empty()) << "we end it";
  EXPECT_TRUE(steps.is_any_at_work());
}

TEST_F(ProgramStepsTest, Arguments_that_are_no_object_are_reported_as_one) {
  const auto events = steps.hear(running("c1", "Bash", "ls"), 0);
  EXPECT_EQ(body_of(events[0]), R"({"id":"step_1","name":"Bash","status":"running","args":{"input":"ls"}})");
}

TEST_F(ProgramStepsTest, A_call_that_was_never_whole_is_reported_as_failed) {
  steps.hear({.kind = Heard::Kind::call_began, .call = {"c1", "Bash", ""}}, 0);
  const auto events = steps.break_off("it ended", 0);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(body_of(events[1]), R"({"id":"step_1","name":"Bash","status":"failed","error":"it ended","durationMs":0})");
}

TEST_F(ProgramStepsTest, Another_process_continues_the_steps_of_the_one_before) {
  steps.hear(running("c1", "Bash", R"({"command":"a"})"), 0);
  steps.pause(3'000'000);
  ProgramSteps other{{.output_bytes_max = 100, .result_chars_max = 100}, nullptr};
  other.take_up(steps.open_steps(), steps.count(), 9'000'000);
  EXPECT_TRUE(other.hear(running("d1", "Bash", R"({"command":"a"})"), 9'000'000).empty());
  const auto events = other.hear({.kind = Heard::Kind::call_ended, .text = "x", .call = {.id = "d1"}}, 10'000'000);
  EXPECT_EQ(body_of(events[0]), R"({"id":"step_1","name":"Bash","status":"succeeded","result":"x","durationMs":4000})");
  EXPECT_EQ(other.claim({"d2", "Bash", "{}"}, false, 0, reported), "step_2");
}

TEST(ProgramSteps, A_call_that_is_written_anew_after_the_wait_continues_its_step) {
  ProgramSteps other{{.output_bytes_max = 100, .result_chars_max = 100}, nullptr};
  other.take_up({{.id = "step_1", .name = "Bash", .arguments = R"({"command":"a"})"}}, 1, 0);
  EXPECT_TRUE(other.hear({.kind = Heard::Kind::call_began, .call = {.id = "d1", .name = "Bash"}}, 0).empty());
  EXPECT_TRUE(other.hear({.kind = Heard::Kind::call_piece, .text = R"({"co)", .call = {.id = "d1"}}, 0).empty());
  EXPECT_TRUE(other.hear(running("d1", "Bash", R"({"command":"a"})"), 0).empty());
  const auto events = other.hear({.kind = Heard::Kind::call_ended, .text = "x", .call = {.id = "d1"}}, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(body_of(events[0]).find("step_1"), std::string::npos);
  EXPECT_EQ(other.hear({.kind = Heard::Kind::call_began, .call = {.id = "d2", .name = "Bash"}}, 0).size(), 1U);
}

// ── rules ───────────────────────────────────────────────────────────────────────────────────────

Effect ruling(Subject subject, std::string pattern, harness::ProgramCall call) {
  return rule_on_program_call({{.effect = Effect::deny, .subject = subject, .pattern = std::move(pattern)}}, call)
      .effect;
}

TEST(ProgramPolicy, H_5_Commands_are_found_in_the_calls_of_all_programs) {
  const auto denied = [](std::string name, std::string arguments) {
    return ruling(Subject::command, "git push*", {"c", std::move(name), std::move(arguments)}) == Effect::deny;
  };
  EXPECT_TRUE(denied("Bash", R"({"command":"git push","description":"x"})"));
  EXPECT_TRUE(denied("command_execution", R"({"command":"/bin/bash -lc 'git push'"})"));
  EXPECT_TRUE(denied("shell", R"({"command":["bash","-lc","cd x && git push"]})"));
  EXPECT_TRUE(denied("run_terminal_command", R"({"command":"git push origin"})"));
  EXPECT_TRUE(denied("anything", R"({"cmd":"git push"})")) << "an unknown tool";
  EXPECT_FALSE(denied("Bash", R"({"command":"git pull"})"));
}

TEST(ProgramPolicy, H_5_Paths_are_found_in_the_calls_of_all_programs) {
  const auto denied = [](std::string name, std::string arguments) {
    return ruling(Subject::file, "/workspace/.env", {"c", std::move(name), std::move(arguments)}) == Effect::deny;
  };
  EXPECT_TRUE(denied("Write", R"({"file_path":"/workspace/.env","content":"x"})"));
  EXPECT_TRUE(denied("edit", R"({"filePath":"/workspace/a/../.env"})"));
  EXPECT_TRUE(denied("file_change", R"({"changes":[{"path":"/workspace/a"},{"path":"/workspace/.env"}]})"));
  EXPECT_TRUE(denied("file_change", R"({"changes":{"/workspace/.env":{"type":"add"}}})"));
  EXPECT_TRUE(denied("apply_patch", R"({"input":"*** Begin Patch\n*** Add File: /workspace/.env\n+x\n"})"));
  for (const std::string member : {"file_path", "filePath", "path", "notebook_path", "target_file", "target_directory",
                                   "dir_path", "tool_input_file", "image", "absolute_path"})
    EXPECT_TRUE(denied("anything", "{\"" + member + "\":\"/workspace/.env\"}")) << member;
  EXPECT_TRUE(denied("images", R"({"images":["/workspace/a.png","/workspace/.env"]})"));
  EXPECT_FALSE(denied("Write", R"({"file_path":"/workspace/env"})"));
}

TEST(ProgramPolicy, H_5_A_tool_is_known_by_its_own_name_and_by_ours) {
  EXPECT_EQ(ruling(Subject::tool, "bash", {"c", "run_terminal_command", "{}"}), Effect::deny);
  EXPECT_EQ(ruling(Subject::tool, "bash", {"c", "monitor", "{}"}), Effect::deny) << "Grok's, which runs a command";
  EXPECT_EQ(ruling(Subject::tool, "read", {"c", "view_image", "{}"}), Effect::deny);
  EXPECT_EQ(ruling(Subject::tool, "WebSearch", {"c", "WebSearch", "{}"}), Effect::deny);
  EXPECT_EQ(ruling(Subject::tool, "edit", {"c", "Read", "{}"}), Effect::allow);
}

TEST(ProgramPolicy, A_call_that_cannot_be_shown_is_not_asked_about) {
  const std::string command(20'000, 'x');
  const auto long_one = rule_on_program_call({{.effect = Effect::ask, .subject = Subject::tool, .pattern = "*"}},
                                             {"c", "Bash", R"({"command":")" + command + "\"}"});
  EXPECT_EQ(long_one.effect, Effect::deny);
}

TEST(ProgramPolicy, A_program_need_not_ask_where_no_rule_objects) {
  EXPECT_FALSE(may_object({}));
  EXPECT_FALSE(may_object({{.effect = Effect::deny, .subject = Subject::host, .pattern = "*"}}));
  EXPECT_FALSE(may_object({{.effect = Effect::allow, .subject = Subject::tool, .pattern = "*"}}));
  EXPECT_TRUE(may_object({{.effect = Effect::ask, .subject = Subject::file, .pattern = "/etc/*"}}));
}

}  // namespace program_steps_test
}  // namespace sluice::programs
