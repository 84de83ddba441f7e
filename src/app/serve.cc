#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "api/api.h"
#include "app/app.h"
#include "app/bootstrap.h"
#include "app/damage_log.h"
#include "app/data_dir.h"
#include "app/execution_mint.h"
#include "app/hands.h"
#include "app/listen_address.h"
#include "app/parts.h"
#include "app/signals.h"
#include "app/storeroom.h"
#include "app/tidy_pace.h"
#include "app/unsigned_approvals.h"
#include "app/vault_key.h"
#include "base/digest.h"
#include "cli/cli.h"
#include "engine/engine.h"
#include "files/files.h"
#include "flow/flow.h"
#include "net/net.h"
#include "notices/notices.h"
#include "remote/remote.h"
#include "station/station.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::app {
namespace {

api::Rate request_rate(const Config& config) {
  return {static_cast<double>(config.integer("limits.requests_per_second")), config.integer("limits.burst")};
}

api::Rate wrong_key_rate(const Config& config) {
  const auto per_minute = config.integer("limits.wrong_keys_per_minute");
  return {static_cast<double>(per_minute) / 60, std::max<int64_t>(per_minute, 1)};
}

bool is_of_station(std::string_view path) { return path.starts_with("/sandbox/") && station::is_station_path(path); }

std::size_t body_bytes_max_of(std::string_view method, std::string_view path) {
  return is_of_station(path) ? station::body_bytes_max_of(method, path) : api::body_bytes_max_of(method, path);
}

// Every part, in floor order; they go in reverse.
class Serving final {
 public:
  Serving(const Config& config, std::string_view version, std::string_view program)
      : config_(config), version_(version), program_(program) {}

  Result<Unit> get_ready();
  int run();

 private:
  Result<Unit> open_ground();
  Result<Unit> open_hands();
  Result<Unit> listen();
  void build_house();
  harness::Dispatcher& build_dispatcher();
  Result<Unit> recover();
  void announce();
  // A command of ours for this server, to paste.
  std::string command(std::string_view words) const;

  void handle(std::shared_ptr<net::Exchange> exchange);
  void check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict);
  net::Response refusal(int status, std::string_view detail) const;
  void on_signal(int signal);
  void tidy_up_after(Millis delay);
  // Here, or at the runners elsewhere that carry runs.
  bool has_sandbox() const { return hands_->has_sandbox() || !config_.list("runner.urls").empty(); }
  bool has_tls() const { return !config_.text("server.tls_cert").empty(); }
  std::function<std::string(const model::Agent&)> fault_of_model() const;
  std::string runner_key() const;
  // Derived, so that it is good after a restart and stored nowhere else. Once the bootstrap is open.
  std::string console_session_root() const { return sha256("console sessions\n" + opening_.bootstrap.admin_key); }
  std::string run_bearer_root() const { return sha256("bearers of boxes\n" + opening_.bootstrap.admin_key); }
  std::string webhook_signing_root() const { return sha256("webhooks\n" + opening_.bootstrap.admin_key); }
  std::vector<net::Header> sign_webhook(model::TenantId tenant, std::string_view body, Timestamp at) const;
  std::vector<std::string> agent_urls() const;
  remote::MintOptions mint_options() const;
  model::ModelChoice default_model() const {
    return {config_.text("models.default_provider"), config_.text("models.default_model"), std::nullopt};
  }
  std::string scheme() const { return has_tls() ? "https://" : "http://"; }

  const Config& config_;
  const std::string version_;
  const std::string program_;

