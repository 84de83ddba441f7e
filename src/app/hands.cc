#include "app/hands.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "app/host_users.h"
#include "app/parts.h"
#include "app/programs.h"

namespace sluice::app {
namespace {

// Several tenants have jobs under way at once, so that the long ones of one tenant leave threads for the others.
constexpr world::SharedWorkers::Options shared_work = {.at_once_max = 8, .of_party_max = 2};
constexpr int resolver_count = egress::lookups_at_once_max;  // they wait for others most of the time
constexpr int64_t mib = 1024 * 1024;

std::optional<std::pair<std::string, sessions::GitCredential>> parse_credential(const std::string& text) {
  std::istringstream words(text);
  std::string alias, rest;
  sessions::GitCredential made;
  if (!(words >> alias >> made.host >> made.username >> made.password) || words >> rest) return std::nullopt;
  return std::pair(std::move(alias), std::move(made));
}

// Of a box as its owner sees it outside: as root somebody else, otherwise ourselves.
uint32_t owner_uid(const sandbox::SandboxOptions& boxes) { return geteuid() == 0 ? boxes.host_uid : geteuid(); }

sessions::SessionOptions hands_options(const Config& config, const sandbox::SandboxOptions& boxes) {
  sessions::SessionOptions options;
  options.state_dir = boxes.state_dir;
  options.owner_uid = owner_uid(boxes);
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

// Sandboxes hold it from their beginning; what is installed later is seen all the same. Where the server is root, it
// belongs to root: a sandbox's user, who looks into it when a program is bound, goes through as its group, and could
// change nothing even without the read-only mount. A directory that belongs to that user, or to the group of another
// default, is from an earlier version.
Result<Unit> make_harness_dir(const std::string& path, uint32_t box_user) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_new = fs::create_directories(path, error);
  struct stat there {};
  if (!error && stat(path.c_str(), &there) != 0) error.assign(errno, std::generic_category());
  const bool is_roots = geteuid() == 0;
  const bool is_of_before = there.st_uid == box_user || there.st_gid == host_uid_of_before;
  if (!error && (is_new || (is_roots && is_of_before))) {
    if (is_roots && chown(path.c_str(), 0, box_user) != 0) error.assign(errno, std::generic_category());
    if (!error && chmod(path.c_str(), is_roots ? 0750 : 0700) != 0) error.assign(errno, std::generic_category());
  }
  if (error) return Error{ErrorKind::unavailable, "harness.dir: make " + path + ": " + error.message()};
  return Unit{};
}

// Before any file is given to them.
Result<Unit> note_users(const sandbox::SandboxOptions& boxes, world::Log& log) {
  if (geteuid() != 0) return Unit{};
  const auto begun_with = host_uid_begun_with(boxes.state_dir);
  if (begun_with && *begun_with != boxes.host_uid) {
    log.write(world::LogLevel::warn, "sandboxes have other users than the workspaces that are kept",
              {{"users", int64_t{boxes.host_uid}},
               {"begun_with", int64_t{*begun_with}},
               {"then", "no sandbox can write to workspaces of before; see sandbox.host_uid"}});
  }
  return note_host_uid(boxes.state_dir, begun_with.value_or(boxes.host_uid));
}

// What an operator may want to know of the agent programs.
void log_programs(const sandbox::SandboxOptions& boxes, world::Log& log) {
  for (const auto& one : look_for_programs(boxes)) {
    if (one.place == ProgramPlace::missing || (one.is_usable() && one.is_tested())) continue;
    log.write(world::LogLevel::warn, "agent program",
              {{"agent_type", std::string(one.program->agent_type)}, {"what", one.words()}});
  }
}

// One for each box: small, because what asks is in that box.
sessions::ServeBridge bridge_server(world::Reactor& reactor, world::Metrics& metrics) {
  return [&reactor, &metrics](OwnedFd listener, net::Handler handler) {
    net::ServerOptions options;
    options.connections_max = 64;
    return net::serve_on(std::move(listener), reactor, std::move(options), std::move(handler), {}, metrics);
  };
}

}  // namespace

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

Result<std::unique_ptr<Hands>> Hands::open(const Config& config, const std::string& data_dir, HandsNeeds needs) {
  auto options = sandbox_options(config, data_dir);
  if (mkdir(options.state_dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{ErrorKind::unavailable, "make " + options.state_dir + ": " + std::strerror(errno)};
  }
  if (auto noted = note_users(options, needs.log); !noted) return std::move(noted.error());
  if (auto made = make_harness_dir(options.harness_dir, owner_uid(options)); !made) return std::move(made.error());
  std::unique_ptr<Hands> hands(new Hands());
  hands->workers_ = world::make_workers(needs.reactor, shared_work.at_once_max);
  hands->shared_workers_ = std::make_unique<world::SharedWorkers>(*hands->workers_, shared_work);
  auto watcher = workspace::make_watcher(needs.reactor, needs.metrics);
  if (!watcher) return watcher.error();
  hands->watcher_ = std::move(watcher).take();

  const auto& driver = config.text("sandbox.driver");
  if (driver != "off") {
    hands->resolvers_ = world::make_workers(needs.reactor, resolver_count);
    auto ways_out = egress_options(config, data_dir);
    if (!ways_out) return ways_out.error();
    auto egress = egress::make_egress(std::move(ways_out).take(), needs.reactor, *hands->resolvers_, needs.entropy,
                                      needs.log, needs.metrics);
    if (!egress) return egress.error();
    hands->egress_ = std::move(egress).take();
    options.ca_bundle_file = hands->egress_->ca_bundle_file();
    auto opened = sandbox::open_sandbox(options, needs.reactor, needs.log, needs.metrics);
    if (opened) {
      hands->sandbox_ = std::move(opened).take();
    } else if (driver == "auto") {
      // A machine without sandboxes can still talk. It must not look as if it could do more.
      needs.log.write(world::LogLevel::error, "agents have no tools: no sandbox can be made here",
                      {{"why", opened.error().what}, {"see", "sluice doctor"}});
    } else {
      return std::move(opened.error()).in("sandbox.driver " + driver);
    }
  }
  auto runner_needs = runner::RunnerNeeds{needs.client, needs.reactor, needs.entropy, needs.log, needs.metrics};
  if (hands->sandbox_) {
    runner_needs.sandbox = hands->sandbox_.get();
    runner_needs.watcher = hands->watcher_.get();
    runner_needs.workers = &hands->shared_workers_->of({});
    runner_needs.shared_workers = hands->shared_workers_.get();
    runner_needs.egress = hands->egress_.get();
    runner_needs.serve_bridge = bridge_server(needs.reactor, needs.metrics);
  }
  auto running = runner_options(config);
  running.sessions = hands_options(config, options);
  if (hands->sandbox_) {
    log_programs(options, needs.log);
    running.programs.find = [options](const std::string& agent_type) { return place_of(agent_type, options); };
  }
  runner_needs.sign_webhook = std::move(needs.sign_webhook);
  hands->dispatcher_ = runner::make_native_runner(std::move(running), runner_needs);
  return hands;
}

void Hands::close(Callback<void()> done) {
  if (sandbox_) return sandbox_->close(std::move(done));
  done();
}

}  // namespace sluice::app
