// The surfaces: routes and handlers, one folder each (integration, executions, admin, operations). Here bytes
// become checked words, and words become bytes again.
//
// Called from the loop's thread, once per request, through handle().
// Not its business: how a run goes (engine), how a row is kept (store), what a socket is (net).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "files/files.h"
#include "harness/harness.h"
#include "net/net.h"
#include "store/store.h"
#include "vault/vault.h"
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
  world::Workers& workers;
  ExecutionMint& mint;
  vault::Sealer& sealer;
};

class Api {
 public:
  virtual ~Api() = default;
  virtual void handle(std::shared_ptr<net::Exchange> exchange) = 0;
  // What net refuses by itself, as a problem.
  virtual net::Response refusal(int status, std::string_view detail) const = 0;
  // From now on /readyz says no and new messages are answered 503; everything else still works.
  virtual void begin_drain() = 0;
};

// For net::ServerOptions: files and bundles may be larger than other bodies.
std::size_t body_bytes_max_of(std::string_view method, std::string_view path);

std::unique_ptr<Api> make_api(ApiNeeds needs, ApiOptions options);

}  // namespace sluice::api
