// H-1, H-6, H-7: which program an agent is, and what it may call.
#include "api/inputs/kit_input.h"

#include "api/api_fixture.h"

namespace sluice::api {
namespace kit_input_test {

class KitInputTest : public ApiTest {
 protected:
  KitInputTest() { make_surfaces({.tool_urls = {"https://tools.example", "https://mcp.example/a"}}); }

  Answer make(const std::string& members) {
    return post("/v1/agents", R"({"name":")" + ids.make<model::AgentId>().text() + "\"," + members + "}");
  }
  void expect_wrong(const std::string& members, const std::string& pointer) {
    const auto answer = make(members);
    EXPECT_EQ(answer->status, 422) << members;
    EXPECT_NE(answer->body.find("\"pointer\":\"" + pointer + "\""), std::string::npos) << members << answer->body;
  }
};

TEST_F(KitInputTest, H_1_an_agent_is_native_unless_it_says_another_type) {
  const auto native = make(R"("system_prompt":"x")");
  EXPECT_EQ(native->text("agent_type"), "native");
  EXPECT_EQ(native->member("command") + native->member("mcp_servers") + native->member("tools"), "[][][]");
  EXPECT_EQ(native->member("code_mode"), "false");
  for (const auto& type : Texts{"native", "claude-code", "codex", "opencode", "grok-build"}) {
    EXPECT_EQ(make(R"("agent_type":")" + type + "\"")->text("agent_type"), type);
  }
  const auto program = make(R"("agent_type":"acp","command":["my-agent","--acp"])");
  EXPECT_EQ(program->member("command"), R"(["my-agent","--acp"])");
  for (const auto& wrong : Texts{R"("claude")", R"("")", "1"}) expect_wrong(R"("agent_type":)" + wrong, "/agent_type");
  EXPECT_NE(make(R"("agent_type":"cursor")")->body.find("native, claude-code, codex, opencode, grok-build, acp"),
            std::string::npos);
}

TEST_F(KitInputTest, H_1_a_command_is_only_for_agents_of_the_type_acp) {
  expect_wrong(R"("agent_type":"acp")", "/command");
  expect_wrong(R"("agent_type":"acp","command":[])", "/command");
  expect_wrong(R"("agent_type":"acp","command":[""])", "/command/0");
  expect_wrong(R"("agent_type":"acp","command":["a","b\u0000c"])", "/command/1");
  expect_wrong(R"("agent_type":"acp","command":"my-agent")", "/command");
  expect_wrong(R"("agent_type":"codex","command":["x"])", "/command");
  const auto path = make(R"("agent_type":"acp","command":["a"])")->header("Location");
  EXPECT_EQ(patch(path, R"({"agent_type":"codex"})")->status, 422) << "the command is still there";
  EXPECT_EQ(patch(path, R"({"agent_type":"codex","command":null})")->status, 200);
}

TEST_F(KitInputTest, H_6_servers_and_tools_are_kept_as_they_were_given) {
  const std::string servers =
      R"([{"name":"crm","url":"https://mcp.example/a/b","headers":{"Authorization":"Bearer {{secret:CRM_KEY}}"}},)"
      R"({"name":"files","command":["npx","files"],"environment":{"ROOT":"/workspace"}}])";
  const std::string tools =
      R"([{"name":"lookup","description":"Looks up.","parameters":{"type":"object","properties":{}},)"
      R"("url":"https://tools.example/lookup","timeout_seconds":5}])";
  const auto made = make(R"("mcp_servers":)" + servers + R"(,"tools":)" + tools + R"(,"code_mode":true)");
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(made->member("mcp_servers"), servers);
  EXPECT_EQ(made->member("tools"), tools);
  EXPECT_EQ(made->member("code_mode"), "true");
  const auto path = made->header("Location");
  const auto renamed = patch(path, R"({"name":"other"})");
  EXPECT_EQ(renamed->member("tools"), tools) << "what is left out stays";
  const auto quiet = patch(path, R"({"tools":null,"code_mode":null})");
  EXPECT_EQ(quiet->member("tools") + quiet->member("code_mode"), "[]false");
  EXPECT_EQ(quiet->member("mcp_servers"), servers);
  EXPECT_EQ(patch(path, R"({"agent_type":"codex"})")->member("mcp_servers"), servers);
  EXPECT_EQ(patch(path, R"({"agent_type":null,"mcp_servers":[]})")->text("agent_type"), "native");
}

