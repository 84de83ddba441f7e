#include "base/bytes.h"
#include "mcp/client_fixture.h"

namespace sluice::mcp {
namespace client_test {

TEST_F(McpClient, Leaves_out_tools_that_answer_only_to_tasks) {
  greet();
  (void)client.take(answer_to(
      listing(), R"("result":{"tools":[{"name":"lookup","execution":{"taskSupport":"optional"}},)"
                 R"({"name":"simulate","execution":{"taskSupport":"required"}},{"name":"plain","execution":{}}]})"));
  EXPECT_EQ(tool_names(), (std::vector<std::string>{"lookup", "plain"}));
}

TEST_F(McpClient, Begins_with_who_it_is_and_then_asks_for_the_tools) {
  const auto first = client.begin();
  EXPECT_EQ(member(first.message, "method"), R"("initialize")");
  EXPECT_NE(first.message.find(R"("protocolVersion":"2025-11-25")"), std::string::npos);
  EXPECT_TRUE(client.take(greeting).empty());
  EXPECT_EQ(client.protocol_version(), "2025-06-18");
  const auto output = client.take_output();
  ASSERT_EQ(output.size(), 2U);
  EXPECT_EQ(member(output[0].message, "method"), R"("notifications/initialized")");
  EXPECT_FALSE(output[0].expects_answer);
  EXPECT_EQ(member(output[1].message, "method"), R"("tools/list")");
  EXPECT_TRUE(output[1].expects_answer);
  EXPECT_TRUE(client.take_output().empty());
}

TEST_F(McpClient, Reads_every_page_of_the_tools_before_it_is_ready) {
  greet();
  EXPECT_TRUE(
      client.take(answer_to(listing(), R"("result":{"tools":[{"name":"a","description":"A"}],"nextCursor":"2"})"))
          .empty());
  const auto second = listing();
  EXPECT_EQ(member(second.message, "params"), R"({"cursor":"2"})");
  const auto events = client.take(
      answer_to(second, R"("result":{"tools":[{"name":"b","inputSchema":{"type":"object","required":["x"]}}]})"));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::ready);
  ASSERT_EQ(client.tools().size(), 2U);
  EXPECT_EQ(client.tools()[0].description, "A");
  EXPECT_EQ(client.tools()[0].parameters, "{}");
  EXPECT_EQ(client.tools()[1].parameters, R"({"type":"object","required":["x"]})");
}

TEST_F(McpClient, Stops_at_a_list_that_never_ends) {
  greet();
  std::size_t pages = 0;
  for (bool is_ready = false; !is_ready && pages < 1000; ++pages) {
    is_ready = !client.take(answer_to(listing(), R"("result":{"tools":[],"nextCursor":"again"})")).empty();
  }
  EXPECT_EQ(pages, pages_max);
}

TEST_F(McpClient, Leaves_out_tools_that_are_too_large_or_have_no_name) {
  greet();
  const auto large = R"({"name":"large","inputSchema":{"x":")" + std::string(schema_bytes_max, 'x') + R"("}})";
  (void)client.take(
      answer_to(listing(), R"("result":{"tools":[{"description":"nameless"},)" + large + R"(,{"name":"good"}, 7]})"));
  ASSERT_EQ(client.tools().size(), 1U);
  EXPECT_EQ(client.tools()[0].name, "good");
}

TEST_F(McpClient, Has_no_tools_where_the_server_knows_none) {
  greet();
  const auto events = client.take(answer_to(listing(), R"("error":{"code":-32601,"message":"no such method"})"));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::ready);
  EXPECT_TRUE(client.tools().empty());
}

TEST_F(McpClient, Fails_with_the_servers_words_when_it_will_not_begin) {
  (void)client.begin();
  const auto events = client.take(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"not today"}})");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::failed);
  EXPECT_EQ(events[0].text, "It refused to begin: not today");
  EXPECT_TRUE(client.take(greeting).empty()) << "nothing after the failure";
}

TEST_F(McpClient, Fails_when_the_answer_is_not_of_this_protocol) {
  (void)client.begin();
  const auto events = client.take(R"({"jsonrpc":"2.0","id":1,"result":"hello"})");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::failed);
}

TEST_F(McpClient, Joins_the_texts_of_an_answer_and_names_what_is_no_text) {
  const auto picture = std::string(46'424, 'A');
  const auto answer = answered(
      R"("result":{"content":[{"type":"text","text":"one"},{"type":"image","mimeType":"image/png","data":")" + picture +
      R"("},{"type":"audio","data":"AAAA"},)"
      R"({"type":"resource","resource":{"uri":"file:///a","text":"two"}},)"
      R"({"type":"resource","resource":{"uri":"file:///b","mimeType":"application/pdf","blob":"AAAAAAAA"}},)"
      R"({"type":"resource_link","uri":"file:///c","name":"c.csv","title":"The orders"},)"
      R"({"type":"resource_link","uri":"file:///d"},{"type":"hologram"}]})");
  EXPECT_EQ(answer.kind, Kind::answer);
  EXPECT_EQ(answer.number, 7U);
  EXPECT_EQ(answer.result.text,
            "one\n[image/png, 34 KB: not shown]\n[audio, 3 bytes: not shown]\ntwo\n"
            "[file:///b, application/pdf, 6 bytes: not shown]\n"
            "[resource file:///c: The orders]\n[resource file:///d]\n[hologram]");
  EXPECT_FALSE(answer.result.failed);
}

