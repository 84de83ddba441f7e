// For tests: a server on a thread of its own, and a client that sends exactly the given bytes.
// Waits end with an event or, after a minute, with a failure.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>
#include <string>
#include <thread>

#include "net/net.h"
#include "net/transport.h"

namespace sluice::net {

inline constexpr auto test_patience = std::chrono::seconds(60);

class LiveServer {
 public:
  explicit LiveServer(Handler handler, ServerOptions options = {}, Refusal refusal = nullptr) {
    thread_ = std::thread([this] { reactor_->run(); });
    in_loop([&] { server_ = serve(*reactor_, options, std::move(handler), std::move(refusal), metrics_).take(); });
  }
  ~LiveServer() {
    in_loop([&] {
      server_.reset();
      reactor_->stop();
    });
    thread_.join();
  }

  // Runs `work` on the loop's thread, and waits for it.
  void in_loop(Callback<void()> work) {
    std::promise<void> done;
    reactor_->post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // Waits for so long by the loop's clock. A timer is the loop's own, to its end.
  void pass(int64_t ms) {
    std::promise<void> later;
    world::Timer timer;
    in_loop([&] { timer = reactor_->after({ms}, [&] { later.set_value(); }); });
    later.get_future().wait();
    in_loop([&] { timer = {}; });
  }
  // Looks from the loop's thread until `holds`: at once, and then every millisecond, so that a long wait leaves the
  // processors to others.
  bool becomes_true(std::function<bool()> holds) {
    Watch watch{.holds = std::move(holds)};
    in_loop([&] { look(watch); });
    auto held = watch.held.get_future();
    const bool became_true = held.wait_for(test_patience) == std::future_status::ready;
    in_loop([&] { watch.timer = {}; });
    return became_true;
  }

  Server& server() { return *server_; }
  world::Reactor& reactor() { return *reactor_; }
  uint16_t port() const { return server_->port(); }
  std::string metrics() const { return metrics_.to_text(); }

 private:
  struct Watch {
    std::function<bool()> holds;
    std::promise<void> held;
    world::Timer timer;
  };
  void look(Watch& watch) {
    if (watch.holds()) return watch.held.set_value();
    watch.timer = reactor_->after({1}, [this, &watch] { look(watch); });
  }

  world::Metrics metrics_;
  std::unique_ptr<world::Reactor> reactor_ = world::make_reactor().take();
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

class RawClient {
 public:
  explicit RawClient(uint16_t port, int receive_buffer_bytes = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer_bytes > 0) {
      setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    SLUICE_CHECK(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }

  int fd() const { return fd_.get(); }
  void say(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void end_saying() { shutdown(fd_.get(), SHUT_WR); }
  void hang_up() { fd_.reset(); }
  // Closes as a vanished machine would seem to: with a reset.
  void vanish() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    hang_up();
  }

  // All that comes up to and with `mark`; what came when the server closed first.
  std::string hear_until(std::string_view mark) {
    for (;;) {
      if (const std::size_t at = heard_.find(mark); at != std::string::npos) {
        std::string out = heard_.substr(0, at + mark.size());
        heard_.erase(0, at + mark.size());
        return out;
      }
      if (!hear_more()) return std::exchange(heard_, {});
    }
  }
  std::string hear_all() {
    while (hear_more()) {
    }
    return std::exchange(heard_, {});
  }
  // True if nothing has come so far.
  bool is_quiet() {
    pollfd poll_fd{fd_.get(), POLLIN, 0};
    return heard_.empty() && poll(&poll_fd, 1, 0) == 0;
  }
  bool was_reset() const { return was_reset_; }

 private:
  bool hear_more() {
    pollfd poll_fd{fd_.get(), POLLIN, 0};
    if (poll(&poll_fd, 1, std::chrono::milliseconds(test_patience).count()) != 1) {
      ADD_FAILURE() << "waited in vain; heard so far: " << heard_;
      return false;
    }
    char bytes[64 * 1024];
    const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
    was_reset_ = got < 0;
    if (got > 0) heard_.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }

  OwnedFd fd_;
  std::string heard_;
  bool was_reset_ = false;
};

}  // namespace sluice::net
