// What the server knows of a connection, whatever is spoken on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "net/callers.h"

namespace sluice::net {

// Closing with unread input makes the kernel send a reset, which can overtake the answer. So the
// client gets this long to read it and to close first.
constexpr int64_t linger_ms_max = 2'000;
// A client that sends as fast as we read must not keep the loop from the others.
constexpr int reads_per_turn_max = 16;
// Up to here copying a body behind its head is cheaper than a piece of its own.
constexpr std::size_t copied_body_bytes_max = 4 * 1024;

class Connection {
 public:
  virtual ~Connection() = default;
  // The server wants no more requests: ends at once if idle, else after the answers in flight.
  virtual void drain() = 0;
  // Ends at once; exchanges in flight learn that their peer is gone.
  virtual void close() = 0;

  virtual const Caller& caller() const = 0;
  // Of answers that the peer has not taken: what closing it would free.
  std::size_t unread_bytes() const { return unread_bytes_; }
  // The peer had the chance to take it, and did not.
  virtual bool is_behind() const { return false; }

 protected:
  std::size_t unread_bytes_ = 0;  // as the server has counted it
};

}  // namespace sluice::net
