// What an event costs the server's loop over HTTP/2, beside HTTP/1.1: the same server writes the same small
// events to as many readers, one event a turn. Rounds alternate, so that whatever else the machine does meets
// all. Prints a table; `--rounds N` (default 10).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "net/net.h"
#include "world/world.h"

namespace sluice::bench {
namespace {

constexpr std::size_t readers = 100;
constexpr int events_per_reader = 1'000;
constexpr std::size_t event_bytes = 160;  // a content_delta of some words

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "http2_bench: %s\n", what.c_str());
  std::exit(1);
}

// ── the client: asks, and reads without looking ─────────────────────────────────────────────────

OwnedFd connect_to(uint16_t port) {
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("cannot connect");
  return fd;
}

void say(int fd, std::string_view bytes) {
  if (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) fail("cannot send");
}

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  const uint8_t head[] = {static_cast<uint8_t>(size >> 16),
                          static_cast<uint8_t>(size >> 8),
                          static_cast<uint8_t>(size),
                          type,
                          flags,
                          static_cast<uint8_t>(stream >> 24),
                          static_cast<uint8_t>(stream >> 16),
                          static_cast<uint8_t>(stream >> 8),
                          static_cast<uint8_t>(stream)};
  return std::string(reinterpret_cast<const char*>(head), sizeof head).append(payload);
}

// GETs on streams 1, 3, 5… with windows so wide that nothing more need be said.
std::string http_2_requests(std::size_t count) {
  std::string text = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  text += frame(4, 0, 0, std::string("\0\4\x7f\xff\xff\xff", 6));  // SETTINGS_INITIAL_WINDOW_SIZE
  text += frame(8, 0, 0, std::string("\x7f\xff\0\0", 4));          // WINDOW_UPDATE of the connection
  for (uint32_t i = 0; i < count; ++i) {
    text += frame(1, 5, 2 * i + 1, "\x82\x86\x84\x41\x01h");  // GET, http, "/", authority "h"
  }
  return text;
}

void read_all(const std::vector<OwnedFd>& connections) {
  std::vector<pollfd> waiting;
  for (const auto& fd : connections) waiting.push_back({fd.get(), POLLIN, 0});
  std::vector<char> bytes(256 * 1024);
  for (std::size_t open = waiting.size(); open > 0;) {
    poll(waiting.data(), waiting.size(), -1);
    for (auto& one : waiting) {
      if (one.revents == 0 || recv(one.fd, bytes.data(), bytes.size(), 0) > 0) continue;
      one.fd = -1;
      --open;
    }
  }
}

// ── the server ──────────────────────────────────────────────────────────────────────────────────

struct Way {
  const char* name;
  std::size_t streams_per_connection;  // 0: HTTP/1.1
};

class Round {
 public:
  // Microseconds of the loop's thread for each event.
  double run(const Way& way) {
    std::thread loop([this] { reactor_->run(); });
    std::promise<uint16_t> listening;
    reactor_->post([&] {
      server_ =
          net::serve(*reactor_, {}, [this](auto exchange) { welcome(std::move(exchange)); }, nullptr, metrics_).take();
      listening.set_value(server_->port());
    });
    const uint16_t port = listening.get_future().get();
    const std::size_t streams = std::max<std::size_t>(1, way.streams_per_connection);
    std::vector<OwnedFd> connections;
    for (std::size_t i = 0; i < readers / streams; ++i) {
      connections.push_back(connect_to(port));
      say(connections.back().get(),
          way.streams_per_connection == 0 ? "GET / HTTP/1.1\r\nHost: h\r\n\r\n" : http_2_requests(streams));
    }
    read_all(connections);
    loop.join();
    return cpu_us_ / (static_cast<double>(readers) * events_per_reader);
  }

 private:
  static double thread_cpu_us() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    const auto us = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
    };
    return us(usage.ru_utime) + us(usage.ru_stime);
  }

  void welcome(std::shared_ptr<net::Exchange> exchange) {
    exchange->start(200, {{"Content-Type", "application/x-ndjson"}});
    streams_.push_back(std::move(exchange));
    if (streams_.size() < readers) return;
    began_us_ = thread_cpu_us();
    tick_ = reactor_->after({1}, [this] { write_one(); });
  }

  // Through a timer, so that each event meets a loop that has handled the last.
  void write_one() {
    const auto event = std::make_shared<const std::string>(event_bytes, 'e');
    for (const auto& stream : streams_) stream->write(event);
    if (++written_ < events_per_reader) {
      tick_ = reactor_->after({1}, [this] { write_one(); });
      return;
    }
    cpu_us_ = thread_cpu_us() - began_us_;
    for (const auto& stream : std::exchange(streams_, {})) stream->finish();
    server_->drain({2'000}, [this] {
      server_.reset();
      reactor_->stop();
    });
  }

  world::Metrics metrics_;
  std::unique_ptr<world::Reactor> reactor_ = world::make_reactor().take();
  std::unique_ptr<net::Server> server_;
  std::vector<std::shared_ptr<net::Exchange>> streams_;
  world::Timer tick_;
  int written_ = 0;
  double began_us_ = 0;
  double cpu_us_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int main_with(int rounds) {
  static constexpr Way ways[] = {
      {"HTTP/1.1", 0}, {"HTTP/2, one stream a connection", 1}, {"HTTP/2, 20 streams a connection", 20}};
  std::vector<std::vector<double>> figures(std::size(ways));
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < std::size(ways); ++i) figures[i].push_back(Round().run(ways[i]));
  }
  const double base = median(figures[0]);
  std::printf("%zu readers, %d events of %zu bytes each; median of %d rounds, lowest and highest in brackets.\n\n",
              readers, events_per_reader, event_bytes, rounds);
  std::printf("| what | CPU per event, µs | beside HTTP/1.1 |\n| --- | --- | --- |\n");
  for (std::size_t i = 0; i < std::size(ways); ++i) {
    const auto [low, high] = std::minmax_element(figures[i].begin(), figures[i].end());
    const double middle = median(figures[i]);
    std::printf("| %s | %.2f (%.2f–%.2f) | %.2f× |\n", ways[i].name, middle, *low, *high, middle / base);
  }
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  int rounds = 10;
  if (argc == 3 && std::string_view(argv[1]) == "--rounds") rounds = std::max(1, std::atoi(argv[2]));
  return sluice::bench::main_with(rounds);
}
