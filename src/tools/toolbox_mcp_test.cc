// What servers of MCP say besides the answers to calls, and what their answers name: H-6.
#include "tools/toolbox_fixture.h"

namespace sluice::tools {
namespace toolbox_mcp_test {

using net::CallFailure;
using net::FakeAnswer;
using Lines = std::vector<std::string>;

constexpr std::string_view list_changed = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

std::string event(std::string_view message) { return "data: " + std::string(message) + "\n\n"; }
std::string log_line(std::string_view level, std::string_view words) {
  return R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":")" + std::string(level) +
         R"(","data":")" + std::string(words) + R"("}})";
}
std::string tools_named(int id, std::string_view name) {
  return mcp_result(id, R"({"tools":[{"name":")" + std::string(name) + R"("}]})");
}

class ToolboxMcpTest : public ToolboxTest {
 protected:
  ToolboxMcpTest() { client.forget_method("GET"); }

  // After half a second the server says so on the stream that it is asked for.
  void open_with_events(const std::string& events, net::Headers greeting_headers = json_type()) {
    client.answer_method("GET", FakeAnswer().head(200, stream_type()).wait(500).piece(events));
    serve_mcp(std::move(greeting_headers));
    open();
    ASSERT_TRUE(is_ready);
  }
  void hear_events() { loop.advance(Millis{500}); }
  const net::ClientRequest& asked_by_get(std::size_t at) const { return client.requests_by_method.at(at); }
  std::string get_header(std::size_t at, std::string_view name) const {
    return std::string(asked_by_get(at).headers.find(name).value_or("(none)"));
  }
  void renew() {
    is_renewed = false;
    toolbox->renew([this](bool given) {
      is_renewed = true;
      have_changed = given;
    });
    loop.settle();
  }

  bool is_renewed = false;
  bool have_changed = false;
};

TEST_F(ToolboxMcpTest, H_6_What_a_server_logs_outside_of_calls_is_in_the_trace_of_the_run) {
  open_with_events(event(log_line("notice", "warm")) + event(log_line("warning", "hot")) +
                       event(log_line("critical", "on fire")) + event(log_line("debug", "42")),
                   {{"Content-Type", "application/json"}, {"Mcp-Session-Id", "s-1"}});
  ASSERT_EQ(client.requests_by_method.size(), 1u);
  EXPECT_EQ(asked_by_get(0).url, "https://mcp.example/mcp");
  EXPECT_TRUE(asked_by_get(0).public_addresses_only == client.requests.at(0).public_addresses_only);
  EXPECT_EQ(get_header(0, "accept"), "text/event-stream");
  EXPECT_EQ(get_header(0, "mcp-session-id"), "s-1");
  EXPECT_EQ(get_header(0, "mcp-protocol-version"), "2025-06-18");
  hear_events();
  EXPECT_EQ(logged, (Lines{"info MCP server crm: warm", "warn MCP server crm: hot", "error MCP server crm: on fire",
                           "debug MCP server crm: 42"}));
}

