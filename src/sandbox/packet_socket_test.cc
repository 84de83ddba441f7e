// What becomes of a packet that cannot be sent: it is tried again, or the line ends; it is never lost in silence.
#include "sandbox/packet_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "world/world.h"

namespace sluice::sandbox {
namespace packet_socket_test {

// A real loop that notes whether anybody waited to be able to write.
class NotingReactor final : public world::Reactor {
 public:
  Timestamp now() const override { return real_->now(); }
  int64_t monotonic_us() const override { return real_->monotonic_us() + passed_us; }
  world::Timer after(Millis delay, Callback<void()> then) override { return real_->after(delay, std::move(then)); }
  void defer(Callback<void()> then) override { real_->defer(std::move(then)); }
  void post(Callback<void()> then) override { real_->post(std::move(then)); }
  void run() override { real_->run(); }
  void stop() override { real_->stop(); }
  std::unique_ptr<world::Watch> watch(int fd, world::Watch::Interest interest,
                                      Callback<void(world::Ready)> when) override {
    return std::make_unique<Noted>(*this, real_->watch(fd, interest, std::move(when)));
  }

  int writes_wanted = 0;
  int64_t passed_us = 0;  // beyond what the clock says

 private:
  class Noted final : public world::Watch {
   public:
    Noted(NotingReactor& reactor, std::unique_ptr<world::Watch> real) : reactor_(reactor), real_(std::move(real)) {}
    void want(Interest interest) override {
      if (interest.write) ++reactor_.writes_wanted;
      real_->want(interest);
    }

   private:
    NotingReactor& reactor_;
    const std::unique_ptr<world::Watch> real_;
  };

  const std::unique_ptr<world::Reactor> real_ = world::make_reactor().take();
};

// UBSan looks at objects through a pipe, and calls them invalid if it gets none.
#if !__has_feature(undefined_behavior_sanitizer)
// While it lives, this process gets no more descriptors.
class NoDescriptors final {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};
#endif

class LineTest : public testing::Test {
 protected:
  PacketSocket line_to(PacketSocket::Pair& pair) {
    return PacketSocket(reactor, std::move(pair.ours), [](Packet) {}, [this] { end(); });
  }
  void end() {
    ended = true;
    reactor.stop();
  }
  static Packet packet_of(std::size_t payload_bytes) {
    return {{.verb = box::Verb::start}, {}, std::string(payload_bytes, 'x')};
  }

  NotingReactor reactor;
  bool ended = false;
};

TEST_F(LineTest, a_packet_that_the_kernel_refuses_for_good_ends_the_line) {
  auto pair = *PacketSocket::make_pair();
  const int smallest = 1;
  ASSERT_EQ(setsockopt(pair.ours.get(), SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest), 0);
  PacketSocket socket = line_to(pair);
  socket.send(packet_of(box::inline_bytes_max));
  EXPECT_FALSE(ended) << "not from inside the call";
  reactor.run();
  EXPECT_TRUE(ended);
  Packet none;
  EXPECT_FALSE(PacketSocket::receive_at_once(pair.theirs.get(), none, 20'000)) << "the other end sees that it is over";
}

#if !__has_feature(undefined_behavior_sanitizer)
TEST_F(LineTest, a_packet_for_which_no_descriptor_is_left_is_sent_once_there_is_one) {
  auto pair = *PacketSocket::make_pair();
  PacketSocket socket = line_to(pair);
  {
    const NoDescriptors shortage;
    socket.send(packet_of(box::inline_bytes_max + 1));
    socket.send(packet_of(3));
  }
  EXPECT_EQ(reactor.writes_wanted, 0) << "the line could be written to all the time: waiting for that would spin";
  world::Timer look;
  Packet first;
  std::function<void()> look_again = [&] {
    if (PacketSocket::receive_at_once(pair.theirs.get(), first, 0)) return reactor.stop();
    look = reactor.after({5}, [&] { look_again(); });
  };
  look_again();
  reactor.run();
  EXPECT_EQ(first.head.payload_is_apart, 1U);
  EXPECT_EQ(first.descriptors.size(), 1U);
  Packet second;
  EXPECT_TRUE(PacketSocket::receive_at_once(pair.theirs.get(), second, 20'000)) << "in their order, and none is lost";
  EXPECT_EQ(second.payload, "xxx");
}

TEST_F(LineTest, a_line_on_which_nothing_can_be_sent_for_ten_seconds_ends) {
  auto pair = *PacketSocket::make_pair();
  PacketSocket socket = line_to(pair);
  const NoDescriptors shortage;
  socket.send(packet_of(box::inline_bytes_max + 1));
  reactor.passed_us = 10'000'000;
  reactor.run();
  EXPECT_TRUE(ended);
}
#endif

}  // namespace packet_socket_test
}  // namespace sluice::sandbox
