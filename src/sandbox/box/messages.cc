#include "sandbox/box/messages.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace sluice::sandbox::box {
namespace {

bool read_apart(Message& message, std::size_t bytes) {
  if (message.descriptor_count == 0) return false;
  const int from = message.descriptors[--message.descriptor_count];
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(from, message.payload + done, bytes - done, static_cast<off_t>(done));
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  close(from);
  return done == bytes;
}

void take_descriptors(msghdr& packet, Message& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&packet); part != nullptr; part = CMSG_NXTHDR(&packet, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    message.descriptor_count = static_cast<int>((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(message.descriptors, CMSG_DATA(part), static_cast<std::size_t>(message.descriptor_count) * sizeof(int));
  }
}

}  // namespace

Received receive(int line, Message& message) {
  static char packet_bytes[sizeof(Head) + inline_bytes_max];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptors_max)];
  iovec piece = {packet_bytes, sizeof packet_bytes};
  msghdr packet{};
  packet.msg_iov = &piece;
  packet.msg_iovlen = 1;
  packet.msg_control = control;
  packet.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = recvmsg(line, &packet, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  message = Message{};
  if (got < static_cast<ssize_t>(sizeof(Head))) return Received::end;
  take_descriptors(packet, message);
  memcpy(&message.head, packet_bytes, sizeof(Head));
  const std::size_t bytes = message.head.payload_bytes;
  const bool is_apart = message.head.payload_is_apart != 0;
  if (bytes > payload_bytes_max || (!is_apart && bytes != static_cast<std::size_t>(got) - sizeof(Head))) {
    return Received::end;
  }
  message.payload = static_cast<char*>(malloc(bytes + 1));
  if (message.payload == nullptr) return Received::end;
  message.payload[bytes] = 0;
  if (is_apart) return read_apart(message, bytes) ? Received::message : Received::end;
  memcpy(message.payload, packet_bytes + sizeof(Head), bytes);
  return Received::message;
}

void release(Message& message) {
  for (int i = 0; i < message.descriptor_count; ++i) {
    if (message.descriptors[i] >= 0) close(message.descriptors[i]);
  }
  free(message.payload);
  message = Message{};
}

bool send(int line, const Head& head, const int* descriptors, int descriptor_count, const char* payload,
          std::size_t payload_bytes) {
  Head sent = head;
  sent.payload_bytes = static_cast<uint32_t>(payload_bytes);
  iovec pieces[2] = {{&sent, sizeof sent}, {const_cast<char*>(payload), payload_bytes}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptors_max)] = {};
  msghdr packet{};
  packet.msg_iov = pieces;
  packet.msg_iovlen = payload_bytes > 0 ? 2 : 1;
  if (descriptor_count > 0) {
    const std::size_t bytes = sizeof(int) * static_cast<std::size_t>(descriptor_count);
    packet.msg_control = control;
    packet.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* part = CMSG_FIRSTHDR(&packet);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(part), descriptors, bytes);
  }
  // Memory of sockets is on the sandbox's account, and a sandbox at its limit gets some back when something in it is
  // killed.
  constexpr int attempts_max = 500;
  constexpr timespec pause = {0, 10'000'000};
  for (int attempt = 0; attempt < attempts_max;) {
    if (sendmsg(line, &packet, MSG_NOSIGNAL) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno != ENOBUFS && errno != ENOMEM) return false;
    nanosleep(&pause, nullptr);
    ++attempt;
  }
  errno = ENOBUFS;
  return false;
}

void send_failure(int line, Head head, const char* why) {
  if (!send(line, head, nullptr, 0, why, strlen(why))) return;
}

void Kept::let_go() {
  for (int i = 0; i < count; ++i) close(list[i]);
  count = 0;
}

bool hand_over(int line, Head head, const int* descriptors, int count, Kept& kept) {
  if (send(line, head, descriptors, count)) {
    for (int i = 0; i < count; ++i) close(descriptors[i]);
    return true;
  }
  if (errno != ETOOMANYREFS || kept.count + count > descriptors_max) return false;
  uint64_t numbers[descriptors_max];
  for (int i = 0; i < count; ++i) numbers[i] = static_cast<uint64_t>(descriptors[i]);
  head.numbered_count = static_cast<uint32_t>(count);
  if (!send(line, head, nullptr, 0, reinterpret_cast<const char*>(numbers),
            sizeof(uint64_t) * static_cast<std::size_t>(count))) {
    return false;
  }
  for (int i = 0; i < count; ++i) kept.list[kept.count++] = descriptors[i];
  return true;
}

uint64_t Reader::number() {
  uint64_t value = 0;
  if (static_cast<std::size_t>(end_ - at_) < sizeof value) {
    at_ = end_;
    return 0;
  }
  memcpy(&value, at_, sizeof value);
  at_ += sizeof value;
  return value;
}

const char* Reader::text(std::size_t* bytes) {
  const uint64_t length = number();
  if (bytes != nullptr) *bytes = 0;
  if (length >= static_cast<uint64_t>(end_ - at_)) {
    at_ = end_;
    return "";
  }
  const char* const begin = at_;
  at_ += length + 1;
  if (bytes != nullptr) *bytes = length;
  return begin;
}

bool Trouble::say(const char* format, ...) {
  const int error = errno;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  const std::size_t length = strlen(what);
  snprintf(what + length, sizeof what - length, ": %s", strerror(error));
  return false;
}

}  // namespace sluice::sandbox::box
