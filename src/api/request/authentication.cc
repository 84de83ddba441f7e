#include "api/request/authentication.h"

#include <strings.h>

#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "model/cancelled.h"

namespace sluice::api {
namespace {

constexpr std::string_view service_prefix = "sk_int_";
constexpr std::string_view admin_prefix = "sk_adm_";
constexpr std::string_view sandbox_prefix = "asbx_";
constexpr std::size_t key_bytes_max = 256;  // longer ones are not worth hashing

std::optional<std::string_view> bearer_token(std::optional<std::string_view> authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (!authorization || authorization->size() <= scheme.size()) return std::nullopt;
  if (strncasecmp(authorization->data(), scheme.data(), scheme.size()) != 0) return std::nullopt;
  std::string_view token = authorization->substr(scheme.size());
  while (token.starts_with(' ')) token.remove_prefix(1);
  while (token.ends_with(' ')) token.remove_suffix(1);
  if (token.empty() || token.size() > key_bytes_max) return std::nullopt;
  return token;
}

// The access that the configuration of its runner grants. Executions from before this setting existed have all access,
// and expire within hours.
model::WorkspaceUse use_of(const model::Execution& execution) {
  const auto config = json::Document::parse(execution.config_json);
  const auto callback = config ? config.value().root().find("callback") : std::nullopt;
  const auto use = callback ? callback->find("workspace") : std::nullopt;
  if (!use) return model::WorkspaceUse::write;
  return model::workspace_use_named(use->string().value_or("")).value_or(model::WorkspaceUse::none);
}

}  // namespace

void Authentication::identify(std::optional<std::string_view> authorization, Callback<void(Result<Identity>)> done) {
  const auto token = bearer_token(authorization);
  if (!token) return done(Identity{Unknown{}});
  if (token->starts_with(admin_prefix)) {
    const bool right = equal_in_constant_time(sha256(*token), admin_key_sha256_);
    return done(right ? Identity{Operator{}} : Identity{Unknown{}});
  }
  if (token->starts_with(sandbox_prefix)) return identify_sandbox(*token, std::move(done));
  if (!token->starts_with(service_prefix)) return done(Identity{Unknown{}});
  identify_key(sha256(*token), std::move(done));
}

void Authentication::identify_key(std::string secret_sha256, Callback<void(Result<Identity>)> done) {
  const auto found = remembered_.find(secret_sha256);
  if (found != remembered_.end() && found->second.until_us > loop_.monotonic_us()) {
    return done(Identity{found->second.holder});
  }
  std::string looked_up = secret_sha256;
  store::find_service_key(store_.database(), std::move(looked_up),
                          [this, digest = std::move(secret_sha256), began = forgotten_count_,
                           done = std::move(done)](Result<store::KeyHolder> result) mutable {
                            if (!result) {
                              if (result.error().kind == ErrorKind::not_found) return done(Identity{Unknown{}});
                              return done(std::move(result.error()));
                            }
                            if (result.value().key.revoked_at) return done(Identity{Unknown{}});
                            auto holder = std::make_shared<const store::KeyHolder>(std::move(result).take());
                            if (began == forgotten_count_) remember(std::move(digest), holder);
                            done(Identity{std::move(holder)});
                          });
}

// Not remembered: a sandbox loses its access as soon as its run is over.
void Authentication::identify_sandbox(std::string_view bearer, Callback<void(Result<Identity>)> done) {
  if (bearer.find('.') == std::string_view::npos) return identify_execution(sha256(bearer), std::move(done));
  const auto owner = vault::owner_of_bearer(run_bearer_root_, bearer);
  if (!owner) return done(Identity{Unknown{}});
  find_sandbox_run(owner->tenant, owner->run, SandboxCaller{.use = owner->use}, std::move(done));
}

void Authentication::identify_execution(std::string bearer_sha256, Callback<void(Result<Identity>)> done) {
  store::execution_of_bearer(
      store_.database(), std::move(bearer_sha256), loop_.now(),
      [this, done = std::move(done)](Result<model::Execution> found) mutable {
        if (!found && found.error().kind == ErrorKind::denied) return done(Identity{Unknown{}});
        if (!found) return done(std::move(found.error()));
        const auto tenant = found.value().tenant_id;
        const auto run = found.value().run_id;
        const auto use = use_of(found.value());
        SandboxCaller sandbox{.holder = nullptr, .execution = std::move(found).take(), .run = std::nullopt, .use = use};
        if (!run) return welcome(tenant, std::move(sandbox), std::move(done));
        find_sandbox_run(tenant, *run, std::move(sandbox), std::move(done));
      });
}

void Authentication::find_sandbox_run(model::TenantId tenant, model::RunId run, SandboxCaller sandbox,
                                      Callback<void(Result<Identity>)> done) {
  store::run(store_.database(), tenant, run,
             [this, tenant, sandbox = std::move(sandbox), done = std::move(done)](Result<model::Run> found) mutable {
               if (!found && found.error().kind == ErrorKind::not_found) return done(Identity{Unknown{}});
               if (!found) return done(std::move(found.error()));
               // A sandbox has no access once its run is over or is being cancelled.
               const bool is_stopped = found.value().ended_at || model::is_cancelled(found.value().state);
               if (is_stopped) return done(Identity{Unknown{}});
               sandbox.run = std::move(found).take();
               welcome(tenant, std::move(sandbox), std::move(done));
             });
}

void Authentication::welcome(model::TenantId tenant, SandboxCaller sandbox, Callback<void(Result<Identity>)> done) {
  store::tenant(store_.database(), tenant,
                [sandbox = std::move(sandbox), done = std::move(done)](Result<model::Tenant> its) mutable {
                  if (!its) return done(std::move(its.error()));
                  sandbox.holder =
                      std::make_shared<const store::KeyHolder>(store::KeyHolder{.tenant = std::move(its).take()});
                  done(Identity{std::move(sandbox)});
                });
}

void Authentication::remember(std::string secret_sha256, Holder holder) {
  if (remembered_.size() >= remembered_max) remembered_.clear();
  remembered_[std::move(secret_sha256)] = {std::move(holder), loop_.monotonic_us() + remembered_us};
}

void Authentication::forget() {
  remembered_.clear();
  ++forgotten_count_;
}

}  // namespace sluice::api
