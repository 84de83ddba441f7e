#include "app/agent_runtime.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "installation/host_users.h"
#include "installation/options.h"
#include "installation/programs.h"

namespace sluice::app {
namespace {

// Jobs of several tenants run at once, so that the long jobs of one tenant leave threads for the others.
constexpr world::SharedWorkers::Options shared_work = {.at_once_max = 8, .of_party_max = 2};
constexpr int resolver_count = egress::lookups_at_once_max;  // a resolver thread mostly waits

// Sandsandboxes mount harness.dir when they are made and see programs that are installed later. If the server is root,
// the directory belongs to root and to the group of the sandboxes' user, so that this user may enter it but could not
// change it even without the read-only mount. An earlier version gave the directory to that user, or to another default
// group.
Result<Unit> make_harness_dir(const std::string& path, uint32_t sandbox_user) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_new = fs::create_directories(path, error);
  struct stat there{};
  if (!error && stat(path.c_str(), &there) != 0) error.assign(errno, std::generic_category());
  const bool is_roots = geteuid() == 0;
  const bool is_of_earlier_version =
      there.st_uid == sandbox_user || there.st_gid == installation::host_uid_of_earlier_version;
  if (!error && (is_new || (is_roots && is_of_earlier_version))) {
    if (is_roots && chown(path.c_str(), 0, sandbox_user) != 0) error.assign(errno, std::generic_category());
    if (!error && chmod(path.c_str(), is_roots ? 0750 : 0700) != 0) error.assign(errno, std::generic_category());
  }
  if (error) return Error{ErrorKind::unavailable, "harness.dir: make " + path + ": " + error.message()};
  return Unit{};
}

// Call it before any file is given to the users of sandboxes.
Result<Unit> note_users(const sandbox::SandboxOptions& sandboxes, world::Log& log) {
  if (geteuid() != 0) return Unit{};
  const auto begun_with = installation::host_uid_begun_with(sandboxes.state_dir);
  if (begun_with && *begun_with != sandboxes.host_uid) {
    log.write(world::LogLevel::warn, "sandboxes have other users than the workspaces that are kept",
              {{"users", int64_t{sandboxes.host_uid}},
               {"begun_with", int64_t{*begun_with}},
               {"then", "no sandbox can write to the existing workspaces; see sandbox.host_uid"}});
  }
  return installation::note_host_uid(sandboxes.state_dir, begun_with.value_or(sandboxes.host_uid));
}

// Warns about agent programs that sandboxes cannot see or whose version was not tested.
void log_programs(const sandbox::SandboxOptions& sandboxes, world::Log& log) {
  for (const auto& found : installation::look_for_programs(sandboxes)) {
    if (found.place == installation::ProgramPlace::missing || (found.is_usable() && found.is_tested())) continue;
    log.write(world::LogLevel::warn, "agent program",
              {{"agent_type", std::string(found.program->agent_type)}, {"what", found.describe()}});
  }
}

// A small HTTP server for one sandbox: its clients are the processes in that sandbox.
sessions::ServeBridge bridge_server(world::Reactor& reactor, world::Metrics& metrics) {
  return [&reactor, &metrics](OwnedFd listener, net::Handler handler) {
    net::ServerOptions options;
    options.connections_max = 64;
    return net::serve_on(std::move(listener), reactor, std::move(options), std::move(handler), {}, metrics);
  };
}

}  // namespace

Result<Unit> AgentRuntime::open_sandbox(const config::Config& config, const std::string& data_dir,
                                        sandbox::SandboxOptions& options, AgentRuntimeNeeds& needs) {
  const auto& driver = config.text("sandbox.driver");
  resolvers_ = world::make_workers(needs.reactor, resolver_count);
  auto egress_options = installation::egress_options(config, data_dir);
  if (!egress_options) return egress_options.error();
  auto egress = egress::make_egress(std::move(egress_options).take(), needs.reactor, *resolvers_, needs.entropy,
                                    needs.log, needs.metrics);
  if (!egress) return egress.error();
  egress_ = std::move(egress).take();
  options.ca_bundle_file = egress_->ca_bundle_file();
  auto opened = sandbox::open_sandbox(options, needs.reactor, needs.log, needs.metrics);
  if (opened) {
    sandbox_ = std::move(opened).take();
    return Unit{};
  }
  if (driver != "auto") return std::move(opened.error()).in("sandbox.driver " + driver);
  // Agents can still talk without sandboxes, but the operator must know that they have no tools.
  needs.log.write(world::LogLevel::error, "agents have no tools: no sandbox can be made here",
                  {{"why", opened.error().what}, {"see", "sluice doctor"}});
  return Unit{};
}

Result<std::unique_ptr<AgentRuntime>> AgentRuntime::open(const config::Config& config, const std::string& data_dir,
                                                         AgentRuntimeNeeds needs) {
  auto options = installation::sandbox_options(config, data_dir);
  if (mkdir(options.state_dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{ErrorKind::unavailable, "make " + options.state_dir + ": " + std::strerror(errno)};
  }
  if (auto noted = note_users(options, needs.log); !noted) return std::move(noted.error());
  const auto owner = installation::owner_uid(options);
  if (auto made = make_harness_dir(options.harness_dir, owner); !made) return std::move(made.error());
  std::unique_ptr<AgentRuntime> runtime(new AgentRuntime());
  runtime->workers_ = world::make_workers(needs.reactor, shared_work.at_once_max);
  runtime->shared_workers_ = std::make_unique<world::SharedWorkers>(*runtime->workers_, shared_work);
  auto watcher = workspace::make_watcher(needs.reactor, needs.metrics);
  if (!watcher) return watcher.error();
  runtime->watcher_ = std::move(watcher).take();
  if (config.text("sandbox.driver") != "off") {
    if (auto opened = runtime->open_sandbox(config, data_dir, options, needs); !opened) return opened.error();
  }

  auto runner_needs = runner::RunnerNeeds{needs.client, needs.reactor, needs.entropy, needs.log, needs.metrics};
  auto runner_options = installation::runner_options(config);
  runner_options.sessions = installation::session_options(config, options);
  if (runtime->sandbox_) {
    runner_needs.sandbox = runtime->sandbox_.get();
    runner_needs.watcher = runtime->watcher_.get();
    runner_needs.workers = &runtime->shared_workers_->of({});
    runner_needs.shared_workers = runtime->shared_workers_.get();
    runner_needs.egress = runtime->egress_.get();
    runner_needs.serve_bridge = bridge_server(needs.reactor, needs.metrics);
    log_programs(options, needs.log);
    runner_options.programs.find = [options](const std::string& agent_type) {
      return installation::place_of(agent_type, options);
    };
  }
  runner_needs.sign_webhook = std::move(needs.sign_webhook);
  runtime->dispatcher_ = runner::make_native_runner(std::move(runner_options), runner_needs);
  return runtime;
}

void AgentRuntime::close(Callback<void()> done) {
  if (sandbox_) return sandbox_->close(std::move(done));
  done();
}

}  // namespace sluice::app
