// The runner's own surface: POST /stream (S-1). It redeems the one-time tokens, hands the work to a
// dispatcher, writes what happens as lines, sends files back, and kills everything when the caller
// leaves (S-10), or when it does not come back in the time that it asked for: GET, DELETE /stream/{dispatch} and
// POST /stream/{dispatch}/ack. GET /healthz says how much more it can take; POST /drain that it is to take no more.
//
// The same in `sluice runner` and inside `sluice serve`; it knows no store.
// Not its business: how an agent works (runner), what the lines look like (harness/envelope.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/harness.h"
#include "net/net.h"
#include "world/world.h"

namespace sluice::station {

struct StationOptions {
  std::string runner_key_sha256;  // 32 raw bytes; empty: whoever reaches it may use it
  // Where agent_url may lead: the beginnings of URLs, or "*" for anywhere.
  std::vector<std::string> agent_urls;
  int concurrent_max = 64;
  std::size_t spool_bytes_max = 16 * 1024 * 1024;  // lines kept of one dispatch; then its agent waits
  model::ModelChoice default_model{"offline", "offline", std::nullopt};  // of a config that names none
  std::string public_base_url;                                           // for the `type` of problems
};

struct StationNeeds {
  harness::Dispatcher& dispatcher;
  net::Client& client;
  world::Loop& loop;
  world::IdSource& ids;
  world::Log& log;
  world::Metrics& metrics;
};

class Station {
 public:
  virtual ~Station() = default;
  // A request to one of its paths, whatever the path before it.
  virtual void handle(std::shared_ptr<net::Exchange> exchange) = 0;
  // What a request to one of its paths is answered before its body has come; nothing: the body may come.
  virtual std::optional<net::Response> check_head(const net::Request& head) = 0;
  // Takes no more (503). `done` when nothing is at work and every line is safe with its caller; or at the deadline,
  // when the rest is stopped. Callers must be able to come back until then.
  virtual void drain(Millis deadline, Callback<void()> done) = 0;
};

// Whether this path is a station's: "/stream", "/stream/ID", "/stream/ID/ack", "/healthz", "/drain".
bool is_station_path(std::string_view path);
// For net::ServerOptions.
std::size_t body_bytes_max_of(std::string_view method, std::string_view path);

std::unique_ptr<Station> make_station(StationNeeds needs, StationOptions options);

}  // namespace sluice::station
