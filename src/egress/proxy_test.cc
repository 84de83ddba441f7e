// Plain requests, and who may go where.
#include "egress/proxy_fixture.h"

namespace sluice::egress {
namespace proxy_test {

std::string get(const std::string& at, const std::string& more = "") {
  return "GET http://" + at + "/path?x=1 HTTP/1.1\r\nHost: " + at + "\r\n" + more + "\r\n";
}

TEST_F(ProxyTest, I_17_A_request_to_an_allowed_host_goes_there_and_is_told_of) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  start();
  Client client = connect();
  client.say(get(at("other.test", upstream), "Proxy-Connection: keep-alive\r\nX-Kept: yes\r\n"));
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "ok");
  const Heard heard = ledger.at(0);
  EXPECT_EQ(heard.request.target, "/path?x=1");
  EXPECT_EQ(heard.field("Host"), at("other.test", upstream));
  EXPECT_EQ(heard.field("X-Kept"), "yes");
  EXPECT_EQ(heard.field("Proxy-Connection"), "(none)");
  const RequestRecord record = recorded.record();
  EXPECT_EQ(record.host, "other.test");
  EXPECT_EQ(record.port, upstream.port());
  EXPECT_EQ(record.method, "GET");
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.received_bytes, 2);
  EXPECT_EQ(record.refused, "");
}

TEST_F(ProxyTest, I_17_A_host_that_no_rule_allows_is_refused_with_words_and_not_reached) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  start();
  Client client = connect();
  client.say(get(at("denied.test", upstream)));
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("this sandbox may not reach denied.test"), std::string::npos) << answer.body;
  EXPECT_NE(recorded.record().refused, "");
  // The connection is still good.
  client.say(get(at("other.test", upstream)));
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_EQ(ledger.size(), 1u);
}

TEST_F(ProxyTest, I_17_A_redirect_is_the_clients_to_follow_and_is_judged_again) {
  Ledger ledger;
  Upstream upstream(
      ledger.answering("HTTP/1.1 302 Found\r\nLocation: http://denied.test/\r\nContent-Length: 0\r\n\r\n"));
  start();
  Client client = connect();
  client.say(get(at("other.test", upstream)));
  EXPECT_EQ(client.hear_answer().field("Location"), "http://denied.test/");
  client.say(get(at("denied.test", upstream)));
  EXPECT_EQ(client.hear_answer().status, 403);
  EXPECT_EQ(ledger.size(), 1u);
}

TEST_F(ProxyTest, I_17_An_address_is_refused_unless_a_rule_names_it) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  policy.push_back(allow("*"));
  start();
  for (const std::string host : {"127.0.0.1", "93.184.216.34", "[::1]"}) {
    Client client = connect();
    client.say("CONNECT " + at(host, upstream) + " HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.hear_answer("CONNECT").status, 403) << host;
  }
  Client client = connect();
  client.say(get(at("127.0.0.1", upstream)));
  EXPECT_EQ(client.hear_answer().status, 403);
  EXPECT_EQ(ledger.size(), 0u);
}

TEST_F(ProxyTest, I_17_An_address_that_a_rule_names_can_be_reached) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  policy.push_back(allow("127.0.0.1"));
  name_port("127.0.0.1", upstream);
  start();
  Client client = connect();
  client.say(get(at("127.0.0.1", upstream)));
  EXPECT_EQ(client.hear_answer().status, 200);
}

