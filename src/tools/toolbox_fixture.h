// A toolbox in a world that stands still, whose network does as the test says.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/fake_client.h"
#include "tools/options.h"
#include "tools/toolbox.h"
#include "tools/tools.h"
#include "world/fake_world.h"

namespace sluice::tools {

using namespace runs;

struct HeardHostCall final : HostCallListener {
  std::vector<std::string> reports;  // customs and outputs
  std::optional<ToolAnswer> answer;
  std::unique_ptr<HostCall> call;

  void on_host_custom(std::string_view name, std::string_view value) override {
    EXPECT_FALSE(answer);
    reports.push_back(std::string(name) + " " + std::string(value));
  }
  void on_host_output(std::string_view text) override {
    EXPECT_FALSE(answer);
    reports.push_back("> " + std::string(text));
  }
  void on_host_answer(ToolAnswer given) override {
    EXPECT_FALSE(answer);
    answer = std::move(given);
    call.reset();  // as a caller of a tool may
  }
};

inline SignWebhook fake_signature() {
  return [](model::TenantId, std::string_view body, Timestamp at) {
    return std::vector<net::Header>{{"Sluice-Signature", std::to_string(body.size()) + "@" + std::to_string(at.ms)}};
  };
}

inline model::WebhookTool webhook_named(std::string name, std::string url = "https://tools.example/run") {
  return {.tool = {.name = std::move(name), .description = "Looks up."}, .url = std::move(url), .timeout_seconds = 30};
}

// ── a server of MCP with the tool `lookup`, as it answers ──
inline net::Headers json_type() { return {{"Content-Type", "application/json"}}; }
inline net::Headers stream_type() { return {{"Content-Type", "text/event-stream; charset=utf-8"}}; }
inline std::string mcp_result(int id, std::string_view result) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":)" + std::string(result) + "}";
}
inline std::string mcp_greeting() {
  return mcp_result(
      1, R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"crm","version":"1"}})");
}
inline std::string mcp_tools() {
  return mcp_result(2, R"({"tools":[{"name":"lookup","description":"Finds.","inputSchema":{"type":"object"}}]})");
}
inline std::string mcp_text(int id, std::string_view text) {
  return mcp_result(id, R"({"content":[{"type":"text","text":")" + std::string(text) + R"("}]})");
}

struct ToolboxOptions : Options {
  sessions::SessionOptions sessions;
};

class ToolboxTest : public testing::Test {
 protected:
  ToolboxTest() {
    options.tool_urls = {"https://tools.example/", "https://mcp.example/"};
    dispatch.secrets = std::make_shared<vault::Secrets>();
    dispatch.agent.policy = {{.subject = model::Subject::host, .pattern = "mcp.example", .secrets = {"CRM_KEY"}}};
    sign = fake_signature();
    client.answer_method("GET", net::FakeAnswer::whole(405, ""));
  }
  ~ToolboxTest() override {
    heard.call.reset();
    toolbox.reset();
    EXPECT_EQ(client.calls_in_flight(), 0u);
    EXPECT_EQ(loop.timer_count(), 0u);
  }

  void open() {
    context.reset(new Context{options, options.sessions, sign, loop, loop, client});
    toolbox = make_toolbox(*context, dispatch, nullptr);
    toolbox->open([this](std::string_view level,
                         const std::string& words) { logged.push_back(std::string(level) + " " + words); },
                  [this] { is_ready = true; });
    loop.settle();
  }
  // With one tool by webhook, one server of MCP, or both.
  void open_webhook() {
    dispatch.agent.kit.tools = {webhook_named("find_order")};
    open();
    ASSERT_TRUE(is_ready);
  }
  void serve_mcp(net::Headers greeting_headers = json_type()) {
    dispatch.agent.kit.mcp_servers = {{.name = "crm", .url = "https://mcp.example/mcp"}};
    client.answer(net::FakeAnswer::whole(200, mcp_greeting(), std::move(greeting_headers)));
    client.answer(net::FakeAnswer::whole(202, ""));
    client.answer(net::FakeAnswer::whole(200, mcp_tools(), json_type()));
  }
  void open_mcp() {
    serve_mcp();
    open();
    ASSERT_TRUE(is_ready);
    ASSERT_TRUE(toolbox->has("crm__lookup"));
  }
  void call(std::string name, std::string arguments = R"({"id":7})") {
    heard.reports.clear();
    heard.answer.reset();
    heard.call =
        toolbox->call({.id = "call_1", .name = std::move(name), .arguments = std::move(arguments)}, "step_3", heard);
    EXPECT_FALSE(heard.answer) << "no callback comes from inside";
    loop.settle();
  }
  void expect_failed(std::string_view words) {
    ASSERT_TRUE(heard.answer);
    EXPECT_TRUE(heard.answer->failed);
    EXPECT_NE(heard.answer->text.find(words), std::string::npos) << heard.answer->text;
  }
  std::string header(std::size_t request, std::string_view name) const {
    return std::string(client.requests.at(request).headers.find(name).value_or("(none)"));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& tool : toolbox->tools()) found.push_back(tool.name);
    return found;
  }

  world::FakeLoop loop;
  world::FakeEntropy entropy;
  world::FakeLog log;
  world::Metrics metrics;
  net::FakeClient client{loop};
  ToolboxOptions options;
  SignWebhook sign;
  dispatch::Dispatch dispatch;
  std::unique_ptr<Context> context;
  std::unique_ptr<Toolbox> toolbox;
  std::vector<std::string> logged;
  bool is_ready = false;
  HeardHostCall heard;
};

}  // namespace sluice::tools
