// A sandbox that asks again and again for what it may not have.
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>

#include "egress/proxy_fixture.h"
#include "egress/session.h"

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
  options.single_records_max = 10;
  start();
  Client client = connect();
  ask(client, "denied.test", 200);
  std::vector<RequestRecord> last;
  in_loop([&] { last = proxy->break_off(); });
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].host, "denied.test");
  EXPECT_EQ(last[0].more, 190);
  EXPECT_EQ(last[0].more_refused, 190);
  EXPECT_NE(last[0].refused.find("no rule of the agent's policy allows it"), std::string::npos);
  EXPECT_EQ(recorded.record(9).more, 0);
  EXPECT_EQ(recorded.record_count(), 10u);
  EXPECT_EQ(lines("egress refused "), 10);
  EXPECT_EQ(lines("egress summed up"), 1);
  EXPECT_NE(metrics.to_text().find("sluice_egress_requests_total{outcome=\"refused\"} 200"), std::string::npos);
}

TEST_F(RefusalsTest, Sums_are_reported_while_the_guest_goes_on) {
  options.single_records_max = 0;
  options.sum_ms = 20;
  start();
  Client client = connect();
  ask(client, "denied.test", 3);
  int64_t reported = 0;
  for (std::size_t i = 0; reported < 3; ++i) {
    const RequestRecord record = recorded.record(i);
    ASSERT_GT(record.more, 0);
    reported += record.more;
  }
  EXPECT_EQ(reported, 3);
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

// Sockets of this kind have buffers that do not grow.
class UnixSockets {
 public:
  explicit UnixSockets(const std::string& path) : listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    path.copy(address_.sun_path, sizeof address_.sun_path - 1);
    SLUICE_CHECK(bind(listener.get(), where(), sizeof address_) == 0 && listen(listener.get(), 8) == 0);
  }
  OwnedFd connect() {
    OwnedFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    SLUICE_CHECK(::connect(fd.get(), where(), sizeof address_) == 0);
    return fd;
  }
  OwnedFd listener;

 private:
  const sockaddr* where() const { return reinterpret_cast<const sockaddr*>(&address_); }
  sockaddr_un address_{.sun_family = AF_UNIX, .sun_path = {}};
};

TEST_F(RefusalsTest, A_client_that_does_not_read_its_answers_gets_no_more_of_them) {
  constexpr std::size_t sent_max = std::size_t{4} << 20;
  options.refusals_at_once = 1'000'000;
  start();
  UnixSockets sockets(directory / "proxy");
  std::unique_ptr<SandboxProxy> by_unix;
  in_loop([&] {
    by_unix = egress->open(std::move(sockets.listener));
    by_unix->serve({.policy = policy}, recorded);
  });
  OwnedFd fd = sockets.connect();
  const std::string request = "GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n";
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += request;
  std::size_t sent = 0;
  for (int full = 0; full < 10 && sent < sent_max;) {
    const auto rest = std::string_view(many).substr(sent % many.size());
    const ssize_t now = send(fd.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    full = now < 0 ? full + 1 : 0;
    sent += now < 0 ? 0 : static_cast<std::size_t>(now);
    in_loop([] {});  // the proxy has had its turn
  }
  EXPECT_LT(sent, sent_max) << "it is read no further";
  Peer client(std::move(fd));
  for (std::size_t i = 0; i < std::min(sent, sent_max) / request.size(); ++i) {
    ASSERT_EQ(client.hear_answer().status, 403) << "all are answered once answers are read";
  }
  in_loop([&] { by_unix.reset(); });
}

TEST_F(RefusalsTest, A_guest_has_a_bounded_number_of_open_questions_whether_their_senders_wait_or_have_left) {
  policy = {{.effect = model::Effect::ask, .subject = model::Subject::host, .pattern = "*"}};
  start();
  const auto ask_for = [&](std::size_t number) {
    const std::string host = "h" + std::to_string(number) + ".test";
    Client client = connect();
    client.say("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return client;
  };
  for (std::size_t i = 0; i < Session::questions_max; ++i) {
    Client client = ask_for(i);
    EXPECT_EQ(recorded.question(i).host, "h" + std::to_string(i) + ".test");
  }  // it leaves
  Client beyond = ask_for(Session::questions_max);
  EXPECT_EQ(beyond.hear_answer().status, 403);
  Client again = ask_for(0);
  Client other = ask_for(1'000);
  EXPECT_EQ(other.hear_answer().status, 403);  // by then the one before was judged, too
  EXPECT_EQ(recorded.question_count(), Session::questions_max)
      << "who comes again waits for the answer to the same question";
  settle(recorded.question(0).number, false);
  EXPECT_EQ(again.hear_answer().status, 403);
  Client next = ask_for(1'000);
  EXPECT_EQ(recorded.question(Session::questions_max).host, "h1000.test") << "there is room for one more";
}

TEST_F(RefusalsTest, Requests_that_fail_are_slowed_down_as_refused_ones_are) {
  options.refusals_at_once = 10;
  options.refusals_per_second = 1;
  const auto shared = std::make_shared<SharedState>(options, *reactor, log, metrics);
  Session session(shared);
  for (int i = 0; i < 100; ++i) session.report({.host = "api.test", .status = 200, .received_bytes = 5});
  EXPECT_EQ(session.pause_ms(), 0);
  for (int i = 0; i < 100; ++i) session.report({.host = "api.test", .status = 502});
  EXPECT_GT(session.pause_ms(), 0);
}

}  // namespace refusals_test
}  // namespace sluice::egress
