#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "api/api.h"
#include "app/app.h"
#include "app/materials.h"
#include "app/process.h"
#include "app/start_warnings.h"
#include "app/tidy_pace.h"
#include "base/digest.h"
#include "cli/cli.h"
#include "engine/engine.h"
#include "files/files.h"
#include "flow/flow.h"
#include "installation/bootstrap.h"
#include "installation/options.h"
#include "installation/vault_key.h"
#include "net/net.h"
#include "notices/notices.h"
#include "remote/remote.h"
#include "station/station.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::app {
namespace {

using installation::FirstStart;

api::Rate request_rate(const Config& config) {
  return {static_cast<double>(config.integer("limits.requests_per_second")), config.integer("limits.burst")};
}

api::Rate wrong_key_rate(const Config& config) {
  const auto per_minute = config.integer("limits.wrong_keys_per_minute");
  return {static_cast<double>(per_minute) / 60, std::max<int64_t>(per_minute, 1)};
}

bool is_station_path(std::string_view path) { return station::is_station_path(path, station::Mount::below_sandbox); }

std::size_t body_bytes_max_of(std::string_view method, std::string_view path) {
  return is_station_path(path) ? station::body_bytes_max_of(method, path) : api::body_bytes_max_of(method, path);
}

// Creates executions for callers of the API, in the same way as for the server's own dispatches to runners.
class ServerMint final : public api::ExecutionMint {
 public:
  ServerMint(remote::MintOptions options, Process& process) : options_(std::move(options)), process_(process) {}

  api::MintedExecution make(const dispatch::Dispatch& dispatch, model::TenantId tenant) override {
    auto minted =
        remote::mint(dispatch, tenant, options_, process_.ids(), process_.entropy(), process_.reactor().now());
    return {std::move(minted.execution), std::move(minted.bearer),     std::move(minted.otp_setup),
            std::move(minted.otp_run),   std::move(minted.otp_upload), std::move(minted.agent_url),
            std::move(minted.hashed)};
  }
  std::string config_answer(const model::Execution& execution) override {
    return remote::config_answer(execution, options_.bearer_secret);
  }

 private:
  remote::MintOptions options_;
  Process& process_;
};

// Secrets that are derived from the admin key: they are valid again after a restart and are stored nowhere.
class DerivedSecrets {
 public:
  explicit DerivedSecrets(const std::string& admin_key) : admin_key_(admin_key) {}
  std::string console_session_root() const { return derive("console sessions\n"); }
  std::string run_bearer_root() const { return derive("bearers of boxes\n"); }
  std::string webhook_signing_root() const { return derive("webhooks\n"); }
  std::string callback_bearer_secret() const { return derive("callback bearers\n"); }

 private:
  std::string derive(std::string_view purpose) const { return sha256(std::string(purpose) + admin_key_); }

  const std::string& admin_key_;
};

// The members are declared in order of dependency and are destroyed in reverse.
class Serving final : private RequestHandler {
 public:
  Serving(const Config& config, std::string_view version, std::string_view program)
      : config_(config), version_(version), program_(program), process_(config) {}

  Result<Unit> get_ready();
  int run();

 private:
  Result<Unit> open_store();
  Result<Unit> open_bootstrap();
  Result<Unit> open_agent_runtime();
  void build_engine();
  void build_surfaces();
  api::ApiOptions api_options();
  dispatch::Dispatcher& build_dispatcher();
  Result<Unit> recover();
  void announce();
  // A command of this program for this server, to paste into a terminal.
  std::string command(std::string_view words) const;

  void check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) override;
  void handle(std::shared_ptr<net::Exchange> exchange) override;
  net::Response refusal(int status, std::string_view detail) const override;
  void on_signal(int signal);
  void tidy_up_after(Millis delay);
  // Whether runs can have a sandbox: on this machine or on a runner.
  bool has_sandbox() const { return runtime_->has_sandbox() || !config_.list("runner.urls").empty(); }
  bool has_tls() const { return !config_.text("server.tls_cert").empty(); }
  std::function<std::string(const model::Agent&)> fault_of_model() const;
  std::string runner_key() const;
  std::vector<net::Header> sign_webhook(model::TenantId tenant, std::string_view body, Timestamp at) const;
  std::vector<std::string> agent_urls() const;
  remote::MintOptions mint_options() const;
  // Valid after open_bootstrap().
  DerivedSecrets secrets() const { return DerivedSecrets(opening_.bootstrap.admin_key); }
  world::Log& log() { return process_.log(); }

