#include "installation/options.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/bytes.h"
#include "installation/host_users.h"
#include "installation/programs.h"

namespace sluice::installation {

std::unique_ptr<world::Log> make_log(const Config& config) {
  using enum world::LogLevel;
  const auto& level = config.text("log.level");
  const auto format = config.text("log.format") == "json" ? world::LogFormat::json : world::LogFormat::human;
  return world::make_stderr_log(format, level == "debug"   ? debug
                                        : level == "warn"  ? warn
                                        : level == "error" ? error
                                                           : info);
}

bool is_shared_store(const Config& config) {
  const auto& url = config.text("store.url");
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

Result<store::SqliteOptions> sqlite_options(const Config& config, const std::string& default_path) {
  const auto& url = config.text("store.url");
  store::SqliteOptions options;
  options.path = default_path;
  options.strict = config.text("store.durability") == "strict";
  options.reader_count = static_cast<int>(std::min<int64_t>(config.integer("store.readers"), 64));
  if (url.empty()) return options;
  if (!url.starts_with("sqlite:") || url.size() == 7) {
    return Error{ErrorKind::invalid, "store.url must be sqlite:PATH or postgresql://USER@HOST/DATABASE"};
  }
  options.path = url.substr(7);
  return options;
}

Result<std::unique_ptr<store::Store>> open_store(const Config& config, const std::string& default_path,
                                                 model::NodeId node, world::Loop& loop, world::Metrics& metrics) {
  if (is_shared_store(config)) {
    return store::open_postgres(
        {.url = config.text("store.url"),
         .node = node,
         .reader_count = static_cast<int>(std::min<int64_t>(config.integer("store.readers"), 64)),
         .silent_ms_max = config.integer("node.dead_ms")},
        loop, metrics);
  }
  auto options = sqlite_options(config, default_path);
  if (!options) return options.error();
  auto store = store::open_sqlite(options.value(), loop, metrics);
  if (!store) return std::move(store.error()).in("open the store " + options.value().path);
  return store;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::size_t connections_max(const Config& config, bool hard) {
  const auto wanted = static_cast<std::size_t>(config.integer("limits.connections_max"));
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const auto most = static_cast<std::size_t>(hard ? limit.rlim_max : limit.rlim_cur);
  return std::min(wanted, std::max<std::size_t>(most / 2, 1));
}

net::ServerOptions server_options(const Config& config, const config::ListenAddress& address,
                                  const std::string& data_dir) {
  net::ServerOptions options;
  options.address = address.host;
  options.port = address.port;
  options.tls_certificate_file = config.text("server.tls_cert");
  options.tls_key_file = config.text("server.tls_key");
  options.spool_dir = data_dir + "/spool";
  options.request_body_bytes_max = static_cast<std::size_t>(config.integer("limits.request_body_bytes_max"));
  options.connections_max = connections_max(config);
  const auto keyless_max = static_cast<std::size_t>(config.integer("limits.keyless_connections_per_address"));
  options.keyless_connections_per_address_max =
      keyless_max > 0 ? keyless_max : std::max<std::size_t>(options.connections_max / 2, 1);
  options.request_head_ms_max = config.integer("limits.request_head_seconds") * 1000;
  options.request_body_ms_max = config.integer("limits.request_body_seconds") * 1000;
  options.keep_alive_idle_ms_max = config.integer("limits.keep_alive_seconds") * 1000;
  options.write_stall_ms_max = config.integer("limits.write_stall_seconds") * 1000;
  return options;
}

void log_connections_max(const Config& config, const net::ServerOptions& options, world::Log& log) {
  const auto wanted = static_cast<std::size_t>(config.integer("limits.connections_max"));
  if (options.connections_max >= wanted) return;
  log.write(world::LogLevel::warn, "fewer connections than configured are taken",
            {{"connections_max", static_cast<int64_t>(options.connections_max)},
             {"limits.connections_max", static_cast<int64_t>(wanted)},
             {"why", "they may have half of the process's descriptors: raise the limit of nofile"}});
}

std::string store_location(const Config& config, const std::string& data_dir) {
  const auto& url = config.text("store.url");
  return url.empty() ? "sqlite:" + data_dir + "/sluice.db" : url;
}

Result<std::unique_ptr<files::Contents>> open_contents(const Config& config, const std::string& data_dir) {
  if (config.text("files.store").empty()) return files::open_directory(data_dir + "/files");
  return files::open_s3({.place = config.text("files.store"),
                         .endpoint = config.text("files.s3_endpoint"),
                         .region = config.text("files.s3_region"),
                         .access_key = config.text("files.s3_access_key"),
                         .secret_key = config.text("files.s3_secret_key"),
                         .scratch_dir = data_dir + "/spool"});
}

namespace {

// Names the source of a provider's key in problems: a variable or the setting. Never contains the key.
std::string key_source(const Config& config, const std::string& provider) {
  const auto setting = "providers." + provider + ".api_key";
  auto variable = config.provider(provider, "api_key_env");
  const auto& key = config.settings().at(setting);
  return key.value.empty() || key.source == variable ? variable : setting;
}

}  // namespace

runner::RunnerOptions runner_options(const Config& config) {
  runner::RunnerOptions options;
  for (const auto& name : config.provider_names()) {
    options.providers[name] = {config.provider(name, "dialect"), config.provider(name, "base_url"),
                               config.provider(name, "api_key"), key_source(config, name)};
  }
  options.agent_base_urls = config.list("models.agent_base_urls");
  options.filler.phrases = config.list("filler.phrases");
  options.filler.first_ms = config.integer("filler.first_ms");
  options.filler.every_ms = config.integer("filler.every_ms");
  options.filler.count_max = config.integer("filler.count_max");
  options.filler.model_provider = config.text("filler.model_provider");
  options.filler.model_name = config.text("filler.model_name");
  options.retry_count_max = static_cast<int>(std::min<int64_t>(config.integer("models.retry_count_max"), 100));
  options.model_connect_ms_max = config.integer("models.connect_seconds") * 1000;
  options.model_idle_ms_max = config.integer("models.idle_seconds") * 1000;
  options.model_total_ms_max = config.integer("models.total_seconds") * 1000;
  options.tool_rounds_max = static_cast<int>(std::min<int64_t>(config.integer("tools.rounds_max"), 10'000));
  options.tool_urls = config.list("tools.urls");
  options.plaintext_secrets = config.boolean("egress.plaintext_secrets");
  options.programs.start_ms_max = config.integer("harness.start_ms_max");
  options.programs.silence_ms_max = config.integer("harness.silence_ms_max");
  options.programs.tool_silence_ms_max = config.integer("harness.tool_silence_ms_max");
  return options;
}

namespace {

constexpr int64_t mib = 1024 * 1024;

std::optional<std::pair<std::string, sessions::GitCredential>> parse_credential(const std::string& text) {
  std::istringstream words(text);
  std::string alias, rest;
  sessions::GitCredential made;
  if (!(words >> alias >> made.host >> made.username >> made.password) || words >> rest) return std::nullopt;
  return std::pair(std::move(alias), std::move(made));
}

}  // namespace

uint32_t owner_uid(const sandbox::SandboxOptions& sandboxes) { return geteuid() == 0 ? sandboxes.host_uid : geteuid(); }

sessions::SessionOptions session_options(const Config& config, const sandbox::SandboxOptions& sandboxes) {
  sessions::SessionOptions options;
  options.state_dir = sandboxes.state_dir;
  options.owner_uid = owner_uid(sandboxes);
  options.tool_result_chars_max = static_cast<std::size_t>(config.integer("tools.result_chars_max"));
  options.tool_output_bytes_max = static_cast<std::size_t>(config.integer("tools.output_bytes_max"));
  options.tool_timeout_ms = config.integer("tools.timeout_seconds") * 1000;
  options.tool_timeout_ms_max = config.integer("tools.timeout_seconds_max") * 1000;
  options.setup_timeout_ms = config.integer("tools.setup_seconds") * 1000;
  options.clone_timeout_ms = config.integer("repositories.clone_seconds") * 1000;
  options.keep_ms_max = config.integer("sandbox.keep_seconds") * 1000;
  options.tenant_workspaces_bytes_max = config.integer("sandbox.tenant_workspaces_mib") * mib;
  options.watch_files = config.boolean("files.watch");
  options.ignored_directories = config.list("files.ignored");
  options.repository_urls = config.list("repositories.allowed_urls");
  options.asset_extensions = config.list("files.asset_extensions");
  options.file_hooks = {config.text("files.webhook_url"), config.text("files.webhook_secret"),
                        config.list("files.hook_command")};
  for (const auto& line : config.list("repositories.credentials")) {
    if (auto credential = parse_credential(line)) options.git_credentials.insert(std::move(*credential));
  }
  return options;
}

sandbox::SandboxOptions sandbox_options(const Config& config, const std::string& data_dir) {
  sandbox::SandboxOptions options;
  options.driver = config.text("sandbox.driver") == "oci" ? "oci" : "namespaces";
  options.state_dir = std::filesystem::absolute(data_dir) / "sandbox";
  options.harness_dir = harness_dir(config, data_dir);
  options.root = config.text("sandbox.root");
  options.extra_paths = config.list("sandbox.extra_paths");
  options.warm_target = static_cast<int>(std::min<int64_t>(config.integer("sandbox.warm_target"), 256));
  options.host_uid = host_uid(config, options.state_dir);
  options.host_uid_count = static_cast<uint32_t>(std::min<int64_t>(config.integer("sandbox.host_uid_count"), 65'536));
  options.oci_runtime = config.text("sandbox.oci_runtime");
  options.limits = {.memory_bytes_max = config.integer("sandbox.memory_mib") * mib,
                    .processes_max = config.integer("sandbox.processes_max"),
                    .cpu_seconds_max = config.integer("sandbox.cpu_seconds"),
                    .cpu_percent_max = config.integer("sandbox.cpu_percent"),
                    .open_files_max = config.integer("sandbox.open_files_max"),
                    .file_bytes_max = config.integer("sandbox.file_mib") * mib,
                    .workspace_bytes_max = config.integer("sandbox.workspace_mib") * mib,
                    .workspace_files_max = config.integer("sandbox.workspace_files_max"),
                    .tmp_bytes_max = config.integer("sandbox.tmp_mib") * mib};
  return options;
}

Result<egress::EgressOptions> egress_options(const Config& config, const std::string& data_dir) {
  egress::EgressOptions options;
  options.ca_dir = std::filesystem::absolute(data_dir) / "egress";
  options.upstream_ca_file = config.text("egress.ca_file");
  options.own_certificate_file = config.text("server.tls_cert");
  options.private_addresses = config.list("egress.private_addresses");
  options.plaintext_secrets = config.boolean("egress.plaintext_secrets");
  options.connect_ms_max = config.integer("egress.connect_seconds") * 1000;
  options.idle_ms_max = config.integer("egress.idle_seconds") * 1000;
  for (const auto& line : config.list("egress.host_addresses")) {
    std::istringstream words(line);
    std::string name, address, rest;
    if (!(words >> name >> address) || words >> rest) {
      return Error{ErrorKind::invalid, "egress.host_addresses: \"" + line + "\" must be two words: NAME ADDRESS"};
    }
    options.host_addresses[name] = address;
  }
  return options;
}

namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unnamed";
}

}  // namespace

engine::EngineOptions engine_options(const Config& config, const std::string& public_base_url) {
  return {.public_base_url = public_base_url,
          .max_running = config.integer("capacity.max_running"),
          .max_sticky = std::min(config.integer("capacity.max_sticky"), config.integer("capacity.max_running")),
          .max_held = config.integer("capacity.max_held"),
          .max_hold_seconds = config.integer("capacity.max_hold_seconds"),
          .approval_seconds = config.integer("approvals.expire_seconds"),
          .approval_seconds_max = config.integer("approvals.expire_seconds_max"),
          .node_name = config.text("node.name").empty() ? host_name() : config.text("node.name"),
          .beat_ms = config.integer("node.beat_ms"),
          .dead_ms = config.integer("node.dead_ms")};
}

namespace {

constexpr std::size_t admin_key_chars_min = 20;

Error wrong(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

Result<Unit> check_tls(const Config& config) {
  const auto& certificate = config.text("server.tls_cert");
  const auto& key = config.text("server.tls_key");
  if (certificate.empty() != key.empty()) return wrong("TLS needs both server.tls_cert and server.tls_key");
  for (const auto* name : {"server.tls_cert", "server.tls_key"}) {
    const auto& file = config.text(name);
    if (!file.empty() && access(file.c_str(), R_OK) != 0) {
      return wrong(std::string(name) + ": the file " + file + " cannot be read: " + std::strerror(errno));
    }
  }
  return Unit{};
}

Result<Unit> check_providers(const Config& config) {
  const auto names = config.provider_names();
  for (const auto* key : {"models.default_provider", "filler.model_provider"}) {
    const auto& named = config.text(key);
    const bool may_be_empty = std::string_view(key) == "filler.model_provider";
    if ((may_be_empty && named.empty()) || std::find(names.begin(), names.end(), named) != names.end()) continue;
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const auto meant = nearest(named, candidates);
    return Error{ErrorKind::invalid, std::string(key) + " names no provider: \"" + named + "\"" +
                                         (meant ? "; did you mean " + std::string(*meant) + "?" : "")};
  }
  return Unit{};
}

Result<Unit> check_urls(const Config& config) {
  for (const auto* key : {"models.agent_base_urls", "tools.urls", "runner.sandbox_urls", "workflows.http_urls"}) {
    for (const auto& url : config.list(key)) {
      if (inference::is_agent_base_url_rule(url)) continue;
      return wrong(std::string(key) + ": \"" + url + "\" must be * or the beginning of a URL, such as " +
                   "https://models.example or http://127.0.0.1:11434/v1");
    }
  }
  for (const auto& url : config.list("runner.urls")) {
    if (net::is_plain_url(url)) continue;
    const auto& source = config.settings().at("runner.urls").source;
    return wrong((source == "SANDBOX_URL" ? source : "runner.urls") + ": \"" + url +
                 "\" must be the http or https URL of a runner, such as http://10.0.0.5:8090");
  }
  return Unit{};
}

Result<Unit> check_bounds(const Config& config) {
  const auto most = config.integer("approvals.expire_seconds_max");
  if (config.integer("approvals.expire_seconds") > most) {
    return wrong("approvals.expire_seconds must not be more than approvals.expire_seconds_max, which is " +
                 std::to_string(most));
  }
  const auto beat_ms = config.integer("node.beat_ms");
  if (config.integer("node.dead_ms") >= 3 * beat_ms) return Unit{};
  return wrong("node.dead_ms must be at least three times node.beat_ms, which is " + std::to_string(beat_ms));
}

// A short key could be guessed, and a key with another prefix would be taken for a key of another kind.
Result<Unit> check_admin_key(const Config& config) {
  const auto& key = config.text("server.admin_key");
  if (key.empty() || (key.starts_with("sk_adm_") && key.size() >= admin_key_chars_min)) return Unit{};
  return wrong("server.admin_key must begin with sk_adm_ and have at least " + std::to_string(admin_key_chars_min) +
               " characters" +
               (key.starts_with("sk_adm_") ? ", not " + std::to_string(key.size()) : "; it begins otherwise"));
}

Result<Unit> check_git_credentials(const Config& config) {
  int number = 0;
  for (const auto& line : config.list("repositories.credentials")) {
    ++number;
    if (parse_credential(line)) continue;
    return Error{ErrorKind::invalid, "repositories.credentials: item " + std::to_string(number) +
                                         " must be four words: ALIAS HOST USERNAME PASSWORD"};
  }
  return Unit{};
}

}  // namespace

Result<Unit> check_config(const Config& config) {
  for (const auto check :
       {check_providers, check_urls, check_tls, check_admin_key, check_git_credentials, check_bounds}) {
    if (auto fine = check(config); !fine) return fine;
  }
  return Unit{};
}

}  // namespace sluice::installation