TEST_F(McpClient, Reads_a_resource_as_text) {
  be_ready();
  const auto asked = client.read(7, "file:///orders \"new\"");
  EXPECT_EQ(member(asked.message, "method"), R"("resources/read")");
  EXPECT_EQ(member(asked.message, "params"), R"({"uri":"file:///orders \"new\""})");
  const auto events = client.take(answer_to(asked, R"("result":{"contents":[{"uri":"file:///a","text":"id,sum"},)"
                                                   R"({"uri":"file:///b","mimeType":"image/png","blob":"AAAA"}]})"));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].number, 7U);
  EXPECT_EQ(events[0].result.text, "id,sum\n[file:///b, image/png, 3 bytes: not shown]");
}

TEST_F(McpClient, Knows_whether_the_server_has_resources) {
  be_ready();
  EXPECT_FALSE(client.has_resources());
  Client other("sluice");
  (void)other.begin();
  (void)other.take(
      R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{}}}})");
  EXPECT_TRUE(other.has_resources());
}

TEST_F(McpClient, Takes_the_structure_where_there_is_no_text) {
  EXPECT_EQ(answered(R"("result":{"content":[],"structuredContent":{"a":1}})").result.text, R"({"a":1})");
}

TEST_F(McpClient, Reports_a_failure_in_the_tool) {
  const auto answer = answered(R"("result":{"content":[{"type":"text","text":"no such row"}],"isError":true})");
  EXPECT_TRUE(answer.result.failed);
  EXPECT_EQ(answer.result.text, "no such row");
}

TEST_F(McpClient, Reports_a_failure_before_the_tool) {
  const auto answer = answered(R"("error":{"code":-32602,"message":"Unknown tool"})");
  EXPECT_TRUE(answer.result.failed);
  EXPECT_EQ(answer.result.text, "Unknown tool");
}

TEST_F(McpClient, Cuts_an_answer_without_end_between_two_characters) {
  std::string much;
  while (much.size() <= answer_bytes_max) much += "ü€";
  const auto answer = answered(R"("result":{"content":[{"type":"text","text":")" + much + R"("}]})");
  EXPECT_LE(answer.result.text.size(), answer_bytes_max + 3);
  EXPECT_TRUE(is_utf8(answer.result.text));
  EXPECT_TRUE(answer.result.text.ends_with("…"));
}

TEST_F(McpClient, Joins_progress_to_its_call) {
  be_ready();
  const auto asked = client.call(7, "lookup", R"({"q":1})");
  const auto id = member(asked.message, "id");
  EXPECT_NE(asked.message.find(R"("progressToken":)" + id), std::string::npos);
  const auto events = client.take(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" +
                                  id + R"(,"progress":1,"total":4}})");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].number, 7U);
  EXPECT_EQ(events[0].text, "1 of 4");
  EXPECT_TRUE(
      client.take(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99}})").empty())
      << "of a call that was never made";
}

TEST_F(McpClient, Reports_what_the_server_logs) {
  be_ready();
  const auto events =
      client.take(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"rows":3}}})");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::notice);
  EXPECT_EQ(events[0].number, 0U);
  EXPECT_EQ(events[0].text, R"({"rows":3})");
  EXPECT_EQ(events[0].level, "info");
  EXPECT_EQ(events[0].json, R"({"level":"info","data":{"rows":3}})");
}

TEST_F(McpClient, Refuses_what_it_did_not_offer_and_answers_a_ping) {
  be_ready();
  (void)client.take(R"({"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}})");
  (void)client.take(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
  const auto output = client.take_output();
  ASSERT_EQ(output.size(), 2U);
  EXPECT_EQ(member(output[0].message, "id"), R"("s1")");
  EXPECT_NE(output[0].message.find("-32601"), std::string::npos);
  EXPECT_FALSE(output[0].expects_answer);
  EXPECT_EQ(output[1].message, R"({"jsonrpc":"2.0","id":2,"result":{}})");
  for (std::size_t i = 0; i < 10 * refusals_max; ++i) (void)client.take(R"({"jsonrpc":"2.0","id":3,"method":"ping"})");
  EXPECT_EQ(client.take_output().size(), refusals_max);
}

TEST_F(McpClient, Hears_no_more_of_a_call_that_was_cancelled) {
  be_ready();
  const auto asked = client.call(7, "lookup", "{}");
  const auto cancelled = client.cancel(7);
  EXPECT_EQ(member(cancelled.message, "params"), R"({"requestId":)" + member(asked.message, "id") + "}");
  EXPECT_TRUE(client.take(answer_to(asked, R"("result":{"content":[]})")).empty());
}

TEST_F(McpClient, Takes_a_batch_of_messages) {
  be_ready();
  const auto first = answer_to(client.call(1, "lookup", "{}"), R"("result":{})");
  const auto second = answer_to(client.call(2, "lookup", "{}"), R"("result":{})");
  const auto events = client.take("[" + first + "," + second + "]");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].number, 2U);
}

TEST_F(McpClient, Takes_a_banner_for_a_notice) {
  (void)client.begin();
  const auto events = client.take("Server running on stdio");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::notice);
  EXPECT_TRUE(client.take(greeting).empty());
  EXPECT_EQ(client.protocol_version(), "2025-06-18");
}

TEST(JoinedName, Says_which_server_and_which_tool) {
  EXPECT_EQ(joined_name("crm", "lookup"), "crm__lookup");
  EXPECT_EQ(joined_name("crm", "rows.find/all"), "crm__rows_find_all");
  EXPECT_EQ(joined_name("1st", "x"), "mcp_1st__x");
}

TEST(JoinedName, Stays_within_64_characters_and_one_of_a_kind) {
  const auto one = joined_name("crm", std::string(80, 'a') + "1");
  const auto two = joined_name("crm", std::string(80, 'a') + "2");
  EXPECT_EQ(one.size(), 64U);
  EXPECT_EQ(two.size(), 64U);
  EXPECT_NE(one, two);
}

}  // namespace client_test
}  // namespace sluice::mcp