  const Config& config_;
  const std::string version_;
  const std::string program_;

  Process process_;
  world::Counter& store_operations_ =
      process_.metrics().counter("sluice_store_operations_total", "Write operations that were in them.");
  std::optional<world::DiskRoom> disk_;
  std::unique_ptr<store::Store> store_;
  std::optional<DebtFigures> tidy_debt_;  // empty until the store has registered its figures
  installation::Opening opening_;
  std::unique_ptr<vault::Sealer> sealer_;
  std::unique_ptr<notices::Post> post_;
  Callback<void()> noticed_ = [this] { post_->nudge(); };
  std::unique_ptr<files::Contents> contents_;
  std::unique_ptr<AgentRuntime> runtime_;
  std::unique_ptr<dispatch::Dispatcher> remote_;  // null: all runs are executed in this process
  std::optional<RunMaterials> materials_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<flow::Flows> flows_;
  std::unique_ptr<station::Station> station_;
  std::optional<ServerMint> mint_;
  std::unique_ptr<api::Api> api_;
  Listener listener_;

  std::string base_url_;
  bool open_ = false;  // recovery is done and requests are accepted
  int still_draining_ = 0;
  bool stopping_ = false;
  world::Timer tidy_timer_;
};

Result<Unit> Serving::get_ready() {
  if (auto address = config::parse_listen_address(config_.text("server.listen")); !address) return address.error();
  if (auto fine = installation::check_config(config_); !fine) return fine;
  auto opened = process_.open(config_.text("server.data"), version_, [this](int signal) { on_signal(signal); });
  if (!opened) return opened;
  if (auto ready = open_store(); !ready) return ready;
  if (auto ready = open_agent_runtime(); !ready) return ready;
  if (auto ready = open_bootstrap(); !ready) return ready;

  // The port is opened before recovery, because problems that recovery writes contain the server's URL. Until recovery
  // is done, every request is answered with 503.
  if (auto ready = listener_.open(config_, process_, body_bytes_max_of, *this); !ready) return ready;
  base_url_ = public_base_url(config_, listener_.local_url());
  build_engine();
  build_surfaces();
  post_->nudge();
  log_damage(config_, process_.data().path(), log());
  if (auto ready = recover(); !ready) return std::move(ready.error()).in("recover");
  api_->adopt_unfinished();
  opening_.bootstrap.base_url = base_url_;
  if (auto kept = installation::keep_bootstrap(process_.data(), opening_.bootstrap); !kept) return kept;
  open_ = true;
  warn_of_unsigned_approvals(*store_, log());
  return Unit{};
}

Result<Unit> Serving::open_store() {
  const auto& data = process_.data();
  disk_.emplace(data.path(), config_.integer("limits.disk_free_bytes_min"), process_.reactor(), process_.metrics());
  auto store = installation::open_store(config_, data.file("sluice.db"), process_.ids().make<model::NodeId>(),
                                        process_.reactor(), process_.metrics());
  if (!store) return store.error();
  store_ = std::move(store).take();
  tidy_debt_.emplace(process_.metrics());

  auto sealer = installation::open_sealer(config_, {data, *store_, process_.reactor(), process_.entropy()});
  if (!sealer) return sealer.error();
  sealer_ = std::move(sealer).take();
  return Unit{};
}

Result<Unit> Serving::open_agent_runtime() {
  auto contents = installation::open_contents(config_, process_.data().path());
  if (!contents) return contents.error();
  contents_ = std::move(contents).take();
  auto runtime =
      AgentRuntime::open(config_, process_.data().path(),
                         {process_.reactor(), process_.client(), process_.entropy(), log(), process_.metrics(),
                          [this](auto tenant, auto body, auto at) { return sign_webhook(tenant, body, at); }});
  if (!runtime) return runtime.error();
  runtime_ = std::move(runtime).take();
  return Unit{};
}

