// A sandbox that asks again and again for what it may not have.
#include <algorithm>

#include "egress/proxy_fixture.h"

namespace sluice::egress {
namespace refusals_test {

class RefusalsTest : public ProxyTest {
 protected:
  // Over one connection that is kept.
  static void ask(Client& client, const std::string& host, int count) {
    for (int i = 0; i < count; ++i) {
      client.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
      ASSERT_EQ(client.hear_answer().status, 403) << i;
    }
  }
  std::ptrdiff_t lines(std::string_view event) {
    std::ptrdiff_t count = 0;
    in_loop([&] {
      count = std::ranges::count_if(log.lines,
                                    [&](const std::string& line) { return line.find(event) != std::string::npos; });
    });
    return count;
  }
};

TEST_F(RefusalsTest, Refused_requests_beyond_the_first_are_reported_as_a_sum_when_the_guest_is_done) {
  options.single_passages_max = 10;
  start();
  Client client = connect();
  ask(client, "denied.test", 200);
  std::vector<Passage> last;
  in_loop([&] { last = outlet->break_off(); });
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].host, "denied.test");
  EXPECT_EQ(last[0].more, 190);
  EXPECT_EQ(last[0].more_refused, 190);
  EXPECT_NE(last[0].refused.find("no rule of the agent's policy allows it"), std::string::npos);
  EXPECT_EQ(ear.passage(9).more, 0);
  EXPECT_EQ(ear.passage_count(), 10u);
  EXPECT_EQ(lines("egress refused "), 10);
  EXPECT_EQ(lines("egress summed up"), 1);
  EXPECT_NE(metrics.to_text().find("sluice_egress_requests_total{outcome=\"refused\"} 200"), std::string::npos);
}

TEST_F(RefusalsTest, Sums_are_reported_while_the_guest_goes_on) {
  options.single_passages_max = 0;
  options.sum_ms = 20;
  start();
  Client client = connect();
  ask(client, "denied.test", 3);
  int64_t told = 0;
  for (std::size_t i = 0; told < 3; ++i) {
    const Passage passage = ear.passage(i);
    ASSERT_GT(passage.more, 0);
    told += passage.more;
  }
  EXPECT_EQ(told, 3);
}

TEST_F(RefusalsTest, A_sandbox_that_is_refused_again_and_again_is_slowed_down_on_all_its_connections) {
  options.refusals_at_once = 20;
  options.refusals_per_second = 100;
  start();
  const auto began = std::chrono::steady_clock::now();
  Client first = connect();
  ask(first, "denied.test", 20);
  Client second = connect();
  ask(second, "denied.test", 30);
  // 50 refusals, of which 20 were free; the others come to 10 ms each.
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(280));
}

TEST_F(RefusalsTest, What_is_no_request_is_slowed_down_too) {
  options.refusals_at_once = 5;
  options.refusals_per_second = 100;
  start();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) {
    Client client = connect();
    client.say("\x16\x03\x01");
    ASSERT_EQ(client.hear_answer().status, 400);
  }
  Client client = connect();
  ask(client, "denied.test", 10);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(80));
}

}  // namespace refusals_test
}  // namespace sluice::egress
