// The way to the workspace's API, and what a sandbox can and cannot do with it.
#include "egress/workspace_api.h"

#include <openssl/pem.h>

#include <cstdio>

#include "egress/proxy_fixture.h"

namespace sluice::egress {
namespace workspace_api_test {

constexpr std::string_view bearer = "asbx_run_of_this_test.with-a-mac";

class WorkspaceDoorTest : public ProxyTest {
 protected:
  void lead_to(const Upstream& upstream, const std::string& scheme = "http://") {
    options.private_addresses.clear();  // loopback is closed to everything else
    workspace = {scheme + "127.0.0.1:" + std::to_string(upstream.port()) + "/api/workspaces/wsp_1",
                 std::string(bearer)};
    start();
  }
  Heard ask(const std::string& path, const std::string& more = "", const std::string& method = "GET") {
    Client client = connect();
    client.say(method + " http://workspace.sluice" + path + " HTTP/1.1\r\nHost: workspace.sluice\r\n" + more + "\r\n");
    return client.hear_answer(method);
  }
};

TEST_F(WorkspaceDoorTest, S_4_A_request_reaches_the_workspace_with_a_bearer_that_the_box_does_not_have) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  lead_to(upstream);
  const Heard answer = ask("/tables?limit=3", "Accept: application/json\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "ok");
  const Heard heard = ledger.at(0);
  EXPECT_EQ(heard.request.target, "/api/workspaces/wsp_1/tables?limit=3");
  EXPECT_EQ(heard.field("Host"), "127.0.0.1:" + std::to_string(upstream.port()));
  EXPECT_EQ(heard.field("Authorization"), "Bearer " + std::string(bearer));
  EXPECT_EQ(heard.field("Accept"), "application/json");
  const RequestRecord record = recorded.record();
  EXPECT_EQ(record.host, "workspace.sluice");
  EXPECT_EQ(record.port, 80);
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.aliases, std::vector<std::string>{});
}

TEST_F(WorkspaceDoorTest, What_the_box_says_of_who_it_is_is_dropped) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  lead_to(upstream);
  ask("/tables",
      "Authorization: Bearer sk_adm_guessed\r\nauthorization: Bearer sk_int_guessed\r\nCookie: sluice_session=x\r\n"
      "Connection: Authorization\r\nProxy-Authorization: Basic eDp5\r\n");
  const Heard heard = ledger.at(0);
  EXPECT_EQ(heard.request.headers.count("Authorization"), 1u);
  EXPECT_EQ(heard.field("Authorization"), "Bearer " + std::string(bearer));
  EXPECT_EQ(heard.field("Cookie"), "(none)");
  EXPECT_EQ(heard.field("Proxy-Authorization"), "(none)");
}

TEST_F(WorkspaceDoorTest, No_path_leads_out_of_the_workspace) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  lead_to(upstream);
  for (const std::string path :
       {"/../wsp_2/tables", "/tables/../../../v1/runs", "/.", "/tables/..", "/%2e%2e/wsp_2", "/.%2E/wsp_2",
        "/..%2fwsp_2", "/tables%2F..", "/..\\wsp_2", "/%5c..", "/%252e%252e/wsp_2", "/tables/%00"}) {
    const int status = ask(path).status;
    EXPECT_TRUE(status == 400) << path << " " << status;
  }
  EXPECT_EQ(ledger.size(), 0u);
}

TEST_F(WorkspaceDoorTest, Two_requests_in_one_are_refused_before_they_reach_the_server) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  lead_to(upstream);
  for (const std::string more : {"X-A: 1\nAuthorization: Bearer x\r\n", "Content-Length: 3\r\nContent-Length: 4\r\n",
                                 "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", " folded: x\r\n"}) {
    EXPECT_EQ(ask("/tables", more).status, 400) << more;
  }
  EXPECT_EQ(ledger.size(), 0u);
}

TEST_F(WorkspaceDoorTest, A_rule_that_denies_it_by_name_is_obeyed_and_one_with_a_wildcard_does_not_speak_of_it) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  const auto rule = [](model::Effect effect, std::string host) {
    return model::PolicyRule{
        .effect = effect, .subject = model::Subject::host, .pattern = std::move(host), .reason = "Not here"};
  };
  policy = {rule(model::Effect::deny, "*"), rule(model::Effect::deny, "*.sluice")};
  lead_to(upstream);
  EXPECT_EQ(ask("/tables").status, 200);
  policy.push_back(rule(model::Effect::deny, "Workspace.Sluice."));
  in_loop([&] { proxy->serve({.policy = policy, .secrets = secrets, .workspace = workspace}, recorded); });
  const Heard answer = ask("/tables");
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("Not here"), std::string::npos) << answer.body;
  EXPECT_EQ(ledger.size(), 1u);
}

TEST_F(WorkspaceDoorTest, A_rule_that_asks_for_it_by_name_has_a_human_asked_once) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  policy.push_back({.effect = model::Effect::ask, .subject = model::Subject::host, .pattern = "workspace.sluice"});
  lead_to(upstream);
  Client client = connect();
  client.say("GET http://workspace.sluice/tables HTTP/1.1\r\nHost: workspace.sluice\r\n\r\n");
  const Question question = recorded.question();
  EXPECT_EQ(question.host, "workspace.sluice");
  settle(question.number, true);
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_EQ(ask("/tables").status, 200);
  EXPECT_EQ(recorded.question_count(), 1u);
}