TEST_F(KitInputTest, H_6_what_a_message_is_answered_with_is_the_agents_kit) {
  const auto made = make(R"("tools":[{"name":"lookup","url":"https://tools.example"}],"code_mode":true)");
  send(make_conversation(R"({"agent_id":")" + made->text("id") + "\"}"), "hello");
  ASSERT_EQ(agent.last.agent.kit.tools.size(), 1U);
  EXPECT_EQ(agent.last.agent.kit.tools[0].timeout_seconds, 60);
  EXPECT_EQ(agent.last.agent.kit.tools[0].tool.parameters, R"({"type":"object"})");
  EXPECT_TRUE(agent.last.agent.kit.code_mode);
}

TEST_F(KitInputTest, H_6_a_wrong_server_says_where) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"command":["x"]})", "/name"},
      {R"({"name":"Crm","command":["x"]})", "/name"},
      {R"({"name":"-a","command":["x"]})", "/name"},
      {R"({"name":")" + std::string(33, 'a') + R"(","command":["x"]})", "/name"},
      {R"({"name":"a"})", "/url"},
      {R"({"name":"a","url":"https://mcp.example/a","command":["x"]})", "/url"},
      {R"({"name":"a","url":"https://mcp.example/a","environment":{"A":"1"}})", "/environment"},
      {R"({"name":"a","command":["x"],"headers":{"A":"1"}})", "/headers"},
      {R"({"name":"a","command":["x"],"environment":{"LD_PRELOAD":"1"}})", "/environment/LD_PRELOAD"},
      {R"({"name":"a","comand":["x"]})", "/comand"},
      {"7", ""}};
  for (const auto& [server, pointer] : wrong) {
    expect_wrong(R"("mcp_servers":[)" + server + "]", "/mcp_servers/0" + pointer);
  }
  expect_wrong(R"("mcp_servers":[{"name":"a","command":["x"]},{"name":"a","command":["y"]}])", "/mcp_servers/1/name");
  expect_wrong(R"("mcp_servers":{})", "/mcp_servers");
}

TEST_F(KitInputTest, H_6_a_header_that_would_change_the_request_itself_is_refused) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"("Content-Length":"5")", "/Content-Length"},
      {R"("host":"other.example")", "/host"},
      {R"("Proxy-Authorization":"x")", "/Proxy-Authorization"},
      {R"("Mcp-Session-Id":"x")", "/Mcp-Session-Id"},
      {R"("X Key":"x")", "/X Key"},
      {R"("X/Key":"x")", "/X~1Key"},
      {R"("X-Key":"a\r\nHost: b")", "/X-Key"},
      {R"("X-Key":"a\u0000b")", "/X-Key"}};
  for (const auto& [header, pointer] : wrong) {
    const auto server = R"({"name":"a","url":"https://mcp.example/a","headers":{"X-Fine":"1",)" + header + "}}";
    expect_wrong(R"("mcp_servers":[{"name":"b","command":["x"]},)" + server + "]", "/mcp_servers/1/headers" + pointer);
  }
  const auto refused = make(R"("mcp_servers":[{"name":"a","url":"https://mcp.example/a","headers":{"TE":"x"}}])");
  EXPECT_NE(refused->body.find("is set by the server itself"), std::string::npos) << refused->body;
}

TEST_F(KitInputTest, H_6_a_server_may_name_how_its_token_is_got) {
  const std::string servers =
      R"([{"name":"crm","url":"https://mcp.example/a","oauth":{"client_id":"sluice","client_secret":"{{secret:CRM_KEY}}",)"
      R"("token_url":"https://tools.example/token","scope":"read write","resource":"urn:crm"}},)"
      R"({"name":"found","url":"https://mcp.example/a","oauth":{"client_id":"x","client_secret":"{{secret:CRM_KEY}}"}}])";
  const auto made = make(R"("mcp_servers":)" + servers);
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(made->member("mcp_servers"), servers);
}

