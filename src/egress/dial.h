// A connection attempt to a host: resolves the name, checks its addresses, connects to exactly the address that was
// checked (to the next one if it does not answer), and does the TLS handshake if wanted. Used on the loop's thread
// only; destroying it cancels the attempt.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "egress/shared_state.h"
#include "egress/stream.h"

namespace sluice::egress {

enum class Security : uint8_t { plain, tls };

class Dial final {
 public:
  // Fails with `denied` if the address is not allowed, `unavailable` with a reason otherwise. Called from the loop; it
  // may destroy this.
  using Done = Callback<void(Result<std::unique_ptr<Stream>>)>;
  Dial(SharedState& shared, const Requester& requester, Destination to, Security security, Done done);
  ~Dial();

 private:
  void on_resolved(Result<std::vector<Address>> addresses);
  void try_next();
  void on_change();
  void give_up(std::string words) { finish(Error{ErrorKind::unavailable, std::move(words)}); }
  void finish(Result<std::unique_ptr<Stream>> result);

  SharedState& shared_;
  const Destination to_;
  const Security security_;
  Done done_;
  std::shared_ptr<Dial*> self_;  // expires with this, so that a lookup under way is dropped
  std::vector<Address> addresses_;
  std::size_t next_ = 0;
  std::string last_fault_ = "no address";
  std::unique_ptr<Stream> stream_;
  bool secured_ = false;
  int64_t deadline_us_;
  world::Timer deadline_;
  world::Timer attempt_;
};

}  // namespace sluice::egress