Result<Unit> Serving::open_bootstrap() {
  auto& reactor = process_.reactor();
  auto opening = installation::open_bootstrap(
      {process_.data(), *store_, reactor, process_.ids(), process_.entropy(), *sealer_}, default_model(config_),
      config_.text("server.admin_key"), installation::is_shared_store(config_));
  if (!opening) return opening.error();
  opening_ = std::move(opening).take();
  auto agreed = installation::agree_on_admin_key(*store_, reactor, opening_.bootstrap.admin_key);
  // A server that made the tenants in the meantime has sealed secrets, perhaps under another key.
  if (!agreed || opening_.first_start != FirstStart::joined) return agreed;
  return installation::check_seals(*store_, reactor, *sealer_);
}

dispatch::Dispatcher& Serving::build_dispatcher() {
  if (!has_sandbox()) {
    log().write(world::LogLevel::warn, "agents have no sandbox",
                {{"why", "sandbox.driver is " + config_.text("sandbox.driver") +
                             ", and neither runner.urls nor SANDBOX_URL names a runner"},
                 {"then", "agents blocks and calls of tools fail, unless they name a runner"}});
  }
  remote::RemoteOptions options;
  options.runner_urls = config_.list("runner.urls");
  const bool is_home = options.runner_urls.empty();
  if (is_home && config_.list("runner.sandbox_urls").empty()) return runtime_->dispatcher();
  options.named_urls = config_.list("runner.sandbox_urls");
  options.runner_key = runner_key();
  options.mint = mint_options();
  options.reattach_ms = config_.integer("runner.reattach_seconds") * 1000;
  options.wait_ms_max = config_.integer("runner.wait_seconds") * 1000;
  remote_ = remote::make_remote_dispatcher(
      {*store_, process_.client(), process_.reactor(), process_.ids(), process_.entropy(), log(), process_.metrics()},
      std::move(options));
  if (is_home) remote_ = remote::make_router(runtime_->dispatcher(), std::move(remote_));
  return *remote_;
}

std::vector<net::Header> Serving::sign_webhook(model::TenantId tenant, std::string_view body, Timestamp at) const {
  const auto secret = notices::webhook_secret(secrets().webhook_signing_root(), tenant);
  return {{"Sluice-Signature", notices::signature(secret, std::to_string(at.ms / 1000), body)}};
}

void Serving::build_engine() {
  auto& reactor = process_.reactor();
  auto engine_settings = installation::engine_options(config_, base_url_);
  engine_settings.node_version = version_;
  materials_.emplace(RunMaterialsNeeds{*store_, *contents_, runtime_->workers(), reactor, process_.ids(), log()},
                     RunMaterialsOptions{listener_.local_url(), secrets().run_bearer_root(),
                                         config_.integer("sandbox.keep_seconds") * 1000});
  post_ = notices::make_post(
      {.signing_root = secrets().webhook_signing_root(), .webhook_urls = config_.list("webhooks.urls")}, *store_,
      process_.client(), reactor, log(), process_.metrics());
  engine_ = engine::make_engine({*store_, build_dispatcher(), reactor, process_.ids(), log(), process_.metrics(),
                                 *sealer_, &*materials_, &noticed_, &runtime_->workers(), &*disk_},
                                std::move(engine_settings));
}

void Serving::build_surfaces() {
  auto& reactor = process_.reactor();
  flows_ = flow::make_flows({*store_, *engine_, process_.client(), reactor, process_.ids(), log()},
                            {.http_urls = config_.list("workflows.http_urls"),
                             .sandbox_urls = config_.list("runner.sandbox_urls"),
                             .has_sandbox = has_sandbox()});
  station_ = make_station(config_, process_, *runtime_, sha256(runner_key()), agent_urls(), base_url_);
  mint_.emplace(mint_options(), process_);
  api_ = api::make_api({*store_, *engine_, reactor, process_.ids(), process_.entropy(), log(), process_.metrics(),
                        *contents_, runtime_->workers(), *mint_, *sealer_, *flows_, &*disk_},
                       api_options());
}

