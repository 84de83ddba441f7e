// A client in a dialogue with a server that says what the test says.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "mcp/mcp.h"

namespace sluice::mcp {

using Kind = FromServer::Kind;

inline constexpr std::string_view greeting =
    R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}})";

inline std::string member(std::string_view message, std::string_view name) {
  const auto document = json::Document::parse(message);
  if (!document) return "not JSON";
  const auto value = document.value().root().find(name);
  return value ? value->to_text() : "";
}

inline std::string answer_to(const Outgoing& asked, std::string_view rest) {
  return R"({"jsonrpc":"2.0","id":)" + member(asked.message, "id") + "," + std::string(rest) + "}";
}

// H-6: tools of other servers.
class McpClient : public testing::Test {
 protected:
  void greet() {
    (void)client.begin();
    EXPECT_TRUE(client.take(greeting).empty());
  }
  // The question after the greeting.
  Outgoing listing() {
    auto output = client.take_output();
    EXPECT_FALSE(output.empty());
    return output.empty() ? Outgoing() : output.back();
  }
  void be_ready() {
    greet();
    const auto events = client.take(answer_to(listing(), R"("result":{"tools":[{"name":"lookup"}]})"));
    ASSERT_EQ(events.size(), 1U);
    ASSERT_EQ(events[0].kind, Kind::ready);
  }
  FromServer answered(std::string_view rest) {
    be_ready();
    const auto events = client.take(answer_to(client.call(7, "lookup", "{}"), rest));
    EXPECT_EQ(events.size(), 1U);
    return events.empty() ? FromServer() : events[0];
  }

  std::vector<std::string> tool_names() const {
    std::vector<std::string> names;
    for (const auto& tool : client.tools()) names.push_back(tool.name);
    return names;
  }

  Client client{"sluice"};
};

}  // namespace sluice::mcp
