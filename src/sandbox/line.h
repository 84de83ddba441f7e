// The server's end of a socket to the box program: whole messages, with descriptors, that never block.
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
#include "sandbox/box/protocol.h"
#include "world/world.h"

namespace sluice::sandbox {

// Puts a payload together, as box/protocol.h describes it.
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

// Dropping it closes the line. Inside a callback it may be dropped.
//
// Nothing that is sent gets lost on the way while the line goes on: a packet that the kernel has no memory or no
// descriptor for is tried again, and one that cannot be sent at all, or not for 10 seconds, ends the line.
class Line final {
 public:
  struct Pair {
    OwnedFd ours;
    OwnedFd theirs;
  };
  // Empty, and errno says why, when no descriptor is left.
  static std::optional<Pair> make_pair();

  Line(world::Reactor& reactor, OwnedFd line, Callback<void(Packet)> heard, Callback<void()> ended);

  void send(Packet packet);

  // For the first words, before there is a loop that runs. `deadline_ms` is how long to wait at most.
  static bool send_at_once(int line, Packet packet);
  static bool receive_at_once(int line, Packet& packet, int deadline_ms);

 private:
  enum class Outcome : uint8_t {
    done,
    later,  // the other end has not read enough yet
    again,  // the machine is short of something, of which nothing tells when it is there again
    broken
  };
  static Outcome put(int line, const Packet& packet);
  static Outcome get(int line, Packet& packet);
  void on_ready(world::Ready ready);
  void flush();
  void try_again();
  void give_up();
  void read();

  world::Reactor& reactor_;
  const OwnedFd line_;
  Callback<void(Packet)> heard_;
  Callback<void()> ended_;
  std::deque<Packet> waiting_;
  int64_t short_since_us_ = -1;  // of memory or descriptors; -1: we are not
  world::Timer again_;
  const std::shared_ptr<int> alive_ =
      std::make_shared<int>(0);  // shared with callbacks under way, which look if we are
  std::unique_ptr<world::Watch> watch_;
};

}  // namespace sluice::sandbox
