// The HTTP API of a runner: POST /stream (S-1). It redeems the one-time tokens, passes the work to a dispatcher, sends
// what happens as lines, uploads files, and ends the work when the caller disconnects (S-10), or when the caller does
// not re-attach in the time that it asked for: GET, DELETE /stream/{dispatch} and POST /stream/{dispatch}/ack. GET
// /healthz reports the free slots; POST /drain stops new dispatches.
//
// `sluice runner` and `sluice serve` have one each, used on the loop's thread. It has no store, does not know how an
// agent works (runner), and does not define the lines (dispatch/envelope.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/dispatch.h"
#include "net/net.h"
#include "world/world.h"

namespace sluice::station {

struct StationOptions {
  std::string runner_key_sha256;  // 32 raw bytes; empty: no key is needed
  // Where agent_url may lead: the beginnings of URLs, or "*" for anywhere.
  std::vector<std::string> agent_urls;
  int concurrent_max = 64;
  std::size_t spool_bytes_max = 16 * 1024 * 1024;  // lines kept of one dispatch; then its agent waits
  model::ModelChoice default_model{"offline", "offline", std::nullopt};  // default of a configuration without a model
  std::string public_base_url;                                           // for the `type` of problems
};

struct StationNeeds {
  dispatch::Dispatcher& dispatcher;
  net::Client& client;
  world::Loop& loop;
  world::IdSource& ids;
  world::Log& log;
  world::Metrics& metrics;
};

class Station {
 public:
  virtual ~Station() = default;
  // Handles a request to one of its paths; a prefix of the path is ignored.
  virtual void handle(std::shared_ptr<net::Exchange> exchange) = 0;
  // The refusal of a request to one of its paths before its body is read; empty: the body is accepted.
  virtual std::optional<net::Response> check_head(const net::Request& head) = 0;
  // Accepts no more dispatches (503). Calls `done` when no work is left and every line is acknowledged, or at the
  // deadline, when the rest is stopped. Callers must be able to re-attach until then.
  virtual void drain(Millis deadline, Callback<void()> done) = 0;
};

// Where a process serves the paths of a station: "/stream", "/stream/ID", "/stream/ID/ack", "/healthz", "/drain".
enum class Mount : unsigned char {
  root,           // `sluice runner`: directly
  below_sandbox,  // `sluice serve`: below "/sandbox", beside the API
};
bool is_station_path(std::string_view path, Mount mount);
// The largest body that a request to a station's path may have, for net::ServerOptions; 0: the default.
std::size_t body_bytes_max_of(std::string_view method, std::string_view path);

std::unique_ptr<Station> make_station(StationNeeds needs, StationOptions options);

}  // namespace sluice::station
