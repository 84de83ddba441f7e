// A way out that is held: nothing begins to leave, and nothing is lost.
#include "egress/proxy_fixture.h"

namespace sluice::egress {
namespace hold_test {

class Held : public ProxyTest {
 protected:
  void hold(bool held) {
    in_loop([&] { proxy->hold(held); });
  }
  void pass(int64_t ms) {
    std::promise<void> passed;
    world::Timer timer;
    in_loop([&] { timer = reactor->after({ms}, [&] { passed.set_value(); }); });
    passed.get_future().wait();
    in_loop([&] { timer.cancel(); });
  }
  static std::string get(const std::string& host) {
    return "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
  }
};

TEST_F(Held, Requests_wait_and_leave_afterwards) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  start();
  const std::string host = at("other.test", upstream);
  Client before = connect();
  before.say(get(host));
  EXPECT_EQ(before.hear_answer().status, 200);
  hold(true);
  Client fresh = connect();
  fresh.say(get(host));
  before.say(get(host));
  pass(400);
  EXPECT_EQ(ledger.size(), 1U);
  hold(false);
  EXPECT_EQ(fresh.hear_answer().status, 200);
  EXPECT_EQ(before.hear_answer().status, 200);
  EXPECT_EQ(ledger.size(), 3U);
}

TEST_F(Held, A_request_whose_body_ends_meanwhile_waits_too) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  start();
  const std::string host = at("other.test", upstream);
  Client client = connect();
  client.say("POST http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 4\r\n\r\nab");
  pass(50);
  hold(true);
  client.say("cd");
  pass(300);
  EXPECT_EQ(ledger.size(), 0U);
  hold(false);
  EXPECT_EQ(client.hear_answer().status, 200);
  EXPECT_EQ(ledger.at(0).body, "abcd");
}

TEST_F(Held, A_tunnel_stands_still) {
  Ledger ledger;
  Upstream upstream(ledger.answering());
  name_port("blind.test", upstream);
  start();
  Client client = connect();
  const std::string to = at("blind.test", upstream);
  client.say("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n");
  EXPECT_EQ(client.hear_answer("CONNECT").status, 200);
  client.say("GET /one HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.hear_answer().status, 200);
  hold(true);
  client.say("GET /two HTTP/1.1\r\nHost: x\r\n\r\n");
  pass(300);
  EXPECT_EQ(ledger.size(), 1U);
  hold(false);
  EXPECT_EQ(client.hear_answer().status, 200);
}

TEST_F(Held, The_time_of_a_request_stands_still) {
  options.head_ms_max = 500;
  Ledger ledger;
  Upstream upstream(ledger.answering());
  start();
  const std::string host = at("other.test", upstream);
  Client client = connect();
  client.say("GET http://" + host + "/ HTTP/1.1\r\n");
  pass(50);
  hold(true);
  pass(1'500);
  hold(false);
  client.say("Host: " + host + "\r\n\r\n");
  EXPECT_EQ(client.hear_answer().status, 200) << "the rest of its head came in time";
}

}  // namespace hold_test
}  // namespace sluice::egress
