// One question to the workspace and its whole answer.
#pragma once

#include <memory>
#include <string>

#include "net/net.h"

namespace sluice::station {

struct Fetched {
  int status = 0;
  std::string body;
};

class Fetch final : private net::CallListener {
 public:
  using Done = Callback<void(Result<Fetched>)>;

  // `done` comes once, never from inside; it may drop the Fetch. Dropping it drops the question. An
  // answer of more than `bytes_max` is an error.
  Fetch(net::Client& client, net::ClientRequest request, std::size_t bytes_max, Done done);

 private:
  void on_head(int status, const net::Headers& headers) override;
  void on_body(std::string_view bytes) override;
  void on_end(net::CallEnd end) override;

  const std::size_t bytes_max_;
  Done done_;
  Fetched fetched_;
  std::unique_ptr<net::Call> call_;
};

// What a refusal says of itself, for people: " with status 404: There is no such thing".
std::string words_of(const Fetched& refusal);

}  // namespace sluice::station
