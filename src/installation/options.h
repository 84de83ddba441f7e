// Turns the configuration into the options of each module, and checks what no single value can be blamed for. The mains
// (app) and the operators' commands (ops) use the same functions, so both see the same installation.
//
// Pure functions of the configuration, except where a comment says that the file system or a limit of the process is
// read. Any thread may call them.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "egress/egress.h"
#include "engine/engine.h"
#include "files/files.h"
#include "net/net.h"
#include "runner/runner.h"
#include "sandbox/sandbox.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::installation {

using config::Config;

std::unique_ptr<world::Log> make_log(const Config& config);

// ── the store and files ──

// Whether the store is PostgreSQL, which several servers may share.
bool is_shared_store(const Config& config);
// `default_path` is the path of the database if store.url is empty.
Result<store::SqliteOptions> sqlite_options(const Config& config, const std::string& default_path);
// Opens the store that store.url names. On a shared store this server is `node`.
Result<std::unique_ptr<store::Store>> open_store(const Config& config, const std::string& default_path,
                                                 model::NodeId node, world::Loop& loop, world::Metrics& metrics);
// The location of the configured store, in the form that store/maintenance.h accepts.
std::string store_location(const Config& config, const std::string& data_dir);
// Opens the contents of files and bundles: in `data_dir`, or in the object store that files.store names.
Result<std::unique_ptr<files::Contents>> open_contents(const Config& config, const std::string& data_dir);

// ── the HTTP server ──

// Raises the limit of file descriptors to the hard limit.
void raise_descriptor_limit();
// The number of connections that may be open at once: limits.connections_max, but at most half of the file descriptors
// of this process, under the current or the `hard` limit. The other half is left to runs, files and the store.
std::size_t connections_max(const Config& config, bool hard = false);
net::ServerOptions server_options(const Config& config, const config::ListenAddress& address,
                                  const std::string& data_dir);
// Logs a warning if fewer connections are accepted than configured.
void log_connections_max(const Config& config, const net::ServerOptions& options, world::Log& log);

// ── runs, sandboxes and egress ──

engine::EngineOptions engine_options(const Config& config, const std::string& public_base_url);
// Includes the options of sandbox sessions, for sandboxes that are made with `sandboxes`.
runner::RunnerOptions runner_options(const Config& config);
sessions::SessionOptions session_options(const Config& config, const sandbox::SandboxOptions& sandboxes);
// Reads the user ids that the data directory was created with.
sandbox::SandboxOptions sandbox_options(const Config& config, const std::string& data_dir);
// The user id outside of sandboxes of the files in them: the configured one if this process is root, otherwise its own.
uint32_t owner_uid(const sandbox::SandboxOptions& sandboxes);
// `invalid`, with an explanation, for a name or an address that is malformed.
Result<egress::EgressOptions> egress_options(const Config& config, const std::string& data_dir);

// Checks that the named providers exist, that TLS has both of its files (which are opened), and that URLs, bounds,
// credentials and the admin key are well formed. `invalid`, with an explanation that quotes no secret.
Result<Unit> check_config(const Config& config);

}  // namespace sluice::installation
