#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "net/live_server.h"

namespace sluice::net {
namespace server_test {

void echo(std::shared_ptr<Exchange> exchange) {
  const Request& request = exchange->request();
  exchange->respond({.headers = {{"Content-Type", "text/plain"}},
                     .body = request.method + " " + request.path + " " + std::string(request.body)});
}

std::string get(std::string_view path, std::string_view more = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(more) + "\r\n";
}

std::string status_line(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }
std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Server, Serves_many_requests_on_one_connection) {
  LiveServer live(echo);
  RawClient client(live.port());
  for (int i = 0; i < 3; ++i) {
    client.say(get("/" + std::to_string(i)));
    const std::string answer = client.hear_until("GET /" + std::to_string(i) + " ");
    EXPECT_EQ(status_line(answer), "HTTP/1.1 200 OK");
    EXPECT_TRUE(has(answer, "\r\nContent-Length: 7\r\n"));
    EXPECT_TRUE(has(answer, "\r\nDate: "));
    EXPECT_FALSE(has(answer, "Connection:"));
  }
}

TEST(Server, The_handler_gets_the_address_of_the_client) {
  LiveServer live([](auto exchange) { exchange->respond({.body = exchange->request().peer}); });
  RawClient client(live.port());
  client.say(get("/", "Connection: close\r\n"));
  EXPECT_EQ(body_of(client.hear_all()), "127.0.0.1");
}

TEST(Server, Serves_a_socket_that_listens_already) {
  OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  RawClient early(ntohs(address.sin_port));
  early.say(get("/early", "Connection: close\r\n"));

  LiveServer live(echo);
  world::Metrics metrics;
  std::unique_ptr<Server> other;
  live.in_loop([&] { other = serve_on(std::move(listener), live.reactor(), {}, echo, nullptr, metrics).take(); });
  EXPECT_EQ(other->port(), ntohs(address.sin_port));
  EXPECT_EQ(body_of(early.hear_all()), "GET /early ") << "who came before the server is answered too";
  live.in_loop([&] { other.reset(); });
}

TEST(Server, Refuses_to_serve_what_is_no_socket) {
  LiveServer live(echo);
  world::Metrics metrics;
  live.in_loop([&] {
    const auto none =
        serve_on(OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC)), live.reactor(), {}, echo, nullptr, metrics);
    EXPECT_FALSE(none);
  });
}

TEST(Server, A_connection_is_closed_when_the_client_asks_for_it) {
  LiveServer live(echo);
  RawClient client(live.port());
  client.say(get("/a", "Connection: close\r\n"));
  const std::string answer = client.hear_all();
  EXPECT_TRUE(has(answer, "\r\nConnection: close\r\n"));
  EXPECT_TRUE(answer.ends_with("GET /a "));
  EXPECT_FALSE(client.was_reset());
}