TEST_F(ToolboxMcpTest, A_server_that_logs_without_end_is_cut_short) {
  std::string events;
  for (int i = 0; i < 200; ++i) events += event(log_line("info", std::string(3'000, 'x')));
  open_with_events(events);
  hear_events();
  std::size_t bytes = 0;
  for (const auto& line : logged) bytes += line.size();
  EXPECT_LT(bytes, 70'000u);
  EXPECT_EQ(logged.back(), "info MCP server crm: (more of it is not reported)");
}

TEST_F(ToolboxMcpTest, A_server_that_sends_events_without_end_is_not_heard_any_more_and_its_tools_stay) {
  options.tool_answer_bytes_max = 1'000;
  open_with_events(": " + std::string(9'000, 'x') + "\n");
  hear_events();
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(logged[0],
            "warn MCP server crm: What it sends outside of answers is not heard any more: it sent more than 8000 bytes "
            "of events");
  EXPECT_TRUE(toolbox->has("crm__lookup"));
  EXPECT_EQ(client.calls_in_flight(), 0u);
}

TEST_F(ToolboxMcpTest, H_6_What_a_server_asks_outside_of_calls_is_answered) {
  open_with_events(
      event(R"({"jsonrpc":"2.0","id":1,"method":"ping"})") +
      event(R"({"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}})") +
      event(R"({"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":)"
            R"({"type":"object","properties":{"name":{"type":"string","default":"Ann"}}}}})"));
  for (int i = 0; i < 3; ++i) client.answer(FakeAnswer::whole(202, ""));
  hear_events();
  ASSERT_EQ(client.requests.size(), 6u);
  EXPECT_NE(client.requests[0].body.find(R"("capabilities":{"elicitation":{}})"), std::string::npos);
  EXPECT_EQ(client.requests[3].body, R"({"jsonrpc":"2.0","id":1,"result":{}})");
  EXPECT_NE(client.requests[4].body.find("-32601"), std::string::npos);
  EXPECT_EQ(client.requests[5].body,
            R"({"jsonrpc":"2.0","id":3,"result":{"action":"accept","content":{"name":"Ann"}}})");
}

TEST_F(ToolboxMcpTest, A_server_that_asks_faster_than_it_listens_is_answered_only_so_often) {
  std::string pings;
  for (int i = 0; i < 5'000; ++i) pings += event(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  open_with_events(pings);
  for (int i = 0; i < 5'000; ++i) client.answer(FakeAnswer::whole(202, ""));
  hear_events();
  EXPECT_LE(client.requests.size(), 3u + 1u + 256u);
  EXPECT_TRUE(toolbox->has("crm__lookup"));
  toolbox.reset();
}

TEST_F(ToolboxMcpTest, A_stream_is_not_kept_open_for_a_run_that_does_not_use_the_server) {
  open_with_events("");
  EXPECT_EQ(client.calls_in_flight(), 1u);
  loop.advance(Millis{1'200'000});
  EXPECT_EQ(client.calls_in_flight(), 0u);
  EXPECT_EQ(loop.timer_count(), 0u);
  client.answer(FakeAnswer::whole(200, mcp_text(3, "2 orders"), json_type()));
  call("crm__lookup");
  EXPECT_EQ(client.calls_in_flight(), 1u) << "it is opened again with the next call";
}

TEST_F(ToolboxMcpTest, A_session_that_is_begun_anew_is_heard_anew) {
  const auto in_session = [](const char* id) {
    return net::Headers{{"Content-Type", "application/json"}, {"Mcp-Session-Id", id}};
  };
  open_with_events("id: e-1\n\n", in_session("s-1"));
  hear_events();
  client.answer(FakeAnswer::whole(404, "no such session"));
  client.answer(FakeAnswer::whole(200, mcp_greeting(), in_session("s-2")));
  client.answer(FakeAnswer::whole(202, ""));
  client.answer(FakeAnswer::whole(200, mcp_text(3, "2 orders"), json_type()));
  call("crm__lookup");
  ASSERT_EQ(client.requests_by_method.size(), 2u);
  EXPECT_EQ(get_header(1, "mcp-session-id"), "s-2");
  EXPECT_EQ(get_header(1, "last-event-id"), "(none)");
  EXPECT_EQ(client.calls_in_flight(), 1u);
}

// ── tools that change ──

TEST_F(ToolboxMcpTest, H_6_Tools_that_change_are_known_before_the_next_round) {
  open_with_events(event(list_changed));
  renew();
  EXPECT_TRUE(is_renewed && !have_changed) << "nothing is waited for while nothing has changed";
  client.answer(FakeAnswer().wait(2'000).head(200, json_type()).piece(tools_named(3, "find")).finish());
  hear_events();
  renew();
  EXPECT_FALSE(is_renewed) << "the list is on its way";
  EXPECT_EQ(names(), (Lines{"crm__lookup"}));
  loop.advance(Millis{2'000});
  EXPECT_TRUE(is_renewed && have_changed);
  EXPECT_EQ(names(), (Lines{"crm__find"}));
  client.answer(FakeAnswer::whole(200, mcp_text(4, "found"), json_type()));
  call("crm__find");
  ASSERT_TRUE(heard.answer);
  EXPECT_EQ(heard.answer->text, "found");
}

TEST_F(ToolboxMcpTest, Tools_that_have_changed_and_are_not_listed_stay_as_they_were) {
  const std::vector<std::pair<FakeAnswer, std::string>> faults = {
      {FakeAnswer::whole(500, "down"), "it answered with status 500: down"},
      {FakeAnswer(), "its answer did not come: Nothing was heard for too long."},
      {FakeAnswer::connection_refused(), "Connection refused"}};
  for (const auto& [fault, words] : faults) {
    toolbox.reset();
    logged.clear();
    is_ready = false;
    client.forget_method("GET");
    open_with_events(event(list_changed));
    client.answer(fault);
    hear_events();
    renew();
    loop.advance(Millis{10'000});
    EXPECT_TRUE(is_renewed) << words;
    EXPECT_EQ(names(), (Lines{"crm__lookup"})) << words;
    ASSERT_FALSE(logged.empty()) << words;
    EXPECT_TRUE(logged[0].starts_with("warn MCP server crm: It did not list its tools, which have changed: "))
        << logged[0];
    EXPECT_NE(logged[0].find(words), std::string::npos) << logged[0];
    client.answer(FakeAnswer::whole(200, mcp_text(4, "found"), json_type()));
    call("crm__lookup");
    ASSERT_TRUE(heard.answer);
    EXPECT_EQ(heard.answer->text, "found") << "the server is as usable as before";
  }
}

TEST_F(ToolboxMcpTest, It_may_be_dropped_while_tools_are_listed_anew) {
  open_with_events(event(list_changed));
  client.answer(FakeAnswer());
  hear_events();
  renew();
  toolbox.reset();
  loop.settle();
  EXPECT_FALSE(is_renewed);
}

// ── answers that break off ──

class BrokenAnswer : public ToolboxMcpTest {
 protected:
  void begin(net::FakeAnswer rest) {
    client.answer_method("GET", FakeAnswer::whole(405, ""));
    client.answer_method("GET", std::move(rest));
    serve_mcp({{"Content-Type", "application/json"}, {"Mcp-Session-Id", "s-1"}});
    open();
    ASSERT_TRUE(is_ready);
    client.answer(
        FakeAnswer().head(200, stream_type()).piece("id: e-1\nretry: 500\ndata: \n\n").fail(CallFailure::cut, "reset"));
    call("crm__lookup");
    EXPECT_FALSE(heard.answer);
  }
};

TEST_F(BrokenAnswer, H_6_An_answer_that_a_server_breaks_off_is_read_on_where_it_ended) {
  begin(FakeAnswer()
            .head(200, stream_type())
            .piece("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":3,"
                   "\"progress\":1,\"total\":2}}\n\n")
            .piece(event(mcp_text(3, "2 orders"))));
  loop.advance(Millis{499});
  EXPECT_EQ(client.requests_by_method.size(), 1u);
  loop.advance(Millis{1});
  ASSERT_EQ(client.requests_by_method.size(), 2u);
  EXPECT_EQ(get_header(1, "last-event-id"), "e-1");
  EXPECT_EQ(get_header(1, "mcp-session-id"), "s-1");
  ASSERT_TRUE(heard.answer);
  EXPECT_EQ(heard.answer->text, "2 orders");
  EXPECT_EQ(heard.reports.size(), 1u);
  EXPECT_EQ(client.calls_in_flight(), 0u);
  EXPECT_EQ(client.requests.size(), 4u) << "the call is made once";
}

TEST_F(BrokenAnswer, One_whose_rest_is_refused_has_failed_and_its_outcome_is_unknown) {
  begin(FakeAnswer::whole(405, ""));
  loop.advance(Millis{500});
  expect_failed(
      "its answer broke off, and the rest did not come: it answered GET with status 405. Whether it did its "
      "work is unknown, and it is not called again.");
}

TEST_F(BrokenAnswer, One_that_breaks_off_again_and_again_ends_with_the_time_of_the_call) {
  begin(FakeAnswer().head(200, stream_type()).piece("id: e-2\nretry: 10000\ndata: \n\n").finish());
  client.answer(FakeAnswer::whole(202, ""));
  loop.advance(Millis{options.sessions.tool_timeout_ms});
  expect_failed("said nothing for 120 s");
  EXPECT_LT(client.requests_by_method.size(), 20u);
}

TEST_F(BrokenAnswer, A_call_that_is_dropped_is_not_read_on) {
  begin(FakeAnswer());
  client.answer(FakeAnswer::whole(202, ""));
  heard.call.reset();
  loop.advance(Millis{1'000});
  EXPECT_EQ(client.requests_by_method.size(), 1u);
  EXPECT_NE(client.requests.back().body.find("notifications/cancelled"), std::string::npos);
}

// ── resources ──

class ServerWithResources : public ToolboxMcpTest {
 protected:
  void open_server(const std::string& tools) {
    client.answer_method("GET", FakeAnswer::whole(405, ""));
    dispatch.agent.kit.mcp_servers = {{.name = "crm", .url = "https://mcp.example/mcp"}};
    client.answer(FakeAnswer::whole(
        200, mcp_result(1, R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}}})"),
        json_type()));
    client.answer(FakeAnswer::whole(202, ""));
    client.answer(FakeAnswer::whole(200, mcp_result(2, R"({"tools":[)" + tools + "]}"), json_type()));
    open();
    ASSERT_TRUE(is_ready);
  }
};

TEST_F(ServerWithResources, H_6_What_a_result_links_to_can_be_read) {
  open_server(R"({"name":"lookup"})");
  EXPECT_EQ(names(), (Lines{"crm__lookup", "crm__read_resource"}));
  client.answer(FakeAnswer::whole(
      200, mcp_result(3, R"({"content":[{"type":"resource_link","uri":"crm://orders/7","name":"order 7"}]})"),
      json_type()));
  call("crm__lookup");
  ASSERT_TRUE(heard.answer);
  EXPECT_EQ(heard.answer->text, "[resource crm://orders/7: order 7]");
  client.answer(FakeAnswer::whole(200, mcp_result(4, R"({"contents":[{"uri":"crm://orders/7","text":"3 apples"}]})"),
                                  json_type()));
  call("crm__read_resource", R"({"uri":"crm://orders/7"})");
  ASSERT_TRUE(heard.answer);
  EXPECT_FALSE(heard.answer->failed);
  EXPECT_EQ(heard.answer->text, "3 apples");
  EXPECT_NE(client.requests.back().body.find(R"("method":"resources/read","params":{"uri":"crm://orders/7"})"),
            std::string::npos);
  client.answer(FakeAnswer::whole(
      200, R"({"jsonrpc":"2.0","id":5,"error":{"code":-32002,"message":"Resource not found"}})", json_type()));
  call("crm__read_resource", R"({"uri":"crm://orders/8"})");
  expect_failed("Resource not found");
}

TEST_F(ServerWithResources, A_reading_that_names_no_resource_is_not_sent) {
  open_server(R"({"name":"lookup"})");
  const auto count = client.requests.size();
  for (const auto* arguments : {"{}", R"({"uri":7})", "[]"}) {
    call("crm__read_resource", arguments);
    expect_failed("its argument \"uri\" is missing");
  }
  for (auto i = count; i < client.requests.size(); ++i) {
    EXPECT_EQ(client.requests[i].body.find("resources/read"), std::string::npos);
  }
}

TEST_F(ServerWithResources, A_server_s_own_tool_of_that_name_is_the_one_that_is_offered) {
  open_server(R"({"name":"read_resource","description":"Its own."})");
  EXPECT_EQ(names(), (Lines{"crm__read_resource"}));
  EXPECT_EQ(toolbox->tools()[0].description, "Its own.");
  EXPECT_TRUE(logged.empty());
}

}  // namespace toolbox_mcp_test
}  // namespace sluice::tools
