// Finds the identity behind the key or token of a request. Called from the loop's thread. A key that was found is
// remembered for a few seconds, because every message of a busy client has the same one. A key that was not found is
// not remembered: guesses would fill the memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "base/callback.h"
#include "base/result.h"
#include "store/store.h"
#include "vault/vault.h"
#include "world/world.h"

namespace sluice::api {

struct Unknown {};  // no key, an unknown one or a revoked one
struct Operator {};
// Shared by the cache here and by requests in progress, which may outlive the cache entry.
using Holder = std::shared_ptr<const store::KeyHolder>;
// A sandbox, identified by its bearer.
struct SandboxCaller {
  Holder holder;                              // its tenant, without a key
  std::optional<model::Execution> execution;  // of a runner elsewhere
  std::optional<model::Run> run;              // the run of the sandbox; none if its execution was created by a request
  model::WorkspaceUse use = model::WorkspaceUse::none;  // what it may do in its workspace
};
using Identity = std::variant<Unknown, Operator, Holder, SandboxCaller>;

class Authentication final {
 public:
  static constexpr int64_t remembered_us = 5'000'000;
  static constexpr std::size_t remembered_max = 10'000;

  // The bearers of this server's own sandboxes are derived from `run_bearer_root`; empty: there are no such bearers.
  Authentication(store::Store& store, world::Loop& loop, std::string admin_key_sha256, std::string run_bearer_root = "")
      : store_(store),
        loop_(loop),
        admin_key_sha256_(std::move(admin_key_sha256)),
        run_bearer_root_(std::move(run_bearer_root)) {}

  // `authorization` is the value of the header. Calls back at once if the identity is cached.
  void identify(std::optional<std::string_view> authorization, Callback<void(Result<Identity>)> done);

  // The same for a service key of which only the hash is known.
  void identify_key(std::string secret_sha256, Callback<void(Result<Identity>)> done);

  // Call it when a key was revoked or a tenant has changed: empties the cache.
  void forget();

 private:
  struct Remembered {
    Holder holder;
    int64_t until_us;
  };

  void identify_sandbox(std::string_view bearer, Callback<void(Result<Identity>)> done);
  void identify_execution(std::string bearer_sha256, Callback<void(Result<Identity>)> done);
  // Unknown once the run is over.
  void find_sandbox_run(model::TenantId tenant, model::RunId run, SandboxCaller sandbox,
                        Callback<void(Result<Identity>)> done);
  void welcome(model::TenantId tenant, SandboxCaller sandbox, Callback<void(Result<Identity>)> done);
  void remember(std::string secret_sha256, Holder holder);

  store::Store& store_;
  world::Loop& loop_;
  std::string admin_key_sha256_;
  std::string run_bearer_root_;
  std::unordered_map<std::string, Remembered> remembered_;
  uint64_t forgotten_count_ = 0;  // the result of a lookup that began before forget() must not be cached after it
};

}  // namespace sluice::api
