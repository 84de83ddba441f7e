// What the server knows of a connection, whatever is spoken on it.
#pragma once

namespace sluice::net {

class Connection {
 public:
  virtual ~Connection() = default;
  // The server wants no more requests: ends at once if idle, else after the answers in flight.
  virtual void drain() = 0;
  // Ends at once; exchanges in flight learn that their peer is gone.
  virtual void close() = 0;
};

}  // namespace sluice::net
