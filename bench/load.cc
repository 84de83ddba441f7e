// The load client of the benchmarks: one thread, epoll, a conversation per connection.
//
//   load messages --port P --key K --connections C --seconds S --content TEXT
//       Closed loop: each connection sends a message, reads its stream to the end, sends the next.
//   load hold     --port P --key K --connections C --content TEXT
//       Opens C streams, prints a line when each has had an event, and holds them until stdin closes.
//   load paced    --port P --key K --connections C --content "tokens N RATE" --rate RATE
//       One stream per connection, read to the end; how late each delta came.
//   --ramp-ms M   spreads the first messages over M milliseconds.
//
// Prints one line of JSON. Works against anything that speaks POST /v1/conversations and
// POST /v1/conversations/{id}/messages with chunked streams whose last event is `message_end`.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/http_reader.h"

namespace sluice::bench {
namespace {

struct Options {
  std::string mode;
  std::string key = "none";
  std::string content = "tokens 50";
  int port = 0;
  int connections = 1;
  double seconds = 5;
  double rate = 2;
  double ramp_ms = 0;
};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "load: %s\n", what.c_str());
  std::exit(1);
}

double now_of(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return static_cast<double>(at.tv_sec) * 1e3 + static_cast<double>(at.tv_nsec) / 1e6;
}
double now_ms() { return now_of(CLOCK_MONOTONIC); }
double wall_ms() { return now_of(CLOCK_REALTIME); }

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

std::string quantiles(std::vector<double> values) {
  char text[160];
  const double p50 = quantile(values, 0.5), p99 = quantile(values, 0.99), most = quantile(values, 1.0);
  std::snprintf(text, sizeof text, R"({"p50":%.3f,"p99":%.3f,"max":%.3f})", p50, p99, most);
  return text;
}

// "…,"created_at":"2026-07-02T10:00:01.123Z"}" at the end of a line, as milliseconds of its day; negative if it is
// not there. By hand: the clock of a benchmark must cost less than what it measures.
double created_at_ms(std::string_view line) {
  constexpr std::string_view mark = R"("created_at":")";
  const auto at = line.rfind(mark);
  if (at == std::string_view::npos || line.size() < at + mark.size() + 24) return -1;
  const std::string_view time = line.substr(at + mark.size() + 11, 12);
  const auto digits = [&](std::size_t from, std::size_t count) {
    int value = 0;
    for (std::size_t i = from; i < from + count; ++i) value = value * 10 + (time[i] - '0');
    return value;
  };
  return ((digits(0, 2) * 60 + digits(3, 2)) * 60 + digits(6, 2)) * 1e3 + digits(9, 3);
}

constexpr double day_ms = 24 * 3600 * 1e3;

enum class Phase : uint8_t { connecting, creating, streaming, idle, failed };

// What all connections measured, and how they stand: looking at each would cost more than serving it.
struct Figures {
  int standing[5] = {};     // by phase
  int had_event = 0;        // since their message was sent
  bool send_again = false;  // as soon as one ends
  int count(Phase phase) const { return standing[static_cast<int>(phase)]; }

  long messages = 0;
  long failures = 0;
  long events = 0;
  std::vector<double> first_event_ms;
  std::vector<double> total_ms;
  std::vector<double> since_created_ms;
  std::vector<double> lateness_ms;  // against the first delta and the rate
};

