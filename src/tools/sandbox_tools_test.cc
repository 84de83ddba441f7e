#include "tools/sandbox_tools.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace sluice::tools {
namespace sandbox_tools_test {

using Words = std::vector<std::string>;

std::string refusal(const std::string& tool, const std::string& arguments) {
  const auto plan = plan_sandbox_tool({.name = tool, .arguments = arguments}, {});
  return plan ? "accepted" : plan.error().what;
}
ToolPlan plan(const std::string& tool, const std::string& arguments) {
  auto made = plan_sandbox_tool({.name = tool, .arguments = arguments}, {});
  EXPECT_TRUE(made) << (made ? "" : made.error().what);
  return std::move(made).take();
}
Words argv(const std::string& tool, const std::string& arguments) { return plan(tool, arguments).command.argv; }

TEST(Tools, Are_seven_and_each_has_a_schema) {
  Words names;
  for (const auto& spec : sandbox_tool_specs()) {
    names.push_back(spec.name);
    EXPECT_FALSE(spec.description.empty());
    const auto schema = json::Document::parse(spec.parameters);
    ASSERT_TRUE(schema) << spec.parameters;
    EXPECT_EQ(schema.value().root().find("type")->string(), "object");
    EXPECT_TRUE(is_sandbox_tool(spec.name));
  }
  EXPECT_EQ(names, (Words{"bash", "read", "write", "edit", "glob", "grep", "list"}));
  EXPECT_FALSE(is_sandbox_tool("fly"));
  EXPECT_EQ(sandbox_tool_specs()[2].parameters,
            R"({"type":"object","properties":{)"
            R"("path":{"type":"string","description":"Relative to /workspace, or absolute"},)"
            R"("content":{"type":"string","description":"All that will be in the file"}},)"
            R"("required":["path","content"],"additionalProperties":false})");
}

TEST(Tools, Become_commands) {
  EXPECT_EQ(argv("bash", R"({"command":"ls -l"})"), (Words{"bash", "-c", "ls -l"}));
  EXPECT_EQ(argv("read", R"({"path":"a"})"), (Words{"@read", "a", "1", "2000"}));
  EXPECT_EQ(argv("read", R"({"path":"a","offset":3,"limit":7})"), (Words{"@read", "a", "3", "7"}));
  EXPECT_EQ(argv("write", R"({"path":"a","content":"x"})"), (Words{"@write", "a"}));
  EXPECT_EQ(argv("edit", R"({"path":"a","old":"x","new":"","all":true})"), (Words{"@edit", "a", "1"}));
  EXPECT_EQ(argv("glob", R"({"pattern":"**/*.cc"})"), (Words{"@glob", "**/*.cc", "."}));
  EXPECT_EQ(argv("grep", R"({"pattern":"x","path":"src","glob":"*.h","ignore_case":true})"),
            (Words{"@grep", "x", "src", "*.h", "i"}));
  EXPECT_EQ(argv("list", R"({"path":null})"), (Words{"@list", "."})) << "null is as good as absent";
}

TEST(Tools, A_command_may_be_described_which_changes_nothing_of_it) {
  EXPECT_EQ(argv("bash", R"({"command":"ls -l","description":"List the files"})"), (Words{"bash", "-c", "ls -l"}));
}

TEST(Tools, Take_their_input_byte_for_byte) {
  EXPECT_EQ(plan("write", R"({"path":"a","content":"one\n\u0000two"})").command.input, std::string("one\n\0two", 8));
  EXPECT_EQ(plan("edit", R"({"path":"a","old":"é\n","new":"e"})").command.input, "3\né\ne");
}

TEST(Tools, Have_a_time_of_their_own_within_the_longest) {
  EXPECT_EQ(plan("bash", R"({"command":"x"})").command.timeout_ms, 120'000);
  EXPECT_EQ(plan("bash", R"({"command":"x","timeout_ms":600000})").command.timeout_ms, 600'000);
  EXPECT_EQ(plan("bash", R"({"command":"x","background":true})").command.timeout_ms, 0);
  for (const char* time : {"0", "-1", "600001"}) {
    EXPECT_EQ(refusal("bash", std::string(R"({"command":"x","timeout_ms":)") + time + "}"),
              "timeout_ms must be from 1 to 600000.");
  }
}

TEST(Tools, Say_precisely_what_is_wrong_with_their_arguments) {
  EXPECT_EQ(refusal("bash", "{}"), "bash needs the argument \"command\".");
  EXPECT_EQ(refusal("bash", "[]"), "The arguments must be a JSON object.");
  EXPECT_EQ(refusal("bash", "{"), "The arguments are not valid JSON.");
  EXPECT_EQ(refusal("bash", R"({"command":""})"), "command must not be empty.");
  EXPECT_EQ(refusal("bash", R"({"command":null})"), "command must be of type string, not null.");
  EXPECT_EQ(refusal("bash", R"({"command":"a\u0000b"})"), "command must not contain the character NUL.");
  EXPECT_EQ(refusal("bash", R"({"cmd":"ls","command":"ls"})"),
            "bash has no argument \"cmd\"; it has command, timeout_ms, background, description.");
  EXPECT_EQ(refusal("read", R"({"path":1})"), "path must be of type string, not integer.");
  EXPECT_EQ(refusal("read", R"({"path":"a","offset":0})"), "offset and limit must be at least 1.");
  EXPECT_EQ(refusal("edit", R"({"path":"a","old":"x","new":"x"})"),
            "old and new are the same: there is nothing to change.");
  EXPECT_EQ(refusal("edit", R"({"path":"a","old":"","new":"x"})"), "old must not be empty.");
  EXPECT_EQ(refusal("write", R"({"path":"a","content":""})"), "accepted");
}

TEST(ToolAnswer, Is_what_was_printed_and_how_it_ended) {
  const auto shell = plan("bash", R"({"command":"x"})");
  const auto reading = plan("read", R"({"path":"x"})");
  using sandbox::ExitCause;
  EXPECT_EQ(answer_of(shell, {}, "hi\n\n").text, "hi");
  EXPECT_EQ(answer_of(shell, {}, "").text, "(no output)");
  EXPECT_EQ(answer_of(plan("edit", R"({"path":"a","old":"x","new":"y"})"), {}, "2\n").text, "Places changed: 2");
  EXPECT_FALSE(answer_of(shell, {}, "").failed);
  EXPECT_EQ(answer_of(shell, {.cause = ExitCause::exited, .code = 2}, "hi\n").text, "hi\nexit code 2");
  EXPECT_TRUE(answer_of(shell, {.cause = ExitCause::exited, .code = 2}, "hi\n").failed);
  EXPECT_EQ(answer_of(reading, {.cause = ExitCause::exited, .code = 1}, "x: no such file\n").text, "x: no such file");
  EXPECT_TRUE(answer_of(reading, {.cause = ExitCause::exited, .code = 1}, "x: no such file\n").failed);
  EXPECT_EQ(answer_of(reading, {}, "").text, "(nothing)");
  EXPECT_EQ(answer_of(reading, {.cause = ExitCause::timed_out}, "").text,
            "killed because it took longer than 120000 ms");
}

}  // namespace sandbox_tools_test
}  // namespace sluice::tools