TEST_F(ProxyTest, I_17_A_name_that_leads_to_a_private_address_is_refused) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  options.private_addresses.clear();
  options.host_addresses["other.test"] = "169.254.169.254";
  start();
  for (const char* const host : {"api.test", "other.test"}) {
    Client client = connect();
    client.say(get(at(host, upstream)));
    const Heard answer = client.hear_answer();
    EXPECT_EQ(answer.status, 403);
    EXPECT_NE(answer.body.find("which no sandbox may reach"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(recorded.record(1).refused.substr(0, 18), "other.test leads t");
  EXPECT_EQ(upstream.connections(), 0);
}

// DNS rebinding: the name answers well when it is checked and badly when it is used.
TEST_F(ProxyTest, I_17_What_is_connected_to_is_what_was_checked) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  std::atomic<int> lookups = 0;
  options.private_addresses = {"127.0.0.1/32"};
  lookup = [&](const std::string&) -> Result<std::vector<Address>> {
    return std::vector{parse_address(lookups++ == 0 ? "127.0.0.1" : "127.0.0.2").value()};
  };
  name_port("rebind.test", upstream);
  start();
  Client first = connect();
  first.say(get(at("rebind.test", upstream), "Connection: close\r\n"));
  EXPECT_EQ(first.hear_answer().status, 200);
  EXPECT_EQ(lookups, 1) << "one look for the check and the connection";
  Client second = connect();
  second.say("CONNECT " + at("rebind.test", upstream) + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(second.hear_answer("CONNECT").status, 403);
  EXPECT_EQ(upstream.connections(), 1);
}

TEST_F(ProxyTest, I_17_Of_several_addresses_only_those_that_may_be_reached_are_tried) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  options.private_addresses = {"127.0.0.0/8"};
  lookup = [&](const std::string&) -> Result<std::vector<Address>> {
    return std::vector{parse_address("10.1.2.3").value(), parse_address("127.0.0.9").value(),
                       parse_address("127.0.0.1").value()};
  };
  start();
  Client client = connect();
  client.say(get(at("rebind.test", upstream)));
  EXPECT_EQ(client.hear_answer().status, 200) << "nothing listens on 127.0.0.9; the next address is tried";
}

TEST_F(ProxyTest, A_host_that_cannot_be_found_or_reached_is_a_bad_gateway) {
  uint16_t closed_port = 0;
  listen_on_loopback(closed_port).reset();
  start();
  Client client = connect();
  client.say(get("rebind.test:80"));
  EXPECT_EQ(client.hear_answer().status, 502);
  client.say(get("other.test:" + std::to_string(closed_port)));
  const Heard answer = client.hear_answer();
  EXPECT_EQ(answer.status, 502);
  EXPECT_NE(answer.body.find("other.test cannot be reached: Connection refused"), std::string::npos) << answer.body;
  EXPECT_EQ(recorded.record(1).status, 502);
}

TEST_F(ProxyTest, Port_25_is_closed) {
  start();
  Client client = connect();
  client.say("CONNECT other.test:25 HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.hear_answer("CONNECT").status, 403);
}

// Chunked smuggling, absolute-form tricks: refused, and nothing of it is sent on.
TEST_F(ProxyTest, I_17_What_can_be_read_in_two_ways_goes_nowhere) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  start();
  const std::string host = at("other.test", upstream);
  const std::string post = "POST http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n";
  for (const std::string& bytes : {
           post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /",
           post + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
           post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
           post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
           post + "X: a\r\n b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
           "GET http://denied.test@" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
           "GET http://" + host + "/ HTTP/1.1\r\nHost: denied.test\r\n\r\n",
           "GET http://" + host + "/#x HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
           std::string("\x16\x03\x01\x02", 4),
       }) {
    Client client = connect();
    client.say(bytes);
    EXPECT_EQ(client.hear_answer().status, 400) << bytes;
    EXPECT_TRUE(client.is_over()) << bytes;
  }
  Client client = connect();
  client.say(post + "Transfer-Encoding: chunked\r\n\r\n5;\nX\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(client.hear_answer().status, 400);
  EXPECT_EQ(ledger.size(), 0u);
}

TEST_F(ProxyTest, Requests_that_come_together_are_answered_one_after_the_other) {
  Upstream upstream(echo);
  start();
  Client client = connect();
  const std::string host = at("other.test", upstream);
  client.say("POST http://" + host + "/a HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 3\r\n\r\none" +
             "POST http://" + host + "/b HTTP/1.1\r\nHost: " + host +
             "\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n" + get(host));
  EXPECT_TRUE(client.hear_answer().body.ends_with("\n\none"));
  EXPECT_TRUE(client.hear_answer().body.ends_with("\n\ntwo"));
  EXPECT_TRUE(client.hear_answer().body.starts_with("GET /path?x=1\n"));
  EXPECT_EQ(upstream.connections(), 1);
}

TEST_F(ProxyTest, I_17_A_host_that_must_be_asked_for_waits_for_a_human) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  start();
  Client client = connect();
  client.say(get(at("asked.test", upstream)));
  const Question question = recorded.question();
  EXPECT_EQ(question.host, "asked.test");
  EXPECT_EQ(question.method, "GET");
  EXPECT_EQ(question.alias, "");
  EXPECT_EQ(question.reason, "Why?");
  EXPECT_EQ(ledger.size(), 0u);
  settle(question.number, true);
  EXPECT_EQ(client.hear_answer().status, 200);
  client.say(get(at("asked.test", upstream)));
  EXPECT_EQ(client.hear_answer().status, 200) << "allowed once is allowed for this guest";
  EXPECT_EQ(recorded.question_count(), 1u);
}

TEST_F(ProxyTest, I_17_A_human_who_says_no_is_quoted) {
  Upstream upstream(echo);
  name_port("asked.test", upstream);
  start();
  Client client = connect();
  client.say("CONNECT " + at("asked.test", upstream) + " HTTP/1.1\r\n\r\n");
  settle(recorded.question().number, false, {}, "not this one");
  const Heard answer = client.hear_answer("CONNECT");
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body, "sluice: not this one\n");
  EXPECT_EQ(recorded.record().refused, "not this one");
  EXPECT_EQ(upstream.connections(), 0);
}

TEST_F(ProxyTest, A_client_that_leaves_while_it_waits_is_told_of) {
  start();
  Client client = connect();
  client.say(get("asked.test"));
  recorded.question();
  client.hang_up();
  EXPECT_EQ(recorded.record().status, 0);
}

TEST_F(ProxyTest, Nobodys_outlet_lets_nothing_out) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  start();
  Client before = connect();
  before.say(get(at("other.test", upstream)));
  EXPECT_EQ(before.hear_answer().status, 200);
  in_loop([&] { proxy->refuse_all(); });
  EXPECT_TRUE(before.is_over());
  Client after = connect();
  after.say(get(at("other.test", upstream)));
  EXPECT_EQ(after.hear_answer().status, 403);
  EXPECT_EQ(ledger.size(), 1u);
}

TEST_F(ProxyTest, More_connections_than_a_box_may_have_are_turned_away) {
  options.connections_per_box_max = 1;
  Upstream upstream(echo);
  start();
  Client first = connect();
  first.say(get(at("other.test", upstream)));
  EXPECT_EQ(first.hear_answer().status, 200);
  Client second = connect();
  EXPECT_EQ(second.hear_answer().status, 503);
}

TEST_F(ProxyTest, Counts_what_cannot_be_undone) {
  Upstream upstream(echo);
  start();
  Client client = connect();
  const std::string host = at("other.test", upstream);
  client.say(get(host));
  client.hear_answer();
  int64_t count = -1;
  in_loop([&] { count = proxy->sent_for_good(); });
  EXPECT_EQ(count, 0);
  client.say("DELETE http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  client.hear_answer();
  in_loop([&] { count = proxy->sent_for_good(); });
  EXPECT_EQ(count, 1);
}

}  // namespace proxy_test
}  // namespace sluice::egress
