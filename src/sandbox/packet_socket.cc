#include "sandbox/packet_socket.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sluice::sandbox {
namespace {

constexpr Millis again_pause = {20};
constexpr int64_t shortage_us_max = 10'000'000;
constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(int) * box::descriptors_max);

// A payload too large for a packet travels as a descriptor.
OwnedFd put_apart(std::string_view payload) {
  OwnedFd apart(memfd_create("sluice-payload", MFD_CLOEXEC));
  std::size_t done = 0;
  while (apart && done < payload.size()) {
    const ssize_t put = write(apart.get(), payload.data() + done, payload.size() - done);
    if (put <= 0) return {};
    done += static_cast<std::size_t>(put);
  }
  return apart;
}

void take_descriptors(msghdr& message, Packet& packet) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      packet.descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

Payload& Payload::number(uint64_t value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

Payload& Payload::text(std::string_view bytes) {
  number(bytes.size());
  bytes_ += bytes;
  bytes_ += '\0';
  return *this;
}

std::optional<PacketSocket::Pair> PacketSocket::make_pair() {
  int ends[2] = {-1, -1};
  // A packet arrives whole or not at all, so a process inside that is killed half-way leaves no half of an order.
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  return Pair{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

PacketSocket::PacketSocket(world::Reactor& reactor, OwnedFd socket, Callback<void(Packet)> on_packet,
                           Callback<void()> ended)
    : reactor_(reactor), socket_(std::move(socket)), on_packet_(std::move(on_packet)), ended_(std::move(ended)) {
  watch_ = reactor.watch(socket_.get(), {.read = true}, [this](world::Ready ready) { on_ready(ready); });
}

void PacketSocket::send(Packet packet) {
  waiting_.push_back(std::move(packet));
  if (waiting_.size() == 1) flush();
}

void PacketSocket::flush() {
  Outcome outcome = Outcome::done;
  while (!waiting_.empty() && outcome == Outcome::done) {
    outcome = put(socket_.get(), waiting_.front());
    if (outcome != Outcome::done) break;
    waiting_.pop_front();
    short_since_us_ = -1;
  }
  // For room that only memory of the machine can give, the line is always ready: to wait for it there would be to spin.
  if (watch_) watch_->want({.read = true, .write = outcome == Outcome::later});
  if (outcome == Outcome::again) try_again();
  if (outcome == Outcome::broken) give_up();
}

void PacketSocket::try_again() {
  const int64_t now_us = reactor_.monotonic_us();
  if (short_since_us_ < 0) short_since_us_ = now_us;
  if (now_us - short_since_us_ >= shortage_us_max) return give_up();
  again_ = reactor_.after(again_pause, [this] { flush(); });
}

// Both sides read the end, so that neither waits for a lost packet. `ended` is never called from inside send().
void PacketSocket::give_up() {
  waiting_.clear();
  again_.cancel();
  shutdown(socket_.get(), SHUT_RDWR);
}

void PacketSocket::on_ready(world::Ready ready) {
  if (ready.writable) flush();
  if (watch_ && (ready.readable || ready.hung_up)) read();
}

void PacketSocket::read() {
  const auto alive = lifetime_.watch();
  for (int i = 0; i < 16 && !alive.is_over(); ++i) {
    Packet packet;
    const Outcome outcome = get(socket_.get(), packet);
    if (outcome == Outcome::later) return;
    if (outcome == Outcome::broken) {
      watch_.reset();
      auto ended = std::move(ended_);
      ended();
      return;
    }
    auto on_packet = std::move(on_packet_);  // it must outlive its own call, which may drop us
    on_packet(std::move(packet));
    if (!alive.is_over()) on_packet_ = std::move(on_packet);
  }
}

PacketSocket::Outcome PacketSocket::put(int socket, const Packet& packet) {
  box::Head head = packet.head;
  head.payload_bytes = static_cast<uint32_t>(packet.payload.size());
  std::array<int, box::descriptors_max> numbers{};
  std::size_t count = 0;
  SLUICE_CHECK(packet.descriptors.size() < numbers.size() && packet.payload.size() <= box::payload_bytes_max);
  for (const auto& descriptor : packet.descriptors) numbers[count++] = descriptor.get();
  OwnedFd apart;
  if (packet.payload.size() > box::inline_bytes_max) {
    apart = put_apart(packet.payload);
    if (!apart) return Outcome::again;
    numbers[count++] = apart.get();
    head.payload_is_apart = 1;
  }
  iovec pieces[2] = {{&head, sizeof head}, {const_cast<char*>(packet.payload.data()), packet.payload.size()}};
  alignas(cmsghdr) char control[control_bytes] = {};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = apart || packet.payload.empty() ? 1 : 2;
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int) * count);
    std::memcpy(CMSG_DATA(part), numbers.data(), sizeof(int) * count);
  }
  ssize_t put = 0;
  do {
    put = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (put < 0 && errno == EINTR);
  if (put >= 0) return Outcome::done;
  if (errno == EAGAIN) return Outcome::later;
  return errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS ? Outcome::again : Outcome::broken;
}

PacketSocket::Outcome PacketSocket::get(int socket, Packet& packet) {
  std::array<char, sizeof(box::Head) + 4096> bytes;  // the box program has little to say
  alignas(cmsghdr) char control[control_bytes];
  iovec piece = {bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Outcome::later;
  if (got < static_cast<ssize_t>(sizeof(box::Head))) return Outcome::broken;
  take_descriptors(message, packet);
  std::memcpy(&packet.head, bytes.data(), sizeof(box::Head));
  packet.payload.assign(bytes.data() + sizeof(box::Head), static_cast<std::size_t>(got) - sizeof(box::Head));
  return Outcome::done;
}

bool PacketSocket::send_at_once(int socket, Packet packet) { return put(socket, packet) == Outcome::done; }

bool PacketSocket::receive_at_once(int socket, Packet& packet, int deadline_ms) {
  pollfd waiting = {socket, POLLIN, 0};
  return poll(&waiting, 1, deadline_ms) == 1 && get(socket, packet) == Outcome::done;
}

}  // namespace sluice::sandbox
