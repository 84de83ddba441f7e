#include <cstdio>
#include <cstdlib>
#include <ranges>

#include "app/app.h"
#include "app/process.h"
#include "base/digest.h"
#include "installation/options.h"

namespace sluice::app {
namespace {

using model::Slug;

constexpr Millis last_line_time{5'000};

bool is_loopback(const std::string& host) { return host.starts_with("127.") || host == "::1" || host == "localhost"; }

// Differs from the server's default, because both may be started in the same folder.
std::string data_path(const Config& config) {
  const auto& setting = config.settings().at("server.data");
  return setting.source == "default" ? "./sluice-runner-data" : setting.value;
}

bool is_station_path(std::string_view path) { return station::is_station_path(path, station::Mount::root); }

// The members are declared in order of dependency and are destroyed in reverse.
class Runner final : private RequestHandler {
 public:
  Runner(const Config& config, std::string_view version) : config_(config), version_(version), process_(config) {}

  Result<Unit> get_ready();
  int run();

 private:
  void check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) override;
  void handle(std::shared_ptr<net::Exchange> exchange) override;
  net::Response refusal(int status, std::string_view detail) const override;
  net::Response answer_to(const net::Request& request);
  net::Response problem(Slug slug, std::string_view detail, std::string_view path) const;
  bool may_read_metrics(const net::Request& request) const;
  void on_signal(int signal);

  const Config& config_;
  const std::string version_;
  Process process_;
  std::unique_ptr<AgentRuntime> runtime_;
  std::unique_ptr<station::Station> station_;
  Listener listener_;
  std::string base_url_;
  bool stopping_ = false;
};

Result<Unit> check_key(const Config& config) {
  const auto address = config::parse_listen_address(config.text("server.listen"));
  if (!address) return address.error();
  if (auto fine = installation::check_config(config); !fine) return fine;
  if (!config.text("runner.key").empty() || is_loopback(address.value().host)) return Unit{};
  return Error{ErrorKind::invalid,
               "a runner that other machines can reach needs a key, because its callers can run commands in its "
               "sandboxes. Set SLUICE_RUNNER_KEY, and runner.key of the servers that use it"};
}

Result<Unit> Runner::get_ready() {
  if (auto fine = check_key(config_); !fine) return fine;
  auto opened = process_.open(data_path(config_), version_, [this](int signal) { on_signal(signal); });
  if (!opened) return opened;
  auto runtime = AgentRuntime::open(
      config_, process_.data().path(),
      {process_.reactor(), process_.client(), process_.entropy(), process_.log(), process_.metrics()});
  if (!runtime) return runtime.error();
  runtime_ = std::move(runtime).take();
  if (auto listening = listener_.open(config_, process_, station::body_bytes_max_of, *this); !listening)
    return listening;
  base_url_ = public_base_url(config_, listener_.url());
  auto agent_urls = config_.list("runner.agent_urls");
  if (agent_urls.empty()) agent_urls = {"*"};
  const auto& key = config_.text("runner.key");
  station_ =
      make_station(config_, process_, *runtime_, key.empty() ? "" : sha256(key), std::move(agent_urls), base_url_);
  return Unit{};
}

void Runner::handle(std::shared_ptr<net::Exchange> exchange) {
  if (is_station_path(exchange->request().path)) return station_->handle(std::move(exchange));
  exchange->respond(answer_to(exchange->request()));
}

void Runner::check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) {
  verdict(is_station_path(head.path) ? station_->check_head(head) : answer_to(head));
}

net::Response Runner::answer_to(const net::Request& request) {
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
  return {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, process_.metrics().to_text()};
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
  // Of several problems with one status, the most general is listed last.
  for (const auto& entry : model::problem_registry() | std::views::reverse) {
    if (entry.status == status) return problem(entry.slug, detail, "");
  }
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string(detail) + "\n"};
}

int Runner::run() {
  std::printf("sluice: runner listening on %s\n", listener_.url().c_str());
  std::fflush(stdout);
  process_.log().write(world::LogLevel::info, "runner serving",
                       {{"url", base_url_}, {"version", version_}, {"data", process_.data().path()}});
  process_.reactor().run();
  process_.log().write(world::LogLevel::info, "stopped", {});
  return 0;
}

void Runner::on_signal(int signal) {
  if (stopping_ || !station_) std::_Exit(128 + signal);
  stopping_ = true;
  const Millis deadline{config_.integer("server.drain_seconds") * 1000};
  process_.log().write(world::LogLevel::info, "draining", {{"seconds", deadline.value / 1000}});
  // Callers must be able to reconnect for their lines, and to acknowledge them, until every line is delivered.
  station_->drain(deadline, [this] {
    // The last line of a dispatch that the station stopped at the deadline still has to be sent.
    listener_.server().drain(last_line_time, [this] { runtime_->close([this] { process_.reactor().stop(); }); });
  });
}

}  // namespace

int run_runner(const Config& config, std::string_view version) {
  prepare_process();
  Runner runner(config, version);
  if (const auto ready = runner.get_ready(); !ready) {
    std::fprintf(stderr, "sluice: %s\n", ready.error().what.c_str());
    return 1;
  }
  return runner.run();
}

}  // namespace sluice::app
