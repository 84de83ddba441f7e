// What is written of kits, of what messages bring along and of answers is read back as it was (H-1, H-3, H-6).
#include "model/kit.h"

#include <gtest/gtest.h>

#include "model/json.h"

namespace sluice::model {
namespace kit_test {

template <typename Write>
std::string object_of(Write write) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  write(writer);
  writer.end_object();
  return out;
}

std::string text_of(const AgentKit& kit) {
  return object_of([&](json::Writer& writer) { append_kit_members(writer, kit); });
}
std::string text_of(const RunExtras& extras) {
  return object_of([&](json::Writer& writer) { append_extras_members(writer, extras); });
}

template <typename Read>
auto read_back(const std::string& text, Read read) {
  const auto document = json::Document::parse(text);
  EXPECT_TRUE(document) << text;
  return read(document.value().root());
}

TEST(Kit, H_1_the_agent_types_are_known_by_their_names) {
  for (const auto* name : {"native", "claude-code", "codex", "opencode", "grok-build", "acp"}) {
    EXPECT_TRUE(is_agent_type(name)) << name;
  }
  for (const auto* name : {"", "Native", "claude", "codex ", "acp2"}) EXPECT_FALSE(is_agent_type(name)) << name;
}

TEST(KitJson, H_6_is_spelt_in_one_way_and_comes_back_as_it_was) {
  AgentKit kit{.agent_type = "acp", .command = {"my-agent", "--acp", "a \"b\""}, .code_mode = true};
  kit.workspace = WorkspaceUse::read;
  kit.mcp_servers = {
      {.name = "crm", .url = "https://crm.example/mcp", .headers = {{"Authorization", "Bearer {{secret:CRM_KEY}}"}}},
      {.name = "bare", .url = "https://bare.example"},
      {.name = "guarded",
       .url = "https://guarded.example",
       .oauth = McpOAuth{"sluice", "{{secret:CRM_KEY}}", "https://auth.example/token", "read write", "urn:crm"}},
      {.name = "found", .url = "https://found.example", .oauth = McpOAuth{"sluice", "{{secret:CRM_KEY}}"}},
      {.name = "local", .command = {"npx", "server"}, .environment = {{"MODE", "quick"}}}};
  kit.tools = {{{"lookup", "Looks up.", R"({"type":"object","properties":{"id":{"type":"string"}}})"},
                "https://tools.example/lookup",
                5}};
  EXPECT_EQ(
      text_of(kit),
      R"({"agent_type":"acp","command":["my-agent","--acp","a \"b\""],"mcp_servers":[{"name":"crm",)"
      R"("url":"https://crm.example/mcp","headers":{"Authorization":"Bearer {{secret:CRM_KEY}}"}},)"
      R"({"name":"bare","url":"https://bare.example"},{"name":"guarded","url":"https://guarded.example",)"
      R"("oauth":{"client_id":"sluice","client_secret":"{{secret:CRM_KEY}}",)"
      R"("token_url":"https://auth.example/token","scope":"read write","resource":"urn:crm"}},)"
      R"({"name":"found","url":"https://found.example",)"
      R"("oauth":{"client_id":"sluice","client_secret":"{{secret:CRM_KEY}}"}},{"name":"local","command":["npx","server"],)"
      R"("environment":{"MODE":"quick"}}],"tools":[{"name":"lookup","description":"Looks up.",)"
      R"("parameters":{"type":"object","properties":{"id":{"type":"string"}}},)"
      R"("url":"https://tools.example/lookup","timeout_seconds":5}],"code_mode":true,"workspace":"read"})");
  EXPECT_EQ(read_back(text_of(kit), kit_from_json), kit);
  EXPECT_EQ(read_back(text_of(AgentKit{}), kit_from_json), AgentKit{});
}

TEST(KitJson, What_is_missing_is_as_in_a_new_one) {
  EXPECT_EQ(read_back("{}", kit_from_json), AgentKit{});
  const auto kit = read_back(R"({"tools":[{"name":"x"}],"mcp_servers":[{"name":"y"}],"code_mode":1})", kit_from_json);
  ASSERT_EQ(kit.tools.size(), 1U);
  EXPECT_EQ(kit.tools[0].timeout_seconds, 60);
  EXPECT_EQ(kit.tools[0].tool.parameters, "{}");
  ASSERT_EQ(kit.mcp_servers.size(), 1U);
  EXPECT_EQ(kit.mcp_servers[0].name, "y");
  EXPECT_FALSE(kit.code_mode);
  EXPECT_EQ(kit.workspace, WorkspaceUse::none) << "also of an agent that was kept before there was the member";
}

TEST(ExtrasJson, H_3_come_back_as_they_were) {
  RunExtras extras{.session_id = "0198-a.b_c"};
  extras.client_tools = {{"pick", "Picks \"one\".", R"({"type":"object"})"}, {"bare", "", "{}"}};
  extras.context = {{"page", "Settings ✓"}, {"", ""}};
  extras.agui = AguiNames{"t1", "r2", "r1", R"([{"id":"m","role":"user","content":"x"}])"};
  EXPECT_EQ(text_of(extras),
            R"({"session_id":"0198-a.b_c","client_tools":[{"name":"pick","description":"Picks \"one\".",)"
            R"("parameters":{"type":"object"}},{"name":"bare","description":"","parameters":{}}],)"
            R"("context":[{"description":"page","value":"Settings ✓"},{"description":"","value":""}],)"
            R"("agui":{"thread_id":"t1","run_id":"r2","parent_run_id":"r1",)"
            R"("messages":[{"id":"m","role":"user","content":"x"}]}})");
  EXPECT_EQ(read_back(text_of(extras), extras_from_json), extras);
  extras.agui->parent_run_id.reset();
  extras.agui->replaces = "msg_1";
  EXPECT_EQ(read_back(text_of(extras), extras_from_json), extras);
}

TEST(ExtrasJson, A_5_a_chats_turn_and_what_a_block_asks_for_come_back_as_they_were) {
  RunExtras extras;
  extras.chat =
      ChatTurn{{{"fil_1", "a \"b\".csv", "text/csv", 12, std::string(64, 'a'), 1'700'000'000'000}}, true, "Q3", 5};
  extras.inference = Inference{{"openai-chat", "small", "http://127.0.0.1:1", std::nullopt}, "Be brief.", 100};
  extras.sandbox_url = "http://runner:9000";
  extras.builtin_skills = {"tables", "files"};
  EXPECT_EQ(read_back(text_of(extras), extras_from_json), extras);
}

TEST(ExtrasJson, Nothing_is_written_of_a_message_that_brings_nothing) {
  EXPECT_EQ(text_of(RunExtras{}), "{}");
  EXPECT_EQ(read_back(R"({"content":"hello","session_id":null})", extras_from_json), RunExtras{});
}

TEST(AnswersJson, H_6_come_back_as_they_were_but_for_the_thread) {
  GateAnswers answers{.agui_run_id = "r2"};
  answers.results = {{"step_1", "sunny \"today\"", false}, {"step_2", "", true}};
  EXPECT_EQ(to_json(answers),
            R"({"agui_run_id":"r2","results":[{"call_id":"step_1","content":"sunny \"today\"","failed":false},)"
            R"({"call_id":"step_2","content":"","failed":true}]})");
  EXPECT_EQ(read_back(to_json(answers), answers_from_json), answers);
  answers.agui_thread_id = "t1";
  EXPECT_EQ(to_json(answers).find("t1"), std::string::npos) << "the thread is not part of the event";
  EXPECT_EQ(to_json(GateAnswers{}), R"({"results":[]})");
  EXPECT_EQ(read_back("{}", answers_from_json), GateAnswers{});
}

