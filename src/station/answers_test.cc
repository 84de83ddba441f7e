// S-4: what workspaces answer, and what of it is taken.
#include "station/answers.h"

#include <gtest/gtest.h>

namespace sluice::station {
namespace answers_test {

const model::ModelChoice fallback{"offline", "offline", std::nullopt};

std::string fault(std::string_view config) {
  const auto read = read_config(config, fallback);
  return read ? "" : read.error().what;
}

TEST(EnvAnswer, May_be_empty) {
  for (const auto* text : {"{}", R"({"variables":null,"script":null})", R"({"variables":{},"script":"","more":[]})"}) {
    const auto env = read_env(text);
    ASSERT_TRUE(env) << env.error().what;
    EXPECT_TRUE(env.value().variables.empty() && env.value().script.empty());
  }
}

TEST(EnvAnswer, Says_what_is_wrong_with_it) {
  const auto why = [](std::string_view text) {
    const auto env = read_env(text);
    return env ? "" : env.error().what;
  };
  EXPECT_EQ(why("[]"), "it is not an object");
  EXPECT_EQ(why("nonsense"), "the answer is not JSON: not valid JSON");
  EXPECT_EQ(why(R"({"script":5})"), "/script is not a string");
  EXPECT_EQ(why(R"({"variables":[]})"), "/variables is not an object");
  EXPECT_EQ(why(R"({"variables":{"A":1}})"), "/variables/A is not a string that a variable can hold");
  EXPECT_EQ(why(R"({"variables":{"A":"\u0000"}})"), "/variables/A is not a string that a variable can hold");
  EXPECT_EQ(why(R"({"variables":{"1A":"x"}})"), "/variables/1A is not the name of a variable");
  EXPECT_EQ(why(R"({"variables":{"A=B":"x"}})"), "/variables/A=B is not the name of a variable");
}

TEST(ConfigAnswer, Has_defaults_for_all_but_the_agent) {
  const auto read = read_config(R"({"agent":{},"unknown":{"a":1}})", fallback);
  ASSERT_TRUE(read) << read.error().what;
  const auto& config = read.value();
  EXPECT_EQ(config.agent.kit, model::AgentKit{});
  EXPECT_EQ(config.max_rounds, 10);
  EXPECT_EQ(config.agent.model, fallback);
  EXPECT_EQ(config.agent.limits.max_runtime_seconds, 28'800);
  EXPECT_TRUE(config.skills.empty() && config.history.empty() && config.bearer.empty() && config.unused.empty());
  EXPECT_FALSE(config.repository || config.filler || config.inference || config.resumed);
}

TEST(ConfigAnswer, Says_what_is_wrong_with_it) {
  EXPECT_EQ(fault("{}"), "/agent is missing");
  EXPECT_EQ(fault(R"({"agent":"Ada"})"), "/agent is not an object");
  EXPECT_EQ(fault(R"({"agent":{"max_rounds":0}})"), "/agent/max_rounds is not a whole number from 1 to 1000");
  EXPECT_EQ(fault(R"({"agent":{"model":{"name":7}}})"), "/agent/model/name is not a string");
  EXPECT_EQ(fault(R"({"agent":{},"conversation":[{"role":"user","content":"a"},{"role":"robot","content":"a"}]})"),
            "/conversation/1/role is not user, assistant or system");
  EXPECT_EQ(fault(R"({"agent":{},"conversation":{}})"), "/conversation is not an array");
  EXPECT_EQ(fault(R"({"agent":{},"callback":{"token":"a\nb"}})"), "/callback/token has characters that no token has");
  EXPECT_EQ(fault(R"({"agent":{},"repository":{}})"), "/repository/url is missing");
  EXPECT_EQ(fault(R"({"agent":{},"limits":{"max_runtime_seconds":-1}})"),
            "/limits/max_runtime_seconds is not a whole number from 1 to 86400");
}

TEST(ConfigAnswer, A_skill_is_a_name_a_digest_and_a_way_to_fetch_it) {
  const auto with = [](std::string_view id, std::string_view name, std::string_view sha256, std::string_view token) {
    return fault(R"({"agent":{},"skills":[{"id":")" + std::string(id) + R"(","name":")" + std::string(name) +
                 R"(","sha256":")" + std::string(sha256) + R"("}],"callback":{"token":")" + std::string(token) +
                 "\"}}");
  };
  const std::string digest(64, 'a');
  EXPECT_EQ(with("skl_1", "pdf", digest, "asbx_1"), "");
  EXPECT_NE(with("../x", "pdf", digest, "asbx_1"), "");
  EXPECT_NE(with("skl_1", "..", digest, "asbx_1"), "");
  EXPECT_NE(with("skl_1", "a/b", digest, "asbx_1"), "");
  EXPECT_NE(with("skl_1", "", digest, "asbx_1"), "");
  EXPECT_NE(with("skl_1", "pdf", "abc", "asbx_1"), "");
  EXPECT_EQ(with("skl_1", "pdf", digest, ""),
            "/callback has no token, without which skills and files cannot be fetched");
}

// H-1, H-6
TEST(ConfigAnswer, The_agents_type_and_tools_are_taken) {
  const auto read = read_config(
      R"({"agent":{"agent_type":"codex"},"mcp_servers":[{"name":"crm","url":"https://crm/mcp","headers":{"X":"y"}}]})",
      fallback);
  ASSERT_TRUE(read) << read.error().what;
  model::AgentKit kit{.agent_type = "codex"};
  kit.mcp_servers = {{"crm", "https://crm/mcp", {{"X", "y"}}, {}, {}}};
  EXPECT_EQ(read.value().agent.kit, kit);
  EXPECT_EQ(fault(R"({"agent":{},"mcp_servers":[{"name":"crm"}]})"), "/mcp_servers/0/url is missing");
  EXPECT_EQ(fault(R"({"agent":{},"mcp_servers":[{"name":"c","url":"u","headers":{"X":1}}]})"),
            "/mcp_servers/0/headers/X is not a string");
  EXPECT_EQ(fault(R"({"agent":{},"kit":[]})"), "/kit is not an object");
}

TEST(ConfigAnswer, What_a_workspace_of_ours_says_of_the_kit_is_all_of_it) {
  const auto read =
      read_config(R"({"agent":{"agent_type":"acp"},"mcp_servers":[{"name":"crm","url":"https://crm/mcp"}],)"
                  R"("kit":{"agent_type":"native","command":["agent"],"code_mode":true,)"
                  R"("mcp_servers":[{"name":"files","command":["npx"]}]}})",
                  fallback);
  ASSERT_TRUE(read) << read.error().what;
  model::AgentKit kit{.agent_type = "acp", .command = {"agent"}, .code_mode = true};
  kit.mcp_servers = {{"files", "", {}, {"npx"}, {}}};
  EXPECT_EQ(read.value().agent.kit, kit);
}

// I-14, I-17
TEST(ConfigAnswer, The_policy_is_the_agent_s) {
  const auto read = read_config(
      R"({"agent":{},"policy":[{"effect":"deny","command":"rm *","reason":"No."},{"effect":"ask","tool":"bash"},)"
      R"({"effect":"allow","host":"*.example","secrets":["K","*"]}]})",
      fallback);
  ASSERT_TRUE(read) << read.error().what;
  using model::Effect;
  using model::Subject;
  EXPECT_EQ(read.value().agent.policy,
            (model::Policy{
                {.effect = Effect::deny, .subject = Subject::command, .pattern = "rm *", .reason = "No."},
                {.effect = Effect::ask, .subject = Subject::tool, .pattern = "bash"},
                {.effect = Effect::allow, .subject = Subject::host, .pattern = "*.example", .secrets = {"K", "*"}}}));
}

TEST(ConfigAnswer, A_policy_that_cannot_be_read_opens_nothing) {
  const auto with = [](std::string_view policy) {
    return fault(R"({"agent":{},"policy":)" + std::string(policy) + "}");
  };
  EXPECT_EQ(with("[]"), "");
  EXPECT_EQ(with("{}"), "/policy is not an array");
  EXPECT_EQ(with(R"(["deny"])"), "/policy/0 is not an object");
  EXPECT_EQ(with(R"([{"tool":"bash"}])"), "/policy/0/effect is missing");
  EXPECT_EQ(with(R"([{"effect":"forbid","tool":"bash"}])"), "/policy/0/effect is not allow, ask or deny");
  EXPECT_EQ(with(R"([{"effect":"deny","tool":7}])"), "/policy/0/tool is not a pattern");
  EXPECT_EQ(with(R"([{"effect":"deny","tool":"a"},{"effect":"deny"}])"),
            "/policy/1 is not a rule on one of tool, command, file and host");
  EXPECT_EQ(with(R"([{"effect":"deny","tool":"a","host":"b"}])"),
            "/policy/0 is not a rule on one of tool, command, file and host");
  EXPECT_EQ(with(R"([{"effect":"allow","host":"a","secrets":"K"}])"), "/policy/0/secrets is not an array");
  EXPECT_EQ(with(R"([{"effect":"allow","host":"a","secrets":[1]}])"), "/policy/0/secrets are not all aliases");
  EXPECT_EQ(with(R"([{"effect":"allow","host":"a","only_at_night":true}])"),
            "/policy/0/only_at_night is nothing that this runner knows of rules");
}

// A-4
TEST(ConfigAnswer, Only_the_last_twenty_turns_are_replayed) {
  std::string turns;
  for (int i = 0; i < 25; ++i) {
    turns += (i > 0 ? "," : "") + std::string(R"({"role":"user","content":")") + std::to_string(i) +
             "\",\"ts\":" + std::to_string(1000 + i) + "}";
  }
  const auto config = read_config(R"({"agent":{},"conversation":[)" + turns + "]}", fallback);
  ASSERT_TRUE(config) << config.error().what;
  ASSERT_EQ(config.value().history.size(), 20u);
  EXPECT_EQ(config.value().history.front().content, "5");
  EXPECT_EQ(config.value().history.front().at.ms, 1005);
}

TEST(ConfigAnswer, What_a_runner_that_was_lost_had_told_is_read) {
  const auto config = read_config(R"({"agent":{},"told":{"text":"Hel","reasoning":"Hm."}})", {}).take();
  EXPECT_TRUE(config.resumed);
  EXPECT_EQ(config.told_text + "|" + config.told_reasoning, "Hel|Hm.");
  EXPECT_TRUE(read_config(R"({"agent":{},"told":{}})", {}).take().resumed);
  EXPECT_EQ(fault(R"({"agent":{},"told":"Hel"})"), "/told is not an object");
  EXPECT_EQ(fault(R"({"agent":{},"told":{"text":5}})"), "/told/text is not a string");
}

TEST(ConfigAnswer, One_call_of_a_model_has_no_tools) {
  EXPECT_TRUE(read_config(R"({"agent":{},"inference":true})", {}).take().inference);
}

}  // namespace answers_test
}  // namespace sluice::station
