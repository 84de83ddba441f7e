// Long bodies, many requests, and ends in the middle.
#include <algorithm>
#include <chrono>

#include "egress/proxy_fixture.h"

namespace sluice::egress {
namespace streaming_test {

constexpr std::size_t large = 8 * 1024 * 1024;

// Text that never repeats its neighbourhood, so that a lost or doubled byte shows.
std::string pattern(std::size_t size) {
  std::string out;
  for (uint32_t i = 0; out.size() < size; ++i) out += std::to_string(i * 2654435761u) + " ";
  out.resize(size);
  return out;
}

TEST_F(ProxyTest, A_large_answer_streams_through_whole) {
  const std::string body = pattern(large);
  Ledger ledger;
  Upstream upstream(
      ledger.answering("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(large) + "\r\n\r\n" + body));
  on_file.clear();
  start();
  Client client = connect();
  const std::string host = at("other.test", upstream);
  client.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.field("Content-Length"), std::to_string(large)) << "nothing to look for: the framing stays";
  EXPECT_TRUE(answer.body == body);
  EXPECT_EQ(recorded.record().received_bytes, static_cast<int64_t>(large));
}

TEST_F(ProxyTest, I_17_A_large_answer_is_scrubbed_as_it_streams) {
  const std::string half = pattern(large / 2);
  Upstream upstream(
      [&](Peer& peer) {
        peer.hear_request();
        peer.say("HTTP/1.1 200 OK\r\n\r\n" + half + "s3cr3t-value-of-token" + half);
      },
      certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  client.say("GET / HTTP/1.1\r\nHost: " + at("api.test", upstream) + "\r\n\r\n");
  const Heard answer = client.hear_answer();
  EXPECT_TRUE(answer.complete);
  EXPECT_TRUE(answer.body == half + "{{secret:TOKEN}}" + half);
}

TEST_F(ProxyTest, I_17_A_large_request_streams_with_its_secrets) {
  const std::string half = pattern(large / 2);
  const std::string body = half + "{{secret:TOKEN}}" + half;
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  client.say("PUT / HTTP/1.1\r\nHost: " + at("api.test", upstream) +
             "\r\nExpect: 100-continue\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(client.hear(25), "HTTP/1.1 100 Continue\r\n\r\n");
  client.say(body);
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_EQ(ledger.at(0).field("Transfer-Encoding"), "chunked");
  EXPECT_TRUE(ledger.at(0).body == half + "s3cr3t-value-of-token" + half);
  EXPECT_EQ(recorded.record().sent_bytes, static_cast<int64_t>(body.size()));
}

TEST_F(ProxyTest, I_17_A_large_request_is_cut_off_before_an_alias_that_must_not_go) {
  on_file.push_back({.alias = "ELSEWHERE", .value = "for-another-host", .hosts = {"elsewhere.test"}});
  const std::string body = pattern(large / 2) + "{{secret:ELSEWHERE}}" + pattern(large / 2);
  Ledger ledger;
  Upstream upstream([&](Peer& peer) { ledger.add(peer.hear_request()); }, certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  client.say("PUT / HTTP/1.1\r\nHost: " + at("api.test", upstream) +
             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(recorded.record().refused, "the secret ELSEWHERE may not be sent to api.test");
  EXPECT_FALSE(ledger.at(0).complete) << "what was cut off does not look whole";
}

TEST_F(ProxyTest, I_17_A_large_request_waits_in_the_middle_for_its_secret) {
  const std::string half = pattern(large / 2);
  const std::string body = half + "{{secret:LATER}}" + half;
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  std::thread sender([&] {
    client.say("PUT / HTTP/1.1\r\nHost: " + at("api.test", upstream) +
               "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  settle(recorded.question().number, true, {{.alias = "LATER", .value = "came-in-the-end"}});
  sender.join();
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_TRUE(ledger.at(0).body == half + "came-in-the-end" + half);
}

TEST_F(ProxyTest, A_thousand_requests_share_one_connection_on_either_side) {
  Ledger ledger;
  Upstream upstream(ledger.answering(), certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  const std::string request = "GET / HTTP/1.1\r\nHost: " + at("api.test", upstream) + "\r\nX: {{secret:TOKEN}}\r\n\r\n";
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(client.say(request));
    ASSERT_EQ(client.hear_answer().status, 200) << i;
  }
  EXPECT_EQ(upstream.connections(), 1);
  EXPECT_EQ(recorded.record(999).status, 200);
}

TEST_F(ProxyTest, A_connection_that_died_in_the_pool_is_replaced) {
  Upstream upstream([](Peer& peer) {
    peer.hear_request();
    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  start();
  Client client = connect();
  const std::string host = at("other.test", upstream);
  for (int i = 0; i < 20; ++i) {
    client.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    ASSERT_EQ(client.hear_answer().status, 200);
  }
  EXPECT_EQ(upstream.connections(), 20);
}

TEST_F(ProxyTest, A_client_that_leaves_in_the_middle_takes_the_upstream_with_it) {
  std::promise<bool> gone;
  Upstream upstream([&](Peer& peer) {
    peer.hear_request();
    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    const std::string piece(64 * 1024, 'x');
    while (peer.say(piece)) {
    }
    gone.set_value(true);
  });
  start();
  Client client = connect();
  const std::string host = at("other.test", upstream);
  client.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  client.hear(100'000);
  client.hang_up();
  EXPECT_EQ(gone.get_future().wait_for(test_patience), std::future_status::ready);
  EXPECT_EQ(recorded.record().status, 0);
}

TEST_F(ProxyTest, An_answer_that_breaks_off_looks_broken) {
  Upstream upstream([](Peer& peer) {
    peer.hear_request();
    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
  });
  start();
  Client client = connect();
  const std::string host = at("other.test", upstream);
  client.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  const Heard answer = client.hear_answer();
  EXPECT_FALSE(answer.complete);
  EXPECT_EQ(recorded.record().status, 0);
}

TEST_F(ProxyTest, A_tunnel_carries_both_ways_and_ends_one_way_at_a_time) {
  const std::string question = pattern(large);
  Upstream upstream([](Peer& peer) {
    const std::string heard = peer.hear_all();  // until the client's side has ended
    peer.say(heard);
  });
  name_port("blind.test", upstream);
  start();
  Client client = connect();
  client.say("CONNECT " + at("blind.test", upstream) + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.hear_answer("CONNECT").status, 200);
  client.say(question);
  client.end_saying();
  EXPECT_TRUE(client.hear_all() == question);
  EXPECT_EQ(recorded.record().sent_bytes, static_cast<int64_t>(large));
  EXPECT_EQ(recorded.record().received_bytes, static_cast<int64_t>(large));
}

TEST_F(ProxyTest, Answers_without_a_body_leave_the_connection_in_step) {
  Upstream upstream(
      [](Peer& peer) {
        for (const char* const answer : {"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n", "HTTP/1.1 204 No\r\n\r\n",
                                         "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n",
                                         "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n"
                                         "Content-Length: 0\r\n\r\n"}) {
          if (peer.hear_request().request.method.empty()) return;
          peer.say(answer);
        }
      },
      certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  const std::string rest = " / HTTP/1.1\r\nHost: " + at("api.test", upstream) + "\r\n\r\n";
  client.say("HEAD" + rest);
  EXPECT_EQ(client.hear_answer("HEAD").field("Content-Length"), "77");
  client.say("GET" + rest);
  EXPECT_EQ(client.hear_answer().status, 204);
  client.say("GET" + rest);
  EXPECT_EQ(client.hear_answer().status, 304);
  client.say("GET" + rest);
  EXPECT_EQ(client.hear_answer().status, 200);
}

TEST_F(ProxyTest, An_old_client_gets_an_answer_that_ends_with_the_connection) {
  Upstream upstream(
      [](Peer& peer) {
        peer.hear_request();
        peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
      },
      certificate_of("api.test"));
  start();
  Client client = connect_tls(upstream);
  client.say("GET / HTTP/1.0\r\nHost: " + at("api.test", upstream) + "\r\n\r\n");
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.field("Transfer-Encoding"), "(none)");
  EXPECT_EQ(answer.body, "hello");
}

TEST_F(ProxyTest, An_upstream_that_never_answers_is_given_up) {
  options.idle_ms_max = 50;
  Upstream upstream([](Peer& peer) { peer.hear_all(); });
  start();
  Client client = connect();
  const std::string host = at("other.test", upstream);
  client.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  EXPECT_EQ(client.hear_answer().status, 504);
}

}  // namespace streaming_test
}  // namespace sluice::egress
