// One question to the workspace and its whole answer, asked again for a while where that does no harm.
#pragma once

#include <memory>
#include <string>

#include "net/net.h"
#include "world/world.h"

namespace sluice::station {

struct Fetched {
  int status = 0;
  std::string body;
  bool after_cut = false;  // an earlier answer broke off, so the workspace may have acted already
};

// For how long a workspace that cannot be reached is asked again: it may be about to start.
struct Patience {
  world::Loop& loop;
  Millis span{0};
};

class Fetch final : private net::CallListener {
 public:
  using Done = Callback<void(Result<Fetched>)>;

  // `done` comes once, never from inside; it may drop the Fetch. Dropping it drops the question. An
  // answer of more than `bytes_max` is an error.
  Fetch(net::Client& client, net::ClientRequest request, std::size_t bytes_max, Patience patience, Done done);

 private:
  void on_head(int status, const net::Headers& headers) override;
  void on_body(std::string_view bytes) override;
  void on_end(net::CallEnd end) override;
  // The request can be repeated without harm: it did not arrive, it only reads, or it was postponed.
  bool can_repeat(const net::CallEnd& end) const;
  void ask();

  net::Client& client_;
  const net::ClientRequest request_;
  const std::size_t bytes_max_;
  const Patience patience_;
  const int64_t began_us_;
  Done done_;
  world::Timer again_;
  Fetched fetched_;
  std::unique_ptr<net::Call> call_;
};

// What a refusal says of itself, for people: " with status 404: There is no such thing".
std::string words_of(const Fetched& refusal);

}  // namespace sluice::station
