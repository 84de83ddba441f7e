// Large requests are judged by their heads, before their bodies are there.
#include <gtest/gtest.h>

#include "net/http2_client_fixture.h"

namespace sluice::net {
namespace doorkeeper_test {

constexpr std::size_t large = limits::request_body_memory_max + 1;

// Refuses callers without a key, at once or when the test says so.
class Door {
 public:
  ServerOptions options() {
    ServerOptions options;
    options.doorkeeper = [this](const Request& head, Callback<void(std::optional<Response>)> verdict) {
      ++asked;
      EXPECT_FALSE(head.peer.empty());
      EXPECT_EQ(head.body.size(), 0U);
      const bool may = head.headers.find("Authorization").has_value();
      auto say = [verdict = std::move(verdict), may]() mutable {
        verdict(may ? std::nullopt : std::optional(Response{.status = 401, .headers = {}, .body = "no"}));
      };
      if (waits) {
        waiting = std::move(say);
      } else {
        say();
      }
    };
    return options;
  }

  std::atomic<int> asked = 0;
  bool waits = false;
  Callback<void()> waiting;
};

Handler size_of_body() {
  return [](std::shared_ptr<Exchange> exchange) {
    exchange->respond({.status = 200, .headers = {}, .body = std::to_string(exchange->request().body.size())});
  };
}

std::string head_of(std::size_t length, std::string_view more = "") {
  return "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) + "\r\n" + std::string(more) +
         "\r\n";
}

TEST(Doorkeeper, A_client_without_a_key_is_refused_without_its_body) {
  Door door;
  LiveServer server(size_of_body(), door.options());
  RawClient client(server.port());
  client.say(head_of(large) + "a little");
  const auto heard = client.hear_until("no");
  EXPECT_TRUE(heard.starts_with("HTTP/1.1 401")) << heard;
  EXPECT_NE(heard.find("Connection: close"), std::string::npos);
}

TEST(Doorkeeper, Clients_with_access_may_send_bodies_and_tiny_ones_are_not_checked) {
  Door door;
  LiveServer server(size_of_body(), door.options());
  RawClient client(server.port());
  client.say(head_of(large, "Authorization: x\r\n"));
  client.say(std::string(large, 'x'));
  EXPECT_TRUE(client.hear_until(std::to_string(large)).starts_with("HTTP/1.1 200"));
  EXPECT_EQ(door.asked, 1);
  client.say(head_of(5) + "he");
  client.say("llo");
  EXPECT_TRUE(client.hear_until("\r\n\r\n5").starts_with("HTTP/1.1 200"));
  EXPECT_EQ(door.asked, 1);
}

TEST(Doorkeeper, Every_body_that_is_more_than_tiny_is_checked) {
  Door door;
  LiveServer server(size_of_body(), door.options());
  RawClient client(server.port());
  client.say(head_of(limits::unjudged_body_bytes_max) + "a little");
  EXPECT_TRUE(client.is_quiet());
  client.say(std::string(limits::unjudged_body_bytes_max - 8, 'x'));
  EXPECT_TRUE(client.hear_until(std::to_string(limits::unjudged_body_bytes_max)).starts_with("HTTP/1.1 200"));
  EXPECT_EQ(door.asked, 0);
  client.say(head_of(limits::unjudged_body_bytes_max + 1) + "a little");
  EXPECT_TRUE(client.hear_until("no").starts_with("HTTP/1.1 401"));
}

TEST(Doorkeeper, Every_body_is_checked_while_clients_without_a_key_hold_much_from_that_address) {
  Door door;
  auto options = door.options();
  options.strangers_bytes_per_address_max = 16 * 1024;
  LiveServer server(size_of_body(), options);
  const auto padded = [](std::size_t bytes) { return "X-Padding: " + std::string(bytes, 'x') + "\r\n"; };
  RawClient first(server.port());
  first.say(head_of(5, "Expect: 100-continue\r\n" + padded(4100) + padded(4100)));
  EXPECT_EQ(first.hear_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(door.asked, 0);
  RawClient stranger(server.port());
  stranger.say(head_of(5, padded(300)) + "he");
  EXPECT_TRUE(stranger.hear_until("no").starts_with("HTTP/1.1 401"));
  RawClient known(server.port());
  known.say(head_of(5, "Authorization: x\r\n" + padded(300)) + "he");
  ASSERT_TRUE(server.becomes_true([&] { return door.asked == 2; }));
  known.say("llo");
  EXPECT_TRUE(known.hear_until("\r\n\r\n5").starts_with("HTTP/1.1 200"));
  first.say("hello");
  EXPECT_TRUE(first.hear_until("\r\n\r\n5").starts_with("HTTP/1.1 200")) << "its share is not gone";
}

TEST(Doorkeeper, Bodies_are_not_checked_where_all_are_tiny_and_half_of_the_room_is_free) {
  Door door;
  auto options = door.options();
  options.strangers_bytes_per_address_max = 300;  // crowded by one request
  options.body_bytes_max_of = [](std::string_view, std::string_view) -> std::size_t { return 100; };
  LiveServer server(size_of_body(), options);
  RawClient client(server.port());
  client.say(head_of(95, "Expect: 100-continue\r\nX-A: " + std::string(20, 'x') + "\r\n"));
  EXPECT_EQ(client.hear_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  RawClient other(server.port());
  other.say(head_of(5) + "hell");
  EXPECT_TRUE(other.hear_until("\r\n\r\n").starts_with("HTTP/1.1 503"));
  RawClient prompt(server.port());
  prompt.say(head_of(5) + "hello");
  EXPECT_TRUE(prompt.hear_until("\r\n\r\n5").starts_with("HTTP/1.1 200")) << "it came in one piece";
  client.say(std::string(95, 'x'));
  EXPECT_TRUE(client.hear_until("\r\n\r\n95").starts_with("HTTP/1.1 200"));
  EXPECT_EQ(door.asked, 0);
  client.say(head_of(101) + "a");
  EXPECT_TRUE(client.hear_until("\r\n\r\n").starts_with("HTTP/1.1 413"));
}

TEST(Doorkeeper, A_body_of_unknown_size_is_checked) {
  Door door;
  LiveServer server(size_of_body(), door.options());
  RawClient client(server.port());
  client.say("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_TRUE(client.hear_until("no").starts_with("HTTP/1.1 401"));
}

TEST(Doorkeeper, A_client_that_waits_to_send_its_body_gets_the_verdict_first) {
  Door door;
  LiveServer server(size_of_body(), door.options());
  RawClient stranger(server.port());
  stranger.say(head_of(large, "Expect: 100-continue\r\n"));
  EXPECT_TRUE(stranger.hear_until("no").starts_with("HTTP/1.1 401"));
  RawClient known(server.port());
  known.say(head_of(large, "Expect: 100-continue\r\nAuthorization: x\r\n"));
  EXPECT_EQ(known.hear_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  known.say(std::string(large, 'x'));
  EXPECT_TRUE(known.hear_until(std::to_string(large)).starts_with("HTTP/1.1 200"));
}

TEST(Doorkeeper, A_verdict_that_comes_late_ends_what_has_not_ended) {
  Door door;
  door.waits = true;
  LiveServer server(size_of_body(), door.options());
  RawClient client(server.port());
  client.say(head_of(large) + "a little");
  ASSERT_TRUE(server.becomes_true([&] { return static_cast<bool>(door.waiting); }));
  EXPECT_TRUE(client.is_quiet());
  server.in_loop([&] { std::exchange(door.waiting, nullptr)(); });
  EXPECT_TRUE(client.hear_until("no").starts_with("HTTP/1.1 401"));
}

TEST(Doorkeeper, A_verdict_that_comes_too_late_is_ignored) {
  Door door;
  door.waits = true;
  LiveServer server(size_of_body(), door.options());
  RawClient client(server.port());
  client.say(head_of(large));
  client.say(std::string(large, 'x'));
  EXPECT_TRUE(client.hear_until(std::to_string(large)).starts_with("HTTP/1.1 200"));
  client.say(head_of(5) + "he");
  server.in_loop([&] { std::exchange(door.waiting, nullptr)(); });
  client.say("llo");
  EXPECT_TRUE(client.hear_until("\r\n\r\n5").starts_with("HTTP/1.1 200"));
  door.waits = true;
  {
    RawClient leaves(server.port());
    leaves.say(head_of(large) + "a little");
    ASSERT_TRUE(server.becomes_true([&] { return static_cast<bool>(door.waiting); }));
  }
  ASSERT_TRUE(server.becomes_true([&] { return server.server().connection_count() == 1; }));
  server.in_loop([&] { std::exchange(door.waiting, nullptr)(); });
}

TEST(Doorkeeper, Turns_a_stream_of_HTTP_2_away_and_leaves_the_others_alone) {
  Door door;
  LiveServer server(size_of_body(), door.options());
  PlainWire wire(server.port());
  Http2Client client(wire);
  const auto refused = client.ask_without_end(Http2Client::post("/x"), "a little");
  client.hear_until([&] { return client.answer(refused).ended; });
  EXPECT_EQ(client.answer(refused).status(), "401");
  auto known = Http2Client::post("/x");
  known.emplace_back("authorization", "x");
  EXPECT_EQ(client.whole(client.ask(known, std::string(1000, 'x'))).body, "1000");
}

}  // namespace doorkeeper_test
}  // namespace sluice::net
