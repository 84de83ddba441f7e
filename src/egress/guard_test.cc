// What a sandbox could try with time and with parts, and what is reported of requests that others end.
#include "egress/proxy_fixture.h"

namespace sluice::egress {
namespace guard_test {

std::string get(const std::string& at, const std::string& fields) {
  return "GET / HTTP/1.1\r\nHost: " + at + "\r\n" + fields + "\r\n";
}

constexpr std::string_view range = "Range: bytes=0-3\r\nIf-Range: \"x\"\r\n";
constexpr std::string_view with_secret = "X-Key: {{secret:TOKEN}}\r\n";

TEST_F(ProxyTest, I_17_No_part_of_an_answer_is_asked_of_a_host_that_takes_secrets) {
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  const std::string host = at("api.test", upstream);
  client.say(get(host, std::string(range) + std::string(with_secret)));
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_EQ(ledger.at(0).field("Range"), "(none)");
  EXPECT_EQ(ledger.at(0).field("If-Range"), "(none)");
  client.say(get(host, std::string(range)));
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_EQ(ledger.at(1).field("Range"), "(none)") << "the host may have kept what it was sent before";
  EXPECT_EQ(ledger.at(1).field("If-Range"), "(none)");
  EXPECT_EQ(ledger.at(1).field("Accept-Encoding"), "identity");
  Upstream other(ledger.answering());
  Client plain = connect();
  const std::string elsewhere = at("other.test", other);
  plain.say("GET http://" + elsewhere + "/ HTTP/1.1\r\nHost: " + elsewhere + "\r\n" + std::string(range) + "\r\n");
  EXPECT_EQ(plain.hear_answer().status, 200);
  EXPECT_EQ(ledger.at(2).field("Range"), "bytes=0-3") << "no secret goes there, so why not";
}

TEST_F(ProxyTest, I_17_A_part_of_an_answer_of_a_host_that_takes_secrets_is_a_bad_gateway) {
  Ledger ledger;
  Upstream upstream(
      ledger.answering("HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-3/9\r\nContent-Length: 4\r\n\r\ns3cr"),
      certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  const std::string host = at("api.test", upstream);
  client.say(get(host, std::string(range)));
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.status, 502);
  EXPECT_EQ(answer.body.find("s3cr\n"), std::string::npos) << answer.body;
}

TEST_F(ProxyTest, I_17_A_host_that_keeps_a_secret_does_not_give_it_back_in_parts) {
  Ledger ledger;
  const std::string value = on_file[0].value;
  // Keeps what it is sent, and answers a range of it.
  Upstream upstream(
      [&](Peer& peer) {
        std::string kept;
        for (;;) {
          Heard heard = peer.hear_request();
          if (heard.request.method.empty()) return;
          if (heard.request.method == "POST") kept = heard.body;
          const bool asks_part = heard.field("Range") != "(none)";
          const auto part = asks_part ? kept.substr(0, 4) : kept;
          ledger.add(std::move(heard));  // before the client can look
          peer.say("HTTP/1.1 " + std::string(asks_part ? "206 Partial" : "200 OK") +
                   "\r\nContent-Length: " + std::to_string(part.size()) + "\r\n\r\n" + part);
        }
      },
      certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  const std::string host = at("api.test", upstream);
  client.say("POST / HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 16\r\n\r\n{{secret:TOKEN}}");
  EXPECT_EQ(client.hear_answer("POST").status, 200);
  EXPECT_EQ(ledger.at(0).body, value);
  client.say(get(host, std::string(range)));
  EXPECT_EQ(client.hear_answer().body, "{{secret:TOKEN}}") << "all of it, and so it is found";
}

TEST_F(ProxyTest, I_17_A_coding_in_a_second_field_is_seen) {
  for (const std::string fields : {"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n",
                                   "Content-Encoding: identity, gzip\r\n", "content-encoding: br\r\n"}) {
    on_file.clear();  // also when there is nothing to look for yet
    Ledger ledger;
    Upstream upstream(ledger.answering("HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 2\r\n\r\nok"),
                      certificate_of("api.test"));
    if (!proxy) start();
    Client client = connect_tls(upstream);
    client.say(get(at("api.test", upstream), ""));
    EXPECT_EQ(client.hear_answer().status, 502) << fields;
  }
}

// One address serves both names, as a content delivery network does.
TEST_F(ProxyTest, A_tunnel_leads_to_the_host_that_it_names_and_to_no_other_behind_the_same_address) {
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("other.test"));
  name_port("blind.test", upstream);
  start();
  const auto through_tunnel = [&](const std::string& name) {
    Client client = connect();
    client.say("CONNECT " + at("blind.test", upstream) + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.hear_answer("CONNECT").status, 200);
    return client.start_tls(name, options.upstream_ca_file);
  };
  EXPECT_FALSE(through_tunnel("other.test"));
  const auto record = recorded.record();
  EXPECT_EQ(record.host, "blind.test");
  EXPECT_NE(record.refused.find("asks for another host"), std::string::npos) << record.refused;
  EXPECT_EQ(record.sent_bytes, 0);
}

// Through a tunnel goes whatever the sandbox likes: a shell on another machine, or plain requests to another of its
// hosts.
TEST_F(ProxyTest, I_17_A_tunnel_leads_to_no_port_that_no_rule_names) {
  Upstream upstream(echo);
  start();
  for (const int port : {static_cast<int>(upstream.port()), 22, 8443}) {
    Client client = connect();
    client.say("CONNECT blind.test:" + std::to_string(port) + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.hear_answer("CONNECT").status, 403) << port;
  }
  EXPECT_NE(recorded.record(1).refused.find("names port 22 of it"), std::string::npos) << recorded.record(1).refused;
  EXPECT_EQ(upstream.connections(), 0);
}

TEST_F(ProxyTest, I_17_A_plain_request_leads_to_no_port_that_no_rule_names) {
  Upstream upstream(echo), named(echo);
  name_port("blind.test", named);
  policy.push_back({.effect = model::Effect::allow, .subject = model::Subject::host, .pattern = "*", .secrets = {"*"}});
  start();
  for (const auto& host : {at("blind.test", upstream), std::string("unknown.test:6379")}) {
    Client client = connect();
    client.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    EXPECT_EQ(client.hear_answer().status, 403) << host;
  }
  EXPECT_NE(recorded.record(1).refused.find("names port 6379 of it"), std::string::npos) << recorded.record(1).refused;
  EXPECT_EQ(upstream.connections(), 0);
  Client client = connect();
  const auto host = at("blind.test", named);
  client.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  EXPECT_EQ(client.hear_answer().status, 200);
}

TEST_F(ProxyTest, I_17_A_port_that_a_rule_names_for_one_host_is_open_for_no_other) {
  Upstream upstream(echo);
  name_port("blind.test", upstream);
  std::ranges::find(policy, "other.test", &model::PolicyRule::pattern)->ports.clear();
  start();
  Client client = connect();
  client.say("CONNECT " + at("other.test", upstream) + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.hear_answer("CONNECT").status, 403);
  Client named = connect();
  named.say("CONNECT " + at("blind.test", upstream) + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(named.hear_answer("CONNECT").status, 200);
}

TEST_F(ProxyTest, A_tunnel_carries_TLS_to_the_host_that_it_names) {
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("blind.test"));
  name_port("blind.test", upstream);
  start();
  Client client = connect();
  client.say("CONNECT " + at("blind.test", upstream) + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.hear_answer("CONNECT").status, 200);
  ASSERT_TRUE(client.start_tls("blind.test", options.upstream_ca_file));
  client.say(get("blind.test", ""));
  EXPECT_EQ(client.hear_answer().status, 200);
}

TEST_F(ProxyTest, A_head_that_does_not_end_in_time_is_not_waited_for) {
  options.head_ms_max = 50;
  start();
  Client client = connect();
  client.say("GET http://other.test/ HTTP/1.1\r\nX: ");
  EXPECT_EQ(client.hear_answer().status, 408);
  EXPECT_TRUE(client.is_over());
}

TEST_F(ProxyTest, A_line_that_ends_in_a_bare_line_feed_is_refused_at_once) {
  start();
  Client client = connect();
  client.say("GET http://other.test/ HTTP/1.1\nHost: other.test\n\n");
  EXPECT_EQ(client.hear_answer().status, 400);
  EXPECT_TRUE(client.is_over());
}

TEST_F(ProxyTest, I_17_What_is_broken_off_is_told_of) {
  Upstream upstream([](Peer& peer) {
    peer.say(peer.hear(4));
    peer.hear_all();
  });
  name_port("blind.test", upstream);
  start();
  Client tunnel = connect();
  tunnel.say("CONNECT " + at("blind.test", upstream) + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(tunnel.hear_answer("CONNECT").status, 200);
  tunnel.say("ping");
  EXPECT_EQ(tunnel.hear(4), "ping");
  Client asking = connect();
  asking.say("GET http://asked.test/ HTTP/1.1\r\nHost: asked.test\r\n\r\n");
  recorded.question();
  std::vector<RequestRecord> records;
  std::vector<RequestRecord> again;
  in_loop([&] {
    records = proxy->break_off();
    again = proxy->break_off();
  });
  EXPECT_TRUE(tunnel.is_over());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].method, "CONNECT");
  EXPECT_EQ(records[0].host, "blind.test");
  EXPECT_EQ(records[0].status, 0);
  EXPECT_EQ(records[0].sent_bytes, 4);
  EXPECT_EQ(records[0].received_bytes, 4);
  EXPECT_EQ(records[1].host, "asked.test");
  EXPECT_EQ(records[1].method, "GET");
  EXPECT_TRUE(again.empty());
}

}  // namespace guard_test
}  // namespace sluice::egress
