#include "egress/stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "world/world.h"

namespace sluice::egress {
namespace stream_test {

TEST(ByteQueue, Gives_out_at_the_front_what_went_in_at_the_back) {
  ByteQueue queue;
  queue.back() += "hello, world";
  queue.consume(5);
  EXPECT_EQ(queue.view(), ", world");
  queue.back() += "!";
  queue.consume(4);
  EXPECT_EQ(queue.view(), "rld!");
  queue.clear();
  EXPECT_EQ(queue.size(), 0u);
}

class StreamTest : public testing::Test {
 protected:
  StreamTest() {
    int fds[2];
    SLUICE_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    stream = std::make_unique<Stream>(*reactor, OwnedFd(fds[0]), Stream::State::open);
    peer = OwnedFd(fds[1]);
  }
  std::size_t drain() const {
    std::string bytes(1 << 20, '\0');
    std::size_t size = 0;
    for (ssize_t got = 0; (got = recv(peer.get(), bytes.data(), bytes.size(), 0)) > 0;) {
      size += static_cast<std::size_t>(got);
    }
    return size;
  }

  std::unique_ptr<world::Reactor> reactor = world::make_reactor().take();
  std::unique_ptr<Stream> stream;
  OwnedFd peer;
};

// The kernel reports room only while there is something to send: the owner that sent the last of it must look.
TEST_F(StreamTest, Says_when_room_was_made_that_nobody_else_will_tell_of) {
  const std::string piece(64 * 1024, 'x');
  std::size_t written = 0;
  do {
    stream->write(piece);
    written += piece.size();
  } while (stream->settle() && stream->unsent() == 0);
  EXPECT_FALSE(stream->settle()) << "the socket is full";
  std::size_t heard = drain();
  EXPECT_TRUE(stream->settle());
  EXPECT_EQ(stream->unsent(), 0u);
  heard += drain();
  EXPECT_EQ(heard, written);
}

TEST_F(StreamTest, Ends_its_side_once_all_is_sent) {
  stream->write("bye");
  stream->end_writing();
  EXPECT_TRUE(stream->settle());
  EXPECT_TRUE(stream->finished());
  char bytes[8];
  EXPECT_EQ(recv(peer.get(), bytes, sizeof bytes, 0), 3);
  EXPECT_EQ(recv(peer.get(), bytes, sizeof bytes, 0), 0);
}

// A peer that speaks first must not be able to do more than lose its connection.
TEST_F(StreamTest, Does_not_begin_TLS_after_bytes_in_the_clear) {
  ASSERT_EQ(send(peer.get(), "220 mail", 8, 0), 8);
  stream->on_change([&] { reactor->stop(); });
  reactor->run();
  EXPECT_EQ(stream->input(), "220 mail");
  const auto tls = Tls::make("").take();
  stream->secure(tls->connect({.host = "a.test"}, stream->fd()));
  EXPECT_EQ(stream->state(), Stream::State::broken);
}

TEST_F(StreamTest, Breaks_when_the_peer_is_gone) {
  peer.reset();
  stream->write("hello?");
  static_cast<void>(stream->settle());
  EXPECT_EQ(stream->state(), Stream::State::broken);
}

}  // namespace stream_test
}  // namespace sluice::egress
