#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "harness/complaint.h"
#include "harness/dialect_makers.h"

namespace sluice::harness {
namespace program_launch_test {

constexpr std::string_view key = "{{secret:SLUICE_MODEL_KEY}}";

Assignment assignment(std::string agent_type, std::string dialect) {
  Assignment assignment;
  assignment.agent_type = std::move(agent_type);
  assignment.program = "/opt/harness/program";
  assignment.model = {std::move(dialect), "m-1", "https://models.example/api", std::string(key)};
  assignment.prompt = "go";
  assignment.system_prompt = "Be brief.";
  assignment.variables = {{"HOME", "/root"}, {"TZ", "UTC"}};
  return assignment;
}

Launch planned(const Assignment& assignment) {
  auto launch = plan_launch(assignment);
  EXPECT_TRUE(launch) << launch.error().what;
  return std::move(launch).take();
}

bool holds(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

TEST(ProgramLaunch, Every_program_lives_below_its_home_with_the_agents_variables) {
  for (const std::string type : {"codex", "opencode", "grok-build", "acp"}) {
    auto given = assignment(type, "openai-responses");
    given.command = {"/workspace/agent", "--acp"};
    const Launch launch = planned(given);
    EXPECT_EQ(launch.environment.at("HOME"), program_home) << type;
    EXPECT_EQ(launch.environment.at("TZ"), "UTC") << type;
    for (const LaunchFile& file : launch.files) EXPECT_TRUE(file.path.starts_with(program_home)) << file.path;
    for (const std::string& word : launch.argv) EXPECT_FALSE(holds(word, key)) << type << ": " << word;
  }
}

TEST(ProgramLaunch, The_home_of_an_unknown_program_exists_before_it_starts) {
  auto given = assignment("acp", "openai-responses");
  given.command = {"/workspace/agent", "--acp"};
  EXPECT_EQ(planned(given).files.at(0).path, std::string(program_home) + "/.keep");
}

TEST(ProgramLaunch, Codex_gets_its_model_on_the_command_line_and_the_key_in_a_variable) {
  auto given = assignment("codex", "openai-responses");
  given.bridge_url = "http://127.0.0.1:9/mcp";
  const Launch launch = planned(given);
  EXPECT_EQ(launch.argv.at(1), "app-server");
  const auto has = [&](std::string_view word) { return std::ranges::find(launch.argv, word) != launch.argv.end(); };
  EXPECT_TRUE(
      has("model_providers.sluice={name=\"sluice\",base_url=\"https://models.example/api\",wire_api=\"responses\","
          "env_key=\"SLUICE_MODEL_KEY\",request_max_retries=3,stream_max_retries=3}"));
  EXPECT_TRUE(has("mcp_servers.sluice={url=\"http://127.0.0.1:9/mcp\",tool_timeout_sec=604800}"));
  EXPECT_TRUE(has("unbounded_connection_retries"));
  EXPECT_EQ(launch.environment.at("SLUICE_MODEL_KEY"), key);
  EXPECT_EQ(launch.files.at(0).path, launch.environment.at("CODEX_HOME") + "/config.toml");
}

TEST(ProgramLaunch, Codex_speaks_only_to_models_of_one_dialect) {
  const auto launch = plan_launch(assignment("codex", "anthropic"));
  ASSERT_FALSE(launch);
  EXPECT_EQ(launch.error().kind, ErrorKind::invalid);
  EXPECT_TRUE(holds(launch.error().what, "\"openai-responses\""));
}

TEST(ProgramLaunch, OpenCode_has_its_whole_configuration_in_a_variable) {
  auto given = assignment("opencode", "openai-chat");
  given.asks = true;
  const Launch launch = planned(given);
  EXPECT_EQ(launch.argv, (std::vector<std::string>{"/opt/harness/program", "acp", "--cwd", "/workspace"}));
  const auto& config = launch.environment.at("OPENCODE_CONFIG_CONTENT");
  EXPECT_TRUE(json::Document::parse(config));
  EXPECT_TRUE(holds(config, R"("npm":"@ai-sdk/openai-compatible","options":{"baseURL":"https://models.example/api",)"
                            R"("apiKey":"{{secret:SLUICE_MODEL_KEY}}"})"))
      << config;
  EXPECT_TRUE(holds(config, R"("instructions":["/workspace/.sluice/home/instructions.md","/workspace/AGENTS.md",)"));
  EXPECT_EQ(launch.files.back().text, "Be brief.");
  EXPECT_EQ(launch.environment.at("OPENCODE_PERMISSION"), R"({"*":"ask","task":"deny"})");
  given.asks = false;
  EXPECT_EQ(planned(given).environment.at("OPENCODE_PERMISSION"), R"({"*":"allow"})");
}

// H-1: what an agent writes into its home or finds in a repository does not make it ask less.
TEST(ProgramLaunch, What_asks_takes_no_settings_of_a_run_before_or_of_a_repository) {
  auto opencode = assignment("opencode", "openai-chat");
  EXPECT_FALSE(planned(opencode).environment.contains("OPENCODE_DISABLE_PROJECT_CONFIG"));
  opencode.asks = true;
  EXPECT_EQ(planned(opencode).environment.at("OPENCODE_DISABLE_PROJECT_CONFIG"), "1");
  auto codex = assignment("codex", "openai-responses");
  codex.asks = true;
  EXPECT_EQ(std::ranges::count(planned(codex).argv, R"(projects={"/workspace"={trust_level="untrusted"}})"), 1);
  const std::string home(program_home);
  const std::pair<Assignment, std::string> all[] = {{opencode, home + "/.config/opencode"},
                                                    {opencode, home + "/.opencode"},
                                                    {codex, home + "/.codex/rules"},
                                                    {assignment("grok-build", "openai-chat"), home + "/.grok/hooks"}};
  for (const auto& [given, path] : all) EXPECT_EQ(std::ranges::count(planned(given).removed, path), 1) << path;
}

TEST(ProgramLaunch, OpenCode_has_a_plugin_that_says_when_an_answer_is_said_again) {
  const auto launch = planned(assignment("opencode", "openai-chat"));
  const auto path = std::string(program_home) + "/retries.js";
  EXPECT_TRUE(holds(launch.environment.at("OPENCODE_CONFIG_CONTENT"), R"("plugin":["file://)" + path + R"("])"));
  EXPECT_EQ(launch.files.at(2).path, path);
  EXPECT_TRUE(holds(launch.files.at(2).text, "_sluice/retry"));
}

TEST(ProgramLaunch, OpenCode_believes_to_have_what_it_would_ask_a_registry_for) {
  const auto files = planned(assignment("opencode", "openai-chat")).files;
  const std::string config_dir = std::string(program_home) + "/.config/opencode";
  EXPECT_EQ(files.at(0).path, config_dir + "/node_modules/.keep");
  EXPECT_EQ(files.at(1).path, config_dir + "/package-lock.json");
  EXPECT_TRUE(holds(files.at(1).text, "@opencode-ai/plugin"));
}

TEST(ProgramLaunch, OpenCode_takes_the_library_that_the_models_dialect_needs) {
  EXPECT_TRUE(holds(planned(assignment("opencode", "openai-responses")).environment.at("OPENCODE_CONFIG_CONTENT"),
                    R"("npm":"@ai-sdk/openai",)"));
  EXPECT_TRUE(holds(planned(assignment("opencode", "anthropic")).environment.at("OPENCODE_CONFIG_CONTENT"),
                    R"("npm":"@ai-sdk/anthropic","options":{"baseURL":"https://models.example/api/v1")"));
  EXPECT_FALSE(plan_launch(assignment("opencode", "smoke")));
}

TEST(ProgramLaunch, Grok_asks_for_everything_or_for_nothing) {
  auto given = assignment("grok-build", "openai-chat");
  Launch launch = planned(given);
  EXPECT_EQ(launch.argv, (std::vector<std::string>{"/opt/harness/program", "agent", "--always-approve", "stdio"}));
  EXPECT_FALSE(holds(launch.files.at(0).text, "[permission]"));
  given.asks = true;
  launch = planned(given);
  EXPECT_EQ(launch.argv, (std::vector<std::string>{"/opt/harness/program", "agent", "stdio"}));
  EXPECT_TRUE(holds(launch.files.at(0).text, "{ action = \"ask\", tool = \"bash\" }"));
}

TEST(ProgramLaunch, Grok_gives_the_key_as_the_models_dialect_wants_it) {
  const Launch chat = planned(assignment("grok-build", "openai-chat"));
  EXPECT_TRUE(holds(chat.files.at(0).text, "api_backend = \"chat_completions\""));
  EXPECT_FALSE(holds(chat.files.at(0).text, key));
  EXPECT_EQ(chat.environment.at("SLUICE_MODEL_KEY"), key);
  const Launch anthropic = planned(assignment("grok-build", "anthropic"));
  EXPECT_TRUE(holds(anthropic.files.at(0).text, "base_url = \"https://models.example/api/v1\""));
  EXPECT_TRUE(holds(anthropic.files.at(0).text, "\"x-api-key\" = \"{{secret:SLUICE_MODEL_KEY}}\""));
  EXPECT_FALSE(plan_launch(assignment("grok-build", "smoke")));
}

TEST(ProgramLaunch, An_unknown_agent_finds_its_model_in_the_usual_variables) {
  auto given = assignment("acp", "anthropic");
  given.command = {"/workspace/agent", "--acp"};
  const Launch launch = planned(given);
  EXPECT_EQ(launch.argv, given.command);
  EXPECT_EQ(launch.environment.at("ANTHROPIC_BASE_URL"), "https://models.example/api");
  EXPECT_EQ(launch.environment.at("ANTHROPIC_API_KEY"), key);
  EXPECT_FALSE(launch.environment.contains("OPENAI_API_KEY"));
  EXPECT_FALSE(plan_launch(assignment("acp", "anthropic"))) << "without a command";
}

TEST(Complaint, It_is_classed_by_the_status_or_by_its_words) {
  using model::Slug;
  EXPECT_EQ(slug_of_complaint(401, ""), Slug::agent_misconfigured);
  EXPECT_EQ(slug_of_complaint(429, "timed out"), Slug::model_error);
  EXPECT_EQ(slug_of_complaint(504, ""), Slug::model_timeout);
  EXPECT_EQ(slug_of_complaint(std::nullopt, "Incorrect API key provided"), Slug::agent_misconfigured);
  EXPECT_EQ(slug_of_complaint(std::nullopt, "status 401: no"), Slug::agent_misconfigured);
  EXPECT_EQ(slug_of_complaint(std::nullopt, "http://host:401/ and 14010"), Slug::model_error);
  EXPECT_EQ(slug_of_complaint(std::nullopt, "Request timed out"), Slug::model_timeout);
}

TEST(Complaint, A_program_that_breaks_off_or_lacks_its_session_has_failed_itself) {
  using model::Slug;
  for (const bool had_begun : {false, true}) EXPECT_EQ(ended_early(had_begun, "code 0", "").slug, Slug::agent_failed);
  EXPECT_EQ(slug_of_complaint(std::nullopt, "No conversation found with session ID: 1-401"), Slug::agent_failed);
  EXPECT_EQ(slug_of_complaint(std::nullopt, "no rollout found for thread id 1"), Slug::agent_failed);
}

TEST(Complaint, Words_for_people_have_no_escapes_and_no_bytes_that_are_no_text) {
  EXPECT_EQ(plain_words("\x1b[2mone\x1b[0m\ttwo\n"), "one two\n");
  EXPECT_EQ(plain_words("caf\u00e9 \xff\xc3"), "caf\u00e9 ??");
  EXPECT_EQ(plain_words("end\x1b"), "end");
  EXPECT_EQ(plain_words("end\x1b["), "end");
}

}  // namespace program_launch_test
}  // namespace sluice::harness
