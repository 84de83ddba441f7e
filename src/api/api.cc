#include "api/api.h"

#include <utility>

#include "api/answers/assets.h"
#include "api/assistant/turns.h"
#include "api/console/console.h"
#include "api/executions/redemption.h"
#include "api/handlers.h"
#include "api/request/request_context.h"
#include "api/request/services.h"
#include "api/routes.h"

namespace sluice::api {
namespace {

void refuse_unknown(const RequestPtr& request) {
  if (!request->header("Authorization") && !console::has_cookie(*request)) {
    return request->problem(model::Slug::unauthenticated, "A key is needed: Authorization: Bearer …");
  }
  std::string_view detail = "This key is not known, or it was revoked.";
  if (!request->header("Authorization")) detail = "The session is over, or its key was revoked: log in again.";
  if (request->is_repeated("Authorization")) detail = "Authorization was given more than once.";
  request->turn_away(model::Slug::unauthenticated, detail);
}

std::string_view kind_wanted(Access access) {
  switch (access) {
    case Access::service:
    case Access::service_write:
    case Access::workspace_write: return "This is for service keys (sk_int_…).";
    case Access::workspace:
    case Access::workspace_sandbox: return "This is for service keys (sk_int_…) and for sandboxes (asbx_…).";
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

void refuse_kind(const RequestPtr& request) {
  if (!request->header("Authorization") && for_services(request->route()->access)) {
    return request->problem(model::Slug::insufficient_scope,
                            "Choose a tenant to act in first: PATCH /console/session.");
  }
  request->problem(model::Slug::insufficient_scope, kind_wanted(request->route()->access));
}

bool writes(const Route& route) {
  return route.access == Access::service_write || route.access == Access::workspace_write ||
         (route.access == Access::workspace_sandbox && route.method != "GET");
}

bool is_of_workspace(const Route& route) {
  return route.access == Access::workspace || route.access == Access::workspace_write ||
         route.access == Access::workspace_sandbox;
}

// A sandbox may read its own workspace, and change what agents may change.
bool is_for_sandboxes(const Route& route) {
  return route.access == Access::workspace || route.access == Access::workspace_sandbox;
}

Holder holder_of(const Identity& identity, const Route& route) {
  if (const auto* holder = std::get_if<Holder>(&identity)) return *holder;
  const auto* sandbox = std::get_if<SandboxCaller>(&identity);
  return sandbox != nullptr && is_for_sandboxes(route) ? sandbox->holder : nullptr;
}

// The owner of the token bucket: the key, or the run or execution of the sandbox.
Ulid payer_of(const Identity& identity, const store::KeyHolder& holder) {
  const auto* sandbox = std::get_if<SandboxCaller>(&identity);
  if (sandbox == nullptr) return holder.key.id.ulid;
  return sandbox->run ? sandbox->run->id.ulid : sandbox->execution->id.ulid;
}

std::string name_of(const SandboxCaller& sandbox) {
  return sandbox.run ? "run:" + sandbox.run->id.text() : "execution:" + sandbox.execution->id.text();
}

// False: it was refused.
bool may_use_workspace(const RequestPtr& request, const SandboxCaller& sandbox) {
  const bool changes = writes(*request->route());
  const auto least = changes ? model::WorkspaceUse::write : model::WorkspaceUse::read;
  if (sandbox.use >= least) return true;
  request->problem(model::Slug::insufficient_scope,
                   changes ? "This sandbox may not change its workspace: the agent's `workspace` is not `write`."
                           : "This sandbox may not use its workspace: the agent's `workspace` is `none`.");
  return false;
}

// Messages are not among them: the engine checks the disk itself when it begins a run.
bool fills_disk(std::string_view operation) {
  if (operation == "createMessage") return false;
  return operation.starts_with("create") || operation.starts_with("upload") || operation.starts_with("replace") ||
         operation == "insertTableRows";
}

// False: it was refused.
bool may_use_disk(const RequestPtr& request) {
  auto* const disk = request->services().needs.disk;
  if (disk == nullptr || !fills_disk(request->route()->operation) || !disk->is_short()) return true;
  constexpr int64_t mib = 1024 * 1024;
  request->problem(
      {.slug = model::Slug::unavailable,
       .detail = "The server's disk has " + std::to_string(disk->free_bytes() / mib) + " MiB free, less than the " +
                 std::to_string(disk->free_bytes_min() / mib) +
                 " MiB below which nothing is created or uploaded (limits.disk_free_bytes_min); nothing was "
                 "changed. Delete what is not needed any more, or have the operator make room.",
       .retry_after_seconds = 30});
  return false;
}

// Microseconds until the caller may send a request; 0: now. A request is counted once, when all of it has arrived.
int64_t wait_of(const RequestPtr& request, const Ulid& payer) {
  if (request->is_only_head()) return 0;
  const std::string_view name(reinterpret_cast<const char*>(payer.bytes.data()), payer.bytes.size());
  return request->services().requests.take(name, request->services().needs.loop.monotonic_us());
}

void admit_service(const RequestPtr& request, const Identity& identity) {
  const auto holder = holder_of(identity, *request->route());
  if (holder == nullptr) return refuse_kind(request);
  if (const auto wait_us = wait_of(request, payer_of(identity, *holder)); wait_us > 0) {
    return request->rate_limited(wait_us, "This key asks more often than it may (limits.requests_per_second).");
  }
  request->exchange().trust_caller();
  request->exchange().charge_answers(request->services().answer_accounts.of(holder->tenant.id));
  request->caller().holder = holder;
  if (is_of_workspace(*request->route()) && !request->enter_workspace()) return request->not_found();
  if (const auto* sandbox = std::get_if<SandboxCaller>(&identity)) {
    if (!may_use_workspace(request, *sandbox)) return;
    request->caller().sandbox = name_of(*sandbox);
    request->caller().sandbox_run = sandbox->run;
  }
  if (writes(*request->route()) && holder->tenant.status == model::TenantStatus::suspended) {
    return request->problem(model::Slug::tenant_suspended, "This tenant is suspended: it may read, not write.");
  }
  if (!may_use_disk(request)) return;
  request->let_in(request);
}

void admit(const RequestPtr& request, Result<Identity> identity) {
  if (!identity) return request->fail(identity.error());
  if (std::holds_alternative<Unknown>(identity.value())) return refuse_unknown(request);
  switch (request->route()->access) {
    case Access::service:
    case Access::service_write:
    case Access::workspace:
    case Access::workspace_write:
    case Access::workspace_sandbox: return admit_service(request, identity.value());
    case Access::admin:
    case Access::metrics:
      if (!std::holds_alternative<Operator>(identity.value())) return refuse_kind(request);
      request->exchange().trust_caller();
      return request->let_in(request);
    case Access::open:
    case Access::bearer:
    case Access::setup_token:
    case Access::run_token:
    case Access::upload_token: return request->let_in(request);
  }
}

// Every status with which net refuses.
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

// The exchange of a request of which only the head has arrived: it is refused, or welcomed, so that its body may
// follow.
class HeadExchange final : public net::Exchange {
 public:
  using Verdict = Callback<void(std::optional<net::Response>)>;

  HeadExchange(net::Request head, Verdict verdict) : head_(std::move(head)), verdict_(std::move(verdict)) {}

  void welcome() { say(std::nullopt); }

  const net::Request& request() const override { return head_; }
  void respond(net::Response response) override { say(std::move(response)); }

  // A refusal is one complete response.
  void start(int, net::Headers) override { SLUICE_CHECK(false); }
  void write(SharedBytes) override { SLUICE_CHECK(false); }
  void finish() override { SLUICE_CHECK(false); }
  void abort() override { SLUICE_CHECK(false); }
  std::size_t unsent_bytes() const override { return 0; }
  bool gone() const override { return false; }
  void on_drained(Callback<void()>) override {}
  void on_gone(Callback<void()>) override {}
  void leave_at_half_close() override {}

 private:
  void say(std::optional<net::Response> answer) {
    SLUICE_CHECK(verdict_);
    std::exchange(verdict_, nullptr)(std::move(answer));
  }

  const net::Request head_;
  Verdict verdict_;
};

class HttpApis final : public Api {
 public:
  HttpApis(const ApiNeeds& needs, const ApiOptions& options)
      : turns_({needs.engine, needs.store, needs.loop, needs.log}, Millis{options.leave_grace_ms}),
        console_pack_(options.console_pack.value_or(console_pack())),
        console_(needs.loop, needs.entropy, options.console_session_root, console_pack_),
        services_(needs, options, {turns_, console_, documents_}, routes()) {}

  void handle(std::shared_ptr<net::Exchange> exchange) override {
    judge(std::make_shared<RequestContext>(services_, std::move(exchange)));
  }

  void check_head(const net::Request& head, Callback<void(std::optional<net::Response>)> verdict) override {
    const auto exchange = std::make_shared<HeadExchange>(head, std::move(verdict));
    const auto request = std::make_shared<RequestContext>(services_, exchange);
    request->set_only_head([exchange] { exchange->welcome(); });
    judge(request);
  }

  net::Response refusal(int status, std::string_view detail) const override {
    const std::string request_id = services_.needs.ids.make<model::RequestId>().text();
    auto& log = services_.needs.log;
    if (services_.request_lines.take("", services_.needs.loop.monotonic_us(), log)) {
      log.write(world::LogLevel::info, "request refused",
                {{"status", status}, {"detail", detail}, {"request_id", request_id}});
    }
    model::Problem problem{.slug = slug_of_refusal(status), .detail = std::string(detail)};
    if (status == 503) problem.retry_after_seconds = 1;
    return problem_response(problem, {.base_url = services_.options.public_base_url, .request_id = request_id});
  }

  void adopt_unfinished() override { turns_.adopt_unfinished(); }

  void begin_drain() override {
    services_.draining = true;
    turns_.close();
  }

  std::string make_console_url() override {
    if (console_pack_.empty()) return {};
    return services_.options.public_base_url + "/console/#code=" + console_.codes.make();
  }

 private:
  void judge(const RequestPtr& request) {
    const Match matched = match(request->http().method, request->http().path);
    request->set_match(matched);
    if (matched.route == nullptr) return answer_unmatched(request, matched.known_path);
    if (matched.route->access == Access::open ||
        (matched.route->access == Access::metrics && services_.options.metrics_public)) {
      return request->let_in(request);
    }
    if (is_callback(matched.route->access)) {
      return request->is_only_head() ? executions::check_head(request) : request->let_in(request);
    }
    const auto then = [request](Result<Identity> identity) { admit(request, std::move(identity)); };
    if (!request->header("Authorization")) return console::identify_session(request, then);
    if (request->is_repeated("Authorization")) return refuse_unknown(request);
    services_.authentication.identify(request->header("Authorization"), then);
  }

  static void answer_unmatched(const RequestPtr& request, bool known_path) {
    if (!known_path) return request->problem(model::Slug::not_found, "There is no such path.");
    if (request->http().method == "OPTIONS") {
      return request->answer(204, "", "", {{"Allow", allowed_methods(request->http().path)}});
    }
    const auto allowed = allowed_methods(request->http().path);
    request->problem({.slug = model::Slug::method_not_allowed, .detail = "This path takes " + allowed + "."},
                     {{"Allow", allowed}});
  }

  assistant::Turns turns_;
  const std::string_view console_pack_;
  console::Console console_;
  const Documents documents_;
  Services services_;
};

}  // namespace

std::size_t body_bytes_max_of(std::string_view method, std::string_view path) {
  const auto* route = match(method, path).route;
  if (route == nullptr) return 0;
  return route->access == Access::open || route->access == Access::metrics ? limits::open_body_bytes_max
                                                                           : route->body_bytes_max;
}

std::unique_ptr<Api> make_api(ApiNeeds needs, ApiOptions options) { return std::make_unique<HttpApis>(needs, options); }

}  // namespace sluice::api