  std::optional<DataDir> data_;
  std::unique_ptr<world::Reactor> reactor_;
  std::unique_ptr<SignalWatch> signals_;
  std::unique_ptr<world::Entropy> entropy_;
  std::unique_ptr<world::Log> log_;
  world::Metrics metrics_;
  world::Counter& store_operations_ =
      metrics_.counter("sluice_store_operations_total", "Write operations that were in them.");
  std::optional<world::IdSource> ids_;
  std::optional<world::DiskRoom> disk_;
  std::unique_ptr<store::Store> store_;
  std::optional<DebtFigures> tidy_debt_;  // once the store shows them
  Opening opening_;
  std::unique_ptr<net::Client> client_;
  std::unique_ptr<vault::Sealer> sealer_;
  std::unique_ptr<notices::Post> post_;
  Callback<void()> noticed_ = [this] { post_->nudge(); };
  std::unique_ptr<files::Contents> contents_;
  std::unique_ptr<Hands> hands_;
  std::unique_ptr<harness::Dispatcher> remote_;  // null: all runs are carried here
  std::optional<HouseStoreroom> storeroom_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<flow::Flows> flows_;
  std::unique_ptr<station::Station> station_;
  std::optional<HouseMint> mint_;
  std::unique_ptr<api::Api> api_;
  ListenAddress address_;
  std::unique_ptr<net::Server> server_;

  std::string base_url_;
  bool open_ = false;  // recovery is done: requests are taken
  int still_draining_ = 0;
  bool stopping_ = false;
  world::Timer tidy_timer_;
};

Result<Unit> Serving::get_ready() {
  if (auto ready = open_ground(); !ready) return ready;
  if (auto ready = open_hands(); !ready) return ready;
  auto opening = open_bootstrap({*data_, *store_, *reactor_, *ids_, *entropy_, *sealer_}, default_model(),
                                config_.text("server.admin_key"), is_shared_store(config_));
  if (!opening) return opening.error();
  opening_ = std::move(opening).take();
  if (auto ready = agree_on_admin_key(*store_, *reactor_, opening_.bootstrap.admin_key); !ready) return ready;
  // Whoever made the tenants meanwhile has sealed something.
  if (opening_.first_start == FirstStart::joined) {
    if (auto ready = check_seals(*store_, *reactor_, *sealer_); !ready) return ready;
  }

  // The port is taken before anything is recovered, because problems that recovery writes name our
  // URL; until recovery is done every request is answered 503.
  if (auto ready = listen(); !ready) return ready;
  build_house();
  log_damage(config_, data_->path(), *log_);
  if (auto ready = recover(); !ready) return std::move(ready.error()).in("recover");
  api_->adopt_unfinished();
  opening_.bootstrap.base_url = base_url_;
  if (auto kept = keep_bootstrap(*data_, opening_.bootstrap); !kept) return kept;
  open_ = true;
  warn_of_unsigned_approvals(*store_, *log_);
  return Unit{};
}

Result<Unit> Serving::open_ground() {
  auto address = parse_listen_address(config_.text("server.listen"));
  if (!address) return address.error();
  address_ = std::move(address).take();
  if (auto fine = check_config(config_); !fine) return fine;
  auto data = DataDir::open(config_.text("server.data"));
  if (!data) return data.error();
  data_.emplace(std::move(data).take());

  auto reactor = world::make_reactor();
  if (!reactor) return reactor.error();
  reactor_ = std::move(reactor).take();
  signals_ = std::make_unique<SignalWatch>(*reactor_, [this](int signal) { on_signal(signal); });
  entropy_ = world::make_system_entropy();
  log_ = make_log(config_);
  ids_.emplace(*reactor_, *entropy_);
  disk_.emplace(data_->path(), config_.integer("limits.disk_free_bytes_min"), *reactor_, metrics_);
  metrics_.gauge("sluice_build_info", "The version that runs.", "version=\"" + version_ + "\"").set(1);

  auto store = open_store(config_, data_->file("sluice.db"), ids_->make<model::NodeId>(), *reactor_, metrics_);
  if (!store) return store.error();
  store_ = std::move(store).take();
  tidy_debt_.emplace(metrics_);

  auto sealer = open_sealer(config_, {*data_, *store_, *reactor_, *entropy_});
  if (!sealer) return sealer.error();
  sealer_ = std::move(sealer).take();

  auto client = net::make_client(*reactor_, {config_.text("models.proxy"), config_.text("models.ca_file")});
  if (!client) return client.error();
  client_ = std::move(client).take();
  return Unit{};
}

