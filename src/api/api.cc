#include "api/api.h"

#include <utility>

#include "api/console/guard.h"
#include "api/executions/redemption.h"
#include "api/head_exchange.h"
#include "api/request_context.h"
#include "api/routes.h"
#include "api/surface.h"

namespace sluice::api {
namespace {

void refuse_nobody(const Asked& asked) {
  if (!asked->header("Authorization") && !console::has_cookie(*asked)) {
    return asked->problem(model::Slug::unauthenticated, "A key is needed: Authorization: Bearer …");
  }
  std::string_view detail = "This key is not known, or it was revoked.";
  if (!asked->header("Authorization")) detail = "The session is over, or its key was revoked: log in again.";
  if (asked->is_repeated("Authorization")) detail = "Authorization was given more than once.";
  asked->turn_away(model::Slug::unauthenticated, detail);
}

std::string_view kind_wanted(Access access) {
  switch (access) {
    case Access::service:
    case Access::service_write:
    case Access::workspace_write: return "This is for service keys (sk_int_…).";
    case Access::workspace:
    case Access::workspace_guest: return "This is for service keys (sk_int_…) and for sandboxes (asbx_…).";
    case Access::admin:
    case Access::metrics:
    case Access::open:
    case Access::bearer:
    case Access::setup_token:
    case Access::run_token:
    case Access::upload_token: break;
  }
  return "This is for the admin key (sk_adm_…).";
}

bool for_services(Access access) { return access != Access::admin && access != Access::metrics; }

void refuse_kind(const Asked& asked) {
  if (!asked->header("Authorization") && for_services(asked->route()->access)) {
    return asked->problem(model::Slug::insufficient_scope, "Choose a tenant to act in first: PATCH /console/session.");
  }
  asked->problem(model::Slug::insufficient_scope, kind_wanted(asked->route()->access));
}

bool writes(const Route& route) {
  return route.access == Access::service_write || route.access == Access::workspace_write ||
         (route.access == Access::workspace_guest && route.method != "GET");
}

bool is_of_workspace(const Route& route) {
  return route.access == Access::workspace || route.access == Access::workspace_write ||
         route.access == Access::workspace_guest;
}

// A sandbox may look at its own workspace, and change what is there for agents to change.
bool is_for_guests(const Route& route) {
  return route.access == Access::workspace || route.access == Access::workspace_guest;
}

Holder holder_of(const Identity& identity, const Route& route) {
  if (const auto* holder = std::get_if<Holder>(&identity)) return *holder;
  const auto* guest = std::get_if<Guest>(&identity);
  return guest != nullptr && is_for_guests(route) ? guest->holder : nullptr;
}

// Whose bucket it comes from: the key's, or that of what the sandbox works on.
Ulid payer_of(const Identity& identity, const store::KeyHolder& holder) {
  const auto* guest = std::get_if<Guest>(&identity);
  if (guest == nullptr) return holder.key.id.ulid;
  return guest->run ? guest->run->id.ulid : guest->execution->id.ulid;
}

std::string name_of(const Guest& guest) {
  return guest.run ? "run:" + guest.run->id.text() : "execution:" + guest.execution->id.text();
}

// False: it was refused.
bool may_use_workspace(const Asked& asked, const Guest& guest) {
  const bool changes = writes(*asked->route());
  const auto least = changes ? model::WorkspaceUse::write : model::WorkspaceUse::read;
  if (guest.use >= least) return true;
  asked->problem(model::Slug::insufficient_scope,
                 changes ? "This sandbox may not change its workspace: the agent's `workspace` is not `write`."
                         : "This sandbox may not use its workspace: the agent's `workspace` is `none`.");
  return false;
}

// Messages are not among them: the engine looks at the disk itself, when it begins a run.
bool fills_disk(std::string_view operation) {
  if (operation == "createMessage") return false;
  return operation.starts_with("create") || operation.starts_with("upload") || operation.starts_with("replace") ||
         operation == "insertTableRows";
}

// False: it was refused.
bool may_use_disk(const Asked& asked) {
  auto* const disk = asked->surface().needs.disk;
  if (disk == nullptr || !fills_disk(asked->route()->operation) || !disk->is_short()) return true;
  constexpr int64_t mib = 1024 * 1024;
  asked->problem({.slug = model::Slug::unavailable,
                  .detail = "The server's disk has " + std::to_string(disk->free_bytes() / mib) +
                            " MiB free, less than the " + std::to_string(disk->free_bytes_min() / mib) +
                            " MiB below which nothing is created or uploaded (limits.disk_free_bytes_min); nothing was "
                            "changed. Delete what is not needed any more, or have the operator make room.",
                  .retry_after_seconds = 30});
  return false;
}

// Microseconds until it may ask; 0: now. A request is counted once, when all of it is there.
int64_t wait_of(const Asked& asked, const Ulid& payer) {
  if (asked->is_only_head()) return 0;
  const std::string_view name(reinterpret_cast<const char*>(payer.bytes.data()), payer.bytes.size());
  return asked->surface().requests.take(name, asked->surface().needs.loop.monotonic_us());
}

void admit_service(const Asked& asked, const Identity& identity) {
  const auto holder = holder_of(identity, *asked->route());
  if (holder == nullptr) return refuse_kind(asked);
  if (const auto wait_us = wait_of(asked, payer_of(identity, *holder)); wait_us > 0) {
    return asked->rate_limited(wait_us, "This key asks more often than it may (limits.requests_per_second).");
  }
  asked->exchange().trust_caller();
  asked->exchange().charge_answers(asked->surface().answer_accounts.of(holder->tenant.id));
  asked->set_holder(holder);
  if (is_of_workspace(*asked->route()) && !asked->enter_workspace()) return asked->not_found();
  if (const auto* guest = std::get_if<Guest>(&identity)) {
    if (!may_use_workspace(asked, *guest)) return;
    asked->set_guest(name_of(*guest), guest->run);
  }
  if (writes(*asked->route()) && holder->tenant.status == model::TenantStatus::suspended) {
    return asked->problem(model::Slug::tenant_suspended, "This tenant is suspended: it may read, not write.");
  }
  if (!may_use_disk(asked)) return;
  asked->let_in(asked);
}

void admit(const Asked& asked, Result<Identity> identity) {
  if (!identity) return asked->fail(identity.error());
  if (std::holds_alternative<Nobody>(identity.value())) return refuse_nobody(asked);
  switch (asked->route()->access) {
    case Access::service:
    case Access::service_write:
    case Access::workspace:
    case Access::workspace_write:
    case Access::workspace_guest: return admit_service(asked, identity.value());
    case Access::admin:
    case Access::metrics:
      if (!std::holds_alternative<Operator>(identity.value())) return refuse_kind(asked);
      asked->exchange().trust_caller();
      return asked->let_in(asked);
    case Access::open:
    case Access::bearer:
    case Access::setup_token:
    case Access::run_token:
    case Access::upload_token: return asked->let_in(asked);
  }
}

// Somebody who uses the console.
void admit_session(const Asked& asked) {
  const auto session = console::session_of(*asked);
  if (!session) return refuse_nobody(asked);
  if (const auto fault = console::fault_of(*asked, *session); !fault.empty()) {
    return asked->problem(model::Slug::csrf, fault);
  }
  console::identify(asked, *session, [asked](Result<Identity> identity) { admit(asked, std::move(identity)); });
}

// Every status that net refuses with.
model::Slug slug_of_refusal(int status) {
  switch (status) {
    case 400: return model::Slug::malformed_request;
    case 408: return model::Slug::request_timeout;
    case 413: return model::Slug::content_too_large;
    case 414: return model::Slug::uri_too_long;
    case 417: return model::Slug::expectation_failed;
    case 431: return model::Slug::headers_too_large;
    case 501: return model::Slug::not_implemented;
    case 503: return model::Slug::unavailable;
    case 505: return model::Slug::http_version_not_supported;
    default: return model::Slug::internal;
  }
}

class Surfaces final : public Api {
 public:
  Surfaces(ApiNeeds needs, ApiOptions options) : surface_(needs, std::move(options)) {}

