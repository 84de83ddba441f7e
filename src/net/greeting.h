// The beginning of a connection, until it is known what the client speaks: TLS says so in its handshake,
// in the clear the first bytes do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/connection.h"
#include "net/server_context.h"
#include "net/transport.h"

namespace sluice::net {

class Greeting final : public Connection, public std::enable_shared_from_this<Greeting> {
 public:
  Greeting(ServerContext& context, std::unique_ptr<Transport> transport, Caller caller);

  void begin();
  void drain() override { close(); }
  void close() override;
  const Caller& caller() const override { return caller_; }

 private:
  void on_ready(world::Ready ready);
  void shake_hands();
  void read_first_bytes();
  void settle(Protocol protocol);

  ServerContext& context_;
  std::unique_ptr<Transport> transport_;  // null: it is over
  Caller caller_;
  std::string received_;  // fewer bytes than tell
  std::unique_ptr<world::Watch> watch_;
  world::Timer limit_;
  int64_t due_us_ = 0;  // an open connection owes us a request by then
  bool shaken_ = false;
};

}  // namespace sluice::net