class Connection {
 public:
  Connection(const Options& options, Figures& figures) : options_(options), figures_(figures) {
    ++figures_.standing[static_cast<int>(phase_)];
  }
  Connection(const Connection&) = delete;
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }

  void open(int epoll) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0) die(std::string("socket: ") + std::strerror(errno));
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(options_.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS) {
      die(std::string("connect: ") + std::strerror(errno));
    }
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.ptr = this}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd_, &event) != 0) die("epoll_ctl");
  }

  void ready(uint32_t events) {
    if (phase_ == Phase::connecting && (events & EPOLLOUT) != 0) create_conversation();
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive();
    flush();
  }

  void send_message() {
    enter(Phase::streaming);
    sent_at_ = now_ms();
    if (first_event_seen_) --figures_.had_event;
    first_event_seen_ = ended_ = false;
    deltas_ = 0;
    send("/v1/conversations/" + conversation_ + "/messages", R"({"content":")" + options_.content + R"("})");
  }

  Phase phase() const { return phase_; }

 private:
  void enter(Phase phase) {
    --figures_.standing[static_cast<int>(phase_)];
    phase_ = phase;
    ++figures_.standing[static_cast<int>(phase_)];
  }

  void create_conversation() {
    enter(Phase::creating);
    send("/v1/conversations", "{}");
  }

  void send(const std::string& path, const std::string& body) {
    reader_.reset();
    body_.clear();
    out_ += "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + options_.key +
            "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    flush();
  }

  void flush() {
    while (!out_.empty()) {
      const auto count = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
      if (count < 0) {
        if (errno != EAGAIN && errno != ENOTCONN) fail("send");
        return;
      }
      out_.erase(0, static_cast<std::size_t>(count));
    }
  }

  void receive() {
    char bytes[65536];
    for (;;) {
      const auto count = recv(fd_, bytes, sizeof bytes, 0);
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) return fail("the server closed the connection");
      const auto step =
          reader_.feed({bytes, static_cast<std::size_t>(count)}, [this](std::string_view piece) { take(piece); });
      if (step == HttpReader::Step::broken) return fail("not the HTTP this client understands");
      if (step == HttpReader::Step::done) finish();
      if (static_cast<std::size_t>(count) < sizeof bytes || fd_ < 0) return;  // what comes later is another edge
    }
  }

  void take(std::string_view piece) {
    if (phase_ == Phase::streaming && !first_event_seen_ && reader_.status() == 200) {
      first_event_seen_ = true;
      ++figures_.had_event;
      figures_.first_event_ms.push_back(now_ms() - sent_at_);
    }
    body_ += piece;
    if (phase_ != Phase::streaming || reader_.status() != 200) return;
    std::size_t from = 0;
    for (auto end = body_.find('\n'); end != std::string::npos; end = body_.find('\n', from)) {
      take_line(std::string_view(body_).substr(from, end - from));
      from = end + 1;
    }
    body_.erase(0, from);
  }

  void take_line(std::string_view line) {
    if (line.empty()) return;  // between two SSE frames
    ++figures_.events;
    // The type is near the beginning; what an answer says must not be mistaken for it.
    const auto head = line.substr(0, 80);
    if (head.find("message_end") != std::string_view::npos) ended_ = true;
    if (options_.mode != "paced" || head.find("content_delta") == std::string_view::npos) return;
    const double arrived = now_ms();
    if (const double created = created_at_ms(line); created > 0)
      figures_.since_created_ms.push_back(std::fmod(wall_ms(), day_ms) - created);
    if (deltas_ == 0)
      first_delta_at_ = arrived;
    else
      figures_.lateness_ms.push_back(std::fabs(arrived - first_delta_at_ - deltas_ * 1e3 / options_.rate));
    ++deltas_;
  }

  void finish() {
    if (phase_ == Phase::creating) {
      const auto at = body_.find(R"("id":")");
      if (reader_.status() != 201 || at == std::string::npos) return fail("no conversation: " + body_.substr(0, 200));
      conversation_ = body_.substr(at + 6, body_.find('"', at + 6) - at - 6);
      return enter(Phase::idle);
    }
    if (!ended_) return fail(std::to_string(reader_.status()) + " without message_end: " + body_.substr(0, 200));
    ++figures_.messages;
    figures_.total_ms.push_back(now_ms() - sent_at_);
    enter(Phase::idle);
    if (figures_.send_again) send_message();
  }

  void fail(const std::string& why) {
    if (figures_.failures++ == 0) std::fprintf(stderr, "load: %s\n", why.c_str());
    enter(Phase::failed);
    close(fd_);
    fd_ = -1;
    out_.clear();
  }

  const Options& options_;
  Figures& figures_;
  int fd_ = -1;
  Phase phase_ = Phase::connecting;
  std::string conversation_;
  std::string out_;
  std::string body_;  // what is not a whole line yet
  HttpReader reader_;
  double sent_at_ = 0;
  double first_delta_at_ = 0;
  int deltas_ = 0;
  bool first_event_seen_ = false;
  bool ended_ = false;
};

