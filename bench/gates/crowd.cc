// Callers who wait for a server's only slot: one thread, epoll, a stream per caller.
//
//   crowd --port P --key K --callers C --handovers N --content TEXT
//
// Each caller sends TEXT with `on_capacity: hold`, reads its stream to the end and stands in line again, so that the
// queue keeps its length. Prints {"ready":SECONDS} once all have been told a place or served; then, after N changes at
// the slot, what passed between the end of one run and the start of the next, as this client sees both.
// TEXT is put into JSON as it is.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/http_reader.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int port = 0;
  int callers = 1;
  int handovers = 100;
  std::string key;
  std::string content;
};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "crowd: %s\n", what.c_str());
  std::exit(1);
}

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// What all callers saw. With one slot, starts and ends take turns, whatever order the sockets are read in.
struct Sightings {
  int placed = 0;  // callers who have been told anything
  long places_told = 0;
  std::vector<Clock::time_point> starts;
  std::vector<Clock::time_point> ends;
};

class Caller {
 public:
  Caller(const Options& options, Sightings& seen) : options_(options), seen_(seen) {}
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() { close(fd_); }

  void open(int epoll) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(options_.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      die(std::string("connect: ") + std::strerror(errno));
    }
    epoll_event event{.events = EPOLLIN, .data = {.ptr = this}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd_, &event) != 0) die("epoll_ctl");
    stand_in_line();
  }

  void ready() {
    char bytes[16384];
    const auto count = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) die("the server closed a connection");
    const auto step =
        reader_.feed({bytes, static_cast<std::size_t>(count)}, [this](std::string_view piece) { take(piece); });
    if (step == HttpReader::Step::broken) die("not the HTTP this client understands");
    if (step != HttpReader::Step::done) return;
    if (reader_.status() != 200) die("answered " + std::to_string(reader_.status()) + ": " + rest_);
    stand_in_line();
  }

 private:
  void stand_in_line() {
    reader_.reset();
    rest_.clear();
    const std::string body = R"({"on_capacity":"hold","initial_message":{"content":")" + options_.content + R"("}})";
    const std::string request =
        "POST /v1/conversations HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + options_.key +
        "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    if (send(fd_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) die("send");
  }

  void take(std::string_view piece) {
    rest_ += piece;
    if (reader_.status() != 200) return;
    std::size_t from = 0;
    for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', from)) {
      take_line(std::string_view(rest_).substr(from, end - from));
      from = end + 1;
    }
    rest_.erase(0, from);
  }

  void take_line(std::string_view line) {
    if (!placed_) ++seen_.placed;
    placed_ = true;
    const auto is = [head = line.substr(0, 80)](std::string_view type) { return head.find(type) != head.npos; };
    if (is(R"("queued")")) ++seen_.places_told;
    if (is(R"("message_start")")) seen_.starts.push_back(Clock::now());
    if (is(R"("message_end")")) seen_.ends.push_back(Clock::now());
    if (is(R"("error")")) die("a run failed: " + std::string(line));
  }

  const Options& options_;
  Sightings& seen_;
  int fd_ = -1;
  bool placed_ = false;
  HttpReader reader_;
  std::string rest_;  // what is not a whole line yet
};

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
}

class Crowd {
 public:
  explicit Crowd(const Options& options) : options_(options), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() { close(epoll_); }

  void gather() {
    constexpr int at_once = 64;  // no listen queue overflows
    const auto began = Clock::now();
    while (seen_.placed < options_.callers) {
      while (std::ssize(callers_) < options_.callers && std::ssize(callers_) < seen_.placed + at_once) {
        callers_.push_back(std::make_unique<Caller>(options_, seen_));
        callers_.back()->open(epoll_);
      }
      step();
    }
    std::printf("{\"ready\":%.3f}\n", ms_between(began, Clock::now()) / 1e3);
    std::fflush(stdout);
  }

  void measure() {
    const auto began = Clock::now();
    const std::size_t first = seen_.ends.size();
    const long told_before = seen_.places_told;
    const std::size_t last = first + static_cast<std::size_t>(options_.handovers);
    while (seen_.starts.size() <= last + 1) step();
    std::vector<double> gaps;
    for (std::size_t i = first; i < last; ++i) {
      gaps.push_back(std::max(0.0, ms_between(seen_.ends[i], seen_.starts[i + 1])));
    }
    std::sort(gaps.begin(), gaps.end());
    std::printf(R"({"handovers":%zu,"seconds":%.3f,"places_told":%ld,"p50":%.3f,"p99":%.3f,"max":%.3f})"
                "\n",
                gaps.size(), ms_between(began, Clock::now()) / 1e3, seen_.places_told - told_before,
                quantile(gaps, 0.5), quantile(gaps, 0.99), gaps.back());
  }

 private:
  void step() {
    epoll_event events[256];
    const int count = epoll_wait(epoll_, events, 256, 30'000);
    if (count == 0) die("nothing came for 30 s");
    for (int i = 0; i < count; ++i) static_cast<Caller*>(events[i].data.ptr)->ready();
  }

  const Options& options_;
  int epoll_;
  Sightings seen_;
  std::vector<std::unique_ptr<Caller>> callers_;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--port")
      options.port = std::stoi(value);
    else if (flag == "--key")
      options.key = value;
    else if (flag == "--content")
      options.content = value;
    else if (flag == "--callers")
      options.callers = std::stoi(value);
    else if (flag == "--handovers")
      options.handovers = std::max(1, std::stoi(value));
    else
      die("no such flag: " + std::string(flag));
  }
  return options;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  const auto options = sluice::bench::parse(argc, argv);
  sluice::bench::Crowd crowd(options);
  crowd.gather();
  crowd.measure();
  return 0;
}