Result<Unit> Serving::open_hands() {
  auto contents = open_contents(config_, data_->path());
  if (!contents) return contents.error();
  contents_ = std::move(contents).take();
  auto hands = Hands::open(config_, data_->path(),
                           {*reactor_, *client_, *entropy_, *log_, metrics_,
                            [this](auto tenant, auto body, auto at) { return sign_webhook(tenant, body, at); }});
  if (!hands) return hands.error();
  hands_ = std::move(hands).take();
  return Unit{};
}

Result<Unit> Serving::listen() {
  auto options = server_options(config_, address_, data_->path());
  log_connections_max(config_, options, *log_);
  options.body_bytes_max_of = body_bytes_max_of;
  options.doorkeeper = [this](const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) {
    check_head(head, std::move(verdict));
  };
  auto server = net::serve(
      *reactor_, std::move(options), [this](auto exchange) { handle(std::move(exchange)); },
      [this](int status, std::string_view detail) { return refusal(status, detail); }, metrics_);
  if (!server) return server.error();
  server_ = std::move(server).take();
  base_url_ = config_.text("server.public_base_url");
  if (base_url_.empty()) base_url_ = scheme() + address_.local_authority(server_->port());
  while (base_url_.ends_with('/')) base_url_.pop_back();
  return Unit{};
}

harness::Dispatcher& Serving::build_dispatcher() {
  if (!has_sandbox()) {
    log_->write(world::LogLevel::warn, "agents have no sandbox",
                {{"why", "sandbox.driver is " + config_.text("sandbox.driver") +
                             ", and neither runner.urls nor SANDBOX_URL names a runner"},
                 {"then", "agents blocks and calls of tools fail, unless they name a runner"}});
  }
  remote::RemoteOptions options;
  options.runner_urls = config_.list("runner.urls");
  const bool is_home = options.runner_urls.empty();
  if (is_home && config_.list("runner.sandbox_urls").empty()) return hands_->dispatcher();
  options.named_urls = config_.list("runner.sandbox_urls");
  options.runner_key = runner_key();
  options.mint = mint_options();
  options.reattach_ms = config_.integer("runner.reattach_seconds") * 1000;
  options.wait_ms_max = config_.integer("runner.wait_seconds") * 1000;
  remote_ = remote::make_remote_dispatcher({*store_, *client_, *reactor_, *ids_, *entropy_, *log_, metrics_},
                                           std::move(options));
  if (is_home) remote_ = remote::make_router(hands_->dispatcher(), std::move(remote_));
  return *remote_;
}

std::vector<net::Header> Serving::sign_webhook(model::TenantId tenant, std::string_view body, Timestamp at) const {
  const auto secret = notices::webhook_secret(webhook_signing_root(), tenant);
  return {{"Sluice-Signature", notices::signature(secret, std::to_string(at.ms / 1000), body)}};
}

