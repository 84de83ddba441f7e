#include "net/http2_exchange.h"

#include <gtest/gtest.h>

#include "net/http2_client_fixture.h"

namespace sluice::net {
namespace http2_exchange_test {

constexpr std::size_t first_window = 65'535;  // what a client takes before it says more

SharedBytes bytes(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

// A server whose streams the test holds in its hands, by path.
class Http2StreamTest : public testing::Test {
 protected:
  explicit Http2StreamTest(int64_t stall_ms_max = 60'000) : stall_ms_max_(stall_ms_max) {}

  struct Held {
    std::shared_ptr<Exchange> exchange;
    int drained = 0;
    int gone = 0;
  };

  int32_t open(const std::string& path) {
    const int32_t id = client.ask(Http2Client::get(path));
    client.hear_until([&] { return client.answer(id).status() == "200"; });
    return id;
  }
  void write(const std::string& path, std::string text) {
    live.in_loop([&] { held[path].exchange->write(bytes(std::move(text))); });
  }
  std::size_t unsent(const std::string& path) {
    std::size_t size = 0;
    live.in_loop([&] { size = held[path].exchange->unsent_bytes(); });
    return size;
  }
  bool hears(int32_t id, std::size_t size) {
    return client.hear_until([&] { return client.answer(id).body.size() >= size; });
  }

  const int64_t stall_ms_max_;
  std::map<std::string, Held> held;
  LiveServer live{[this](std::shared_ptr<Exchange> exchange) {
                    Held& its = held[exchange->request().path];
                    its.exchange = exchange;
                    exchange->on_drained([&its] { ++its.drained; });
                    exchange->on_gone([&its] { ++its.gone; });
                    exchange->start(200, {{"Content-Type", "text/event-stream"}});
                  },
                  {.write_stall_ms_max = stall_ms_max_}};
  PlainWire wire{live.port()};
  Http2Client client{wire, Reading::when_told};
};

TEST_F(Http2StreamTest, The_head_comes_at_once_and_then_what_is_written) {
  const int32_t id = open("/a");
  EXPECT_EQ(client.answer(id).fields.at("content-type"), "text/event-stream");
  EXPECT_FALSE(client.answer(id).fields.contains("content-length"));
  write("/a", "hello ");
  EXPECT_TRUE(hears(id, 6));
  live.in_loop([&] {
    auto& exchange = *held["/a"].exchange;
    exchange.write(bytes(""));
    exchange.write(bytes("world"));
    exchange.finish();
    exchange.finish();
    exchange.write(bytes("too late"));
  });
  EXPECT_EQ(client.whole(id).body, "hello world");
  EXPECT_TRUE(client.answer(id).ended);
  live.in_loop([&] {
    EXPECT_EQ(held["/a"].gone, 0);
    EXPECT_FALSE(held["/a"].exchange->gone());
    EXPECT_GT(held["/a"].drained, 0);
  });
}

// I-8: one reader that stops must cost neither memory nor the others.
TEST_F(Http2StreamTest, A_slow_reader_is_seen_by_its_writer_and_delays_no_other_client) {
  const int32_t slow = open("/slow");
  const int32_t quick = open("/quick");
  live.in_loop([&] { held["/slow"].drained = 0; });
  const std::string text(200'000, 's');
  write("/slow", text);
  EXPECT_TRUE(hears(slow, first_window));
  EXPECT_EQ(unsent("/slow"), text.size() - first_window);
  for (int i = 1; i <= 50; ++i) {
    write("/quick", std::string(1'000, 'q'));
    EXPECT_TRUE(hears(quick, static_cast<std::size_t>(i) * 1'000));
  }
  EXPECT_EQ(client.answer(slow).body.size(), first_window);
  live.in_loop([&] { EXPECT_EQ(held["/slow"].drained, 0); });
  for (std::size_t heard = 0; heard < text.size();) {
    const std::size_t so_far = client.answer(slow).body.size();
    client.read_on(slow, so_far - std::exchange(heard, so_far));
    if (heard < text.size()) hears(slow, heard + 1);
  }
  EXPECT_EQ(client.answer(slow).body, text);
  EXPECT_TRUE(live.becomes_true([&] { return held["/slow"].drained == 1; }));
  EXPECT_EQ(unsent("/slow"), 0u);
}

struct HastyHttp2StreamTest : Http2StreamTest {
  HastyHttp2StreamTest() : Http2StreamTest(500) {}
};

TEST_F(HastyHttp2StreamTest, A_reader_that_stops_for_good_loses_its_stream_alone) {
  const int32_t stopped = open("/stopped");
  const int32_t other = open("/other");
  write("/stopped", std::string(200'000, 's'));
  EXPECT_EQ(client.whole(stopped).closed, NGHTTP2_CANCEL);
  EXPECT_TRUE(live.becomes_true([&] { return held["/stopped"].gone == 1 && held["/stopped"].exchange->gone(); }));
  write("/other", "still there");
  EXPECT_TRUE(hears(other, 11));
  live.in_loop([&] { EXPECT_EQ(held["/other"].gone, 0); });
}

TEST_F(Http2StreamTest, Who_resets_a_stream_is_gone_from_it_and_from_no_other) {
  const int32_t first = open("/first");
  const int32_t second = open("/second");
  client.reset(first);
  EXPECT_TRUE(live.becomes_true([&] { return held["/first"].gone == 1 && held["/first"].exchange->gone(); }));
  live.in_loop([&] {
    auto& exchange = *held["/first"].exchange;
    exchange.write(bytes("into the void"));
    EXPECT_EQ(exchange.unsent_bytes(), 0u);
    exchange.finish();
  });
  write("/second", "here");
  EXPECT_TRUE(hears(second, 4));
}

TEST_F(Http2StreamTest, The_end_of_a_request_is_not_a_farewell) {
  const int32_t id = open("/a");
  live.in_loop([&] { held["/a"].exchange->leave_at_half_close(); });
  write("/a", "still there");
  EXPECT_TRUE(hears(id, 11));
  live.in_loop([&] { EXPECT_EQ(held["/a"].gone, 0); });
  client.reset(id);
  EXPECT_TRUE(live.becomes_true([&] { return held["/a"].gone == 1; }));
}

TEST_F(Http2StreamTest, Everybody_is_gone_when_the_connection_is) {
  open("/a");
  open("/b");
  wire.socket.hang_up();
  EXPECT_TRUE(live.becomes_true([&] { return held["/a"].gone == 1 && held["/b"].gone == 1; }));
  EXPECT_TRUE(live.becomes_true([&] { return live.server().connection_count() == 0; }));
}

TEST_F(Http2StreamTest, An_aborted_stream_is_reset_after_what_was_written) {
  const int32_t id = open("/a");
  live.in_loop([&] {
    held["/a"].exchange->write(bytes("half"));
    held["/a"].exchange->abort();
    held["/a"].exchange->write(bytes("more"));
  });
  EXPECT_EQ(client.whole(id).body, "half");
  EXPECT_EQ(client.answer(id).closed, NGHTTP2_INTERNAL_ERROR);
  EXPECT_FALSE(client.answer(id).ended);
  const int32_t quiet = open("/quiet");
  live.in_loop([&] { held["/quiet"].exchange->abort(); });
  EXPECT_EQ(client.whole(quiet).closed, NGHTTP2_INTERNAL_ERROR);
  live.in_loop(
      [&] { EXPECT_EQ(held["/a"].gone + held["/quiet"].gone, 0) << "the client did not leave: the handler gave up"; });
}

TEST_F(Http2StreamTest, HEAD_of_a_stream_ends_with_its_head) {
  auto fields = Http2Client::get("/a");
  fields[0].second = "HEAD";
  const int32_t id = client.ask(fields);
  EXPECT_EQ(client.whole(id).status(), "200");
  write("/a", "not sent");
  live.in_loop([&] {
    held["/a"].exchange->finish();
    EXPECT_EQ(held["/a"].gone, 0);
  });
  EXPECT_EQ(client.answer(id).body, "");
}

TEST_F(Http2StreamTest, Draining_lets_streams_end_and_takes_no_more) {
  const int32_t id = open("/a");
  bool done = false;
  live.in_loop([&] { live.server().drain({5'000}, [&] { done = true; }); });
  EXPECT_TRUE(client.hear_until([&] { return client.goaway.has_value(); }));
  EXPECT_EQ(client.goaway, NGHTTP2_NO_ERROR);
  write("/a", "the end");
  live.in_loop([&] {
    EXPECT_FALSE(done);
    held["/a"].exchange->finish();
  });
  EXPECT_EQ(client.whole(id).body, "the end");
  EXPECT_TRUE(client.answer(id).ended);
  client.hear_all();
  wire.socket.hang_up();
  EXPECT_TRUE(live.becomes_true([&] { return done; }));
}

TEST_F(Http2StreamTest, Streams_are_cut_at_the_deadline_of_a_drain) {
  open("/a");
  bool done = false;
  live.in_loop([&] { live.server().drain({20}, [&] { done = true; }); });
  EXPECT_TRUE(live.becomes_true([&] { return done && held["/a"].gone == 1; }));
}

// A client that asks for more and more, and takes nothing, must not fill memory.
TEST(Http2, Unread_answers_are_bounded) {
  LiveServer live([](auto exchange) {
    exchange->trust_caller();
    exchange->respond({.body = std::string(1'000'000, 'x')});
  });
  PlainWire wire(live.port());
  Http2Client client(wire, Reading::when_told);
  std::vector<int32_t> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(client.ask(Http2Client::get("/")));
  const auto refused = [&] {
    return std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return client.answer(id).status() == "503"; });
  };
  EXPECT_TRUE(client.hear_until([&] { return refused() > 0 && client.answer(ids.back()).closed; }));
  EXPECT_GE(refused(), 20);
  EXPECT_LE(refused(), 24);
  EXPECT_EQ(client.answer(ids.back()).body,
            "too many answers on this connection wait to be read: read them, then ask again\n");
}

TEST(Http2, A_large_answer_keeps_its_headers_shared_or_not) {
  const auto common = std::make_shared<const std::string>(20'000, 'c');
  LiveServer live([common](auto exchange) {
    if (exchange->request().path == "/common")
      return exchange->respond({.headers = {{"X-A", "1"}}, .shared_body = common});
    exchange->respond({.headers = {{"X-A", "1"}}, .body = *common});
  });
  PlainWire wire(live.port());
  Http2Client client(wire);
  for (const auto* path : {"/common", "/own"}) {
    const auto& answer = client.whole(client.ask(Http2Client::get(path)));
    EXPECT_EQ(answer.fields.at("x-a"), "1") << path;
    EXPECT_EQ(answer.body, *common) << path;
  }
}

TEST(Http2, Unread_answers_of_clients_without_a_key_are_bounded_sooner_unless_they_are_shared) {
  const auto common = std::make_shared<const std::string>(200'000, 'c');
  LiveServer live([common](auto exchange) {
    const bool is_common = exchange->request().path == "/common";
    exchange->respond(
        {.body = is_common ? "" : std::string(200'000, 'x'), .shared_body = is_common ? common : nullptr});
  });
  PlainWire wire(live.port());
  Http2Client client(wire, Reading::when_told);
  std::vector<int32_t> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(client.ask(Http2Client::get("/common")));
  for (int i = 0; i < 10; ++i) ids.push_back(client.ask(Http2Client::get("/")));
  const auto refused = [&] {
    return std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return client.answer(id).status() == "503"; });
  };
  EXPECT_TRUE(client.hear_until([&] { return refused() > 0 && client.answer(ids.back()).closed; }));
  EXPECT_GE(refused(), 7);
  EXPECT_LE(refused(), 9);
}

}  // namespace http2_exchange_test
}  // namespace sluice::net
