// Many who ask one server, a bounded number at once, each on a connection of its own.
//
//   askers --port P --key K --at-once N [--until TEXT] [--stay] [--find NAME] <REQUESTS
//
// A line of standard input is one request: method, path, Last-Event-ID, body, and what the answer's body must begin
// with, separated by tabs; only the first two may not be empty. One is served when its answer is complete, or TEXT has
// come; with --stay as soon as anything has come, and then it stays connected, so that the server has more and more to
// look after. --find prints the first string member NAME of each answer, a line each, in the order of the requests.
// At last, as JSON, what passed from connecting to the first byte of each body, in milliseconds.
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
#include <iostream>
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
  int at_once = 1;
  bool stay = false;
  std::string key;
  std::string until;
  std::string find;
};

struct Request {
  std::string method;
  std::string path;
  std::string last_event_id;
  std::string body;
  std::string beginning;
};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "askers: %s\n", what.c_str());
  std::exit(1);
}

class Asker {
 public:
  Asker(const Options& options, const Request& request) : options_(options), request_(request) {}
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  ~Asker() { leave(); }

  void open(int epoll) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(options_.port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    began_ = Clock::now();
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      die(std::string("connect: ") + std::strerror(errno));
    }
    ask();
    epoll_event event{.events = EPOLLIN, .data = {.ptr = this}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd_, &event) != 0) die("epoll_ctl");
  }

  // True the one time that it is served.
  bool ready() {
    char bytes[65536];
    const auto count = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) die("the server closed a connection: " + request_.path);
    if (is_served_) return false;
    const auto step = reader_.feed({bytes, static_cast<std::size_t>(count)}, [this](std::string_view piece) {
      if (body_.empty()) first_byte_ms_ = std::chrono::duration<double, std::milli>(Clock::now() - began_).count();
      body_ += piece;
    });
    if (step == HttpReader::Step::broken) die("not the HTTP this client understands");
    const bool has_begun = body_.size() >= std::max<std::size_t>(1, request_.beginning.size());
    const bool has_come = options_.stay || (!options_.until.empty() && body_.find(options_.until) != body_.npos);
    if (step != HttpReader::Step::done && !(has_begun && has_come)) return false;
    if (reader_.status() != 200) die("answered " + std::to_string(reader_.status()) + ": " + body_);
    if (!body_.starts_with(request_.beginning)) die("expected " + request_.beginning + "\nbut got " + body_);
    is_served_ = true;
    keep_found();
    if (!options_.stay) leave();
    return true;
  }

  double first_byte_ms() const { return first_byte_ms_; }
  const std::string& found() const { return found_; }

 private:
  void ask() {
    std::string text = request_.method + " " + request_.path +
                       " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + options_.key +
                       "\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n";
    if (!request_.last_event_id.empty()) text += "Last-Event-ID: " + request_.last_event_id + "\r\n";
    if (!request_.body.empty()) text += "Content-Length: " + std::to_string(request_.body.size()) + "\r\n";
    text += "\r\n" + request_.body;
    if (send(fd_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) die("send");
  }

  void keep_found() {
    const auto name = "\"" + options_.find + "\":\"";
    const auto at = options_.find.empty() ? std::string::npos : body_.find(name);
    if (at != std::string::npos)
      found_ = body_.substr(at + name.size(), body_.find('"', at + name.size()) - at - name.size());
    std::string().swap(body_);
  }

  // By a reset, which the server sees at once: of who merely closes a quiet stream it learns a minute later, and until
  // then it would look after more and more of them.
  void leave() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  const Options& options_;
  const Request& request_;
  int fd_ = -1;
  bool is_served_ = false;
  Clock::time_point began_;
  double first_byte_ms_ = 0;
  HttpReader reader_;
  std::string body_;
  std::string found_;
};

Request request_of(std::string_view line) {
  Request request;
  for (auto* part : {&request.method, &request.path, &request.last_event_id, &request.body, &request.beginning}) {
    const auto end = line.find('\t');
    *part = line.substr(0, end);
    line.remove_prefix(end == line.npos ? line.size() : end + 1);
  }
  return request;
}

std::vector<Request> read_requests() {
  std::vector<Request> requests;
  for (std::string line; std::getline(std::cin, line);) requests.push_back(request_of(line));
  if (requests.empty()) die("nothing to ask");
  return requests;
}

void ask_all(const Options& options, const std::vector<Request>& requests) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  std::vector<std::unique_ptr<Asker>> askers;
  std::size_t served = 0;
  while (served < requests.size()) {
    while (askers.size() < requests.size() && askers.size() < served + static_cast<std::size_t>(options.at_once)) {
      askers.push_back(std::make_unique<Asker>(options, requests[askers.size()]));
      askers.back()->open(epoll);
    }
    epoll_event events[256];
    const int count = epoll_wait(epoll, events, 256, 30'000);
    if (count == 0) die("nothing came for 30 s");
    for (int i = 0; i < count; ++i) served += static_cast<Asker*>(events[i].data.ptr)->ready() ? 1 : 0;
  }
  if (!options.find.empty()) {
    for (const auto& asker : askers) std::printf("%s\n", asker->found().c_str());
  }
  const char* form = "[%.4f";
  for (const auto& asker : askers) {
    std::printf(form, asker->first_byte_ms());
    form = ",%.4f";
  }
  std::printf("]\n");
  close(epoll);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--stay") {
      options.stay = true;
      continue;
    }
    if (++i == argc) die("no value for " + std::string(flag));
    const std::string value = argv[i];
    if (flag == "--port")
      options.port = std::stoi(value);
    else if (flag == "--key")
      options.key = value;
    else if (flag == "--at-once")
      options.at_once = std::max(1, std::stoi(value));
    else if (flag == "--until")
      options.until = value;
    else if (flag == "--find")
      options.find = value;
    else
      die("no such flag: " + std::string(flag));
  }
  return options;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  const auto options = sluice::bench::parse(argc, argv);
  sluice::bench::ask_all(options, sluice::bench::read_requests());
  return 0;
}