void Serving::build_house() {
  auto engine_settings = engine_options(config_, base_url_);
  engine_settings.node_version = version_;
  storeroom_.emplace(StoreroomNeeds{*store_, *contents_, hands_->workers(), *reactor_, *ids_, *log_},
                     StoreroomOptions{scheme() + address_.local_authority(server_->port()), run_bearer_root(),
                                      config_.integer("sandbox.keep_seconds") * 1000});
  const auto webhook_root = webhook_signing_root();
  post_ = notices::make_post({.signing_root = webhook_root, .webhook_urls = config_.list("webhooks.urls")}, *store_,
                             *client_, *reactor_, *log_, metrics_);
  engine_ = engine::make_engine({*store_, build_dispatcher(), *reactor_, *ids_, *log_, metrics_, *sealer_, &*storeroom_,
                                 &noticed_, &hands_->workers(), &*disk_},
                                std::move(engine_settings));
  flows_ = flow::make_flows({*store_, *engine_, *client_, *reactor_, *ids_, *log_},
                            {.http_urls = config_.list("workflows.http_urls"),
                             .sandbox_urls = config_.list("runner.sandbox_urls"),
                             .has_sandbox = has_sandbox()});
  station_ =
      station::make_station({hands_->dispatcher(), *client_, *reactor_, *ids_, *log_, metrics_},
                            {.runner_key_sha256 = sha256(runner_key()),
                             .agent_urls = agent_urls(),
                             .concurrent_max = static_cast<int>(config_.integer("runner.concurrent_max")),
                             .spool_bytes_max = static_cast<std::size_t>(config_.integer("runner.spool_bytes_max")),
                             .default_model = default_model(),
                             .public_base_url = base_url_});
  mint_.emplace(mint_options(), *reactor_, *ids_, *entropy_);
  api_ = api::make_api({*store_, *engine_, *reactor_, *ids_, *entropy_, *log_, metrics_, *contents_, hands_->workers(),
                        *mint_, *sealer_, *flows_, &*disk_},
                       {.public_base_url = base_url_,
                        .admin_key_sha256 = sha256(opening_.bootstrap.admin_key),
                        .version = version_,
                        .metrics_public = config_.boolean("server.metrics_public"),
                        .default_model = default_model(),
                        .provider_names = config_.provider_names(),
                        .decision_horizon_seconds = config_.integer("approvals.decision_horizon_seconds"),
                        .webhook_signing_root = webhook_root,
                        .run_bearer_root = run_bearer_root(),
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
                        .scratch_dir = data_->file("spool"),
                        .console_session_root = console_session_root(),
                        .console_tenant = model::TenantId::parse(opening_.bootstrap.tenant_id)});
  post_->nudge();
}

Result<Unit> Serving::recover() {
  std::optional<Result<Unit>> done;
  const auto end = [this, &done](Result<Unit> result) {
    done.emplace(std::move(result));
    reactor_->stop();
  };
  // Workflows go on with runs, so these are taken up first.
  engine_->recover([this, end](Result<Unit> result) { result ? flows_->recover(end) : end(std::move(result)); });
  while (!done) reactor_->run();
  return std::move(*done);
}

// A runner elsewhere may ask models that this server cannot, so agents are refused only where no other runner is named.
std::function<std::string(const model::Agent&)> Serving::fault_of_model() const {
  const bool is_elsewhere = !config_.list("runner.urls").empty() || !config_.list("runner.sandbox_urls").empty();
  if (is_elsewhere || !has_sandbox()) return nullptr;
  auto options = runner_options(config_);
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
  // Derived, so that it is good after a restart and stored nowhere else.
  return {.base_url = url.empty() ? base_url_ : url,
          .bearer_secret = sha256("callback bearers\n" + opening_.bootstrap.admin_key),
          .max_rounds = config_.integer("tools.rounds_max")};
}

// Whoever has the runner's key names agent_url, and this server calls it.
std::vector<std::string> Serving::agent_urls() const {
  auto urls = config_.list("runner.agent_urls");
  if (urls.empty()) urls = {base_url_, mint_options().base_url};
  return urls;
}

void Serving::handle(std::shared_ptr<net::Exchange> exchange) {
  if (open_ && is_of_station(exchange->request().path)) return station_->handle(std::move(exchange));
  if (open_) return api_->handle(std::move(exchange));
  auto response = refusal(503, "The server is starting.");
  response.headers.add("Retry-After", "1");
  exchange->respond(std::move(response));
}

void Serving::check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) {
  if (!open_) return verdict(refusal(503, "The server is starting."));
  if (is_of_station(head.path)) return verdict(station_->check_head(head));
  api_->check_head(head, std::move(verdict));
}

net::Response Serving::refusal(int status, std::string_view detail) const {
  if (api_) return api_->refusal(status, detail);
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string(detail) + "\n"};
}

