// Who asks: the bearer of a key.
//
// A key that was found is remembered for a few seconds, because every message of a busy host bears
// the same one. A key that was not found is not remembered: somebody who guesses would fill the
// memory with guesses.
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

struct Nobody {};  // no key, an unknown one or a revoked one
struct Operator {};
// Shared by the memory here and the requests under way, which outlive a forgetting.
using Holder = std::shared_ptr<const store::KeyHolder>;
// A sandbox with its bearer.
struct Guest {
  Holder holder;                                        // its tenant, without a key
  std::optional<model::Execution> execution;            // of a runner elsewhere
  std::optional<model::Run> run;                        // what it works on; none for an execution that was made by hand
  model::WorkspaceUse use = model::WorkspaceUse::none;  // what it may do in its workspace
};
using Identity = std::variant<Nobody, Operator, Holder, Guest>;

class Authentication final {
 public:
  static constexpr int64_t remembered_us = 5'000'000;
  static constexpr std::size_t remembered_max = 10'000;

  // `run_bearer_root` is what the bearers of the server's own boxes are derived from; empty: there are none.
  Authentication(store::Store& store, world::Loop& loop, std::string admin_key_sha256, std::string run_bearer_root = "")
      : store_(store),
        loop_(loop),
        admin_key_sha256_(std::move(admin_key_sha256)),
        run_bearer_root_(std::move(run_bearer_root)) {}

  // `authorization` is the header's value. Calls back at once when the answer is at hand.
  void identify(std::optional<std::string_view> authorization, Callback<void(Result<Identity>)> done);

  // The same for a service key of which only the hash is at hand.
  void identify_key(std::string secret_sha256, Callback<void(Result<Identity>)> done);

  // A key was revoked or a tenant has changed: nothing that was found before counts.
  void forget();

 private:
  struct Remembered {
    Holder holder;
    int64_t until_us;
  };

  void identify_guest(std::string_view bearer, Callback<void(Result<Identity>)> done);
  void identify_execution(std::string bearer_sha256, Callback<void(Result<Identity>)> done);
  // Nobody, once the run is over.
  void find_guests_run(model::TenantId tenant, model::RunId run, Guest guest, Callback<void(Result<Identity>)> done);
  void welcome(model::TenantId tenant, Guest guest, Callback<void(Result<Identity>)> done);
  void remember(std::string secret_sha256, Holder holder);

  store::Store& store_;
  world::Loop& loop_;
  std::string admin_key_sha256_;
  std::string run_bearer_root_;
  std::unordered_map<std::string, Remembered> remembered_;
  uint64_t forgotten_count_ = 0;  // a lookup that began before a forgetting must not be remembered after it
};

}  // namespace sluice::api
