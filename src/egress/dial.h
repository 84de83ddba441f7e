// A connection being made: resolve, check, connect to exactly what was checked (the next address when
// one does not answer), then TLS if it is wanted. Dropping it gives up.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "egress/house.h"
#include "egress/stream.h"

namespace sluice::egress {

enum class Security : uint8_t { plain, tls };

class Dial final {
 public:
  // `denied`: the address must not be reached. `unavailable`: it did not work, in words. Comes from the loop and may
  // drop this.
  using Done = Callback<void(Result<std::unique_ptr<Stream>>)>;
  Dial(House& house, const Asker& asker, Destination to, Security security, Done done);
  ~Dial();

 private:
  void on_resolved(Result<std::vector<Address>> addresses);
  void try_next();
  void on_change();
  void give_up(std::string words) { finish(Error{ErrorKind::unavailable, std::move(words)}); }
  void finish(Result<std::unique_ptr<Stream>> result);

  House& house_;
  const Destination to_;
  const Security security_;
  Done done_;
  std::shared_ptr<Dial*> self_;  // a resolution under way looks here whether anybody still waits
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
