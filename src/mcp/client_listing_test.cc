// Tools that change while a run uses them: H-6.
#include "mcp/client_fixture.h"

namespace sluice::mcp {
namespace client_listing_test {

using Names = std::vector<std::string>;

constexpr std::string_view list_changed = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

class McpListing : public McpClient {
 protected:
  void SetUp() override {
    be_ready();
    (void)client.take_output();
  }
};

TEST_F(McpListing, Tools_that_change_are_listed_anew_while_calls_go_on) {
  const auto call = client.call(7, "lookup", "{}");
  EXPECT_TRUE(client.take(list_changed).empty());
  EXPECT_TRUE(client.is_listing());
  const auto first = listing();
  EXPECT_EQ(member(first.message, "method"), R"("tools/list")");
  EXPECT_EQ(client.take(answer_to(call, R"("result":{"content":[]})")).at(0).kind, Kind::answer);
  EXPECT_TRUE(client.take(answer_to(first, R"("result":{"tools":[{"name":"find"}],"nextCursor":"2"})")).empty());
  EXPECT_EQ(tool_names(), (Names{"lookup"})) << "the old ones count until all new ones are known";
  const auto events = client.take(answer_to(listing(), R"("result":{"tools":[{"name":"store"}]})"));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::listed);
  EXPECT_EQ(tool_names(), (Names{"find", "store"}));
  EXPECT_FALSE(client.is_listing());
}

TEST_F(McpListing, Tools_that_change_while_they_are_listed_are_listed_once_more) {
  (void)client.take(list_changed);
  const auto first = listing();
  (void)client.take(list_changed);
  (void)client.take(list_changed);
  EXPECT_TRUE(client.take_output().empty()) << "one list at a time";
  EXPECT_EQ(client.take(answer_to(first, R"("result":{"tools":[]})")).at(0).kind, Kind::listed);
  EXPECT_TRUE(client.is_listing());
  (void)client.take(answer_to(listing(), R"("result":{"tools":[{"name":"find"}]})"));
  EXPECT_EQ(tool_names(), (Names{"find"}));
  EXPECT_FALSE(client.is_listing());
}

TEST_F(McpListing, A_list_that_is_refused_or_does_not_come_leaves_the_tools_as_they_were) {
  (void)client.take(list_changed);
  auto events = client.take(answer_to(listing(), R"("error":{"code":-32000,"message":"not now"})"));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, Kind::notice);
  EXPECT_EQ(events[0].text, "It did not list its tools: not now");
  EXPECT_EQ(events[1].kind, Kind::listed);
  (void)client.take(list_changed);
  const auto late = listing();
  events = client.give_up_listing("It did not answer.");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].kind, Kind::listed);
  EXPECT_TRUE(client.take(answer_to(late, R"("result":{"tools":[]})")).empty());
  EXPECT_EQ(tool_names(), (Names{"lookup"}));
  EXPECT_TRUE(client.give_up_listing("nothing is being listed").empty());
}

TEST_F(McpListing, A_server_whose_tools_change_without_end_is_asked_only_so_often) {
  int asked = 0;
  for (int i = 0; i < 3 * list_changes_max; ++i) {
    (void)client.take(list_changed);
    for (const auto& output : client.take_output()) {
      ++asked;
      (void)client.take(answer_to(output, R"("result":{"tools":[]})"));
    }
  }
  EXPECT_EQ(asked, list_changes_max);
}

}  // namespace client_listing_test
}  // namespace sluice::mcp
