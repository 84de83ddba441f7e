// A connection attempt to a host: resolves the name, checks its addresses, connects to exactly the address that was
// checked (to the next one if it does not answer), and does the TLS handshake if wanted. Used on the loop's thread
// only; destroying it cancels the attempt.
#pragma once

#include <memory>
#include <string>

#include "base/callback.h"
#include "base/lifetime.h"
#include "base/result.h"
#include "base/task.h"
#include "egress/shared_state.h"
#include "egress/stream.h"

namespace sluice::egress {

enum class Security : uint8_t { plain, tls };

class Dial final {
 public:
  using Dialed = Result<std::unique_ptr<Stream>>;
  // Fails with `denied` if the address is not allowed, `unavailable` with a reason otherwise. Called from the loop; it
  // may destroy this.
  using Done = Callback<void(Dialed)>;
  Dial(SharedState& shared, Requester requester, Destination to, Security security, Done done);

 private:
  Task<Dialed> dial(Requester requester);
  Task<Dialed> connect(Address address, std::size_t addresses_left);
  Task<Dialed> secure(std::unique_ptr<Stream> stream);
  Task<bool> leaves_state(Stream& stream, Stream::State state, int64_t ms_max);
  int64_t left_ms() const;

  SharedState& shared_;
  const Destination to_;
  const Security security_;
  Done done_;
  int64_t deadline_us_;
  world::Timer deadline_;
  Sequence dialing_;
  Lifetime lifetime_;  // of the lookup: it leaves the queue when this is destroyed
};

}  // namespace sluice::egress