void Serving::announce() {
  const auto url = scheme() + address_.authority(server_->port());
  std::printf("sluice: listening on %s\n", url.c_str());
  std::fflush(stdout);
  if (opening_.first_start == FirstStart::key_lost) {
    std::fprintf(stderr,
                 "sluice: %s was missing and the store is not empty: only the admin key in it is good now.\n"
                 "        Make a new service key with: %s\n",
                 data_->file("bootstrap.json").c_str(), command("keys create --tenant TENANT_ID").c_str());
    return;
  }
  if (opening_.first_start != FirstStart::yes && isatty(STDERR_FILENO) == 0) return;
  if (const auto console = api_->make_console_url(); !console.empty()) {
    std::fprintf(stderr, "\nConsole: %s\n", console.c_str());
  }
  if (opening_.bootstrap.service_key.empty()) return;
  const auto line = curl_line(base_url_, data_->file("bootstrap.json"), config_.text("server.tls_cert"));
  std::fprintf(stderr, "\nTry it in another terminal:\n\n%s\n\nor talk to it: %s\n\n", line.c_str(),
               command("chat").c_str());
}

std::string Serving::command(std::string_view words) const {
  std::vector<std::pair<std::string_view, std::string>> flags = {{"--data", data_->path()}};
  if (has_tls()) flags.emplace_back("--ca-file", config_.text("server.tls_cert"));
  return cli::Hints(program_, flags).command(words);
}

int Serving::run() {
  tidy_up_after(tidy_every);
  announce();
  if (is_shared_store(config_) && config_.text("files.store").empty()) {
    log_->write(world::LogLevel::warn, "files are kept on this machine only",
                {{"what", "other servers on this store cannot read them"}, {"to do", "set files.store"}});
  }
  log_->write(world::LogLevel::info, "serving", {{"url", base_url_}, {"version", version_}, {"data", data_->path()}});
  reactor_->run();
  log_->write(world::LogLevel::info, "stopped", {});
  return 0;
}

void Serving::on_signal(int signal) {
  // The journal is as safe against these as against a power cut.
  if (stopping_) std::_Exit(128 + signal);
  if (!open_) {
    log_->write(world::LogLevel::info, "stopped before serving", {});
    std::_Exit(0);
  }
  stopping_ = true;
  const Millis deadline{config_.integer("server.drain_seconds") * 1000};
  log_->write(world::LogLevel::info, "draining", {{"seconds", deadline.value / 1000}});
  api_->begin_drain();
  still_draining_ = 4;
  const auto drained = [this] {
    if (--still_draining_ > 0) return;
    hands_->close([this] { reactor_->stop(); });
  };
  flows_->drain(deadline, drained);
  engine_->drain(deadline, drained);
  station_->drain(deadline, drained);
  // What ends at the deadline still has to tell so.
  server_->drain({deadline.value + 1'000}, drained);
}

void Serving::tidy_up_after(Millis delay) {
  const uint64_t operations = store_operations_.value();
  tidy_timer_ = reactor_->after(delay, [this, delay, operations] {
    const auto per_second = static_cast<int64_t>(store_operations_.value() - operations) * 1000 / delay.value;
    store_->tidy_up(reactor_->now(), [this, per_second](Result<int> sealed) {
      if (sealed) return tidy_up_after(until_next_tidying(per_second, sealed.value() > 0, tidy_debt_->read()));
      log_->write(world::LogLevel::warn, "tidying up failed", {{"why", sealed.error().what}});
      if (sealed.error().kind == ErrorKind::unavailable) engine_->store_fell_silent(sealed.error());
      tidy_up_after(tidy_every);
    });
  });
}

}  // namespace

int serve(const Config& config, std::string_view version, std::string_view program) {
  take_signals_from_threads();
  raise_descriptor_limit();
  Serving serving(config, version, program);
  if (const auto ready = serving.get_ready(); !ready) {
    std::fprintf(stderr, "sluice: %s\n", ready.error().what.c_str());
    return 1;
  }
  return serving.run();
}

}  // namespace sluice::app
