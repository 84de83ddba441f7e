// Connections that are looked into, those that are not, and the secrets that go through them.
#include "egress/proxy_fixture.h"

namespace sluice::egress {
namespace interception_test {

const std::string value = "s3cr3t-value-of-token";

std::string get(const std::string& at, const std::string& fields, const std::string& target = "/") {
  return "GET " + target + " HTTP/1.1\r\nHost: " + at + "\r\n" + fields + "\r\n";
}
std::string post(const std::string& at, const std::string& fields, const std::string& body) {
  return "POST / HTTP/1.1\r\nHost: " + at + "\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST_F(ProxyTest, I_17_A_secret_reaches_the_host_it_is_for_and_never_the_box) {
  Ledger ledger;
  Upstream upstream(
      [&](Peer& peer) {
        ledger.add(peer.hear_request());
        peer.say("HTTP/1.1 200 OK\r\nX-Echo: " + value + "\r\nTransfer-Encoding: chunked\r\n\r\n" +
                 "c\r\nyou: s3cr3t-\r\n");
        peer.say("d\r\nvalue-of-toke\r\n1\r\nn\r\n0\r\n\r\n");
      },
      certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  ASSERT_TRUE(client.is_secure);
  const std::string host = at("api.test", upstream);
  client.say(get(host, "Authorization: Bearer {{secret:TOKEN}}\r\nAccept-Encoding: gzip, br\r\n",
                 "/x?k=%7B%7Bsecret%3ATOKEN%7D%7D"));
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("X-Echo"), "{{secret:TOKEN}}");
  EXPECT_EQ(answer.body, "you: {{secret:TOKEN}}") << "split over three chunks";
  EXPECT_EQ(ledger.at(0).field("Authorization"), "Bearer " + value);
  EXPECT_EQ(ledger.at(0).field("Accept-Encoding"), "identity");
  EXPECT_EQ(ledger.at(0).request.target, "/x?k=" + value);
  const RequestRecord record = recorded.record();
  EXPECT_EQ(record.aliases, std::vector<std::string>{"TOKEN"});
  EXPECT_EQ(record.host, "api.test");
  EXPECT_EQ(record.method, "GET");
}

TEST_F(ProxyTest, I_17_Echoes_in_base64_and_in_a_URL_are_found_too) {
  on_file[0].value = "pa ss/wo+rd!";
  Upstream upstream(
      [&](Peer& peer) {
        peer.hear_request();
        const std::string body = "b64 dXNlcjpwYSBzcy93bytyZCE= url pa%20ss%2Fwo%2Brd%21 end";
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
      },
      certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  client.say(get(at("api.test", upstream), ""));
  const Heard answer = client.hear_answer();
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.body.find("pa%20ss"), std::string::npos) << answer.body;
  EXPECT_EQ(answer.body.find("cGEgc3Mvd28rcmQh"), std::string::npos) << answer.body;
  EXPECT_EQ(answer.body.find("dXNlcjpwYSBzcy93bytyZCE="), std::string::npos) << answer.body;
  EXPECT_TRUE(answer.body.ends_with(" end")) << answer.body;
}

TEST_F(ProxyTest, I_17_Basic_credentials_and_bodies_are_filled_in_with_their_right_length) {
  on_file[0].value = "a\"b c";
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  const std::string host = at("api.test", upstream);
  client.say(get(host, "Authorization: Basic bWU6e3tzZWNyZXQ6VE9LRU59fQ==\r\n"));
  EXPECT_EQ(client.hear_answer().status, 200);
  client.say(post(host, "Content-Type: application/json\r\n", R"({"k":"{{secret:TOKEN}}"})"));
  EXPECT_EQ(client.hear_answer().status, 200);
  client.say(post(host, "Content-Type: application/x-www-form-urlencoded\r\n", "k=%7B%7Bsecret%3ATOKEN%7D%7D&l=1"));
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_EQ(ledger.at(0).field("Authorization"), "Basic bWU6YSJiIGM=");
  EXPECT_EQ(ledger.at(1).body, R"({"k":"a\"b c"})");
  EXPECT_EQ(ledger.at(1).field("Content-Length"), "14");
  EXPECT_EQ(ledger.at(2).body, "k=a%22b%20c&l=1");
  EXPECT_EQ(upstream.connections(), 1) << "kept alive";
}

TEST_F(ProxyTest, I_17_An_alias_that_may_not_go_to_a_host_is_refused_and_nothing_is_sent) {
  on_file.push_back({.alias = "ELSEWHERE", .value = "for-another-host", .hosts = {"elsewhere.test"}});
  on_file.push_back({.alias = "LINES", .value = "one\r\nX-Injected: two", .hosts = {"api.test"}});
  on_file.push_back({.alias = "QUERY", .value = "query-only", .hosts = {"api.test"}, .places = model::place_query});
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("api.test"));
  start();
  const std::string host = at("api.test", upstream);
  for (const std::string& request : {
           get(host, "X: {{secret:ELSEWHERE}}\r\n"),
           get(host, "", "/?q={{secret:ELSEWHERE}}"),
           post(host, "", "body {{secret:ELSEWHERE}}"),
           get(host, "X: {{secret:LINES}}\r\n"),
           get(host, "X: {{secret:QUERY}}\r\n"),
           get(host, "", "/in/{{secret:TOKEN}}/path"),
       }) {
    Client client = connect_tls(upstream);
    client.say(request);
    EXPECT_EQ(client.hear_answer().status, 403) << request;
  }
  EXPECT_EQ(ledger.size(), 0u);
  EXPECT_EQ(recorded.record(0).refused, "the secret ELSEWHERE may not be sent to api.test");
  EXPECT_EQ(recorded.record(0).aliases.size(), 0u);
  EXPECT_EQ(recorded.record(3).status, 403);
  for (const auto& line : log.lines) EXPECT_EQ(line.find("for-another-host"), std::string::npos);
}

