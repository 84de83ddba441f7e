// Configuration as the options of each part.
#pragma once

#include <memory>
#include <string>

#include "app/config.h"
#include "app/listen_address.h"
#include "engine/engine.h"
#include "files/files.h"
#include "net/net.h"
#include "runner/runner.h"
#include "store/store.h"
#include "world/world.h"

namespace sluice::app {

std::unique_ptr<world::Log> make_log(const Config& config);
// Several servers may share the store.
bool is_shared_store(const Config& config);
// `default_path` is where the database is when store.url is empty.
Result<store::SqliteOptions> sqlite_options(const Config& config, const std::string& default_path);
// The one that store.url names; where servers share it, this one is `node`.
Result<std::unique_ptr<store::Store>> open_store(const Config& config, const std::string& default_path,
                                                 model::NodeId node, world::Loop& loop, world::Metrics& metrics);
// To what the operator of the machine allows.
void raise_descriptor_limit();
// How many connections may be open at once: what limits.connections_max says, but no more than half of the descriptors
// that this process may have, now or (`hard`) after it has raised its limit. The rest are for runs, files and the
// store.
std::size_t connections_max(const Config& config, bool hard = false);
net::ServerOptions server_options(const Config& config, const ListenAddress& address, const std::string& data_dir);
// Says so if they are fewer than configured.
void log_connections_max(const Config& config, const net::ServerOptions& options, world::Log& log);
runner::RunnerOptions runner_options(const Config& config);
engine::EngineOptions engine_options(const Config& config, const std::string& public_base_url);

// Where the bytes of files and bundles are: in `data_dir`, or in the object store that files.store names.
Result<std::unique_ptr<files::Contents>> open_contents(const Config& config, const std::string& data_dir);

// What no single value can be blamed for: the default agent's provider and the filler's must exist, TLS
// needs both of its files, the admin key must look like one. `invalid`, in words.
Result<Unit> check_config(const Config& config);

// A command that starts a conversation. The shell reads the key from the file, so that none is in a
// log or a history.
std::string curl_line(std::string_view base_url, std::string_view bootstrap_file, std::string_view ca_file);

}  // namespace sluice::app
