// The tools that a run is given by the host, each with what can go wrong with it: H-6.
#include "tools/toolbox_fixture.h"

namespace sluice::tools {
namespace toolbox_test {

using net::CallFailure;
using net::FakeAnswer;
using Lines = std::vector<std::string>;

const net::Headers lines_type{{"Content-Type", "application/x-ndjson"}};

// ── webhooks ──

TEST_F(ToolboxTest, H_6_A_webhook_is_called_once_with_a_signed_body_and_its_result_is_the_answer) {
  open_webhook();
  EXPECT_EQ(names(), (Lines{"find_order"}));
  client.answer(FakeAnswer::whole(200, R"({"result":{"status":"shipped"}})", json_type()));
  call("find_order");
  ASSERT_TRUE(heard.answer);
  EXPECT_FALSE(heard.answer->failed);
  EXPECT_EQ(heard.answer->text, R"({"status":"shipped"})");
  ASSERT_EQ(client.requests.size(), 1u);
  const auto& asked = client.requests[0];
  EXPECT_EQ(asked.method + " " + asked.url, "POST https://tools.example/run");
  EXPECT_EQ(asked.body, R"({"object":"tool_call","id":"step_3","run_id":")" + dispatch.run.text() +
                            R"(","conversation_id":")" + dispatch.conversation.text() + R"(","agent_id":")" +
                            dispatch.agent.id.text() + R"(","name":"find_order","arguments":{"id":7}})");
  EXPECT_EQ(header(0, "sluice-signature"), std::to_string(asked.body.size()) + "@" + std::to_string(loop.now().ms));
  EXPECT_EQ(header(0, "content-type"), "application/json");
  EXPECT_EQ(header(0, "accept"), "application/json, application/x-ndjson");
}

TEST_F(ToolboxTest, A_webhook_may_answer_in_many_ways) {
  open_webhook();
  const std::vector<std::pair<std::string, ToolAnswer>> answers = {
      {R"({"result":"words"})", {"words", false}},
      {R"({"result":[1,2]})", {"[1,2]", false}},
      {R"({"error":"No such order."})", {"No such order.", true}},
      {R"({"error":3})", {R"({"error":3})", false}},
      {R"({"order":{"id":7}})", {R"({"order":{"id":7}})", false}},
      {"plain\ntext", {"plain\ntext", false}},
      {"", {"", false}},
      {"\"a string\"", {"a string", false}}};
  for (const auto& [body, expected] : answers) {
    client.answer(FakeAnswer::whole(200, body, json_type()));
    call("find_order");
    ASSERT_TRUE(heard.answer) << body;
    EXPECT_EQ(heard.answer->text, expected.text) << body;
    EXPECT_EQ(heard.answer->failed, expected.failed) << body;
  }
}

