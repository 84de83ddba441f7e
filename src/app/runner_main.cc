#include "app/runner_main.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <ranges>

#include "app/data_dir.h"
#include "app/hands.h"
#include "app/listen_address.h"
#include "app/parts.h"
#include "app/signals.h"
#include "base/digest.h"
#include "net/net.h"
#include "station/station.h"
#include "world/world.h"

namespace sluice::app {
namespace {

using model::Slug;

constexpr Millis last_line_time{5'000};

bool is_loopback(const std::string& host) { return host.starts_with("127.") || host == "::1" || host == "localhost"; }

// Not the server's own default: both may be started in the same place.
std::string data_path(const Config& config) {
  const auto& setting = config.settings().at("server.data");
  return setting.source == "default" ? "./sluice-runner-data" : setting.value;
}

bool is_of_station(std::string_view path) {
  const bool is_front = path == "/stream" || path.starts_with("/stream/") || path == "/healthz" || path == "/drain";
  return is_front && station::is_station_path(path);
}

// Every part, in floor order; they go in reverse.
class Runner final {
 public:
  Runner(const Config& config, std::string_view version) : config_(config), version_(version) {}

  Result<Unit> get_ready();
  int run();

 private:
  Result<Unit> open_ground();
  Result<Unit> listen();
  void build_station();
  void handle(std::shared_ptr<net::Exchange> exchange);
  std::optional<net::Response> check_head(const net::Request& head) const;
  net::Response answer_to(const net::Request& request) const;
  net::Response problem(Slug slug, std::string_view detail, std::string_view path) const;
  net::Response refusal(int status, std::string_view detail) const;
  bool may_read_metrics(const net::Request& request) const;
  void on_signal(int signal);
  std::string url() const {
    return (config_.text("server.tls_cert").empty() ? "http://" : "https://") + address_.authority(server_->port());
  }

  const Config& config_;
  const std::string version_;

  std::optional<DataDir> data_;
  std::unique_ptr<world::Reactor> reactor_;
  std::unique_ptr<SignalWatch> signals_;
  std::unique_ptr<world::Entropy> entropy_;
  std::unique_ptr<world::Log> log_;
  world::Metrics metrics_;
  std::optional<world::IdSource> ids_;
  std::unique_ptr<net::Client> client_;
  std::unique_ptr<Hands> hands_;
  std::unique_ptr<station::Station> station_;
  ListenAddress address_;
  std::unique_ptr<net::Server> server_;

  std::string base_url_;
  bool stopping_ = false;
};

Result<Unit> Runner::get_ready() {
  if (auto ready = open_ground(); !ready) return ready;
  if (auto ready = listen(); !ready) return ready;
  build_station();
  return Unit{};
}

Result<Unit> Runner::open_ground() {
  auto address = parse_listen_address(config_.text("server.listen"));
  if (!address) return address.error();
  address_ = std::move(address).take();
  if (auto fine = check_config(config_); !fine) return fine;
  if (config_.text("runner.key").empty() && !is_loopback(address_.host)) {
    return Error{ErrorKind::invalid,
                 "a runner that others can reach needs a key: whoever reaches it can run commands in its boxes. Set "
                 "SLUICE_RUNNER_KEY, and runner.key of the servers that use it"};
  }
  auto data = DataDir::open(data_path(config_));
  if (!data) return data.error();
  data_.emplace(std::move(data).take());

  auto reactor = world::make_reactor();
  if (!reactor) return reactor.error();
  reactor_ = std::move(reactor).take();
  signals_ = std::make_unique<SignalWatch>(*reactor_, [this](int signal) { on_signal(signal); });
  entropy_ = world::make_system_entropy();
  log_ = make_log(config_);
  ids_.emplace(*reactor_, *entropy_);
  metrics_.gauge("sluice_build_info", "The version that runs.", "version=\"" + version_ + "\"").set(1);

  auto client = net::make_client(*reactor_, {config_.text("models.proxy"), config_.text("models.ca_file")});
  if (!client) return client.error();
  client_ = std::move(client).take();
  auto hands = Hands::open(config_, data_->path(), {*reactor_, *client_, *entropy_, *log_, metrics_});
  if (!hands) return hands.error();
  hands_ = std::move(hands).take();
  return Unit{};
}

Result<Unit> Runner::listen() {
  auto options = server_options(config_, address_, data_->path());
  log_connections_max(config_, options, *log_);
  options.body_bytes_max_of = station::body_bytes_max_of;
  options.doorkeeper = [this](const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) {
    verdict(check_head(head));
  };
  auto server = net::serve(
      *reactor_, std::move(options), [this](auto exchange) { handle(std::move(exchange)); },
      [this](int status, std::string_view detail) { return refusal(status, detail); }, metrics_);
  if (!server) return server.error();
  server_ = std::move(server).take();
  base_url_ = config_.text("server.public_base_url");
  if (base_url_.empty()) base_url_ = url();
  while (base_url_.ends_with('/')) base_url_.pop_back();
  return Unit{};
}

void Runner::build_station() {
  const auto& key = config_.text("runner.key");
  auto agent_urls = config_.list("runner.agent_urls");
  if (agent_urls.empty()) agent_urls = {"*"};
  station_ = station::make_station(
      {hands_->dispatcher(), *client_, *reactor_, *ids_, *log_, metrics_},
      {.runner_key_sha256 = key.empty() ? "" : sha256(key),
       .agent_urls = std::move(agent_urls),
       .concurrent_max = static_cast<int>(config_.integer("runner.concurrent_max")),
       .spool_bytes_max = static_cast<std::size_t>(config_.integer("runner.spool_bytes_max")),
       .default_model = {config_.text("models.default_provider"), config_.text("models.default_model"), std::nullopt},
       .public_base_url = base_url_});
}

void Runner::handle(std::shared_ptr<net::Exchange> exchange) {
  if (is_of_station(exchange->request().path)) return station_->handle(std::move(exchange));
  exchange->respond(answer_to(exchange->request()));
}

std::optional<net::Response> Runner::check_head(const net::Request& head) const {
  return is_of_station(head.path) ? station_->check_head(head) : answer_to(head);
}

net::Response Runner::answer_to(const net::Request& request) const {
  constexpr std::string_view json = "application/json";
  const bool is_readiness = request.path == "/readyz";
  const bool is_metrics = request.path == "/metrics";
  if (!is_readiness && !is_metrics) {
    return problem(Slug::not_found, "A runner has /stream, /drain, /healthz, /readyz and /metrics.", request.path);
  }
  if (request.method != "GET" && request.method != "HEAD") {
    auto refused = problem(Slug::method_not_allowed, "Use GET.", request.path);
    refused.headers.add("Allow", "GET, HEAD");
    return refused;
  }
  if (is_readiness && stopping_) return problem(Slug::unavailable, "The runner is about to stop.", request.path);
  if (is_readiness) return {200, {{"Content-Type", std::string(json)}}, R"({"status":"ready"})"};
  if (!may_read_metrics(request)) {
    return problem(Slug::unauthenticated, "Send the runner's key as bearer, or set server.metrics_public.",
                   request.path);
  }
  return {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, metrics_.to_text()};
}

bool Runner::may_read_metrics(const net::Request& request) const {
  const auto& key = config_.text("runner.key");
  if (key.empty() || config_.boolean("server.metrics_public")) return true;
  if (request.headers.count("Authorization") > 1) return false;
  const auto given = request.headers.find("Authorization").value_or("");
  return equal_in_constant_time(sha256(given), sha256("Bearer " + key));
}

net::Response Runner::problem(Slug slug, std::string_view detail, std::string_view path) const {
  net::Response response{model::entry_of(slug).status, {{"Content-Type", "application/problem+json"}}, ""};
  model::append_json(response.body, {.slug = slug, .detail = std::string(detail)}, {base_url_, path, ""});
  return response;
}

net::Response Runner::refusal(int status, std::string_view detail) const {
  // Of several with one status the most general stands last.
  for (const auto& entry : model::problem_registry() | std::views::reverse) {
    if (entry.status == status) return problem(entry.slug, detail, "");
  }
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string(detail) + "\n"};
}

int Runner::run() {
  std::printf("sluice: runner listening on %s\n", url().c_str());
  std::fflush(stdout);
  log_->write(world::LogLevel::info, "runner serving",
              {{"url", base_url_}, {"version", version_}, {"data", data_->path()}});
  reactor_->run();
  log_->write(world::LogLevel::info, "stopped", {});
  return 0;
}

void Runner::on_signal(int signal) {
  if (stopping_ || !station_) std::_Exit(128 + signal);
  stopping_ = true;
  const Millis deadline{config_.integer("server.drain_seconds") * 1000};
  log_->write(world::LogLevel::info, "draining", {{"seconds", deadline.value / 1000}});
  // Callers must be able to come back for their lines, and to acknowledge them, until all are safe.
  station_->drain(deadline, [this] {
    // What the station ended at the deadline still has a last line to tell.
    server_->drain(last_line_time, [this] { hands_->close([this] { reactor_->stop(); }); });
  });
}

}  // namespace

int run_runner(const Config& config, std::string_view version) {
  take_signals_from_threads();
  raise_descriptor_limit();
  Runner runner(config, version);
  if (const auto ready = runner.get_ready(); !ready) {
    std::fprintf(stderr, "sluice: %s\n", ready.error().what.c_str());
    return 1;
  }
  return runner.run();
}

}  // namespace sluice::app
