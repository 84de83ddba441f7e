#include <sys/socket.h>

#include <cerrno>

#include "net/transport.h"

namespace sluice::net {
namespace {

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(OwnedFd fd) : fd_(std::move(fd)) {}

  int fd() const override { return fd_.get(); }
  IoOutcome handshake() override { return IoOutcome::done; }
  Protocol protocol() const override { return Protocol::unsaid; }

  Io receive(std::span<char> into) override {
    const ssize_t got = recv(fd_.get(), into.data(), into.size(), 0);
    if (got > 0) return {IoOutcome::done, static_cast<std::size_t>(got)};
    if (got == 0) return {IoOutcome::closed};
    return {errno == EAGAIN || errno == EINTR ? IoOutcome::wants_read : IoOutcome::failed};
  }

  Io send(std::span<const iovec> from) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(from.data());  // the kernel only reads it
    message.msg_iovlen = from.size();
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (sent >= 0) return {IoOutcome::done, static_cast<std::size_t>(sent)};
    return {errno == EAGAIN || errno == EINTR ? IoOutcome::wants_write : IoOutcome::failed};
  }

  void end_sending() override { shutdown(fd_.get(), SHUT_WR); }

 private:
  OwnedFd fd_;
};

}  // namespace

std::unique_ptr<Transport> make_plain_transport(OwnedFd fd) { return std::make_unique<PlainTransport>(std::move(fd)); }

}  // namespace sluice::net
