// The surfaces: routes and handlers, one folder each (integration, executions, admin, operations). Here bytes
// become checked words, and words become bytes again.
//
// Called from the loop's thread, once per request, through handle().
// Not its business: how a run goes (engine), how a row is kept (store), what a socket is (net).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/console/pack.h"
#include "api/token_buckets.h"
#include "engine/engine.h"
#include "files/files.h"
#include "flow/flow.h"
#include "harness/harness.h"
#include "net/net.h"
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
  model::ModelChoice default_model{"offline", "offline", std::nullopt};  // of agents that name none
  // What an agent's model.provider may be.
  std::vector<std::string> provider_names{"offline", "anthropic", "openai-responses", "openai-chat"};
  int64_t decision_horizon_seconds = 900;  // how far ahead a decision's signature may expire
  std::string webhook_signing_root;        // tenants' webhook secrets are derived from it
  std::string run_bearer_root;             // the bearers of the server's own boxes are derived from it
  std::vector<std::string> webhook_urls;   // where tenants may be told: the beginnings of URLs, or "*"
  std::vector<std::string> tool_urls;      // where agents' tools may be: the same
  std::vector<std::string> sandbox_urls;   // which runners a chat or a workflow may name: the same
  // Why no run of this agent can ask its model, in words for its caller; empty: no reason is known. Null: not asked.
  std::function<std::string(const model::Agent&)> fault_of_model;
  bool has_sandbox = true;         // here, or at the runners elsewhere that carry runs
  Rate request_rate;               // of each key
  Rate wrong_key_rate;             // of each address, past which a wrong key is answered with 429
  int64_t leave_grace_ms = 2'000;  // how long a turn goes on that nobody reads
  // Files that people upload.
  int64_t upload_bytes_max = 100LL * 1000 * 1000;             // of one request
  int64_t tenant_file_bytes_max = 10LL * 1000 * 1000 * 1000;  // of all of a tenant's
  std::vector<std::string> file_extensions;                   // empty: the list of docs/workspaces.md
  std::string scratch_dir = "/tmp";                           // for what is made to be sent
  std::string console_session_root;                           // the console's cookies are proven by it
  std::optional<model::TenantId> console_tenant;              // in which a session begins that a code opened
  std::string_view console_pack = console::built_in_pack();   // its pages; empty: none
};

// The tokens stand here in the clear, to be handed over and forgotten.
struct MintedExecution {
  model::Execution execution;
  std::string bearer;
  std::string otp_setup, otp_run, otp_upload;
  std::string agent_url;
  std::vector<model::OneTimeToken> hashed;
};

// Makes what a runner elsewhere needs for one dispatch (S-3).
class ExecutionMint {
 public:
  virtual ~ExecutionMint() = default;
  virtual MintedExecution make(const harness::Dispatch& dispatch, model::TenantId tenant) = 0;
  // The answer to GET …/config, with the execution's bearer.
  virtual std::string config_answer(const model::Execution& execution) = 0;
};

// All of them must outlive the Api.
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
  world::DiskRoom* disk = nullptr;  // while it is short nothing is created or uploaded; null: nobody looks
};

class Api {
 public:
  virtual ~Api() = default;
  virtual void handle(std::shared_ptr<net::Exchange> exchange) = 0;
  // For net::ServerOptions: turns away, before its body is there, whoever has no business at the route.
  virtual void check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) = 0;
  // What net refuses by itself, as a problem.
  virtual net::Response refusal(int status, std::string_view detail) const = 0;
  // Runs that the last server left are taken up: call once, after that.
  virtual void adopt_unfinished() = 0;
  // From now on /readyz says no and new messages are answered 503; everything else still works.
  virtual void begin_drain() = 0;
  // Where a browser is let into the console, once and within the hour. Empty when there is no console.
  virtual std::string make_console_url() = 0;
};

// For net::ServerOptions: files and bundles may be larger than other bodies.
std::size_t body_bytes_max_of(std::string_view method, std::string_view path);

std::unique_ptr<Api> make_api(ApiNeeds needs, ApiOptions options);

}  // namespace sluice::api