api::ApiOptions Serving::api_options() {
  return {.public_base_url = base_url_,
          .admin_key_sha256 = sha256(opening_.bootstrap.admin_key),
          .version = version_,
          .metrics_public = config_.boolean("server.metrics_public"),
          .default_model = default_model(config_),
          .provider_names = config_.provider_names(),
          .decision_horizon_seconds = config_.integer("approvals.decision_horizon_seconds"),
          .webhook_signing_root = secrets().webhook_signing_root(),
          .run_bearer_root = secrets().run_bearer_root(),
          .webhook_urls = config_.list("webhooks.urls"),
          .tool_urls = config_.list("tools.urls"),
          .sandbox_urls = config_.list("runner.sandbox_urls"),
          .fault_of_model = fault_of_model(),
          .has_sandbox = has_sandbox(),
          .request_rate = request_rate(config_),
          .wrong_key_rate = wrong_key_rate(config_),
          .leave_grace_ms = config_.integer("assistant.leave_grace_ms"),
          .upload_bytes_max = config_.integer("files.upload_bytes_max"),
          .tenant_file_bytes_max = config_.integer("files.tenant_bytes_max"),
          .file_extensions = config_.list("files.extensions"),
          .scratch_dir = process_.data().file("spool"),
          .console_session_root = secrets().console_session_root(),
          .console_tenant = model::TenantId::parse(opening_.bootstrap.tenant_id)};
}

Result<Unit> Serving::recover() {
  std::optional<Result<Unit>> done;
  const auto end = [this, &done](Result<Unit> result) {
    done.emplace(std::move(result));
    process_.reactor().stop();
  };
  // Runs are recovered first, because workflows continue with runs.
  engine_->recover([this, end](Result<Unit> result) { result ? flows_->recover(end) : end(std::move(result)); });
  while (!done) process_.reactor().run();
  return std::move(*done);
}

// A runner may have models that this server has not, so agents are refused only if no runner is configured.
std::function<std::string(const model::Agent&)> Serving::fault_of_model() const {
  const bool has_runners = !config_.list("runner.urls").empty() || !config_.list("runner.sandbox_urls").empty();
  if (has_runners || !has_sandbox()) return nullptr;
  auto options = installation::runner_options(config_);
  for (auto& [name, provider] : options.providers) provider.api_key.clear();
  return [options = std::move(options)](const model::Agent& agent) {
    return programs::fault_of_program_model(options, agent);
  };
}

std::string Serving::runner_key() const {
  const auto& key = config_.text("runner.key");
  return key.empty() ? opening_.bootstrap.runner_key : key;
}

remote::MintOptions Serving::mint_options() const {
  const auto& url = config_.text("runner.callback_base_url");
  return {.base_url = url.empty() ? base_url_ : url,
          .bearer_secret = secrets().callback_bearer_secret(),
          .max_rounds = config_.integer("tools.rounds_max")};
}

// Callers with the runner's key choose agent_url, and this server sends requests to it. The default is this server
// alone.
std::vector<std::string> Serving::agent_urls() const {
  auto urls = config_.list("runner.agent_urls");
  if (urls.empty()) urls = {base_url_, mint_options().base_url};
  return urls;
}

void Serving::handle(std::shared_ptr<net::Exchange> exchange) {
  if (open_ && is_station_path(exchange->request().path)) return station_->handle(std::move(exchange));
  if (open_) return api_->handle(std::move(exchange));
  auto response = refusal(503, "The server is starting.");
  response.headers.add("Retry-After", "1");
  exchange->respond(std::move(response));
}

void Serving::check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) {
  if (!open_) return verdict(refusal(503, "The server is starting."));
  if (is_station_path(head.path)) return verdict(station_->check_head(head));
  api_->check_head(head, std::move(verdict));
}

net::Response Serving::refusal(int status, std::string_view detail) const {
  if (api_) return api_->refusal(status, detail);
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string(detail) + "\n"};
}