TEST(ItemsJson, H_6_calls_of_the_client_come_back_as_they_were) {
  const std::vector<RequestedItem> items = {
      {.kind = ItemKind::client_tool,
       .description = "get_weather",
       .call = ClientCall{"step_3", "get_weather", R"({"place":"Ulm"})"}},
      {.kind = ItemKind::action, .description = "Runs rm.", .call = ClientCall{"step_4", "bash", "{}"}}};
  std::string text;
  json::Writer writer(text);
  append_items(writer, items);
  EXPECT_EQ(text, R"([{"kind":"client_tool","description":"get_weather","call":{"id":"step_3","name":"get_weather",)"
                  R"("arguments":"{\"place\":\"Ulm\"}"}},{"kind":"action","description":"Runs rm.",)"
                  R"("call":{"id":"step_4","name":"bash","arguments":"{}"}}])");
  EXPECT_EQ(read_back(text, items_from_json), items);
}

TEST(TakeBack, Cuts_to_what_is_kept_at_a_characters_border_and_ignores_nonsense) {
  std::string text = "aé✓";
  EXPECT_TRUE(take_back(text, R"({"kept_bytes":6})"));
  EXPECT_EQ(text, "aé✓");
  EXPECT_TRUE(take_back(text, R"({"kept_bytes":5})"));
  EXPECT_EQ(text, "aé") << "not in the middle of ✓";
  for (const auto* nonsense : {"", "{}", R"({"kept_bytes":-1})", R"({"kept_bytes":99})", R"({"kept_bytes":"1"})"}) {
    EXPECT_FALSE(take_back(text, nonsense)) << nonsense;
    EXPECT_EQ(text, "aé");
  }
  EXPECT_TRUE(take_back(text, R"({"kept_bytes":0})"));
  EXPECT_EQ(text, "");
}

}  // namespace kit_test
}  // namespace sluice::model
