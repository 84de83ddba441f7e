// Servers of MCP that take a token, which this server gets by client credentials: H-6.
#include "tools/mcp_token.h"
#include "tools/toolbox_fixture.h"

namespace sluice::tools {
namespace mcp_oauth_test {

using net::FakeAnswer;
using Lines = std::vector<std::string>;

constexpr std::string_view secret = "hunter2&hunter2";

FakeAnswer grant(const std::string& token, int64_t seconds = 3'600) {
  return FakeAnswer::whole(
      200, R"({"access_token":")" + token + R"(","token_type":"Bearer","expires_in":)" + std::to_string(seconds) + "}");
}
FakeAnswer refused(std::string challenge = "Bearer") {
  return FakeAnswer::whole(401, "no", {{"WWW-Authenticate", std::move(challenge)}});
}
FakeAnswer resource(const std::string& issuer = "https://auth.example/one") {
  return FakeAnswer::whole(200,
                           R"({"resource":"https://mcp.example/mcp","authorization_servers":[")" + issuer + R"("]})");
}
FakeAnswer issuer(const std::string& more = "") {
  return FakeAnswer::whole(
      200, R"({"issuer":"https://auth.example/one","token_endpoint":"https://auth.example/token")" + more + "}");
}

class McpOAuthTest : public ToolboxTest {
 protected:
  McpOAuthTest() {
    client.forget_method("GET");
    options.tool_urls = {"https://mcp.example/", "https://auth.example/"};
    for (const auto* host : {"mcp.example", "auth.example"}) allow(host);
    dispatch.secrets->replace(
        {{.alias = "CRM_KEY", .value = std::string(secret), .hosts = {"auth.example"}, .places = model::places_all}});
    dispatch.agent.kit.mcp_servers = {
        {.name = "crm", .url = "https://mcp.example/mcp", .oauth = model::McpOAuth{"sluice", "{{secret:CRM_KEY}}"}}};
  }

  void allow(std::string host) {
    dispatch.agent.policy.push_back({.subject = model::Subject::host, .pattern = std::move(host)});
  }
  model::McpOAuth& oauth() { return *dispatch.agent.kit.mcp_servers[0].oauth; }
  void name_endpoint() {
    oauth().token_url = "https://auth.example/token";
    client.answer_method("GET", FakeAnswer::whole(405, ""));
  }
  void answer_opening() {
    client.answer(FakeAnswer::whole(200, mcp_greeting(), json_type()));
    client.answer(FakeAnswer::whole(202, ""));
    client.answer(FakeAnswer::whole(200, mcp_tools(), json_type()));
  }
  void open_with_token(int64_t seconds = 3'600) {
    name_endpoint();
    client.answer(grant("token-0001", seconds));
    answer_opening();
    open();
    ASSERT_TRUE(toolbox->has("crm__lookup")) << (logged.empty() ? "" : logged[0]);
  }
  void expect_left_out(std::string_view words) {
    loop.advance(Millis{20'000});
    ASSERT_TRUE(is_ready) << words;
    ASSERT_EQ(logged.size(), 1u) << words;
    EXPECT_TRUE(logged[0].starts_with("warn The tools of the MCP server \"crm\" are left out: ")) << logged[0];
    EXPECT_NE(logged[0].find(words), std::string::npos) << logged[0];
    EXPECT_EQ(logged[0].find("hunter2"), std::string::npos) << logged[0];
  }
  void expect_call_answered() {
    client.answer(FakeAnswer::whole(200, mcp_text(3, "2 orders"), json_type()));
    call("crm__lookup");
    ASSERT_TRUE(heard.answer);
    EXPECT_EQ(heard.answer->text, "2 orders");
  }
  Lines asked_by_get() const {
    Lines urls;
    for (const auto& request : client.requests_by_method) urls.push_back(request.url);
    return urls;
  }
};

TEST_F(McpOAuthTest, H_6_A_token_is_got_before_the_first_message_where_the_agent_names_its_endpoint) {
  oauth().scope = "read write";
  open_with_token();
  ASSERT_EQ(client.requests.size(), 4u);
  EXPECT_EQ(client.requests[0].url, "https://auth.example/token");
  EXPECT_EQ(client.requests[0].method, "POST");
  EXPECT_EQ(client.requests[0].body,
            "grant_type=client_credentials&scope=read+write&resource=https%3A%2F%2Fmcp.example%2Fmcp");
  EXPECT_EQ(header(0, "content-type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(header(0, "authorization"), "Basic c2x1aWNlOmh1bnRlcjIlMjZodW50ZXIy") << "sluice:hunter2%26hunter2";
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(client.requests[i].url, "https://mcp.example/mcp");
    EXPECT_EQ(header(i, "authorization"), "Bearer token-0001");
  }
  EXPECT_EQ(client.requests_by_method.at(0).headers.find("authorization").value_or(""), "Bearer token-0001");
  EXPECT_TRUE(logged.empty());
}

TEST_F(McpOAuthTest, H_6_What_a_server_says_of_its_token_is_scrubbed_and_the_sandbox_cannot_use_it) {
  open_with_token();
  client.answer(FakeAnswer::whole(
      200, mcp_text(3, "token-0001 and c2x1aWNlOmh1bnRlcjIlMjZodW50ZXIy and hunter2&hunter2"), json_type()));
  call("crm__lookup");
  ASSERT_TRUE(heard.answer);
  EXPECT_EQ(heard.answer->text.find("token-0001"), std::string::npos) << heard.answer->text;
  EXPECT_EQ(heard.answer->text.find("hunter2"), std::string::npos) << heard.answer->text;
  EXPECT_EQ(heard.answer->text.find("aHVudGVy"), std::string::npos) << heard.answer->text;
  EXPECT_EQ(heard.answer->text.find("h1bnRlcjIlMjZodW50ZXIy"), std::string::npos) << heard.answer->text;
  EXPECT_EQ(dispatch.secrets->aliases(), (Lines{"CRM_KEY"}));
  ASSERT_NE(dispatch.secrets->find("SLUICE_MCP_TOKEN"), nullptr);
  EXPECT_EQ(dispatch.secrets->find("SLUICE_MCP_TOKEN")->places, 0);
}

TEST_F(McpOAuthTest, H_6_Without_an_endpoint_it_is_found_by_way_of_the_servers_refusal) {
  client.answer(refused(R"(Bearer resource_metadata="https://mcp.example/meta", scope="orders")"));
  client.answer_method("GET", resource());
  client.answer_method("GET", FakeAnswer::whole(404, ""));
  client.answer_method("GET", issuer(R"(,"token_endpoint_auth_methods_supported":["client_secret_post"])"));
  client.answer_method("GET", FakeAnswer::whole(405, ""));
  client.answer(grant("token-0001"));
  answer_opening();
  open();
  ASSERT_TRUE(toolbox->has("crm__lookup")) << logged.at(0);
  EXPECT_EQ(asked_by_get(),
            (Lines{"https://mcp.example/meta", "https://auth.example/.well-known/oauth-authorization-server/one",
                   "https://auth.example/.well-known/openid-configuration/one", "https://mcp.example/mcp"}));
  EXPECT_EQ(header(0, "authorization"), "(none)");
  EXPECT_EQ(client.requests[1].body,
            "grant_type=client_credentials&scope=orders&resource=https%3A%2F%2Fmcp.example%2Fmcp&client_id=sluice&"
            "client_secret=hunter2%26hunter2");
  EXPECT_EQ(header(1, "authorization"), "(none)");
  EXPECT_EQ(header(2, "authorization"), "Bearer token-0001");
  EXPECT_EQ(client.requests[2].body, client.requests[0].body) << "the message that was refused is sent again";
  EXPECT_TRUE(logged.empty());
}

TEST_F(McpOAuthTest, H_6_Without_a_hint_the_metadata_are_at_their_well_known_places) {
  client.answer(refused());
  client.answer_method("GET", FakeAnswer::whole(404, ""));
  client.answer_method("GET", resource());
  client.answer_method("GET", issuer());
  client.answer_method("GET", FakeAnswer::whole(405, ""));
  client.answer(grant("token-0001"));
  answer_opening();
  open();
  ASSERT_TRUE(toolbox->has("crm__lookup")) << logged.at(0);
  EXPECT_EQ(asked_by_get()[0], "https://mcp.example/.well-known/oauth-protected-resource/mcp");
  EXPECT_EQ(asked_by_get()[1], "https://mcp.example/.well-known/oauth-protected-resource");
}

TEST_F(McpOAuthTest, A_server_that_needs_no_token_is_not_given_one) {
  client.answer_method("GET", FakeAnswer::whole(405, ""));
  answer_opening();
  open();
  EXPECT_TRUE(toolbox->has("crm__lookup"));
  EXPECT_EQ(header(0, "authorization"), "(none)");
}

TEST_F(McpOAuthTest, A_token_is_renewed_shortly_before_it_expires) {
  open_with_token(300);
  loop.advance(Millis{269'000});
  expect_call_answered();
  EXPECT_EQ(client.requests.size(), 5u);
  loop.advance(Millis{2'000});
  client.answer(grant("token-0002"));
  client.answer(FakeAnswer::whole(200, mcp_text(4, "3 orders"), json_type()));
  call("crm__lookup");
  ASSERT_TRUE(heard.answer);
  EXPECT_EQ(heard.answer->text, "3 orders");
  ASSERT_EQ(client.requests.size(), 7u);
  EXPECT_EQ(client.requests[5].url, "https://auth.example/token");
  EXPECT_EQ(header(6, "authorization"), "Bearer token-0002");
}

TEST_F(McpOAuthTest, A_call_that_is_refused_is_made_once_more_with_another_token) {
  open_with_token();
  client.answer(refused());
  client.answer(grant("token-0002"));
  client.answer(FakeAnswer::whole(200, mcp_text(3, "token-0001 token-0002"), json_type()));
  call("crm__lookup");
  ASSERT_TRUE(heard.answer);
  EXPECT_EQ(heard.answer->text, "{{secret:SLUICE_MCP_TOKEN}} {{secret:SLUICE_MCP_TOKEN}}");
  EXPECT_EQ(header(6, "authorization"), "Bearer token-0002");
}

TEST_F(McpOAuthTest, A_call_that_is_refused_again_has_failed) {
  open_with_token();
  client.answer(refused());
  client.answer(grant("token-0002"));
  client.answer(refused());
  call("crm__lookup");
  expect_failed("it answered with status 401: no");
  EXPECT_EQ(client.requests.size(), 7u);
}

TEST_F(McpOAuthTest, A_call_for_which_no_token_comes_was_not_made_and_the_next_one_asks_again) {
  open_with_token(300);
  loop.advance(Millis{400'000});
  client.answer(FakeAnswer::whole(503, "busy"));
  call("crm__lookup");
  expect_failed("no token was issued for it: https://auth.example/token answered with status 503: busy");
  EXPECT_EQ(heard.answer->text.find("unknown"), std::string::npos) << heard.answer->text;
  client.answer(FakeAnswer::whole(202, ""));  // the first call is taken back
  client.answer(grant("token-0002"));
  client.answer(FakeAnswer::whole(202, ""));
}

TEST_F(McpOAuthTest, A_call_may_be_dropped_while_a_token_is_fetched) {
  open_with_token(300);
  loop.advance(Millis{400'000});
  client.answer(FakeAnswer());
  call("crm__lookup");
  EXPECT_FALSE(heard.answer);
  heard.call.reset();
  toolbox.reset();
  EXPECT_EQ(client.calls_in_flight(), 0u);
}

TEST_F(McpOAuthTest, A_stream_of_events_whose_token_is_refused_is_opened_with_another) {
  oauth().token_url = "https://auth.example/token";
  client.answer_method("GET", FakeAnswer::whole(401, ""));
  client.answer_method("GET", FakeAnswer().head(200, stream_type()));
  client.answer(grant("token-0001"));
  answer_opening();
  client.answer(grant("token-0002"));
  open();
  loop.settle();
  ASSERT_EQ(client.requests_by_method.size(), 2u);
  EXPECT_EQ(client.requests_by_method[1].headers.find("authorization").value_or(""), "Bearer token-0002");
  toolbox.reset();
}

// The refusal of a stream carries no challenge, and may come before that of a call with the same token.
TEST_F(McpOAuthTest, A_token_for_a_refused_stream_of_events_has_the_scope_that_the_server_asked_for) {
  client.answer(refused(R"(Bearer resource_metadata="https://mcp.example/meta", scope="orders")"));
  client.answer_method("GET", resource());
  client.answer_method("GET", issuer());
  client.answer_method("GET", FakeAnswer::whole(401, ""));
  client.answer_method("GET", FakeAnswer().head(200, stream_type()));
  client.answer(grant("token-0001"));
  answer_opening();
  client.answer(grant("token-0002"));
  open();
  ASSERT_TRUE(toolbox->has("crm__lookup"));
  loop.settle();
  ASSERT_EQ(client.requests.size(), 6u);
  EXPECT_EQ(client.requests[5].url, "https://auth.example/token");
  EXPECT_EQ(client.requests[5].body, client.requests[1].body);
  toolbox.reset();
}

TEST_F(McpOAuthTest, A_stream_of_events_that_is_always_refused_is_given_up) {
  oauth().token_url = "https://auth.example/token";
  client.answer_method("GET", FakeAnswer::whole(401, ""));
  client.answer(grant("token-0001"));
  answer_opening();
  client.answer(grant("token-0002"));
  open();
  loop.advance(Millis{60'000});
  EXPECT_EQ(client.requests_by_method.size(), 2u);
  EXPECT_TRUE(toolbox->has("crm__lookup"));
}

TEST_F(McpOAuthTest, H_6_A_server_whose_token_cannot_be_got_is_left_out_with_what_the_endpoint_said) {
  const std::vector<std::pair<FakeAnswer, std::string>> faults = {
      {FakeAnswer::whole(401, R"({"error":"invalid_client","error_description":"sluice:hunter2&hunter2 is wrong"})"),
       "https://auth.example/token answered with status 401: invalid_client: sluice:{{secret:CRM_KEY}} is wrong"},
      {FakeAnswer::whole(200, std::string(70'000, ' ')), "token answered with more than 65536 bytes"},
      {FakeAnswer::whole(200, R"({"token_type":"Bearer"})"), "token answered, but it has no access_token"},
      {FakeAnswer::whole(302, "", {{"Location", "https://evil.example/"}}), "token answered with status 302"},
      {FakeAnswer::connection_refused(), "token did not answer: Connection refused"},
      {FakeAnswer(), "https://auth.example/token"}};
  for (const auto& [fault, words] : faults) {
    toolbox.reset();
    logged.clear();
    is_ready = false;
    client.requests.clear();
    name_endpoint();
    client.answer(fault);
    open();
    expect_left_out(words);
    EXPECT_EQ(client.requests.size(), 1u) << words;
  }
}

TEST_F(McpOAuthTest, I_17_The_client_secret_goes_only_where_its_alias_and_every_url_only_where_the_rules_allow) {
  struct Case {
    std::string token_url, words;
  };
  options.tool_urls.push_back("https://other.example/");
  options.tool_urls.push_back("http://auth.example/");
  options.tool_urls.push_back("https://denied.example/");
  allow("other.example");
  for (const auto& [token_url, words] : std::vector<Case>{
           {"https://other.example/token", "{{secret:CRM_KEY}} may not be sent to other.example as Basic credentials"},
           {"https://denied.example/token", "the agent's policy does not allow denied.example"},
           {"https://elsewhere.example/token", "(tools.urls)"},
           {"http://auth.example/token", "is not https"},
           {"https://auth.example/token?a=b", "is no plain http or https URL"}}) {
    toolbox.reset();
    logged.clear();
    is_ready = false;
    oauth().token_url = token_url;
    open();
    expect_left_out(words);
    EXPECT_TRUE(client.requests.empty()) << words;
  }
}

TEST_F(McpOAuthTest, I_17_What_a_server_names_as_metadata_is_called_only_where_the_rules_allow) {
  struct Case {
    std::string challenge, issuer, words;
    std::size_t gets;
  };
  for (const auto& [challenge, named, words, gets] :
       std::vector<Case>{{"https://evil.example/meta", "", "https://evil.example/meta was not called", 0},
                         {"http://mcp.example/meta", "", "is not https", 0},
                         {"https://mcp.example/meta?x", "", "is no plain http or https URL", 0},
                         {"https://mcp.example/meta", "https://evil.example", "was not called", 1},
                         {"https://mcp.example/meta", "https://auth.example/two", "it is of another issuer", 4}}) {
    toolbox.reset();
    logged.clear();
    is_ready = false;
    client.forget_method("GET");
    client.requests_by_method.clear();
    client.answer(refused("Bearer resource_metadata=\"" + challenge + "\""));
    client.answer_method("GET", resource(named));
    client.answer_method("GET", issuer());
    open();
    expect_left_out(words);
    EXPECT_EQ(client.requests_by_method.size(), gets) << words;
  }
}

TEST_F(McpOAuthTest, A_token_is_sent_only_over_TLS_unless_the_operator_says_otherwise) {
  options.tool_urls.push_back("http://mcp.example/");
  dispatch.agent.kit.mcp_servers[0].url = "http://mcp.example/mcp";
  oauth().token_url = "https://auth.example/token";
  open();
  expect_left_out("its OAuth token is sent only over TLS (egress.plaintext_secrets)");
  options.plaintext_secrets = true;
  toolbox.reset();
  logged.clear();
  open_with_token();
  EXPECT_EQ(header(1, "authorization"), "Bearer token-0001");
}

TEST_F(McpOAuthTest, A_server_whose_tokens_expire_at_once_is_given_only_so_many) {
  open_with_token(1);
  for (int i = 1; i < mcp_tokens_max; ++i) {
    loop.advance(Millis{1'000});
    client.answer(grant("token-" + std::to_string(1'000 + i), 1));
    client.answer(FakeAnswer::whole(200, mcp_text(2 + i, "2 orders"), json_type()));
    call("crm__lookup");
    ASSERT_TRUE(heard.answer);
    ASSERT_EQ(heard.answer->text, "2 orders") << i;
  }
  loop.advance(Millis{1'000});
  call("crm__lookup");
  expect_failed("it took 100 tokens in this run, and gets no more");
}

}  // namespace mcp_oauth_test
}  // namespace sluice::tools
