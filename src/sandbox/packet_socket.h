// The server's end of a socket to the box program (box/protocol.h): it sends and receives whole messages with
// descriptors, and never blocks. Used on the loop's thread only.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/callback.h"
#include "base/fd.h"
#include "base/lifetime.h"
#include "sandbox/box/protocol.h"
#include "world/world.h"

namespace sluice::sandbox {

// Builds a payload as box/protocol.h describes it.
class Payload final {
 public:
  Payload& number(uint64_t value);
  Payload& text(std::string_view bytes);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

struct Packet {
  box::Head head;
  std::vector<OwnedFd> descriptors;
  std::string payload;
};

// Destroying it closes the socket, also inside a callback.
//
// No packet is lost while the socket is open: a packet for which the kernel has no memory or no descriptor is sent
// again later, and one that cannot be sent at all, or not for 10 seconds, closes the socket.
class PacketSocket final {
 public:
  struct Pair {
    OwnedFd ours;
    OwnedFd theirs;
  };
  // Empty, with the reason in errno, if no descriptor is left.
  static std::optional<Pair> make_pair();

  PacketSocket(world::Reactor& reactor, OwnedFd socket, Callback<void(Packet)> on_packet, Callback<void()> ended);

  void send(Packet packet);

  // For the first packets, which are exchanged before the loop runs. Waits at most `deadline_ms`.
  static bool send_at_once(int socket, Packet packet);
  static bool receive_at_once(int socket, Packet& packet, int deadline_ms);

 private:
  enum class Outcome : uint8_t {
    done,
    later,  // the other end has not read enough yet
    again,  // memory or descriptors are short; the kernel does not report when that is over
    broken
  };
  static Outcome put(int socket, const Packet& packet);
  static Outcome get(int socket, Packet& packet);
  void on_ready(world::Ready ready);
  void flush();
  void try_again();
  void give_up();
  void read();

  world::Reactor& reactor_;
  const OwnedFd socket_;
  Callback<void(Packet)> on_packet_;
  Callback<void()> ended_;
  std::deque<Packet> waiting_;
  int64_t short_since_us_ = -1;  // of memory or descriptors; -1: not short
  world::Timer again_;
  Lifetime lifetime_;
  std::unique_ptr<world::Watch> watch_;
};

}  // namespace sluice::sandbox