void Serving::announce() {
  const auto url = listener_.url();
  std::printf("sluice: listening on %s\n", url.c_str());
  std::fflush(stdout);
  if (opening_.first_start == FirstStart::key_lost) {
    std::fprintf(stderr,
                 "sluice: %s was missing and the store is not empty: only the new admin key in it is valid.\n"
                 "        Create a service key with: %s\n",
                 process_.data().file("bootstrap.json").c_str(), command("keys create --tenant TENANT_ID").c_str());
    return;
  }
  if (opening_.first_start != FirstStart::yes && isatty(STDERR_FILENO) == 0) return;
  if (const auto console = api_->make_console_url(); !console.empty()) {
    std::fprintf(stderr, "\nConsole: %s\n", console.c_str());
  }
  if (opening_.bootstrap.service_key.empty()) return;
  const auto line =
      installation::curl_line(base_url_, process_.data().file("bootstrap.json"), config_.text("server.tls_cert"));
  std::fprintf(stderr, "\nTry it in another terminal:\n\n%s\n\nor talk to it: %s\n\n", line.c_str(),
               command("chat").c_str());
}

std::string Serving::command(std::string_view words) const {
  std::vector<std::pair<std::string_view, std::string>> flags = {{"--data", process_.data().path()}};
  if (has_tls()) flags.emplace_back("--ca-file", config_.text("server.tls_cert"));
  return cli::Hints(program_, flags).command(words);
}

int Serving::run() {
  tidy_up_after(tidy_every);
  announce();
  if (installation::is_shared_store(config_) && config_.text("files.store").empty()) {
    log().write(world::LogLevel::warn, "files are kept on this machine only",
                {{"what", "other servers on this store cannot read them"}, {"to do", "set files.store"}});
  }
  log().write(world::LogLevel::info, "serving",
              {{"url", base_url_}, {"version", version_}, {"data", process_.data().path()}});
  process_.reactor().run();
  log().write(world::LogLevel::info, "stopped", {});
  return 0;
}

void Serving::on_signal(int signal) {
  // A second signal ends the process at once: journals survive that as they survive a power cut.
  if (stopping_) std::_Exit(128 + signal);
  if (!open_) {
    log().write(world::LogLevel::info, "stopped before serving", {});
    std::_Exit(0);
  }
  stopping_ = true;
  const Millis deadline{config_.integer("server.drain_seconds") * 1000};
  log().write(world::LogLevel::info, "draining", {{"seconds", deadline.value / 1000}});
  api_->begin_drain();
  still_draining_ = 4;
  const auto drained = [this] {
    if (--still_draining_ > 0) return;
    runtime_->close([this] { process_.reactor().stop(); });
  };
  flows_->drain(deadline, drained);
  engine_->drain(deadline, drained);
  station_->drain(deadline, drained);
  // Streams of runs that are stopped at the deadline still have to send their last event.
  listener_.server().drain({deadline.value + 1'000}, drained);
}

void Serving::tidy_up_after(Millis delay) {
  const uint64_t operations = store_operations_.value();
  tidy_timer_ = process_.reactor().after(delay, [this, delay, operations] {
    const auto per_second = static_cast<int64_t>(store_operations_.value() - operations) * 1000 / delay.value;
    store_->tidy_up(process_.reactor().now(), [this, per_second](Result<int> sealed) {
      if (sealed) return tidy_up_after(until_next_tidying(per_second, sealed.value() > 0, tidy_debt_->read()));
      log().write(world::LogLevel::warn, "tidying up failed", {{"why", sealed.error().what}});
      if (sealed.error().kind == ErrorKind::unavailable) engine_->store_fell_silent(sealed.error());
      tidy_up_after(tidy_every);
    });
  });
}

}  // namespace

int serve(const Config& config, std::string_view version, std::string_view program) {
  prepare_process();
  Serving serving(config, version, program);
  if (const auto ready = serving.get_ready(); !ready) {
    std::fprintf(stderr, "sluice: %s\n", ready.error().what.c_str());
    return 1;
  }
  return serving.run();
}

}  // namespace sluice::app