TEST(Server, An_HTTP_1_0_connection_is_kept_only_on_request) {
  LiveServer live(echo);
  RawClient client(live.port());
  client.say("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(has(client.hear_until("GET /1 "), "\r\nConnection: keep-alive\r\n"));
  client.say("GET /2 HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(client.hear_all().ends_with("GET /2 "));
}

TEST(Server, Answers_pipelined_requests_in_order) {
  LiveServer live(echo);
  RawClient client(live.port());
  std::string asked;
  for (int i = 0; i < 500; ++i) asked += get("/" + std::to_string(i));
  client.say(asked);
  client.end_saying();
  const std::string answers = client.hear_all();
  std::size_t at = 0;
  for (int i = 0; i < 500; ++i) {
    at = answers.find("GET /" + std::to_string(i) + " ", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(Server, A_pipelined_request_begins_after_the_answer_to_the_first) {
  std::vector<std::shared_ptr<Exchange>> held;
  LiveServer live([&](auto exchange) { held.push_back(exchange); });
  RawClient client(live.port());
  client.say(get("/1") + get("/2") + get("/3"));
  ASSERT_TRUE(live.becomes_true([&] { return held.size() == 1; }));
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(live.becomes_true([&] { return held.size() == i + 1; }));
    live.in_loop([&] { echo(held[i]); });
    EXPECT_TRUE(client.hear_until("GET /" + std::to_string(i + 1) + " ").ends_with(" "));
  }
}

TEST(Server, Who_has_said_all_is_answered_all_of_it_and_let_go_at_once) {
  std::shared_ptr<Exchange> first;
  LiveServer live([&](auto exchange) { first ? echo(exchange) : void(first = exchange); });
  RawClient client(live.port());
  client.say(get("/a") + get("/b") + get("/c"));
  client.end_saying();
  EXPECT_TRUE(live.becomes_true([&] { return first != nullptr; }));
  live.in_loop([&] { echo(first); });
  const std::string answers = client.hear_all();
  EXPECT_TRUE(has(answers, "GET /a ") && has(answers, "GET /b ")) << answers;
  EXPECT_TRUE(answers.ends_with("GET /c ")) << answers;
  EXPECT_TRUE(live.becomes_true([&] { return live.server().connection_count() == 0; }));
}

TEST(Server, A_client_that_pipelines_and_never_reads_is_made_to_wait) {
  int served = 0;
  LiveServer live([&](auto exchange) {
    ++served;
    exchange->respond({.body = std::string(200'000, 'x')});
  });
  RawClient client(live.port(), 4096);
  std::string asked;
  for (int i = 0; i < 300; ++i) asked += get("/");
  client.say(asked);
  ASSERT_TRUE(live.becomes_true([&] { return served > 0; }));
  int served_while_unread = 0;
  live.in_loop([&] { served_while_unread = served; });
  EXPECT_LT(served_while_unread, 100);  // the kernel's buffers take a few
  client.end_saying();
  EXPECT_GT(client.hear_all().size(), 300u * 200'000u);
}

TEST(Server, Reads_chunked_requests) {
  LiveServer live(echo);
  RawClient client(live.port());
  client.say("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  client.say("6;x=y\r\n world\r\n0\r\nTrailer: dropped\r\n\r\n");
  EXPECT_TRUE(client.hear_until("world").ends_with("POST /c hello world"));
}

TEST(Server, Says_continue_only_when_it_will_read) {
  LiveServer live(echo, {.request_body_bytes_max = 10});
  RawClient willing(live.port());
  willing.say("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(willing.hear_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  willing.say("hello");
  EXPECT_EQ(status_line(willing.hear_until("hello")), "HTTP/1.1 200 OK");

  RawClient refused(live.port());
  refused.say("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n");
  EXPECT_EQ(status_line(refused.hear_until("\r\n\r\n")), "HTTP/1.1 413 Content Too Large");

  RawClient eager(live.port());
  eager.say("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(status_line(eager.hear_until("hi")), "HTTP/1.1 200 OK");

  RawClient strange(live.port());
  strange.say("POST / HTTP/1.1\r\nHost: h\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(status_line(strange.hear_until("\r\n\r\n")), "HTTP/1.1 417 Expectation Failed");
}

TEST(Server, A_refusal_reaches_a_client_that_is_still_sending) {
  LiveServer live(echo, {.request_body_bytes_max = 1000});
  RawClient client(live.port());
  client.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n" + std::string(3'000'000, 'x'));
  client.end_saying();
  const std::string answer = client.hear_all();
  EXPECT_EQ(status_line(answer), "HTTP/1.1 413 Content Too Large");
  EXPECT_TRUE(has(answer, "\r\nConnection: close\r\n"));
  EXPECT_TRUE(has(answer, "the request body is too large"));
  EXPECT_FALSE(client.was_reset());
}

TEST(Server, Lets_the_client_close_first_after_the_last_answer) {
  LiveServer live(echo);
  RawClient client(live.port());
  client.say(get("/a", "Connection: close\r\n"));
  EXPECT_TRUE(client.hear_all().ends_with("GET /a "));
  live.in_loop([&] { EXPECT_EQ(live.server().connection_count(), 1u); });
  client.hang_up();
  EXPECT_TRUE(live.becomes_true([&] { return live.server().connection_count() == 0; }));
}

TEST(Server, Refuses_in_the_words_it_was_given_and_counts) {
  LiveServer live(echo, {}, [](int status, std::string_view detail) {
    return Response{.status = status,
                    .headers = {{"Content-Type", "application/problem+json"}},
                    .body = "{" + std::string(detail) + "}"};
  });
  RawClient client(live.port());
  client.say("GET / HTTP/1.1\r\n\r\n" + get("/smuggled"));
  const std::string answer = client.hear_until("}");
  EXPECT_EQ(status_line(answer), "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(body_of(answer), "{there is no Host field}");
  EXPECT_TRUE(has(answer, "application/problem+json"));
  client.end_saying();
  EXPECT_EQ(client.hear_all(), "");
  EXPECT_TRUE(has(live.metrics(), "sluice_http_refused_total 1\n"));
  EXPECT_TRUE(has(live.metrics(), "sluice_http_requests_total 0\n"));
}

TEST(Server, Answers_HEAD_without_a_body) {
  LiveServer live([](auto exchange) {
    if (exchange->request().path == "/stream") {
      exchange->start(200, {});
      exchange->write(std::make_shared<const std::string>("never seen"));
      return exchange->finish();
    }
    exchange->respond({.body = std::string(9000, 'x')});
  });
  RawClient client(live.port());
  client.say("HEAD / HTTP/1.1\r\nHost: h\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(has(client.hear_until("\r\n\r\n"), "\r\nContent-Length: 9000\r\n"));
  const std::string second = client.hear_all();
  EXPECT_EQ(status_line(second), "HTTP/1.1 200 OK");
  EXPECT_EQ(body_of(second), "");
}

TEST(Server, A_204_has_neither_body_nor_length) {
  LiveServer live([](auto exchange) { exchange->respond({.status = 204, .body = "x"}); });
  RawClient client(live.port());
  client.say(get("/", "Connection: close\r\n"));
  const std::string answer = client.hear_all();
  EXPECT_FALSE(has(answer, "Content-Length"));
  EXPECT_EQ(body_of(answer), "");
}

TEST(Server, A_head_that_comes_too_slowly_is_refused) {
  LiveServer live(echo, {.request_head_ms_max = 500});
  RawClient client(live.port()), silent(live.port());
  client.say("GET / HTTP/1.1\r\n");
  EXPECT_EQ(status_line(client.hear_until("\r\n\r\n")), "HTTP/1.1 408 Request Timeout");
  EXPECT_EQ(silent.hear_all(), "");
}

TEST(Server, A_body_that_comes_too_slowly_is_refused) {
  LiveServer live(echo, {.request_body_ms_max = 30});
  RawClient client(live.port());
  client.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhell");
  EXPECT_EQ(status_line(client.hear_until("\r\n\r\n")), "HTTP/1.1 408 Request Timeout");
}

TEST(Server, An_idle_connection_is_closed_without_a_word) {
  LiveServer live(echo, {.keep_alive_idle_ms_max = 30});
  RawClient client(live.port());
  client.say(get("/a"));
  EXPECT_TRUE(client.hear_all().ends_with("GET /a "));
}

TEST(Server, Refuses_connections_beyond_its_limit_and_recovers) {
  LiveServer live(echo, {.connections_max = 1});
  RawClient first(live.port());
  first.say(get("/1"));
  first.hear_until("GET /1 ");
  {
    RawClient second(live.port());
    EXPECT_EQ(status_line(second.hear_all()), "HTTP/1.1 503 Service Unavailable");
  }
  first.hang_up();
  ASSERT_TRUE(live.becomes_true([&] { return live.server().connection_count() == 0; }));
  RawClient third(live.port());
  third.say(get("/3"));
  EXPECT_EQ(status_line(third.hear_until("GET /3 ")), "HTTP/1.1 200 OK");
  EXPECT_TRUE(has(live.metrics(), "sluice_http_connections_open 1\n"));
}

TEST(Server, Refuses_connections_of_an_address_that_has_too_many_without_a_key) {
  const auto shows_key = [](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().headers.find("Authorization")) exchange->trust_caller();
    echo(exchange);
  };
  LiveServer live(shows_key, {.keyless_connections_per_address_max = 1});
  RawClient known(live.port());
  known.say("GET /1 HTTP/1.1\r\nHost: h\r\nAuthorization: x\r\n\r\n");
  known.hear_until("GET /1 ");
  RawClient stranger(live.port());
  stranger.say(get("/2"));
  stranger.hear_until("GET /2 ");
  RawClient next(live.port());
  EXPECT_TRUE(has(next.hear_all(), "too many connections from this address have shown no key"));
  stranger.hang_up();
  ASSERT_TRUE(live.becomes_true([&] { return live.server().connection_count() == 1; }));
  RawClient last(live.port());
  last.say(get("/3"));
  EXPECT_EQ(status_line(last.hear_until("GET /3 ")), "HTTP/1.1 200 OK");
}

// A client that does not read, so that answers wait.
class Unread {
 public:
  Unread(uint16_t port, const std::string& path) : client_(port, 4096) {
    client_.say("GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  }
  // Whether the server has cut it off: what was sent ends before its length.
  bool was_cut(std::size_t length) { return client_.hear_all().size() < length; }

 private:
  RawClient client_;
};

TEST(Server, Closes_those_who_read_nothing_when_all_answers_are_too_many) {
  constexpr std::size_t length = 24 * 1024 * 1024;  // more than kernels take
  const auto common = std::make_shared<const std::string>(length, 'c');
  const auto answer = [common](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/known") exchange->trust_caller();
    if (exchange->request().path == "/common") return exchange->respond({.shared_body = common});
    exchange->respond({.body = std::string(length, 'x')});
  };
  LiveServer live(answer, {.unread_answers_bytes_in_all_max = 54 * 1024 * 1024});
  std::vector<std::unique_ptr<Unread>> sharing;
  for (int i = 0; i < 5; ++i) sharing.push_back(std::make_unique<Unread>(live.port(), "/common"));
  Unread known(live.port(), "/known");
  Unread first(live.port(), "/first");
  ASSERT_TRUE(live.becomes_true([&] { return live.server().connection_count() == 7; }));
  ASSERT_TRUE(live.becomes_true([&] { return has(live.metrics(), "sluice_http_requests_total 7\n"); }));
  EXPECT_TRUE(has(live.metrics(), "sluice_http_unread_closed_total 0\n"));
  Unread second(live.port(), "/second");
  ASSERT_TRUE(live.becomes_true([&] { return has(live.metrics(), "sluice_http_unread_closed_total 1\n"); }));
  EXPECT_NE(first.was_cut(length), second.was_cut(length)) << "one of the two strangers";
}

TEST(Server, Closes_connections_of_the_tenant_that_leaves_the_most_unread) {
  constexpr std::size_t length = 24 * 1024 * 1024;
  const auto careless = std::make_shared<AnswerAccount>();
  const auto slow = std::make_shared<AnswerAccount>();
  const auto answer = [&](const std::shared_ptr<Exchange>& exchange) {
    const bool is_slow = exchange->request().path == "/slow";
    exchange->trust_caller();
    exchange->charge_answers(is_slow ? slow : careless);
    exchange->respond({.body = std::string(is_slow ? length / 4 * 5 : length, 'x')});
  };
  LiveServer live(answer, {.unread_answers_bytes_in_all_max = 72 * 1024 * 1024});
  Unread of_the_slow(live.port(), "/slow");
  Unread first(live.port(), "/first");
  ASSERT_TRUE(live.becomes_true([&] { return has(live.metrics(), "sluice_http_requests_total 2\n"); }));
  EXPECT_TRUE(has(live.metrics(), "sluice_http_unread_closed_total 0\n"));
  Unread second(live.port(), "/second");
  ASSERT_TRUE(live.becomes_true([&] { return has(live.metrics(), "sluice_http_unread_closed_total 1\n"); }));
  live.in_loop([&] { EXPECT_GT(slow->unread_bytes, careless->unread_bytes); });
  EXPECT_FALSE(of_the_slow.was_cut(length / 4 * 5)) << "it holds the most of all connections, and its tenant the least";
  EXPECT_NE(first.was_cut(length), second.was_cut(length));
  ASSERT_TRUE(live.becomes_true([&] { return live.server().connection_count() == 0; }));
  live.in_loop([&] { EXPECT_EQ(slow->unread_bytes + careless->unread_bytes, 0U); });
}

TEST(Server, Rests_when_the_process_has_no_descriptor_left_and_serves_when_it_has) {
  LiveServer live(echo);
  rlimit usual{};
  getrlimit(RLIMIT_NOFILE, &usual);
  const int lowest_free = open("/dev/null", O_RDONLY);
  close(lowest_free);
  const rlimit one_more{.rlim_cur = static_cast<rlim_t>(lowest_free) + 1, .rlim_max = usual.rlim_max};
  setrlimit(RLIMIT_NOFILE, &one_more);
  RawClient client(live.port());  // has the last one
  client.say(get("/a"));
  // A server that spins uses the whole time.
  rusage before{}, after{};
  live.in_loop([&] { getrusage(RUSAGE_THREAD, &before); });
  live.pass(300);
  live.in_loop([&] { getrusage(RUSAGE_THREAD, &after); });
  live.in_loop([&] { EXPECT_EQ(live.server().connection_count(), 0u); });
  const auto us = [](const rusage& usage) {
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
  };
  EXPECT_LT(us(after) - us(before), 100'000);
  setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_TRUE(client.hear_until("GET /a ").ends_with("GET /a "));
}

TEST(Server, Drains_idle_connections_at_once_and_busy_ones_after_their_answer) {
  std::shared_ptr<Exchange> held;
  bool drained = false;
  LiveServer live([&](auto exchange) {
    if (exchange->request().path == "/held") held = exchange;
    if (exchange->request().path != "/held") echo(exchange);
  });
  RawClient idle(live.port()), busy(live.port());
  idle.say(get("/a"));
  idle.hear_until("GET /a ");
  busy.say(get("/held"));
  ASSERT_TRUE(live.becomes_true([&] { return held != nullptr; }));
  live.in_loop([&] { live.server().drain({60'000}, [&] { drained = true; }); });
  EXPECT_EQ(idle.hear_all(), "");
  live.in_loop([&] {
    EXPECT_FALSE(drained);
    echo(held);
  });
  EXPECT_TRUE(has(busy.hear_all(), "\r\nConnection: close\r\n"));
  busy.hang_up();
  EXPECT_TRUE(live.becomes_true([&] { return drained; }));
  EXPECT_EQ(live.server().connection_count(), 0u);
}

TEST(Server, Closes_what_is_left_at_the_drain_deadline) {
  std::shared_ptr<Exchange> held;
  int drained = 0;
  LiveServer live([&](auto exchange) { held = exchange; });
  RawClient client(live.port());
  client.say(get("/"));
  ASSERT_TRUE(live.becomes_true([&] { return held != nullptr; }));
  live.in_loop([&] { live.server().drain({20}, [&] { ++drained; }); });
  EXPECT_EQ(client.hear_all(), "");
  EXPECT_TRUE(live.becomes_true([&] { return drained == 1; }));
  live.in_loop([&] { EXPECT_TRUE(held->gone()); });
}

TEST(Server, Says_why_it_cannot_listen) {
  const auto reactor = world::make_reactor().take();
  world::Metrics metrics;
  const auto nowhere = serve(*reactor, {.address = "nowhere"}, echo, nullptr, metrics);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().what, "\"nowhere\" is neither an IPv4 nor an IPv6 address");
  const auto first = serve(*reactor, {}, echo, nullptr, metrics);
  ASSERT_TRUE(first);
  const auto second = serve(*reactor, {.port = first.value()->port()}, echo, nullptr, metrics);
  ASSERT_FALSE(second);
  EXPECT_TRUE(has(second.error().what, "Address already in use")) << second.error().what;
}

TEST(Server, Listens_on_IPv6_too) {
  const auto reactor = world::make_reactor().take();
  world::Metrics metrics;
  const auto server = serve(*reactor, {.address = "::1"}, echo, nullptr, metrics);
  // A machine without IPv6 says so; the address itself was understood either way.
  if (!server) {
    EXPECT_TRUE(has(server.error().what, "Cannot assign requested address") ||
                has(server.error().what, "Address family not supported"))
        << server.error().what;
    return;
  }
  EXPECT_NE(server.value()->port(), 0);
}

}  // namespace server_test
}  // namespace sluice::net
