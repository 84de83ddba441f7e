#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <future>

#include "net/live_server.h"

namespace sluice::net {
namespace server_stream_test {

SharedBytes bytes(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

// A server whose one stream the test holds in its hands.
struct HeldStream {
  explicit HeldStream(int64_t stall_ms_max, int64_t request_ms_max = 60'000)
      : stall_ms_max_(stall_ms_max), request_ms_max_(request_ms_max) {}

  void open(RawClient& client, std::string_view version = "1.1") {
    client.say("GET / HTTP/" + std::string(version) + "\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(live.becomes_true([&] { return stream != nullptr; }));
  }
  void write(std::string text) {
    live.in_loop([&] { stream->write(bytes(std::move(text))); });
  }

  const int64_t stall_ms_max_, request_ms_max_;
  std::shared_ptr<Exchange> stream;
  int drained = 0;
  int gone = 0;
  LiveServer live{[this](std::shared_ptr<Exchange> exchange) {
                    stream = std::move(exchange);
                    stream->on_drained([this] { ++drained; });
                    stream->on_gone([this] { ++gone; });
                    stream->start(200, {{"Content-Type", "text/event-stream"}});
                  },
                  {.request_head_ms_max = request_ms_max_,
                   .keep_alive_idle_ms_max = request_ms_max_,
                   .write_stall_ms_max = stall_ms_max_,
                   .half_closed_probe_seconds = 1}};
};

struct StreamTest : HeldStream, testing::Test {
  explicit StreamTest(int64_t stall_ms_max = 300, int64_t request_ms_max = 60'000)
      : HeldStream(stall_ms_max, request_ms_max) {}
};

TEST_F(StreamTest, The_head_comes_at_once_and_each_write_is_a_chunk) {
  RawClient client(live.port());
  open(client);
  EXPECT_NE(client.hear_until("\r\n\r\n").find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  write("hello");
  EXPECT_EQ(client.hear_until("hello\r\n"), "5\r\nhello\r\n");
  live.in_loop([&] {
    stream->write(bytes("a"));
    stream->write(bytes(""));  // an empty chunk would be the end
    stream->write(bytes(std::string(16, 'b')));
    stream->finish();
    stream->finish();
    stream->write(bytes("too late"));
  });
  EXPECT_EQ(client.hear_until("0\r\n\r\n"), "1\r\na\r\n10\r\nbbbbbbbbbbbbbbbb\r\n0\r\n\r\n");
  EXPECT_EQ(gone, 0);
}

TEST_F(StreamTest, A_writer_that_waits_is_called_even_if_the_kernel_took_everything_at_once) {
  RawClient client(live.port());
  open(client);
  client.hear_until("\r\n\r\n");
  write("small enough to be taken in one go");
  EXPECT_TRUE(live.becomes_true([&] { return drained > 0; }));
}

TEST_F(StreamTest, The_connection_serves_on_after_a_stream) {
  RawClient client(live.port());
  for (int i = 0; i < 2; ++i) {
    open(client);
    live.in_loop([&] { std::exchange(stream, nullptr)->finish(); });
    EXPECT_TRUE(client.hear_until("0\r\n\r\n").ends_with("0\r\n\r\n"));
  }
}

TEST_F(StreamTest, HTTP_1_0_streams_until_the_close) {
  RawClient client(live.port());
  open(client, "1.0");
  live.in_loop([&] {
    stream->write(bytes("hello "));
    stream->write(bytes("world"));
    stream->finish();
  });
  const std::string answer = client.hear_all();
  EXPECT_EQ(answer.find("Transfer-Encoding"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("Connection: close\r\n\r\nhello world"));
  EXPECT_FALSE(client.was_reset());
}

TEST_F(StreamTest, A_caller_who_has_said_all_may_still_listen) {
  RawClient client(live.port());
  open(client);
  client.end_saying();
  write("still there");
  EXPECT_TRUE(client.hear_until("there\r\n").ends_with("still there\r\n"));
  live.in_loop([&] { EXPECT_EQ(gone, 0); });
}

// I-8: readers of parked runs come and go for days; those who went must not hold connections until the next event.
TEST_F(StreamTest, A_caller_who_closed_altogether_is_found_out_though_the_stream_is_quiet) {
  RawClient client(live.port());
  open(client);
  client.hear_until("\r\n\r\n");
  const int seconds = 1;  // how long the client's kernel remembers a connection that no process has any more
  setsockopt(client.fd(), IPPROTO_TCP, TCP_LINGER2, &seconds, sizeof seconds);
  client.hang_up();
  EXPECT_TRUE(live.becomes_true([&] { return gone == 1; }));
}

TEST_F(StreamTest, Work_that_must_not_outlive_its_client_is_informed_of_a_half_close) {
  RawClient before(live.port());
  open(before);
  live.in_loop([&] { stream->leave_at_half_close(); });
  before.end_saying();
  EXPECT_TRUE(live.becomes_true([&] { return gone == 1 && stream->gone(); }));
  live.in_loop([&] { stream = nullptr; });
  RawClient after(live.port());
  open(after);
  after.end_saying();
  write("still there");
  after.hear_until("there\r\n");
  live.in_loop([&] {
    stream->leave_at_half_close();
    EXPECT_EQ(gone, 1);
  });
  EXPECT_TRUE(live.becomes_true([&] { return gone == 2; }));
}

TEST_F(StreamTest, An_aborted_stream_has_no_end) {
  RawClient client(live.port());
  open(client);
  live.in_loop([&] {
    stream->write(bytes("half"));
    stream->abort();
    stream->write(bytes("more"));
  });
  EXPECT_TRUE(client.hear_all().ends_with("4\r\nhalf\r\n"));
  EXPECT_EQ(gone, 0);  // the client did not leave: the handler gave up
}

TEST_F(StreamTest, An_aborted_HTTP_1_0_stream_is_reset) {
  RawClient client(live.port());
  open(client, "1.0");
  client.hear_until("\r\n\r\n");
  live.in_loop([&] { stream->abort(); });
  client.hear_all();
  EXPECT_TRUE(client.was_reset());
}

struct HastyStreamTest : StreamTest {
  HastyStreamTest() : StreamTest(300, 500) {}
};

TEST_F(HastyStreamTest, A_quiet_stream_outlives_every_deadline) {
  RawClient client(live.port());
  open(client);
  client.hear_until("\r\n\r\n");
  live.pass(1'100);
  write("still here");
  EXPECT_EQ(client.hear_until("here\r\n"), "a\r\nstill here\r\n");
}

// Gives no reader up while the test is about something else.
struct UnhurriedStreamTest : StreamTest {
  UnhurriedStreamTest() : StreamTest(60'000) {}
};

TEST_F(UnhurriedStreamTest, Unsent_bytes_grow_as_written_while_the_client_does_not_read_and_drain_when_it_does) {
  RawClient client(live.port(), 4096);
  open(client);
  client.hear_until("\r\n\r\n");
  const std::string block(256 * 1024, 'x');
  std::size_t unsent = 0;
  for (int i = 0; i < 64 && unsent == 0; ++i) {  // until the kernel's buffers are full
    write(block);
    live.in_loop([&] { unsent = stream->unsent_bytes(); });
  }
  ASSERT_GT(unsent, 0u);
  write(block);
  live.in_loop([&] {
    const std::size_t framing = std::string_view("40000\r\n\r\n").size();
    EXPECT_LE(stream->unsent_bytes(), unsent + block.size() + framing);
    EXPECT_GE(stream->unsent_bytes(), block.size());
    drained = 0;
    stream->write(bytes("last"));
  });
  EXPECT_TRUE(client.hear_until("last").ends_with("last"));
  EXPECT_TRUE(live.becomes_true([&] { return drained == 1 && stream->unsent_bytes() == 0; }));
  EXPECT_EQ(gone, 0);
}

TEST_F(StreamTest, A_client_that_stops_reading_is_given_up) {
  RawClient client(live.port(), 4096);
  open(client);
  live.in_loop([&] { stream->write(bytes(std::string(16 * 1024 * 1024, 'x'))); });
  EXPECT_TRUE(live.becomes_true([&] { return gone == 1; }));
  live.in_loop([&] {
    EXPECT_TRUE(stream->gone());
    EXPECT_EQ(stream->unsent_bytes(), 0u);
    stream->write(bytes("into the void"));
    stream->finish();
  });
}

TEST_F(StreamTest, A_client_that_stops_in_what_the_kernel_took_is_given_up) {
  RawClient client(live.port(), 1);
  open(client);
  write(std::string(64 * 1024, 'x'));
  EXPECT_TRUE(live.becomes_true([&] { return gone == 1; }));
}

// Clients that read, but slowly, each at a server of its own: what they wait for is long, so they wait side by side.
struct PatientReader : HeldStream {
  static constexpr int64_t stall_ms = 2'000;
  explicit PatientReader(int receive_buffer_bytes) : HeldStream(stall_ms), client(live.port(), receive_buffer_bytes) {}

  // Twice as long as one may read nothing, and less than makes room in the server's socket. A client that is given up
  // is so after at most one and a quarter.
  void expect_served(std::size_t bytes_max, int64_t every_ms) {
    write(std::string(16 * 1024 * 1024, 'x'));
    std::string some(bytes_max, '\0');
    for (int64_t passed_ms = 0; passed_ms < 2 * stall_ms; passed_ms += every_ms) {
      ASSERT_GT(recv(client.fd(), some.data(), some.size(), 0), 0) << "after " << passed_ms << " ms";
      live.pass(every_ms);
    }
    live.in_loop([&] { EXPECT_EQ(gone, 0); });
  }

  RawClient client;
};

void a_client_that_reads_a_little_now_and_then() {
  PatientReader reader(4096);
  reader.open(reader.client);
  reader.expect_served(4096, 40);
}

// The kernel itself counts how long such a peer has no room for all of a large segment, whatever it takes of it.
void one_that_never_has_room_for_more_than_a_few_bytes() {
  PatientReader reader(1);
  reader.open(reader.client);
  reader.expect_served(512, 250);
}

void one_of_HTTP_2_whose_windows_are_wide_open() {
  using namespace std::string_literals;
  PatientReader reader(4096);
  reader.client.say(
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
      "\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff"    // SETTINGS: the window that a stream begins with
      "\0\0\4\10\0\0\0\0\0\x7f\xff\0\0"           // WINDOW_UPDATE of the connection
      "\0\0\6\1\5\0\0\0\1\x82\x86\x84\x41\1h"s);  // GET /
  ASSERT_TRUE(reader.live.becomes_true([&] { return reader.stream != nullptr; }));
  reader.expect_served(4096, 40);
}

TEST(PatientStreamTest, A_slow_reader_that_makes_progress_keeps_its_connection) {
  std::vector<std::future<void>> readers;
  for (const auto reads : {a_client_that_reads_a_little_now_and_then, one_that_never_has_room_for_more_than_a_few_bytes,
                           one_of_HTTP_2_whose_windows_are_wide_open}) {
    readers.push_back(std::async(std::launch::async, reads));
  }
  for (auto& reader : readers) reader.get();
}

TEST_F(StreamTest, A_peer_that_vanishes_is_noticed_though_nothing_is_written) {
  RawClient client(live.port());
  open(client);
  client.hear_until("\r\n\r\n");
  client.vanish();
  EXPECT_TRUE(live.becomes_true([&] { return gone == 1 && live.server().connection_count() == 0; }));
}

TEST_F(StreamTest, A_peer_that_hung_up_is_noticed_by_writing) {
  RawClient client(live.port());
  open(client);
  client.hear_until("\r\n\r\n");
  client.hang_up();
  EXPECT_TRUE(live.becomes_true([&] {
    stream->write(bytes(": beat\n\n"));
    return gone == 1;
  }));
}

TEST_F(StreamTest, A_client_that_has_said_all_may_still_listen) {
  RawClient client(live.port());
  open(client);
  client.end_saying();
  client.hear_until("\r\n\r\n");
  write("still");
  EXPECT_EQ(client.hear_until("still\r\n"), "5\r\nstill\r\n");
  live.in_loop([&] { stream->finish(); });
  EXPECT_EQ(client.hear_all(), "0\r\n\r\n");
  EXPECT_TRUE(live.becomes_true([&] { return live.server().connection_count() == 0; }));
  EXPECT_EQ(gone, 0);
}

TEST_F(StreamTest, Writes_of_one_turn_of_the_loop_are_sent_together) {
  RawClient client(live.port());
  open(client);
  client.hear_until("\r\n\r\n");
  live.in_loop([&] {
    for (int i = 0; i < 100; ++i) stream->write(bytes("x"));
    EXPECT_EQ(stream->unsent_bytes(), 600u);
    live.reactor().defer([&] { EXPECT_EQ(stream->unsent_bytes(), 0u); });
  });
  client.hear_until(std::string("x\r\n"));
  live.in_loop([] {});
}

TEST_F(StreamTest, Callbacks_may_hold_their_stream_and_let_it_go) {
  RawClient client(live.port());
  open(client);
  std::weak_ptr<Exchange> watched;
  live.in_loop([&] {
    watched = stream;
    stream->on_gone([kept = stream] {});
    stream->on_drained([kept = stream] {});
    std::exchange(stream, nullptr)->finish();
  });
  EXPECT_TRUE(live.becomes_true([&] { return watched.expired(); }));
}

}  // namespace server_stream_test
}  // namespace sluice::net