  void handle(std::shared_ptr<net::Exchange> exchange) override {
    judge(std::make_shared<RequestContext>(surface_, std::move(exchange)));
  }

  void check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) override {
    const auto exchange = std::make_shared<HeadExchange>(head, std::move(verdict));
    const auto asked = std::make_shared<RequestContext>(surface_, exchange);
    asked->set_only_head([exchange] { exchange->welcome(); });
    judge(asked);
  }

  net::Response refusal(int status, std::string_view detail) const override {
    const std::string request_id = surface_.needs.ids.make<model::RequestId>().text();
    auto& log = surface_.needs.log;
    if (surface_.request_lines.take("", surface_.needs.loop.monotonic_us(), log)) {
      log.write(world::LogLevel::info, "request refused",
                {{"status", status}, {"detail", detail}, {"request_id", request_id}});
    }
    model::Problem problem{.slug = slug_of_refusal(status), .detail = std::string(detail)};
    if (status == 503) problem.retry_after_seconds = 1;
    return problem_response(problem, {.base_url = surface_.options.public_base_url, .request_id = request_id});
  }

  void adopt_unfinished() override { surface_.turns.adopt_unfinished(); }

  void begin_drain() override {
    surface_.draining = true;
    surface_.turns.close();
  }

  std::string make_console_url() override {
    if (surface_.options.console_pack.empty()) return {};
    return surface_.options.public_base_url + "/console/#code=" + surface_.console.codes.make();
  }

 private:
  void judge(const Asked& asked) {
    const net::Request& request = asked->request();
    const Match matched = match(request.method, request.path);
    asked->set_match(matched);
    if (matched.route == nullptr) return answer_unmatched(asked, matched.known_path);
    if (matched.route->access == Access::open ||
        (matched.route->access == Access::metrics && surface_.options.metrics_public)) {
      return asked->let_in(asked);
    }
    if (is_callback(matched.route->access)) {
      return asked->is_only_head() ? executions::check_head(asked) : asked->let_in(asked);
    }
    if (!asked->header("Authorization")) return admit_session(asked);
    if (asked->is_repeated("Authorization")) return refuse_nobody(asked);
    surface_.authentication.identify(asked->header("Authorization"),
                                     [asked](Result<Identity> identity) { admit(asked, std::move(identity)); });
  }

  static void answer_unmatched(const Asked& asked, bool known_path) {
    if (!known_path) return asked->problem(model::Slug::not_found, "There is no such path.");
    if (asked->request().method == "OPTIONS") {
      return asked->answer(204, "", "", {{"Allow", allowed_methods(asked->request().path)}});
    }
    asked->problem(model::Slug::method_not_allowed, "This path takes " + allowed_methods(asked->request().path) + ".");
  }

  Surface surface_;
};

}  // namespace

std::size_t body_bytes_max_of(std::string_view method, std::string_view path) {
  const auto* route = match(method, path).route;
  if (route == nullptr) return 0;
  return route->access == Access::open || route->access == Access::metrics ? limits::open_body_bytes_max
                                                                           : route->body_bytes_max;
}

std::unique_ptr<Api> make_api(ApiNeeds needs, ApiOptions options) {
  return std::make_unique<Surfaces>(needs, std::move(options));
}

}  // namespace sluice::api