class Load {
 public:
  explicit Load(const Options& options) : options_(options), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}
  Load(const Load&) = delete;
  ~Load() { close(epoll_); }

  // Connects and creates the conversations, a few at a time so that no listen queue overflows.
  void prepare() {
    constexpr int at_once = 128;
    while (count(Phase::idle) + count(Phase::failed) < options_.connections) {
      const int pending = static_cast<int>(connections_.size()) - count(Phase::idle) - count(Phase::failed);
      for (int n = pending; n < at_once && std::ssize(connections_) < options_.connections; ++n) {
        connections_.push_back(std::make_unique<Connection>(options_, figures_));
        connections_.back()->open(epoll_);
      }
      step(1000);
    }
    if (figures_.failures > 0) die("not every connection came to stand");
  }

  double run_messages() {
    const double began = now_ms(), until = began + options_.seconds * 1e3;
    for (;;) {
      const double now = now_ms();
      figures_.send_again = now < until;
      if (now < until) start(due(now - began));
      if (now >= until && count(Phase::streaming) == 0) break;
      step(started_ < options_.connections ? 1 : 50);
    }
    return (now_ms() - began) / 1e3;
  }

  double run_once(bool to_the_end) {
    const double began = now_ms();
    for (;;) {
      start(due(now_ms() - began));
      const bool reached = to_the_end ? count(Phase::streaming) == 0 : everyone_had_an_event();
      if (started_ == options_.connections && reached) break;
      step(started_ < options_.connections ? 1 : 100);
    }
    return (now_ms() - began) / 1e3;
  }

  void report(double seconds) const {
    std::printf(R"({"messages":%ld,"failures":%ld,"events":%ld,"seconds":%.3f,"per_second":%.1f,"first_event_ms":%s,)"
                R"("total_ms":%s,"since_created_ms":%s,"lateness_ms":%s})"
                "\n",
                figures_.messages, figures_.failures, figures_.events, seconds,
                static_cast<double>(figures_.messages) / seconds, quantiles(figures_.first_event_ms).c_str(),
                quantiles(figures_.total_ms).c_str(), quantiles(figures_.since_created_ms).c_str(),
                quantiles(figures_.lateness_ms).c_str());
    std::fflush(stdout);
  }

 private:
  int count(Phase phase) const { return figures_.count(phase); }
  bool everyone_had_an_event() const { return figures_.had_event + count(Phase::failed) >= options_.connections; }
  // How many connections may have begun. A ramp keeps paced streams from ticking all at one instant.
  int due(double elapsed_ms) const {
    if (elapsed_ms >= options_.ramp_ms) return options_.connections;
    return static_cast<int>(elapsed_ms / options_.ramp_ms * options_.connections);
  }
  void start(int ready) {
    for (; started_ < ready; ++started_) connections_[static_cast<std::size_t>(started_)]->send_message();
  }

  void step(int timeout_ms) {
    epoll_event events[512];
    const int ready = epoll_wait(epoll_, events, 512, timeout_ms);
    for (int i = 0; i < ready; ++i) static_cast<Connection*>(events[i].data.ptr)->ready(events[i].events);
  }

  const Options& options_;
  int epoll_;
  int started_ = 0;
  Figures figures_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

Options parse(int argc, char** argv) {
  Options options;
  if (argc < 2) die("which mode? messages, hold or paced");
  options.mode = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--port")
      options.port = std::stoi(value);
    else if (flag == "--key")
      options.key = value;
    else if (flag == "--content")
      options.content = value;
    else if (flag == "--connections")
      options.connections = std::stoi(value);
    else if (flag == "--seconds")
      options.seconds = std::stod(value);
    else if (flag == "--ramp-ms")
      options.ramp_ms = std::stod(value);
    else if (flag == "--rate")
      options.rate = std::stod(value);
    else
      die("no such flag: " + std::string(flag));
  }
  return options;
}

int run(const Options& options) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  Load load(options);
  load.prepare();
  if (options.mode == "messages") {
    load.report(load.run_messages());
  } else if (options.mode == "paced") {
    load.report(load.run_once(true));
  } else if (options.mode == "hold") {
    load.report(load.run_once(false));
    while (std::getchar() != EOF) {
    }
  } else {
    die("no such mode: " + options.mode);
  }
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) { return sluice::bench::run(sluice::bench::parse(argc, argv)); }