TEST_F(WorkspaceDoorTest, It_is_reached_by_that_name_on_that_port_and_in_the_clear_only) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  policy.push_back(allow("*"));
  lead_to(upstream);
  const auto port_text = std::to_string(upstream.port());
  Client tunnel = connect();
  tunnel.say("CONNECT workspace.sluice:80 HTTP/1.1\r\nHost: workspace.sluice:80\r\n\r\n");
  EXPECT_EQ(tunnel.hear_answer("CONNECT").status, 403);
  Client other_port = connect();
  other_port.say("GET http://workspace.sluice:" + port_text + "/ HTTP/1.1\r\nHost: workspace.sluice:" + port_text +
                 "\r\n\r\n");
  EXPECT_EQ(other_port.hear_answer().status, 403);
  Client other_host = connect();
  other_host.say("GET http://workspace.sluice/tables HTTP/1.1\r\nHost: api.test\r\n\r\n");
  EXPECT_EQ(other_host.hear_answer().status, 400);
  // The server itself stays as far away as before.
  for (const std::string host : {"127.0.0.1", "other.test"}) {
    Client client = connect();
    client.say("GET http://" + at(host, upstream) + "/v1/runs HTTP/1.1\r\nHost: " + at(host, upstream) + "\r\n\r\n");
    EXPECT_EQ(client.hear_answer().status, 403) << host;
  }
  EXPECT_EQ(ledger.size(), 0u);
}

TEST_F(WorkspaceDoorTest, The_bearer_never_comes_back) {
  Upstream upstream(echo);
  lead_to(upstream);
  const Heard answer = ask("/tables");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("Authorization: Bearer {{secret:SLUICE_WORKSPACE}}"), std::string::npos) << answer.body;
  EXPECT_EQ(answer.body.find(bearer), std::string::npos);
  EXPECT_EQ(secrets->scrubber()->scrub("a " + std::string(bearer)), "a {{secret:SLUICE_WORKSPACE}}");
}

TEST_F(WorkspaceDoorTest, The_bearer_goes_nowhere_else) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  options.plaintext_secrets = true;
  policy[1].secrets = {"*"};
  workspace = {"http://127.0.0.1:1/api/workspaces/wsp_1", std::string(bearer)};
  start();
  EXPECT_EQ(ask("/tables").body, "sluice: the workspace cannot be reached\n");
  Client client = connect();
  client.say("GET http://" + at("other.test", upstream) + "/ HTTP/1.1\r\nHost: " + at("other.test", upstream) +
             "\r\nX-A: {{secret:SLUICE_WORKSPACE}}\r\n\r\n");
  EXPECT_EQ(client.hear_answer().status, 403);
  EXPECT_EQ(ledger.size(), 0u);
}

TEST_F(WorkspaceDoorTest, What_names_a_secret_is_kept_as_it_stands) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  options.plaintext_secrets = true;
  policy.push_back(allow("*"));
  policy.back().secrets = {"*"};
  lead_to(upstream);
  Client client = connect();
  client.say(
      "POST http://workspace.sluice/workflows HTTP/1.1\r\nHost: workspace.sluice\r\nContent-Length: 16\r\n\r\n"
      "{{secret:TOKEN}}");
  EXPECT_EQ(client.hear_answer("POST").status, 200);
  EXPECT_EQ(ledger.at(0).body, "{{secret:TOKEN}}");
  EXPECT_EQ(recorded.question_count(), 0u);
}

TEST_F(WorkspaceDoorTest, Without_a_workspace_the_name_leads_nowhere) {
  policy.push_back(allow("*"));
  start();
  const Heard answer = ask("/tables");
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("its `workspace` is none"), std::string::npos) << answer.body;
}

TEST_F(WorkspaceDoorTest, A_server_with_TLS_is_known_by_its_certificate_under_any_address) {
  Ledger ledger;
  SSL_CTX* const context = certificate_of("sluice.example");
  Upstream upstream(ledger.answering(), context);
  const auto file = directory / "house.pem";
  FILE* const out = std::fopen(file.c_str(), "w");
  ASSERT_TRUE(out != nullptr);
  PEM_write_X509(out, SSL_CTX_get0_certificate(context));
  std::fclose(out);
  options.own_certificate_file = file;
  options.upstream_ca_file = "";
  lead_to(upstream, "https://");
  EXPECT_EQ(ask("/tables").status, 200);
  EXPECT_EQ(ledger.at(0).request.target, "/api/workspaces/wsp_1/tables");
}

TEST_F(WorkspaceDoorTest, A_server_with_a_certificate_of_another_name_is_not_the_workspace) {
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("sluice.example"));
  lead_to(upstream, "https://");
  EXPECT_EQ(ask("/tables").status, 502);
  EXPECT_EQ(ledger.size(), 0u);
}

TEST(Forwarding, A_URL_is_taken_apart_and_what_is_none_refused) {
  const auto secure = forwarding_to("https://sluice.example/base/api/workspaces/wsp_1/", "asbx_1");
  ASSERT_TRUE(secure);
  EXPECT_EQ(secure.value().to.host, "sluice.example");
  EXPECT_EQ(secure.value().to.port, 443);
  EXPECT_EQ(secure.value().base_path, "/base/api/workspaces/wsp_1");
  for (const std::string url : {"", "ftp://a/", "http://", "http:///x", "http://a b/", "http://a/x y", "http://a/?q",
                                "http://u@a/x", "http://a:0/x", "http://a/\r\nX: y"}) {
    EXPECT_FALSE(forwarding_to(url, "asbx_1")) << url;
  }
  EXPECT_FALSE(forwarding_to("http://a/x", "asbx_1\r\nX: y"));
  EXPECT_FALSE(forwarding_to("http://a/x", ""));
}

}  // namespace workspace_api_test
}  // namespace sluice::egress
