// A sandbox that may reach one host, asks for others, and keeps its connections.
#include "base/limits.h"
#include "egress/proxy_fixture.h"
#include "egress/socks.h"

namespace sluice::egress {
namespace single_host_test {

class SingleHostTest : public ProxyTest {
 protected:
  SingleHostTest() { options.private_addresses = {}; }
  ~SingleHostTest() override {
    if (way) in_loop([&] { way.reset(); });
  }

  void start_with(SingleHost to) {
    start();
    auto door = listen_on_loopback(door_port);
    in_loop([&] { way = egress->open_single_host(std::move(door), std::move(to)); });
  }
  SingleHost to(const Upstream& upstream) const {
    return {.name = "api.test", .port = upstream.port(), .public_only = false, .lifetime_ms_max = 60'000};
  }
  static std::string request_for(const std::string& host, int at_port, char command = 1) {
    std::string out = {5, command, 0, 3, static_cast<char>(host.size())};
    return out + host + static_cast<char>(at_port >> 8) + static_cast<char>(at_port & 255);
  }
  // The reply's code; -1 when there was none.
  int ask(Client& client, const std::string& request) {
    client.say(std::string({5, 1, 0}));
    EXPECT_EQ(client.hear(2), std::string({5, 0}));
    client.say(request);
    const auto answer = client.hear(10);
    return answer.size() == 10 ? answer[1] : -1;
  }
  std::string fault() {
    std::string words;
    in_loop([&] { words = way->fault() ? way->fault()->what : ""; });
    return words;
  }

  uint16_t door_port = 0;
  std::unique_ptr<SingleHostProxy> way;
};

TEST_F(SingleHostTest, Bytes_go_both_ways_to_the_host_that_is_asked_for) {
  Upstream upstream(echo);
  start_with(to(upstream));
  Client client(door_port);
  ASSERT_EQ(ask(client, request_for("API.test.", upstream.port())), 0);
  client.say("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.hear_answer().body, "GET /a\nHost: x\n\n");
  EXPECT_EQ(fault(), "");
}

TEST_F(SingleHostTest, Without_socks_every_connection_leads_there) {
  Upstream upstream(echo);
  auto target = to(upstream);
  target.asks_by_socks = false;
  start_with(target);
  for (int i = 0; i < 2; ++i) {
    Client client(door_port);
    client.say("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(client.hear_answer().body, "GET /a\nHost: x\n\n");
  }
}

// I-17
TEST_F(SingleHostTest, I_17_no_other_host_no_other_port_and_no_other_command_is_let_through) {
  Upstream upstream(echo), other(echo);
  start_with(to(upstream));
  const std::pair<std::string, int> cases[] = {
      {request_for("other.test", upstream.port()), 2},
      {request_for("127.0.0.1", upstream.port()), 2},
      {request_for("api.test", other.port()), 2},
      {request_for("api.test", upstream.port(), 2), 7},
      {request_for("api.test.other", upstream.port(), 1), 2},
  };
  for (const auto& [request, code] : cases) {
    Client client(door_port);
    EXPECT_EQ(ask(client, request), code);
    EXPECT_TRUE(client.is_over());
  }
  for (const std::string& words : {std::string("GET http://api.test/ HTTP/1.1\r\n\r\n"), std::string({4, 1, 0, 80})}) {
    Client client(door_port);
    client.say(words);
    EXPECT_TRUE(client.is_over());
  }
  EXPECT_EQ(upstream.connections() + other.connections(), 0);
  EXPECT_NE(fault().find("git asked for api.test.other:"), std::string::npos) << fault();
}

TEST_F(SingleHostTest, I_17_a_host_that_must_be_public_is_not_reached_at_an_address_of_this_machine) {
  options.private_addresses = {"127.0.0.0/8"};  // sandboxes of agents may; that says nothing of clones
  Upstream upstream(echo);
  auto target = to(upstream);
  target.public_only = true;
  start_with(target);
  Client client(door_port);
  EXPECT_EQ(ask(client, request_for("api.test", upstream.port())), 2);
  EXPECT_EQ(upstream.connections(), 0);
  EXPECT_EQ(fault(), "api.test leads to 127.0.0.1, a loopback address");
}

TEST_F(SingleHostTest, A_name_that_is_not_found_is_a_fault_until_a_connection_is_made) {
  std::atomic<int> asked = 0;
  lookup = [&](const std::string&) -> Result<std::vector<Address>> {
    if (asked++ == 0) return Error{ErrorKind::unavailable, "silence"};
    return std::vector{*parse_address("127.0.0.1")};
  };
  Upstream upstream(echo);
  auto target = to(upstream);
  target.name = "late.test";
  start_with(target);
  Client first(door_port);
  EXPECT_EQ(ask(first, request_for("late.test", upstream.port())), 4);
  EXPECT_EQ(fault(), "late.test cannot be found: silence");
  Client second(door_port);
  EXPECT_EQ(ask(second, request_for("late.test", upstream.port())), 0);
  EXPECT_EQ(fault(), "");
}

TEST_F(SingleHostTest, One_connection_too_many_is_closed_and_the_others_go_on) {
  Upstream upstream(echo);
  start_with(to(upstream));
  std::vector<std::unique_ptr<Client>> held;
  for (std::size_t i = 0; i < limits::single_host_connections_max; ++i) {
    held.push_back(std::make_unique<Client>(door_port));
    ASSERT_EQ(ask(*held.back(), request_for("api.test", upstream.port())), 0);
  }
  Client last(door_port);
  EXPECT_TRUE(last.is_over());
  held.front()->say("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(held.front()->hear_answer().status, 200);
}

TEST_F(SingleHostTest, A_connection_that_does_not_say_where_it_wants_to_go_is_closed) {
  options.head_ms_max = 50;
  Upstream upstream(echo);
  start_with(to(upstream));
  Client silent(door_port);
  EXPECT_TRUE(silent.is_over());
}

TEST_F(SingleHostTest, A_connection_on_which_nothing_moves_is_closed) {
  options.idle_ms_max = 50;
  Upstream upstream(echo);
  start_with(to(upstream));
  Client idle(door_port);
  ASSERT_EQ(ask(idle, request_for("api.test", upstream.port())), 0);
  EXPECT_TRUE(idle.is_over());
}

TEST_F(SingleHostTest, However_lively_a_connection_is_it_ends_with_its_lifetime) {
  Upstream upstream([](Peer& peer) {
    while (peer.say(std::string(1024, 'x'))) {
    }
  });
  auto target = to(upstream);
  target.lifetime_ms_max = 50;
  start_with(target);
  Client client(door_port);
  ASSERT_EQ(ask(client, request_for("api.test", upstream.port())), 0);
  EXPECT_FALSE(client.hear_all().empty());
}

TEST_F(SingleHostTest, Dropping_the_way_closes_its_connections) {
  Upstream upstream(echo);
  start_with(to(upstream));
  Client client(door_port);
  ASSERT_EQ(ask(client, request_for("api.test", upstream.port())), 0);
  in_loop([&] { way.reset(); });
  EXPECT_TRUE(client.is_over());
}

}  // namespace single_host_test
}  // namespace sluice::egress
