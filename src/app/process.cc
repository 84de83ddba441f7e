#include "app/process.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"
#include "installation/options.h"

namespace sluice::app {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

// Delivers signals as events of the loop.
class SignalWatch {
 public:
  SignalWatch(world::Reactor& reactor, Callback<void(int)> on_signal) : on_signal_(std::move(on_signal)) {
    const sigset_t set = stop_signals();
    fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    SLUICE_CHECK(fd_ >= 0);
    watch_ = reactor.watch(fd_, {.read = true}, [this](world::Ready) {
      signalfd_siginfo info{};
      while (read(fd_, &info, sizeof info) == sizeof info) on_signal_(static_cast<int>(info.ssi_signo));
    });
  }
  ~SignalWatch() {
    watch_.reset();
    close(fd_);
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  int fd_;
  Callback<void(int)> on_signal_;
  std::unique_ptr<world::Watch> watch_;
};

void prepare_process() {
  const sigset_t set = stop_signals();
  SLUICE_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  installation::raise_descriptor_limit();
}

Process::Process(const Config& config) : config_(config) {}
Process::~Process() = default;

Result<Unit> Process::open(const std::string& data_path, std::string_view version, Callback<void(int)> on_signal) {
  auto data = DataDir::open(data_path);
  if (!data) return data.error();
  data_.emplace(std::move(data).take());

  auto reactor = world::make_reactor();
  if (!reactor) return reactor.error();
  reactor_ = std::move(reactor).take();
  signals_ = std::make_unique<SignalWatch>(*reactor_, std::move(on_signal));
  entropy_ = world::make_system_entropy();
  log_ = installation::make_log(config_);
  ids_.emplace(*reactor_, *entropy_);
  metrics_.gauge("sluice_build_info", "The version that runs.", "version=\"" + std::string(version) + "\"").set(1);

  auto client = net::make_client(*reactor_, {config_.text("models.proxy"), config_.text("models.ca_file")});
  if (!client) return client.error();
  client_ = std::move(client).take();
  return Unit{};
}

Result<Unit> Listener::open(const Config& config, Process& process, net::BodyLimit body_limit,
                            RequestHandler& handler) {
  auto address = config::parse_listen_address(config.text("server.listen"));
  if (!address) return address.error();
  address_ = std::move(address).take();
  scheme_ = config.text("server.tls_cert").empty() ? "http://" : "https://";
  auto options = installation::server_options(config, address_, process.data().path());
  installation::log_connections_max(config, options, process.log());
  options.body_bytes_max_of = body_limit;
  options.doorkeeper = [&handler](const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) {
    handler.check_head(head, std::move(verdict));
  };
  auto server = net::serve(
      process.reactor(), std::move(options), [&handler](auto exchange) { handler.handle(std::move(exchange)); },
      [&handler](int status, std::string_view detail) { return handler.refusal(status, detail); }, process.metrics());
  if (!server) return server.error();
  server_ = std::move(server).take();
  return Unit{};
}

std::string public_base_url(const Config& config, std::string fallback) {
  auto url = config.text("server.public_base_url");
  if (url.empty()) url = std::move(fallback);
  while (url.ends_with('/')) url.pop_back();
  return url;
}

model::ModelChoice default_model(const Config& config) {
  return {config.text("models.default_provider"), config.text("models.default_model"), std::nullopt};
}

std::unique_ptr<station::Station> make_station(const Config& config, Process& process, AgentRuntime& runtime,
                                               std::string runner_key_sha256, std::vector<std::string> agent_urls,
                                               const std::string& base_url) {
  return station::make_station(
      {runtime.dispatcher(), process.client(), process.reactor(), process.ids(), process.log(), process.metrics()},
      {.runner_key_sha256 = std::move(runner_key_sha256),
       .agent_urls = std::move(agent_urls),
       .concurrent_max = static_cast<int>(config.integer("runner.concurrent_max")),
       .spool_bytes_max = static_cast<std::size_t>(config.integer("runner.spool_bytes_max")),
       .default_model = default_model(config),
       .public_base_url = base_url});
}

}  // namespace sluice::app
