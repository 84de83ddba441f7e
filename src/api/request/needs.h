// What the HTTP APIs are built from: the modules they use and the settings of the configuration. Read-only after
// start-up, and used on the loop's thread only.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/request/rate_limits.h"
#include "dispatch/dispatch.h"
#include "engine/engine.h"
#include "files/files.h"
#include "flow/flow.h"
#include "store/store.h"
#include "vault/vault.h"
#include "world/disk_room.h"
#include "world/shared_workers.h"
#include "world/world.h"

namespace sluice::api {

struct ApiOptions {
  std::string public_base_url;   // "http://127.0.0.1:8080", no trailing slash
  std::string admin_key_sha256;  // 32 raw bytes
  std::string version;
  bool metrics_public = false;                                           // /metrics without the admin key
  model::ModelChoice default_model{"offline", "offline", std::nullopt};  // default of agents
  // What an agent's model.provider may be.
  std::vector<std::string> provider_names{"offline", "anthropic", "openai-responses", "openai-chat"};
  int64_t decision_horizon_seconds = 900;  // how far ahead a decision's signature may expire
  std::string webhook_signing_root;        // tenants' webhook secrets are derived from it
  std::string run_bearer_root;             // the bearers of the server's own sandboxes are derived from it
  // Prefixes of the URLs that are allowed; "*" allows all.
  std::vector<std::string> webhook_urls;  // of tenants' webhooks
  std::vector<std::string> tool_urls;     // of agents' tools
  std::vector<std::string> sandbox_urls;  // of the runners that a chat or a workflow may name
  // The reason why this agent's runs cannot call their model, in words for the client; empty if none is known. Null: no
  // check.
  std::function<std::string(const model::Agent&)> fault_of_model;
  bool has_sandbox = true;         // here, or on the runners that carry out runs
  Rate request_rate;               // of each key
  Rate wrong_key_rate;             // of each address, past which a wrong key is answered with 429
  int64_t leave_grace_ms = 2'000;  // how long a chat's turn continues without a reader
  // Files that people upload.
  int64_t upload_bytes_max = 100LL * 1000 * 1000;             // of one request
  int64_t tenant_file_bytes_max = 10LL * 1000 * 1000 * 1000;  // of all files of a tenant
  std::vector<std::string> file_extensions;                   // empty: the list of docs/workspaces.md
  std::string scratch_dir = "/tmp";                           // for temporary files of answers
  std::string console_session_root;                           // the key of the console's cookies is derived from it
  std::optional<model::TenantId> console_tenant;              // the tenant of a session that a login code opened
  std::optional<std::string_view> console_pack;               // its pages ("": no console); default: the built-in ones
};

// A new execution with its tokens in clear text, for the one answer that contains them.
struct MintedExecution {
  model::Execution execution;
  std::string bearer;
  std::string otp_setup, otp_run, otp_upload;
  std::string agent_url;
  std::vector<model::OneTimeToken> hashed;
};

// Creates the execution that a runner on another machine needs for one dispatch (S-3).
class ExecutionMint {
 public:
  virtual ~ExecutionMint() = default;
  virtual MintedExecution make(const dispatch::Dispatch& dispatch, model::TenantId tenant) = 0;
  // The answer to GET …/config, with the execution's bearer.
  virtual std::string config_answer(const model::Execution& execution) = 0;
};

// All of these must outlive the Api.
struct ApiNeeds {
  store::Store& store;
  engine::Engine& engine;
  world::Loop& loop;
  world::IdSource& ids;
  world::Entropy& entropy;
  world::Log& log;
  world::Metrics& metrics;
  files::Contents& contents;
  world::SharedWorkers& workers;
  ExecutionMint& mint;
  vault::Sealer& sealer;
  flow::Flows& flows;
  world::DiskRoom* disk = nullptr;  // while it is short of space, nothing is created or uploaded; null: no check
};

}  // namespace sluice::api
