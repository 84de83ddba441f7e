#include <gtest/gtest.h>

#include "mcp/mcp.h"

namespace sluice::mcp {
namespace server_test {

using Kind = Incoming::Kind;

// H-6: tools of the host, as an agent program is offered them.
class McpServer : public testing::Test {
 protected:
  std::string ask(std::string_view method, std::string_view params = "{}") const {
    const auto incoming = server.take(R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + R"(","params":)" +
                                      std::string(params) + "}");
    EXPECT_EQ(incoming.kind, Kind::answered);
    return incoming.reply;
  }
  std::string version_for(std::string_view asked) const {
    const auto reply = ask("initialize", R"({"protocolVersion":")" + std::string(asked) + R"("})");
    const auto document = json::Document::parse(reply);
    return std::string(*document.value().root().find("result")->find("protocolVersion")->string());
  }
  static bool is_error(std::string_view reply, int code) {
    return reply.find(R"("error":{"code":)" + std::to_string(code)) != std::string_view::npos;
  }

  Server server{{.instructions = "Be careful."},
                {{.name = "lookup", .description = "Finds \"rows\"", .parameters = R"({"properties":{"q":{}}})"},
                 {.name = "bare", .parameters = "{}"}}};
};

TEST_F(McpServer, Speaks_the_version_that_it_is_asked_for_or_its_newest) {
  for (const auto* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    EXPECT_EQ(version_for(version), version);
  }
  EXPECT_EQ(version_for("2026-07-28"), newest_version);
}

TEST_F(McpServer, Says_who_it_is) {
  EXPECT_EQ(ask("initialize"),
            R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},)"
            R"("serverInfo":{"name":"sluice","version":"1"},"instructions":"Be careful."}})");
}

TEST_F(McpServer, Lists_its_tools_with_schemas_of_objects) {
  EXPECT_EQ(ask("tools/list"),
            R"({"jsonrpc":"2.0","id":1,"result":{"tools":[)"
            R"({"name":"lookup","description":"Finds \"rows\"","inputSchema":{"type":"object","properties":{"q":{}}}},)"
            R"({"name":"bare","description":"","inputSchema":{"type":"object"}}]}})");
}

TEST_F(McpServer, Has_no_other_methods) {
  EXPECT_EQ(ask("ping"), R"({"jsonrpc":"2.0","id":1,"result":{}})");
  for (const auto* method : {"server/discover", "resources/list", "prompts/list", "logging/setLevel", ""}) {
    EXPECT_TRUE(is_error(ask(method), -32601)) << method;
  }
}

TEST_F(McpServer, Hands_on_a_call_with_what_joins_it_to_the_programs_own_stream) {
  const auto call =
      server.take(R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"lookup","arguments":{"q":1},)"
                  R"("_meta":{"progressToken":5,"claudecode/toolUseId":"toolu_1"}}})");
  EXPECT_EQ(call.kind, Kind::call);
  EXPECT_EQ(call.call_key, R"("a")");
  EXPECT_EQ(call.tool, "lookup");
  EXPECT_EQ(call.arguments, R"({"q":1})");
  EXPECT_EQ(call.call_id, "toolu_1");
  EXPECT_EQ(call.progress_token, "5");
}

TEST_F(McpServer, Takes_missing_arguments_for_none) {
  const auto call = server.take(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bare"}})");
  EXPECT_EQ(call.kind, Kind::call);
  EXPECT_EQ(call.arguments, "{}");
  EXPECT_EQ(call.progress_token, "");
}

TEST_F(McpServer, Refuses_calls_that_cannot_be) {
  EXPECT_TRUE(is_error(ask("tools/call", R"({"name":"nothing"})"), -32602));
  EXPECT_TRUE(is_error(ask("tools/call", R"({})"), -32602));
  EXPECT_TRUE(is_error(ask("tools/call", R"([])"), -32602));
  EXPECT_TRUE(is_error(ask("tools/call", R"({"name":"bare","arguments":[1]})"), -32602));
}

TEST_F(McpServer, Hears_that_a_call_is_cancelled) {
  const auto heard =
      server.take(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"x"}})");
  EXPECT_EQ(heard.kind, Kind::cancelled);
  EXPECT_EQ(heard.call_key, R"("a")");
  EXPECT_EQ(server.take(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})").kind, Kind::notification);
}

TEST_F(McpServer, Answers_neither_notifications_nor_answers) {
  EXPECT_EQ(server.take(R"({"jsonrpc":"2.0","method":"notifications/initialized"})").kind, Kind::notification);
  EXPECT_EQ(server.take(R"({"jsonrpc":"2.0","id":9,"result":{}})").kind, Kind::notification);
}

TEST_F(McpServer, Says_what_is_wrong_with_a_message) {
  EXPECT_TRUE(is_error(server.take("{").reply, -32700));
  EXPECT_TRUE(is_error(server.take("").reply, -32700));
  EXPECT_TRUE(is_error(server.take("[]").reply, -32600));
  EXPECT_TRUE(is_error(server.take("7").reply, -32600));
  EXPECT_TRUE(is_error(server.take(R"({"id":1,"method":"ping"})").reply, -32600));
  EXPECT_TRUE(is_error(server.take(R"({"jsonrpc":"2.0","id":1})").reply, -32600));
  EXPECT_TRUE(is_error(server.take(R"({"jsonrpc":"2.0","id":1,"method":7})").reply, -32600));
  EXPECT_TRUE(is_error(server.take(R"({"jsonrpc":"2.0","id":[1],"method":"ping"})").reply, -32600));
  EXPECT_TRUE(is_error(
      server.take(R"({"jsonrpc":"2.0","id":")" + std::string(300, 'x') + R"(","method":"ping"})").reply, -32600));
}

TEST(McpReply, Carries_the_answer_of_a_call) {
  EXPECT_EQ(reply_to_call("7", {.text = "a\"b", .failed = true}),
            R"({"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"a\"b"}],"isError":true}})");
}

TEST(McpReply, Reports_progress_to_the_caller_that_asked_for_it) {
  EXPECT_EQ(progress_notice(R"("t")", 2, "waiting"),
            R"({"jsonrpc":"2.0","method":"notifications/progress",)"
            R"("params":{"progressToken":"t","progress":2,"message":"waiting"}})");
}

}  // namespace server_test
}  // namespace sluice::mcp