TEST_F(KitInputTest, H_6_a_wrong_way_to_a_token_says_where) {
  const std::string right = R"("client_id":"x","client_secret":"{{secret:CRM_KEY}}")";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"("client_secret":"{{secret:CRM_KEY}}")", "/client_id"},
      {R"("client_id":"x")", "/client_secret"},
      {R"("client_id":"x","client_secret":"hunter2-hunter2")", "/client_secret"},
      {R"("client_id":"x","client_secret":"x{{secret:CRM_KEY}}")", "/client_secret"},
      {R"("client_id":"x","client_secret":"{{secret:A}}{{secret:B}}")", "/client_secret"},
      {right + R"(,"token_url":"https://elsewhere.example/token")", "/token_url"},
      {right + R"(,"token_url":"https://tools.example/token?x")", "/token_url"},
      {right + R"(,"scope":"a\"b")", "/scope"},
      {right + R"(,"resource":"https://mcp.example/#a")", "/resource"},
      {right + R"(,"flow":"code")", "/flow"}};
  for (const auto& [oauth, pointer] : wrong) {
    expect_wrong(R"("mcp_servers":[{"name":"a","url":"https://mcp.example/a","oauth":{)" + oauth + "}}]",
                 "/mcp_servers/0/oauth" + pointer);
  }
  expect_wrong(R"("mcp_servers":[{"name":"a","command":["x"],"oauth":{)" + right + "}}]", "/mcp_servers/0/oauth");
  expect_wrong(R"("mcp_servers":[{"name":"a","url":"https://mcp.example/a","headers":{"authorization":"x"},"oauth":{)" +
                   right + "}}]",
               "/mcp_servers/0/oauth");
}

TEST_F(KitInputTest, H_6_a_wrong_tool_says_where) {
  const std::string url = R"("url":"https://tools.example/x")";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"{" + url + "}", "/name"},
      {R"({"name":"1st",)" + url + "}", "/name"},
      {R"({"name":"a b",)" + url + "}", "/name"},
      {R"({"name":"a"})", "/url"},
      {R"({"name":"a","parameters":[],)" + url + "}", "/parameters"},
      {R"({"name":"a","parameters":{"x":")" + std::string(32'768, 'x') + "\"}," + url + "}", "/parameters"},
      {R"({"name":"a","timeout_seconds":0,)" + url + "}", "/timeout_seconds"},
      {R"({"name":"a","timeout_seconds":3601,)" + url + "}", "/timeout_seconds"},
      {R"({"name":"a","timeout":5,)" + url + "}", "/timeout"}};
  for (const auto& [tool, pointer] : wrong) expect_wrong(R"("tools":[)" + tool + "]", "/tools/0" + pointer);
  expect_wrong(R"("tools":[{"name":"a",)" + url + R"(},{"name":"a",)" + url + "}]", "/tools/1/name");
}

TEST_F(KitInputTest, H_6_tools_are_called_only_where_the_operator_lets_them) {
  for (const auto& url : Texts{"https://elsewhere.example/x", "http://tools.example/x", "https://tools.example.evil/x",
                               "https://tools.example:8443/x", "https://u:p@tools.example/x",
                               "https://tools.example/?q", "https://tools.example/x#f", "https://mcp.example/ab",
                               "https://mcp.example/a/../b", "ftp://tools.example", "tools.example"}) {
    expect_wrong(R"("tools":[{"name":"a","url":")" + url + "\"}]", "/tools/0/url");
    expect_wrong(R"("mcp_servers":[{"name":"a","url":")" + url + "\"}]", "/mcp_servers/0/url");
  }
  make_surfaces({});
  expect_wrong(R"("tools":[{"name":"a","url":"https://tools.example/x"}])", "/tools/0/url");
  EXPECT_EQ(make(R"("mcp_servers":[{"name":"a","command":["x"]}])")->status, 201) << "a box calls by its own policy";
}

TEST_F(KitInputTest, H_3_a_message_may_name_the_session_that_continues) {
  const auto conversation = make_conversation();
  const auto say = [&](const std::string& session) {
    return post("/v1/conversations/" + conversation + "/messages", R"({"content":"x","session_id":)" + session + "}");
  };
  EXPECT_EQ(say(R"("0198-ab.c_d")")->status, 200);
  EXPECT_EQ(agent.last.extras.session_id, "0198-ab.c_d");
  agent_finishes();
  EXPECT_EQ(say(R"({"sessionId":"0198-ef"})")->status, 200);
  EXPECT_EQ(agent.last.extras.session_id, "0198-ef");
  agent_finishes();
  EXPECT_EQ(say("null")->status, 200);
  EXPECT_EQ(agent.last.extras.session_id, std::nullopt);
  agent_finishes();
  for (const auto& id : Texts{"a:b", std::string(200, 'x')}) {
    for (const auto& value : Texts{"\"" + id + "\"", R"({"sessionId":")" + id + "\"}"}) {
      EXPECT_EQ(say(value)->status, 200) << value;
      EXPECT_EQ(agent.last.extras.session_id, id);
      agent_finishes();
    }
  }
  for (const auto& wrong :
       Texts{R"("")", R"("-x")", R"(".x")", R"("a/b")", R"("a b")", "1", "\"" + std::string(201, 'x') + "\"",
             R"({"sessionId":")" + std::string(201, 'x') + "\"}"}) {
    const auto answer = say(wrong);
    EXPECT_EQ(answer->status, 422) << wrong;
    EXPECT_NE(answer->body.find("/session_id"), std::string::npos) << answer->body;
  }
}

}  // namespace kit_input_test
}  // namespace sluice::api
