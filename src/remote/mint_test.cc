// S-3, S-6: the tokens of a dispatch and the configuration for its runner.
#include <gtest/gtest.h>

#include <set>

#include "base/digest.h"
#include "base/json.h"
#include "remote/remote.h"
#include "world/fake_world.h"

namespace sluice::remote {
namespace mint_test {

const MintOptions options{"https://server.example", "a secret of the server"};

class Mint : public testing::Test {
 protected:
  Minted made() { return mint(dispatch_, tenant_, options, ids_, entropy_, loop_.now()); }
  // What is at a path of names, as JSON.
  static std::string at(const std::string& text, std::initializer_list<std::string_view> path) {
    const auto document = json::Document::parse(text);
    if (!document) return "no JSON";
    auto value = std::optional(document.value().root());
    for (const auto name : path) value = value ? value->find(name) : std::nullopt;
    return value ? value->to_text() : "nothing";
  }

  world::FakeLoop loop_;
  world::FakeEntropy entropy_;
  world::IdSource ids_{loop_, entropy_};
  model::TenantId tenant_ = ids_.make<model::TenantId>();
  dispatch::Dispatch dispatch_;
};

TEST_F(Mint, Three_tokens_hashed_each_with_its_purpose_and_its_time_S_3) {
  const auto minted = made();
  ASSERT_EQ(minted.hashed.size(), 3u);
  const std::string* clear[] = {&minted.otp_setup, &minted.otp_run, &minted.otp_upload};
  const model::TokenPurpose purposes[] = {model::TokenPurpose::setup, model::TokenPurpose::run,
                                          model::TokenPurpose::upload};
  const int64_t minutes[] = {10, 10, 60};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(minted.hashed[i].sha256, sha256(*clear[i]));
    EXPECT_EQ(minted.hashed[i].purpose, purposes[i]);
    EXPECT_EQ(minted.hashed[i].expires_at.ms - loop_.now().ms, minutes[i] * 60'000);
    EXPECT_EQ(clear[i]->size(), 5u + 43u);  // 32 bytes
  }
  EXPECT_EQ(minted.otp_setup.substr(0, 5) + minted.otp_run.substr(0, 5) + minted.otp_upload.substr(0, 5),
            "otps_otpr_otpu_");
  EXPECT_EQ(minted.agent_url, "https://server.example/api/agents/" + minted.execution.id.text());
}

TEST_F(Mint, No_two_tokens_are_alike) {
  std::set<std::string> seen;
  for (int i = 0; i < 50; ++i) {
    const auto minted = made();
    for (const auto& token : {minted.otp_setup, minted.otp_run, minted.otp_upload, minted.bearer}) {
      EXPECT_TRUE(seen.insert(token).second);
    }
  }
}

TEST_F(Mint, The_bearer_lives_as_long_as_the_run_may_and_a_minute_more_S_6) {
  dispatch_.agent.limits.max_runtime_seconds = 100;
  EXPECT_EQ(made().execution.expires_at.ms - loop_.now().ms, 160'000);
}

TEST_F(Mint, The_bearer_is_in_no_record_and_in_the_answer_to_config) {
  const auto minted = made();
  EXPECT_EQ(minted.bearer, bearer_of(options.bearer_secret, minted.execution.id));
  EXPECT_NE(minted.bearer, bearer_of("another secret", minted.execution.id));
  EXPECT_EQ(minted.execution.config_json.find("asbx_"), std::string::npos);
  const auto answer = config_answer(minted.execution, options.bearer_secret);
  EXPECT_EQ(at(answer, {"callback", "token"}), "\"" + minted.bearer + "\"");
  EXPECT_EQ(at(answer, {"callback", "base_url"}),
            "\"https://server.example/api/workspaces/" + model::WorkspaceId{tenant_.ulid}.text() + "\"");
  EXPECT_EQ(at(answer, {"agent"}), at(minted.execution.config_json, {"agent"}));
  EXPECT_EQ(at(answer, {"callback", "workspace"}), "\"none\"");
  dispatch_.workspace.use = model::WorkspaceUse::read;
  EXPECT_EQ(at(made().execution.config_json, {"callback", "workspace"}), "\"read\"");
}

TEST_F(Mint, Env_has_the_variables_and_the_script_S_4) {
  EXPECT_EQ(made().execution.env_json, R"({"variables":{},"script":null})");
  dispatch_.materials.variables = {{"A", "1"}, {"B", "\"\n"}};
  dispatch_.materials.setup_script = "make";
  EXPECT_EQ(made().execution.env_json, R"({"variables":{"A":"1","B":"\"\n"},"script":"make"})");
}

TEST_F(Mint, Config_has_the_agent_its_materials_and_the_last_twenty_turns_S_4_A_4) {
  dispatch_.agent.name = "Ada";
  dispatch_.agent.model = {"offline", "small", "http://m/v1"};
  dispatch_.agent.system_prompt = "Be brief.";
  dispatch_.max_rounds = 7;
  const auto skill = ids_.make<model::SkillId>();
  dispatch_.materials.skills = {{skill.text(), "pdf", "Reads PDF", std::string(64, 'a')}};
  dispatch_.materials.repository = dispatch::RepositoryUse{.id = "rep_1", .url = "https://g/x", .ref = "main"};
  for (int i = 0; i < 23; ++i) {
    dispatch_.history.push_back({i % 2 == 0 ? model::Role::user : model::Role::assistant, std::to_string(i), {i}});
  }
  const auto minted = made();
  const auto& config = minted.execution.config_json;
  EXPECT_EQ(at(config, {"agent"}),
            R"({"name":"Ada","system_prompt":"Be brief.","agent_type":"native","model":{"provider":"offline",)"
            R"("name":"small","base_url":"http://m/v1"},"max_rounds":7})");
  EXPECT_EQ(minted.execution.skill_ids, std::vector{skill});
  EXPECT_NE(at(config, {"skills"}).find(skill.text()), std::string::npos);
  EXPECT_EQ(at(config, {"repository", "ref"}), "\"main\"");
  EXPECT_EQ(at(config, {"limits", "max_runtime_seconds"}), "28800");
  const auto document = json::Document::parse(config);
  std::vector<std::string> turns;
  document.value().root().find("conversation")->each_element([&](json::Value turn) {
    turns.push_back(turn.to_text());
  });
  ASSERT_EQ(turns.size(), 20u);
  EXPECT_EQ(turns.front(), R"({"role":"assistant","content":"3","ts":3})");
  EXPECT_EQ(turns.back(), R"({"role":"user","content":"22","ts":22})");
}

// A-5
TEST_F(Mint, Config_says_where_the_attached_files_are) {
  EXPECT_EQ(at(made().execution.config_json, {"files"}), "null");
  dispatch_.materials.files = {{"a.csv", std::string(64, 'a'), 3}};
  const auto minted = made();
  const auto& config = minted.execution.config_json;
  EXPECT_NE(at(config, {"files", "url"}).find("/api/assistant/sandbox/" + minted.execution.id.text() + "/files.zip"),
            std::string::npos);
  EXPECT_EQ(at(config, {"files", "items"}),
            R"([{"name":"a.csv","size":3,"sha256":")" + std::string(64, 'a') + R"("}])");
}

// H-1, H-6
TEST_F(Mint, Config_has_the_agents_type_and_the_tools_it_is_given) {
  EXPECT_EQ(at(made().execution.config_json, {"mcp_servers"}), "[]");
  dispatch_.agent.kit.agent_type = "codex";
  dispatch_.agent.kit.mcp_servers = {{"crm", "https://crm/mcp", {{"X-Key", "{{secret:K}}"}}, {}, {}},
                                     {"files", "", {}, {"npx", "files"}, {}}};
  const auto minted = made();
  const auto& config = minted.execution.config_json;
  EXPECT_EQ(at(config, {"agent", "agent_type"}), "\"codex\"");
  EXPECT_EQ(at(config, {"mcp_servers"}),
            R"([{"name":"crm","url":"https://crm/mcp","headers":{"X-Key":"{{secret:K}}"}}])");
  const auto kit = json::Document::parse(at(config, {"kit"}));
  ASSERT_TRUE(kit);
  EXPECT_EQ(model::kit_from_json(kit.value().root()), dispatch_.agent.kit);
}

// I-14, I-17: the runner must obey it.
TEST_F(Mint, Config_has_the_policy_of_the_agent) {
  EXPECT_EQ(at(made().execution.config_json, {"policy"}), "[]");
  dispatch_.agent.policy = {
      {.effect = model::Effect::deny, .subject = model::Subject::command, .pattern = "rm *", .reason = "No."},
      {.subject = model::Subject::host, .pattern = "*.example", .secrets = {"K"}}};
  const auto minted = made();
  const auto answer = config_answer(minted.execution, options.bearer_secret);
  EXPECT_EQ(at(answer, {"policy"}), R"([{"effect":"deny","command":"rm *","reason":"No."},)"
                                    R"({"effect":"allow","host":"*.example","secrets":["K"]}])");
}

TEST_F(Mint, What_a_runner_that_was_lost_had_told_goes_along) {
  EXPECT_EQ(at(made().execution.config_json, {"told"}), "nothing");
  dispatch_.resumed = true;
  dispatch_.told_text = "Hel";
  dispatch_.told_reasoning = "Hm.";
  EXPECT_EQ(at(made().execution.config_json, {"told"}), R"({"text":"Hel","reasoning":"Hm."})");
}

TEST_F(Mint, One_call_of_a_model_is_told_as_that_and_others_are_not) {
  EXPECT_EQ(at(made().execution.config_json, {"inference"}), "nothing");
  dispatch_.extras.inference.emplace();
  EXPECT_EQ(at(made().execution.config_json, {"inference"}), "true");
}

}  // namespace mint_test
}  // namespace sluice::remote
