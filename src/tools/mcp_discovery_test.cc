// What leads from a server of MCP to where its tokens are issued: H-6.
#include "tools/mcp_discovery.h"

#include <gtest/gtest.h>

namespace sluice::tools {
namespace mcp_discovery_test {

using Urls = std::vector<std::string>;

constexpr std::string_view server = "https://mcp.example/a/mcp";

TEST(McpDiscovery, A_challenge_names_where_the_metadata_are_and_the_scope) {
  struct Case {
    std::string header, metadata, scope;
  };
  for (const auto& [header, metadata, scope] : std::vector<Case>{
           {R"(Bearer resource_metadata="https://a.example/x", scope="read write")", "https://a.example/x",
            "read write"},
           {R"(bearer error="invalid_token",RESOURCE_METADATA=https://a.example/x)", "https://a.example/x", ""},
           {R"(Bearer realm="a, scope=\"no\"", scope=read)", "", "read"},
           {R"(Basic scope="no", resource_metadata="no", Bearer scope="yes")", "", "yes"},
           {R"(Digest resource_metadata="no")", "", ""},
           {R"(Bearer scope="a\\b")", "", ""},
           {R"(Bearer scope="unfinished)", "", "unfinished"},
           {R"(Bearer ="x" , = scope)", "", ""},
           {"", "", ""}}) {
    const auto challenge = challenge_of({{"www-authenticate", header}});
    EXPECT_EQ(challenge.resource_metadata, metadata) << header;
    EXPECT_EQ(challenge.scope, scope) << header;
  }
  const auto of_two = challenge_of({{"WWW-Authenticate", "Basic realm=x"}, {"WWW-Authenticate", "Bearer scope=read"}});
  EXPECT_EQ(of_two.scope, "read");
}

TEST(McpDiscovery, Metadata_are_looked_for_where_the_standards_put_them) {
  EXPECT_EQ(resource_metadata_urls(server), (Urls{"https://mcp.example/.well-known/oauth-protected-resource/a/mcp",
                                                  "https://mcp.example/.well-known/oauth-protected-resource"}));
  EXPECT_EQ(resource_metadata_urls("https://mcp.example/"),
            (Urls{"https://mcp.example/.well-known/oauth-protected-resource"}));
  EXPECT_EQ(issuer_metadata_urls("https://auth.example:8443"),
            (Urls{"https://auth.example:8443/.well-known/oauth-authorization-server",
                  "https://auth.example:8443/.well-known/openid-configuration"}));
  EXPECT_EQ(issuer_metadata_urls("https://auth.example/one/"),
            (Urls{"https://auth.example/.well-known/oauth-authorization-server/one",
                  "https://auth.example/.well-known/openid-configuration/one",
                  "https://auth.example/one/.well-known/openid-configuration"}));
}

TEST(McpDiscovery, Metadata_of_another_resource_are_refused) {
  const auto read = [](const std::string& resource, const std::string& issuers = R"(["https://auth.example"])") {
    return read_resource_metadata(R"({"resource":")" + resource + R"(","authorization_servers":)" + issuers + "}",
                                  server);
  };
  for (const auto* resource : {"https://mcp.example/a/mcp", "https://mcp.example/a", "https://mcp.example/"}) {
    ASSERT_TRUE(read(resource)) << resource;
    EXPECT_EQ(read(resource).take().resource, resource);
    EXPECT_EQ(read(resource).take().issuer, "https://auth.example");
  }
  for (const auto* resource : {"https://evil.example/a/mcp", "http://mcp.example/a/mcp", "https://mcp.example/a/m",
                               "https://mcp.example/a/mcp/b", "https://mcp.example:8443/a", "*", "", "urn:x"}) {
    EXPECT_FALSE(read(resource)) << resource;
  }
  for (const auto* issuers : {"[]", "7", R"([7])", R"(["https://u@auth.example"])", R"(["https://auth.example?x"])"}) {
    EXPECT_FALSE(read("https://mcp.example/a", issuers)) << issuers;
  }
  EXPECT_FALSE(read_resource_metadata("[]", server));
  EXPECT_FALSE(read_resource_metadata("<html>", server));
}

TEST(McpDiscovery, Metadata_of_another_issuer_are_refused) {
  const auto read = [](const std::string& members) {
    return read_issuer_metadata("{" + members + "}", "https://auth.example/one");
  };
  const std::string issuer = R"("issuer":"https://auth.example/one")";
  const std::string both = issuer + R"(,"token_endpoint":"https://auth.example/token")";
  ASSERT_TRUE(read(both));
  EXPECT_EQ(read(both).take().token_url, "https://auth.example/token");
  EXPECT_EQ(read(both).take().proof, ClientProof::basic);
  EXPECT_TRUE(read(R"("issuer":"https://auth.example/one/","token_endpoint":"https://auth.example/token")"));
  const auto proof = [&](const std::string& methods) {
    return read(both + R"(,"token_endpoint_auth_methods_supported":)" + methods);
  };
  EXPECT_EQ(proof(R"(["client_secret_post"])").take().proof, ClientProof::post);
  EXPECT_EQ(proof(R"(["client_secret_post","client_secret_basic"])").take().proof, ClientProof::basic);
  const auto refusal = proof(R"(["private_key_jwt"])");
  ASSERT_FALSE(refusal);
  EXPECT_NE(refusal.error().what.find("neither client_secret_basic"), std::string::npos);
  for (const auto& wrong :
       {issuer, std::string(R"("issuer":"https://auth.example","token_endpoint":"https://auth.example/token")"),
        std::string(R"("token_endpoint":"https://auth.example/token")"), issuer + R"(,"token_endpoint":"/token")"}) {
    EXPECT_FALSE(read(wrong)) << wrong;
  }
}

TEST(McpDiscovery, A_grant_is_a_bearer_token_that_can_be_sent_and_scrubbed) {
  const auto read = [](const std::string& members) { return read_grant("{" + members + "}"); };
  const std::string token = R"("access_token":"token-0001")";
  ASSERT_TRUE(read(token + R"(,"token_type":"bearer","expires_in":3600)"));
  EXPECT_EQ(read(token + R"(,"token_type":"bearer","expires_in":3600)").take().expires_in_seconds, 3600);
  EXPECT_EQ(read(token + R"(,"token_type":"Bearer")").take().expires_in_seconds, 0);
  EXPECT_EQ(read(token + R"(,"token_type":"Bearer","expires_in":-5)").take().expires_in_seconds, 0);
  EXPECT_EQ(read(token + R"(,"token_type":"Bearer","expires_in":9223372036854775807)").take().expires_in_seconds,
            365LL * 86'400);
  for (const auto& wrong : {std::string(R"("token_type":"Bearer")"), token, token + R"(,"token_type":"mac")",
                            std::string(R"("access_token":"short","token_type":"Bearer")"),
                            std::string(R"("access_token":"a\r\nHost: b","token_type":"Bearer")"),
                            R"("access_token":")" + std::string(16 * 1024 + 1, 'x') + R"(","token_type":"Bearer")"}) {
    EXPECT_FALSE(read(wrong)) << wrong.substr(0, 80);
  }
}

TEST(McpDiscovery, A_refusal_is_reported_in_the_words_of_the_endpoint) {
  EXPECT_EQ(refusal_words(401, R"({"error":"invalid_client","error_description":"No such client."})"),
            "status 401: invalid_client: No such client.");
  EXPECT_EQ(refusal_words(400, R"({"error":"invalid_scope"})"), "status 400: invalid_scope");
  EXPECT_EQ(refusal_words(502, "Bad gateway"), "status 502: Bad gateway");
  EXPECT_EQ(refusal_words(500, ""), "status 500");
}

TEST(McpDiscovery, Forms_are_encoded_as_browsers_do_it) {
  EXPECT_EQ(form_encoded("a b&c=d+é~-._*"), "a+b%26c%3Dd%2B%C3%A9%7E-._*");
}

}  // namespace mcp_discovery_test
}  // namespace sluice::tools