TEST_F(ProxyTest, I_17_A_secret_does_not_go_out_in_the_clear) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  start();
  Client client = connect();
  const std::string host = at("api.test", upstream);
  client.say(get(host, "X: {{secret:TOKEN}}\r\n", "http://" + host + "/"));
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("use https://"), std::string::npos);
  EXPECT_EQ(ledger.size(), 0u);
}

TEST_F(ProxyTest, I_17_A_secret_goes_out_in_the_clear_where_the_operator_says_so) {
  options.plaintext_secrets = true;
  Ledger ledger;
  Upstream upstream(ledger.answering());
  start();
  Client client = connect();
  const std::string host = at("api.test", upstream);
  client.say(get(host, "X: {{secret:TOKEN}}\r\n", "http://" + host + "/"));
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_EQ(ledger.at(0).field("X"), value);
}

TEST_F(ProxyTest, I_17_A_request_waits_for_a_secret_that_is_not_on_file) {
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  client.say(get(at("api.test", upstream), "X: {{secret:LATER}}\r\n"));
  const Question question = recorded.question();
  EXPECT_EQ(question.alias, "LATER");
  EXPECT_EQ(question.host, "api.test");
  EXPECT_EQ(ledger.size(), 0u);
  settle(question.number, true, {{.alias = "LATER", .value = "came-in-the-end"}});
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_EQ(ledger.at(0).field("X"), "came-in-the-end");
  EXPECT_EQ(recorded.record().aliases, std::vector<std::string>{"LATER"});
}

TEST_F(ProxyTest, I_17_A_request_whose_secret_never_comes_is_refused) {
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  const std::string host = at("api.test", upstream);
  client.say(post(host, "", "x {{secret:LATER}} y"));
  EXPECT_EQ(recorded.question(0).place, model::place_body);
  settle(recorded.question(0).number, true);
  EXPECT_EQ(client.hear_answer().status, 403) << "looked for again, and not there";
  client = connect_tls(upstream);
  client.say(post(host, "", "x {{secret:LATER}} y"));
  settle(recorded.question(1).number, false, {}, "no such secret");
  EXPECT_EQ(client.hear_answer().body, "sluice: no such secret\n");
  EXPECT_EQ(ledger.size(), 0u);
}

TEST_F(ProxyTest, I_17_Inside_a_connection_requests_stay_with_their_host) {
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  client.say(get("other.test", "X: {{secret:TOKEN}}\r\n"));
  EXPECT_EQ(client.hear_answer().status, 421);
  client = connect_tls(upstream);
  client.say("GET wss://api.test/ HTTP/1.1\r\nHost: " + at("api.test", upstream) + "\r\n\r\n");
  EXPECT_EQ(client.hear_answer().status, 400);
  client = connect_tls(upstream);
  client.say(get(at("api.test", upstream), "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
  EXPECT_EQ(client.hear_answer().status, 501);
  EXPECT_EQ(ledger.size(), 0u);
}

TEST_F(ProxyTest, I_17_An_upstream_that_cannot_prove_who_it_is_gets_nothing) {
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("someone-else.test"));
  start();
  Client client = connect_tls(upstream);
  client.say(get(at("api.test", upstream), "X: {{secret:TOKEN}}\r\n"));
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.status, 502);
  EXPECT_NE(answer.body.find("certificate could not be verified"), std::string::npos) << answer.body;
  EXPECT_EQ(ledger.size(), 0u);
}

TEST_F(ProxyTest, An_upstream_that_does_not_speak_TLS_is_a_bad_gateway) {
  Upstream upstream([](Peer& peer) { peer.say("220 mail.test ESMTP\r\n"); });
  start();
  Client client = connect_tls(upstream);
  client.say(get(at("api.test", upstream), ""));
  EXPECT_EQ(client.hear_answer().status, 502);
}

TEST_F(ProxyTest, I_17_A_compressed_answer_is_not_let_in_unread) {
  Upstream upstream(
      [](Peer& peer) {
        peer.hear_request();
        peer.say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nzzzz");
      },
      certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  client.say(get(at("api.test", upstream), ""));
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.status, 502);
  EXPECT_NE(answer.body.find("compressed"), std::string::npos);
}

TEST_F(ProxyTest, I_17_A_host_that_takes_no_secrets_is_not_looked_into) {
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("blind.test"));
  name_port("blind.test", upstream);
  start();
  Client client = connect_tls(upstream, "blind.test", directory / "upstream/ca.pem");
  ASSERT_TRUE(client.is_secure) << "the certificate is the upstream's own";
  client.say(get(at("blind.test", upstream), "X: {{secret:TOKEN}}\r\nConnection: close\r\n"));
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_EQ(ledger.at(0).field("X"), "{{secret:TOKEN}}");
  client.hang_up();
  const RequestRecord record = recorded.record();
  EXPECT_EQ(record.method, "CONNECT");
  EXPECT_EQ(record.status, 200);
  EXPECT_GT(record.sent_bytes, 0);
  EXPECT_GT(record.received_bytes, 0);
  int64_t count = 0;
  in_loop([&] { count = proxy->sent_for_good(); });
  EXPECT_EQ(count, 1);
}

TEST_F(ProxyTest, A_client_that_does_not_trust_us_is_told_of) {
  Upstream upstream(echo, certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream, "api.test", directory / "upstream/ca.pem");
  EXPECT_FALSE(client.is_secure);
  client.hang_up();
  EXPECT_NE(recorded.record().refused.find("may not trust"), std::string::npos);
}

}  // namespace interception_test
}  // namespace sluice::egress
