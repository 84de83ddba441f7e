#include "bench/link.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice::bench {

void Link::open(int epoll, int port) {
  connected_ = false;
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return listener_.on_broken(std::string("socket: ") + std::strerror(errno));
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS) {
    return listener_.on_broken(std::string("connect: ") + std::strerror(errno));
  }
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.ptr = this}};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd_, &event) != 0) listener_.on_broken("epoll_ctl");
}

void Link::send(const Request& request) {
  reader_.reset();
  out_ += request.method + " " + request.path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + key_;
  if (request.method == "GET") {
    out_ += "\r\nAccept: text/event-stream\r\n\r\n";
  } else {
    out_ += "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(request.body.size()) +
            "\r\n\r\n" + request.body;
  }
  flush();
}

void Link::ready(uint32_t events) {
  if (!connected_ && (events & EPOLLOUT) != 0 && (events & EPOLLERR) == 0) {
    connected_ = true;
    listener_.on_connected();
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive();
  flush();
}

void Link::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  out_.clear();
}

void Link::flush() {
  while (fd_ >= 0 && !out_.empty()) {
    const auto count = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (count < 0) {
      if (errno != EAGAIN && errno != ENOTCONN) listener_.on_broken("send");
      return;
    }
    out_.erase(0, static_cast<std::size_t>(count));
  }
}

void Link::receive() {
  char bytes[65536];
  while (fd_ >= 0) {
    const auto count = recv(fd_, bytes, sizeof bytes, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return listener_.on_broken("the server closed the connection");
    const auto step = reader_.feed({bytes, static_cast<std::size_t>(count)},
                                   [this](std::string_view piece) { listener_.on_body(reader_.status(), piece); });
    if (step == HttpReader::Step::broken) return listener_.on_broken("not the HTTP this client understands");
    if (step == HttpReader::Step::done) listener_.on_answered(reader_.status());
    if (static_cast<std::size_t>(count) < sizeof bytes) return;  // what comes later is another edge
  }
}

}  // namespace sluice::bench