TEST_F(ToolboxTest, A_webhook_tells_what_goes_on_as_it_happens) {
  open_webhook();
  client.answer(FakeAnswer()
                    .head(200, lines_type)
                    .piece(R"({"type":"custom","name":"progress","value":{"done":1}})"
                           "\n"
                           R"({"type":"custom","na)")
                    .wait(1'000)
                    .piece(R"(me":"shop.stock","value":5})"
                           "\r\n\n"
                           R"({"type":"output","text":"looking\n"})"
                           "\n")
                    .piece(R"({"type":"of tomorrow"})"
                           "\n"
                           R"({"type":"result","result":"found"})"
                           "\n")
                    .piece("not even JSON"));
  call("find_order");
  EXPECT_EQ(heard.reports, (Lines{R"(tool.progress {"done":1})"})) << "names without a prefix are not a tool's to give";
  EXPECT_FALSE(heard.answer);
  loop.advance(Millis{1'000});
  EXPECT_EQ(heard.reports, (Lines{R"(tool.progress {"done":1})", "shop.stock 5", "> looking\n"}));
  ASSERT_TRUE(heard.answer);
  EXPECT_EQ(heard.answer->text, "found");
  EXPECT_EQ(client.calls_in_flight(), 0u) << "what follows the result is not waited for";
  client.answer(FakeAnswer::whole(200, R"({"type":"error","error":"sold out"})", lines_type));
  call("find_order");
  expect_failed("sold out");
}

TEST_F(ToolboxTest, A_webhook_that_fails_says_how_and_is_never_called_again) {
  options.tool_answer_bytes_max = 100;
  open_webhook();
  const std::string unknown = "unknown";
  const std::vector<std::pair<FakeAnswer, std::string>> faults = {
      {FakeAnswer::connection_refused(), "The tool find_order could not be reached: Connection refused"},
      {FakeAnswer().fail(CallFailure::refused, "bad URL"), "could not be called: bad URL"},
      {FakeAnswer(), "did not answer within 30 s"},
      {FakeAnswer().head(200, lines_type), "did not answer within 30 s"},
      {FakeAnswer::whole(200, R"({"result":"half)").cut_after(8),
       "broke off (Connection reset by peer), its outcome unknown"},
      {FakeAnswer::whole(503, "  try\nlater"), "answered with status 503: try later."},
      {FakeAnswer::whole(302, "", {{"Location", "https://elsewhere.example/"}}), "answered with status 302."},
      {FakeAnswer::whole(500, std::string(1'000, 'x')), "answered with status 500"},
      {FakeAnswer::whole(200, std::string(101, 'x')), "more than 100 bytes"},
      {FakeAnswer::whole(200, "{\"type\":\n", lines_type), "has a line that is"},
      {FakeAnswer::whole(200, R"({"type":"output","text":"x"})", lines_type), "ended without a result"}};
  for (const auto& [fault, words] : faults) {
    client.requests.clear();
    client.answer(fault);
    call("find_order");
    loop.advance(Millis{60'000});
    expect_failed(words);
    EXPECT_EQ(client.requests.size(), 1u) << words;
  }
}

TEST_F(ToolboxTest, A_webhook_is_called_only_where_the_operator_lets_tools_be) {
  dispatch.agent.kit.tools = {webhook_named("inside", "https://tools.example.evil/run")};
  open();
  call("inside");
  expect_failed("tools.urls");
  EXPECT_TRUE(client.requests.empty());
}

TEST_F(ToolboxTest, What_a_webhook_says_is_told_without_values_of_secrets_and_within_bounds) {
  options.sessions.tool_output_bytes_max = 40;
  options.sessions.tool_result_chars_max = 20;
  dispatch.secrets->replace({{.alias = "CRM_KEY", .value = "hunter2-hunter2"}});
  open_webhook();
  client.answer(
      FakeAnswer()
          .head(200, lines_type)
          .piece("{\"type\":\"output\",\"text\":\"key hunter2-\"}\n{\"type\":\"output\",\"text\":\"hunter2\"}\n")
          .piece("{\"type\":\"result\",\"result\":\"hunter2-hunter2\"}\n"));
  call("find_order");
  std::string printed;
  for (const auto& piece : heard.reports) printed += piece.substr(2);
  EXPECT_EQ(printed, "key {{secret:CRM_KEY}}");
  EXPECT_EQ(heard.answer->text, "{{secret:CRM_KEY}}");
  client.answer(FakeAnswer::whole(200,
                                  "{\"type\":\"output\",\"text\":\"" + std::string(50, 'x') +
                                      "\"}\n{\"type\":\"result\",\"result\":\"" + std::string(50, 'y') + "\"}",
                                  lines_type));
  call("find_order");
  EXPECT_EQ(heard.reports, (Lines{"> " + std::string(40, 'x') + "\n… output cut: more than 40 bytes …\n"}));
  EXPECT_NE(heard.answer->text.find("30 bytes left out"), std::string::npos) << heard.answer->text;
}

TEST_F(ToolboxTest, Dropping_a_call_ends_it) {
  open_webhook();
  client.answer(FakeAnswer());
  call("find_order");
  EXPECT_EQ(client.calls_in_flight(), 1u);
  heard.call.reset();
  EXPECT_EQ(client.calls_in_flight(), 0u);
}

// ── servers of MCP at a URL ──

TEST_F(ToolboxTest, H_6_The_tools_of_a_server_of_MCP_are_called_over_HTTP_in_its_session) {
  serve_mcp({{"Content-Type", "application/json"}, {"Mcp-Session-Id", "s-1"}});
  dispatch.agent.kit.mcp_servers[0].headers = {{"Authorization", "Bearer {{secret:CRM_KEY}}"}};
  dispatch.secrets->replace({{.alias = "CRM_KEY", .value = "hunter2-hunter2"}});
  open();
  ASSERT_TRUE(is_ready);
  EXPECT_TRUE(logged.empty());
  ASSERT_EQ(toolbox->tools(), (std::vector<model::HostTool>{{"crm__lookup", "Finds.", R"({"type":"object"})"}}));
  ASSERT_EQ(client.requests.size(), 3u);
  EXPECT_NE(client.requests[1].body.find("notifications/initialized"), std::string::npos);
  EXPECT_EQ(header(0, "mcp-session-id"), "(none)");
  EXPECT_EQ(header(0, "mcp-protocol-version"), "(none)");
  EXPECT_EQ(header(1, "mcp-session-id"), "s-1");
  EXPECT_EQ(header(2, "mcp-protocol-version"), "2025-06-18");
  client.answer(FakeAnswer::whole(200, mcp_text(3, "hunter2-hunter2 has 2 orders"), json_type()));
  call("crm__lookup");
  ASSERT_TRUE(heard.answer);
  EXPECT_EQ(heard.answer->text, "{{secret:CRM_KEY}} has 2 orders");
  EXPECT_NE(client.requests[3].body.find(R"("name":"lookup","arguments":{"id":7})"), std::string::npos);
  EXPECT_EQ(header(3, "authorization"), "Bearer hunter2-hunter2");
  EXPECT_EQ(header(3, "accept"), "application/json, text/event-stream");
}

TEST_F(ToolboxTest, A_server_of_MCP_may_answer_with_a_stream_that_tells_how_it_goes_and_stays_open) {
  dispatch.agent.kit.mcp_servers = {{.name = "crm", .url = "https://mcp.example/mcp"}};
  client.answer(FakeAnswer().head(200, stream_type()).piece("data:\n\ndata: " + mcp_greeting() + "\n\n"));
  client.answer(FakeAnswer::whole(202, ""));
  client.answer(FakeAnswer().head(200, stream_type()).piece("data: " + mcp_tools() + "\n\n"));
  open();
  ASSERT_TRUE(is_ready);
  EXPECT_EQ(client.calls_in_flight(), 0u);
  client.answer(
      FakeAnswer()
          .head(200, stream_type())
          .piece("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":3,"
                 "\"progress\":1,\"total\":2}}\n\n")
          .wait(1'000)
          .piece("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\","
                 "\"data\":\"half way\"}}\n\n")
          .piece("data: " + mcp_text(3, "done") + "\n\n"));
  call("crm__lookup");
  EXPECT_EQ(heard.reports, (Lines{R"(mcp.progress {"server":"crm","text":"1 of 2",)"
                                  R"("params":{"progressToken":3,"progress":1,"total":2}})"}));
  loop.advance(Millis{1'000});
  ASSERT_TRUE(heard.answer);
  EXPECT_EQ(heard.answer->text, "done");
  ASSERT_EQ(heard.reports.size(), 2u);
  EXPECT_EQ(heard.reports[1].substr(0, 8), "mcp.log ");
}

TEST_F(ToolboxTest, A_server_of_MCP_that_cannot_be_used_is_left_out_with_the_reason) {
  struct Case {
    std::string words;
    std::vector<FakeAnswer> answers;
    std::string url = "https://mcp.example/mcp";
    std::string authorization;
  };
  options.tool_urls = {"*"};
  dispatch.agent.policy.push_back(
      {.effect = model::Effect::ask, .subject = model::Subject::host, .pattern = "ask.example"});
  dispatch.secrets->replace(
      {{.alias = "CRM_KEY", .value = "hunter2\nhunter2"}, {.alias = "OTHER", .value = "hunter3-hunter3"}});
  const std::vector<Case> cases = {
      {.words = "the agent's policy does not allow other.example", .url = "https://other.example/"},
      {.words = "the agent's policy does not allow ask.example", .url = "https://ask.example/"},
      {.words = "{{secret:NO_KEY}} is not on file", .authorization = "{{secret:NO_KEY}}"},
      {.words = "{{secret:OTHER}} may not be sent to mcp.example", .authorization = "x {{secret:OTHER}}"},
      {.words = "control character", .authorization = "{{secret:CRM_KEY}}"},
      {.words = "Connection refused"},
      {.words = "status 401: no", .answers = {FakeAnswer::whole(401, "no")}},
      {.words = "ended without a result", .answers = {FakeAnswer::whole(200, "<html>", json_type())}},
      {.words = "ended without a result", .answers = {FakeAnswer::whole(202, "")}},
      {.words = "longer than", .answers = {FakeAnswer::whole(200, std::string(2 << 20, ' '), json_type())}},
      {.words = "status 500",
       .answers = {FakeAnswer::whole(200, mcp_greeting()), FakeAnswer::whole(202, ""), FakeAnswer::whole(500, "")}},
      {.words = "within 10 s",
       .answers = {FakeAnswer::whole(200, mcp_greeting()), FakeAnswer::whole(202, ""),
                   FakeAnswer().head(200, stream_type())}}};
  for (const auto& one : cases) {
    logged.clear();
    is_ready = false;
    dispatch.agent.kit.tools = {webhook_named("find_order")};
    dispatch.agent.kit.mcp_servers = {{.name = "crm", .url = one.url}};
    if (!one.authorization.empty()) dispatch.agent.kit.mcp_servers[0].headers["Authorization"] = one.authorization;
    for (const auto& answer : one.answers) client.answer(answer);
    open();
    loop.advance(Millis{10'000});
    ASSERT_TRUE(is_ready) << one.words;
    EXPECT_EQ(names(), (Lines{"find_order"})) << one.words;
    ASSERT_EQ(logged.size(), 1u) << one.words;
    EXPECT_NE(logged[0].find("warn The tools of the MCP server \"crm\" are left out: "), std::string::npos)
        << logged[0];
    EXPECT_NE(logged[0].find(one.words), std::string::npos) << logged[0];
    EXPECT_EQ(logged[0].find("hunter"), std::string::npos) << logged[0];
  }
}

// What is on file from before such headers were refused, or came with a dispatch, is not sent either.
TEST_F(ToolboxTest, A_server_of_MCP_whose_headers_would_change_the_request_itself_is_left_out) {
  const std::vector<std::pair<net::Header, std::string>> wrong = {
      {{"Content-Length", "5"}, "its header \"Content-Length\" is set by the server itself"},
      {{"host", "other.example"}, "its header \"host\" is set by the server itself"},
      {{"X-Key;", "x"}, "its header \"X-Key;\" is no name of an HTTP header"},
      {{"X-Key", "a\r\nHost: b"}, "its header \"X-Key\" has a line break or another control character in its value"}};
  for (const auto& [header, words] : wrong) {
    logged.clear();
    dispatch.agent.kit.mcp_servers = {
        {.name = "crm", .url = "https://mcp.example/mcp", .headers = {{header.name, header.value}}}};
    open();
    ASSERT_EQ(logged.size(), 1u) << words;
    EXPECT_EQ(logged[0], "warn The tools of the MCP server \"crm\" are left out: " + words + ".");
    EXPECT_TRUE(client.requests.empty()) << words;
  }
}

TEST_F(ToolboxTest, A_secret_goes_to_a_server_of_MCP_only_over_TLS_unless_the_operator_says_otherwise) {
  options.tool_urls = {"*"};
  dispatch.secrets->replace({{.alias = "CRM_KEY", .value = "hunter2-hunter2"}});
  for (const auto* url : {"http://mcp.example/mcp", "HTTP://mcp.example/mcp"}) {
    logged.clear();
    dispatch.agent.kit.mcp_servers = {
        {.name = "crm", .url = url, .headers = {{"Authorization", "Bearer {{secret:CRM_KEY}}"}}}};
    open();
    ASSERT_EQ(logged.size(), 1u);
    EXPECT_NE(logged[0].find("{{secret:CRM_KEY}} is sent only over TLS (egress.plaintext_secrets)"), std::string::npos)
        << logged[0];
    EXPECT_TRUE(client.requests.empty());
  }
  for (const bool is_plain_text_fine : {true, false}) {
    client.requests.clear();
    serve_mcp();
    options.plaintext_secrets = is_plain_text_fine;
    dispatch.agent.kit.mcp_servers[0].url = is_plain_text_fine ? "http://mcp.example/mcp" : "HTTPS://mcp.example/mcp";
    dispatch.agent.kit.mcp_servers[0].headers = {{"Authorization", "Bearer {{secret:CRM_KEY}}"}};
    open();
    EXPECT_TRUE(toolbox->has("crm__lookup"));
    EXPECT_EQ(header(0, "authorization"), "Bearer hunter2-hunter2");
  }
  serve_mcp();
  dispatch.agent.kit.mcp_servers[0].url = "http://mcp.example/mcp";
  dispatch.agent.kit.mcp_servers[0].headers = {{"X-Name", "no secret"}};
  open();
  EXPECT_TRUE(toolbox->has("crm__lookup")) << "what is no secret may be read on the way";
}

TEST_F(ToolboxTest, A_server_of_MCP_is_asked_only_where_the_operator_lets_tools_be) {
  options.tool_urls = {"https://tools.example/"};
  dispatch.agent.kit.mcp_servers = {{.name = "crm", .url = "https://mcp.example/mcp"}};
  open();
  ASSERT_TRUE(is_ready);
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_NE(logged[0].find("tools.urls"), std::string::npos) << logged[0];
  EXPECT_TRUE(client.requests.empty());
}

TEST_F(ToolboxTest, A_call_over_MCP_that_fails_says_how_and_is_not_repeated) {
  open_mcp();
  const auto error = R"({"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no such id"}})";
  client.answer(FakeAnswer::whole(200, error, json_type()));
  call("crm__lookup");
  expect_failed("no such id");
  const std::vector<std::pair<FakeAnswer, std::string>> faults = {
      {FakeAnswer::connection_refused(), "Connection refused"},
      {FakeAnswer::whole(404, "session expired"), "status 404: session expired"},
      {FakeAnswer().head(200, stream_type()).piece("data: {").fail(CallFailure::cut, "reset"),
       "did not come: reset. Whether it did its work is unknown"},
      {FakeAnswer::whole(200, ": nothing\n\n", stream_type()), "ended without a result"}};
  for (const auto& [fault, words] : faults) {
    client.requests.clear();
    client.answer(fault);
    call("crm__lookup");
    expect_failed(words);
    EXPECT_EQ(client.requests.size(), 1u) << words;
  }
}

TEST_F(ToolboxTest, H_6_A_session_that_a_server_of_MCP_has_forgotten_is_begun_anew_and_the_call_made_once_more) {
  const auto in_session = [](const char* id) {
    return net::Headers{{"Content-Type", "application/json"}, {"Mcp-Session-Id", id}};
  };
  serve_mcp(in_session("s-1"));
  open();
  ASSERT_TRUE(is_ready);
  const auto forget = [&](const char* next_id) {
    client.requests.clear();
    client.answer(FakeAnswer::whole(404, "no such session"));
    client.answer(FakeAnswer::whole(200, mcp_greeting(), in_session(next_id)));
    client.answer(FakeAnswer::whole(202, ""));
  };
  forget("s-2");
  client.answer(FakeAnswer::whole(200, mcp_text(3, "2 orders"), json_type()));
  call("crm__lookup");
  ASSERT_TRUE(heard.answer);
  EXPECT_EQ(heard.answer->text, "2 orders");
  ASSERT_EQ(client.requests.size(), 4u);
  EXPECT_EQ(header(0, "mcp-session-id"), "s-1");
  EXPECT_NE(client.requests[1].body.find(R"("method":"initialize")"), std::string::npos);
  EXPECT_EQ(header(1, "mcp-session-id"), "(none)");
  EXPECT_EQ(header(1, "mcp-protocol-version"), "(none)");
  EXPECT_NE(client.requests[2].body.find("notifications/initialized"), std::string::npos);
  EXPECT_EQ(header(2, "mcp-session-id"), "s-2");
  EXPECT_EQ(client.requests[3].body, client.requests[0].body);
  EXPECT_EQ(header(3, "mcp-session-id"), "s-2");

  forget("s-3");
  client.answer(FakeAnswer::whole(404, "no such session"));
  call("crm__lookup");
  expect_failed("status 404: no such session");
  EXPECT_EQ(client.requests.size(), 4u) << "once more, and not again";

  client.requests.clear();
  client.answer(FakeAnswer::whole(404, "no such session"));
  client.answer(FakeAnswer::whole(503, "closed"));
  call("crm__lookup");
  expect_failed("its session was lost, and it began no other: it answered with status 503: closed");
  EXPECT_EQ(client.requests.size(), 2u);
}

TEST_F(ToolboxTest, A_long_answer_over_MCP_is_cut_and_not_refused) {
  open_mcp();
  const std::string begins = "It begins here. ";
  client.answer(FakeAnswer::whole(200, mcp_text(3, begins + std::string(2 << 20, 'x') + " It ends."), json_type()));
  call("crm__lookup");
  ASSERT_TRUE(heard.answer);
  EXPECT_FALSE(heard.answer->failed);
  EXPECT_LT(heard.answer->text.size(), 100'000u);
  EXPECT_TRUE(heard.answer->text.starts_with(begins)) << heard.answer->text.substr(0, 100);
  EXPECT_NE(heard.answer->text.find("left out"), std::string::npos);
}

TEST_F(ToolboxTest, A_call_over_MCP_that_is_silent_or_dropped_is_cancelled) {
  open_mcp();
  client.answer(FakeAnswer());
  client.answer(FakeAnswer::whole(202, ""));
  call("crm__lookup");
  loop.advance(Millis{options.sessions.tool_timeout_ms});
  expect_failed("said nothing for 120 s");
  EXPECT_NE(client.requests.back().body.find("notifications/cancelled"), std::string::npos);
  const auto count = client.requests.size();
  client.answer(FakeAnswer());
  client.answer(FakeAnswer::whole(202, ""));
  call("crm__lookup");
  heard.call.reset();
  loop.settle();
  EXPECT_EQ(client.requests.size(), count + 2);
  EXPECT_NE(client.requests.back().body.find("notifications/cancelled"), std::string::npos);
  EXPECT_EQ(client.calls_in_flight(), 0u);
}

// ── which there are ──

TEST_F(ToolboxTest, The_first_tool_of_a_name_counts_and_the_others_are_logged) {
  dispatch.may_ask = true;
  serve_mcp();
  dispatch.agent.kit.tools = {webhook_named("find_order"), webhook_named("request_secret"),
                              webhook_named("crm__lookup")};
  dispatch.extras.client_tools = {{.name = "find_order"}, {.name = "show_map"}};
  open();
  ASSERT_TRUE(is_ready);
  EXPECT_EQ(names(), (Lines{"find_order", "crm__lookup", "show_map"}));
  ASSERT_EQ(logged.size(), 3u);
  EXPECT_EQ(logged[0], "warn A tool named request_secret is left out: there is another of that name.");
  EXPECT_TRUE(toolbox->is_of_client("show_map"));
  EXPECT_FALSE(toolbox->is_of_client("find_order"));
  EXPECT_FALSE(toolbox->has("request_secret"));
  client.answer(FakeAnswer::whole(200, "by webhook"));
  call("crm__lookup");
  EXPECT_EQ(heard.answer->text, "by webhook");
}

TEST_F(ToolboxTest, What_cannot_be_used_here_is_left_out) {
  sign = nullptr;
  dispatch.agent.kit = {.mcp_servers = {{.name = "files", .command = {"mcp-files"}}},
                        .tools = {webhook_named("find_order")},
                        .code_mode = true};
  open();
  ASSERT_TRUE(is_ready);
  EXPECT_TRUE(toolbox->tools().empty());
  ASSERT_EQ(logged.size(), 2u);
  EXPECT_NE(logged[0].find("there is none on this server"), std::string::npos) << logged[0];
  EXPECT_NE(logged[1].find("webhooks cannot be signed here"), std::string::npos) << logged[1];
}

TEST_F(ToolboxTest, It_may_be_dropped_while_its_servers_have_not_answered) {
  dispatch.agent.kit.mcp_servers = {{.name = "crm", .url = "https://mcp.example/mcp"}};
  client.answer(FakeAnswer());
  open();
  EXPECT_FALSE(is_ready);
  toolbox.reset();
  loop.settle();
  EXPECT_FALSE(is_ready);
}

}  // namespace toolbox_test
}  // namespace sluice::tools
