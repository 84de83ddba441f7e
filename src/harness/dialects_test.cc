// Every kind of agent program has its dialect (H-1), and its session an event of its own name (H-3).
#include <gtest/gtest.h>

#include "harness/dialect_makers.h"

namespace sluice::harness {
namespace dialects_test {

Assignment assignment_for(std::string_view agent_type) {
  Assignment assignment;
  assignment.agent_type = agent_type;
  assignment.command = {"my-agent"};
  assignment.program = "/opt/harness/agent";
  assignment.model = {"openai-responses", "some-model", "https://models.example/v1", "{{secret:SLUICE_MODEL_KEY}}"};
  if (agent_type == "claude-code") assignment.model.dialect = "anthropic";
  assignment.prompt = "the prompt";
  return assignment;
}

TEST(Dialects, Every_agent_type_but_our_own_has_one) {
  for (const auto agent_type : model::agent_types) {
    if (agent_type == "native") continue;
    const auto assignment = assignment_for(agent_type);
    const auto launch = plan_launch(assignment);
    ASSERT_TRUE(launch) << agent_type << ": " << launch.error().what;
    EXPECT_FALSE(launch.value().argv.empty()) << agent_type;
    const auto dialect = make_dialect(assignment);
    EXPECT_FALSE(dialect->opening().empty()) << agent_type;
    const auto last = dialect->end("exit code 1", "");
    ASSERT_FALSE(last.empty()) << agent_type;
    EXPECT_EQ(last.back().kind, Heard::Kind::failed) << agent_type;
  }
}

TEST(Dialects, Each_type_gets_its_own) {
  EXPECT_NE(make_dialect(assignment_for("claude-code"))->opening().find("control_request"), std::string::npos);
  EXPECT_NE(make_dialect(assignment_for("codex"))->opening().find("clientInfo"), std::string::npos);
  EXPECT_NE(make_dialect(assignment_for("acp"))->opening().find("protocolVersion"), std::string::npos);
}

TEST(Dialects, Only_Claude_Code_puts_calls_off_by_itself) {
  EXPECT_TRUE(can_defer("claude-code"));
  for (const auto other : {"codex", "opencode", "grok-build", "acp"}) EXPECT_FALSE(can_defer(other));
}

TEST(Dialects, The_other_programs_are_asked_to_call_again) {
  const auto prompt = resume_prompt({"call-1", "Bash", R"({"command":"ls"})"});
  EXPECT_NE(prompt.find("Bash"), std::string::npos);
  EXPECT_NE(prompt.find(R"({"command":"ls"})"), std::string::npos);
}

TEST(Dialects, Codex_gets_its_command_and_not_a_tool_that_it_does_not_have) {
  const auto prompt = resume_prompt({"call-1", "command_execution", R"({"command":"rm -r \"b\"","cwd":"/workspace"})"});
  EXPECT_TRUE(prompt.ends_with(R"(: rm -r "b")")) << prompt;
  EXPECT_NE(prompt.find(" in /workspace,"), std::string::npos) << prompt;
  EXPECT_EQ(prompt.find("command_execution"), std::string::npos) << prompt;
}

TEST(Dialects, Sessions_are_reported_under_the_programs_name) {
  EXPECT_EQ(session_event_name("claude-code"), "claude-code.session-id");
  EXPECT_EQ(session_event_name("grok-build"), "grok-build.session-id");
}

}  // namespace dialects_test
}  // namespace sluice::harness
