// How Claude Code is started (H-1).
#include <algorithm>

#include "harness/claude_fixture.h"

namespace sluice::harness {
namespace claude_launch_test {

using namespace claude_fixture;

Launch planned(const Assignment& to) {
  auto launch = plan_claude(to);
  EXPECT_TRUE(launch);
  return std::move(launch).take();
}
// The argument after `name`; empty when there is none.
std::string after(const Launch& launch, std::string_view name) {
  const auto found = std::ranges::find(launch.argv, name);
  return found == launch.argv.end() || found + 1 == launch.argv.end() ? "" : *(found + 1);
}

TEST(ClaudeLaunch, It_finds_its_model_its_home_and_no_way_to_anybody_else) {
  auto to = assignment();
  to.variables = {{"LANG", "C.UTF-8"}, {"ANTHROPIC_API_KEY", "of the environment"}};
  const auto launch = planned(to);
  EXPECT_EQ(launch.argv[0], "/opt/harness/claude-code/claude");
  EXPECT_EQ(after(launch, "--model"), "claude-opus-5-5");
  auto environment = launch.environment;
  EXPECT_EQ(environment["ANTHROPIC_BASE_URL"], "https://api.anthropic.com");
  EXPECT_EQ(environment["ANTHROPIC_API_KEY"], "{{secret:SLUICE_MODEL_KEY}}");
  EXPECT_EQ(environment["HOME"], program_home);
  EXPECT_EQ(environment["LANG"], "C.UTF-8");
  EXPECT_EQ(environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"], "1");
  EXPECT_EQ(environment["DISABLE_AUTOUPDATER"], "1");
  EXPECT_TRUE(launch.files.empty());
}

TEST(ClaudeLaunch, Who_is_not_asked_lets_it_do_everything_but_ask) {
  const auto launch = planned(assignment());
  EXPECT_EQ(after(launch, "--permission-mode"), "bypassPermissions");
  EXPECT_NE(after(launch, "--disallowedTools").find("AskUserQuestion"), std::string::npos);
  const auto asked = planned(asking());
  EXPECT_EQ(after(asked, "--permission-mode"), "default");
  EXPECT_EQ(after(asked, "--disallowedTools").find("AskUserQuestion"), std::string::npos);
}

TEST(ClaudeLaunch, Tools_of_the_host_go_over_its_own_channel) {
  EXPECT_EQ(after(planned(assignment()), "--mcp-config"), "");
  auto to = assignment();
  to.tools = {{"lookup", "", "{}"}};
  to.bridge_url = "http://127.0.0.1:3129/mcp";
  const auto launch = planned(to);
  EXPECT_EQ(after(launch, "--mcp-config"), R"({"mcpServers":{"sluice":{"type":"sdk","name":"sluice"}}})");
  EXPECT_EQ(after(launch, "--allowedTools"), "mcp__sluice");
}

TEST(ClaudeLaunch, A_session_is_resumed_with_the_system_prompt_of_this_run) {
  auto to = assignment();
  EXPECT_EQ(after(planned(to), "--resume"), "");
  to.session_id = "6b3bc1d1-3395-4a5c-bce9-deb182549826";
  const auto launch = planned(to);
  EXPECT_EQ(after(launch, "--resume"), *to.session_id);
  EXPECT_EQ(after(launch, "--system-prompt-snapshot"), "off");
}

TEST(ClaudeLaunch, A_session_that_is_none_is_refused) {
  for (const auto id : {"", "--dangerously-skip-permissions", "../../etc/passwd", "a b"}) {
    auto to = assignment();
    to.session_id = id;
    const auto launch = plan_claude(to);
    ASSERT_FALSE(launch) << id;
    EXPECT_EQ(launch.error().kind, ErrorKind::invalid);
  }
}

TEST(ClaudeLaunch, A_model_of_another_dialect_is_refused_in_words) {
  auto to = assignment();
  to.model.dialect = "openai-chat";
  const auto launch = plan_claude(to);
  ASSERT_FALSE(launch);
  EXPECT_EQ(launch.error().kind, ErrorKind::invalid);
  EXPECT_NE(launch.error().what.find("\"openai-chat\""), std::string::npos);
}

}  // namespace claude_launch_test
}  // namespace sluice::harness
