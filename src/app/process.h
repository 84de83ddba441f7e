// The parts that a server and a runner have in common: data directory, event loop, signals, log, metrics, HTTP client;
// and the listening socket. Both are used from the main thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/agent_runtime.h"
#include "base/callback.h"
#include "config/config.h"
#include "installation/data_dir.h"
#include "net/net.h"
#include "station/station.h"
#include "world/world.h"

namespace sluice::app {

using config::Config;
using installation::DataDir;

class SignalWatch;

// Blocks SIGTERM and SIGINT for this thread and for threads that it starts later, and raises the limit of file
// descriptors. Call it before the first thread starts, because a signal could otherwise end the process through another
// thread. SIGPIPE and SIGXFSZ are ignored: a limit on the size of files then looks like a full disk, which is survived.
void prepare_process();

class Process {
 public:
  explicit Process(const Config& config);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Checks the configuration, then opens the parts. `on_signal` gets the number of each SIGTERM and SIGINT.
  Result<Unit> open(const std::string& data_path, std::string_view version, Callback<void(int)> on_signal);

  const DataDir& data() const { return *data_; }
  world::Reactor& reactor() { return *reactor_; }
  world::Entropy& entropy() { return *entropy_; }
  world::Log& log() { return *log_; }
  world::Metrics& metrics() { return metrics_; }
  world::IdSource& ids() { return *ids_; }
  net::Client& client() { return *client_; }

 private:
  const Config& config_;
  std::optional<DataDir> data_;
  std::unique_ptr<world::Reactor> reactor_;
  std::unique_ptr<SignalWatch> signals_;
  std::unique_ptr<world::Entropy> entropy_;
  std::unique_ptr<world::Log> log_;
  world::Metrics metrics_;
  std::optional<world::IdSource> ids_;
  std::unique_ptr<net::Client> client_;
};

// Decides about requests: before their body is read, after it was read, and when the HTTP server refuses one by itself.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  virtual void check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) = 0;
  virtual void handle(std::shared_ptr<net::Exchange> exchange) = 0;
  virtual net::Response refusal(int status, std::string_view detail) const = 0;
};

// The listening socket. Destroy it before the objects that the handler uses.
class Listener {
 public:
  // `handler` must outlive the listener.
  Result<Unit> open(const Config& config, Process& process, net::BodyLimit body_limit, RequestHandler& handler);
  // The URL as bound; and the URL that a client on this machine uses, where the address of all interfaces is loopback.
  std::string url() const { return scheme_ + address_.authority(server_->port()); }
  std::string local_url() const { return scheme_ + address_.local_authority(server_->port()); }
  net::Server& server() { return *server_; }

 private:
  std::string scheme_;
  config::ListenAddress address_;
  std::unique_ptr<net::Server> server_;
};

// server.public_base_url, or `fallback`; without a slash at the end.
std::string public_base_url(const Config& config, std::string fallback);

model::ModelChoice default_model(const Config& config);

// The station of a runner, or of a server, which carries dispatches for other servers beside its own runs.
// `runner_key_sha256` is the digest of the key that callers must present; empty: no key is needed.
std::unique_ptr<station::Station> make_station(const Config& config, Process& process, AgentRuntime& runtime,
                                               std::string runner_key_sha256, std::vector<std::string> agent_urls,
                                               const std::string& base_url);

}  // namespace sluice::app
