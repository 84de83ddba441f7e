// The way out of a sandbox that may reach one host and one port. Whoever breaks out of git by what a server sent finds
// no network there, only this; and this dials that host alone, at an address that was looked up and judged here.
#pragma once

#include <list>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/result.h"
#include "egress/dial.h"
#include "egress/egress.h"
#include "egress/house.h"
#include "egress/socks.h"
#include "egress/stream.h"
#include "egress/tunnel.h"

namespace sluice::egress {

// One connection, from its first byte to its last.
class SingleHostPassage final {
 public:
  struct Owner {
    Asker asker;                                   // whose turn a lookup is
    Callback<void(std::optional<Error>)> on_dial;  // how it went
    Callback<void()> on_over;                      // once, perhaps from inside a callback of this: drop it later
  };
  // All must outlive this.
  SingleHostPassage(House& house, const SingleHost& to, OwnedFd fd, Owner owner);

 private:
  enum class Phase : uint8_t { greeting, request, dialing, tunnelling, lingering, over };

  void pump();
  // True: there may be more to do at once.
  bool advance();
  bool take_greeting();
  bool take_request();
  void dial();
  void on_dialed(Result<std::unique_ptr<Stream>> dialed);
  void refuse(SocksReply reply);
  void enter(Phase phase, int64_t patience_ms);
  void watch_idleness();
  void end();

  House& house_;
  const SingleHost& to_;
  Owner owner_;
  Stream client_;
  Phase phase_ = Phase::greeting;
  int64_t moved_us_ = 0;  // when anything last happened
  std::unique_ptr<Dial> dial_;
  std::unique_ptr<Tunnel> tunnel_;
  world::Timer timer_;
  world::Timer lifetime_;
};

std::unique_ptr<SingleHostWay> make_single_host_way(std::shared_ptr<House> house, OwnedFd listener_fd, SingleHost to);

}  // namespace sluice::egress
