// One request on its way to an answer: the HTTP request, its route, the caller's identity, and the only functions that
// send answers. Used on the loop's thread; the callbacks that a request waits for share it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/request/route.h"
#include "api/request/services.h"
#include "model/model.h"
#include "net/net.h"

namespace sluice::api {

inline constexpr std::string_view json_type = "application/json";

// The identity behind a request.
struct Caller {
  Holder holder;                          // the tenant and its key; null on routes that are not for service keys
  bool is_operator = false;               // who acts for the tenant in the console, without a key of the tenant
  std::string sandbox;                    // "run:run_…" if a sandbox sends the request, with its bearer
  std::optional<model::Run> sandbox_run;  // empty if the sandbox's execution belongs to no run

  bool is_sandbox() const { return !sandbox.empty(); }
  // The name of the caller in the audit chain.
  std::string actor() const {
    if (is_sandbox()) return sandbox;
    return is_operator ? "console:admin" : "service_key:" + holder->key.id.text();
  }
};

class RequestContext final {
 public:
  RequestContext(Services& services, std::shared_ptr<net::Exchange> exchange);

  Services& services() const { return services_; }
  store::Store& store() const { return services_.needs.store; }
  store::Database& database() const { return services_.needs.store.database(); }
  engine::Engine& engine() const { return services_.needs.engine; }
  world::IdSource& ids() const { return services_.needs.ids; }
  Timestamp now() const { return services_.needs.loop.now(); }
  net::Exchange& exchange() const { return *exchange_; }
  const net::Request& http() const { return exchange_->request(); }
  std::optional<std::string_view> header(std::string_view name) const { return http().headers.find(name); }
  // A repeated header is refused, because a proxy in front may have checked the other one.
  bool is_repeated(std::string_view header_name) const { return http().headers.count(header_name) > 1; }
  const std::string& request_id() const { return request_id_; }
  // The header traceparent, if it is valid; empty otherwise.
  std::string_view traceparent() const { return traceparent_; }

  void set_match(const Match& match) { match_ = match; }
  const Route* route() const { return match_.route; }
  std::string_view path_param(std::size_t index) const { return match_.params[index]; }
  // Empty if the path has no id of that kind, so that no such object exists.
  template <typename AnyId>
  std::optional<AnyId> path_id(std::size_t index = 0) const {
    return AnyId::parse(match_.params[index]);
  }

  // Only the head has arrived: `welcome` is called instead of the handler.
  void set_only_head(Callback<void()> welcome) { welcome_ = std::move(welcome); }
  bool is_only_head() const { return static_cast<bool>(welcome_); }
  // Calls the handler, or `welcome`, after the access has been checked. `self` is this object.
  void let_in(const RequestPtr& self) { is_only_head() ? welcome_() : route()->handle(self); }

  // Checks that the first parameter of the path is the workspace of the key, and removes it from the parameters, so
  // that a handler finds the same parameters below /v1 and below /api/workspaces.
  bool enter_workspace();

  Caller& caller() { return caller_; }
  // Only on routes for service keys.
  const store::KeyHolder& holder() const { return SLUICE_CHECK(caller_.holder != nullptr), *caller_.holder; }
  const model::Tenant& tenant() const { return holder().tenant; }
  void set_run(model::RunId run) { run_ = run; }

  // ── answers: exactly one of these, or a stream ──
  // Call it before a long answer is made. False: the request was refused, because the tenant's clients have not read
  // too much of what they were answered.
  bool may_answer(std::size_t bytes);
  void answer(int status, std::string_view content_type, std::string body, net::Headers headers = {});
  void answer_json(int status, std::string body, net::Headers headers = {}) {
    answer(status, json_type, std::move(body), std::move(headers));
  }
  // Answers 200 with bytes that other answers share.
  void answer_shared(std::string_view content_type, SharedBytes bytes, net::Headers headers = {});
  void created(std::string location, std::string body);
  void no_content();
  void problem(const model::Problem& problem, const net::Headers& headers = {});
  void problem(model::Slug slug, std::string_view detail);
  void not_found() { problem(model::Slug::not_found, "There is nothing here under that name."); }
  // Answers an invalid credential. An address that sends too many is answered with 429 instead; requests with a valid
  // key from the same address are not affected.
  void turn_away(model::Slug slug, std::string_view detail);
  void rate_limited(int64_t wait_us, std::string_view detail);
  void invalid(std::string pointer, std::string message);
  // Answers with the problem that an error of the store means to a client. Handlers treat `conflict` themselves.
  void fail(const Error& error);

  // For streams, which write their own head and end.
  void start_stream(net::Headers headers);
  void stream_ended(std::string_view how);
  // Whether the client's budget permits a line of the log about this request.
  bool may_log();
  // The client has left without an answer. The log says 499, as proxies do.
  void left_unanswered();

 private:
  void respond(net::Response response, std::string_view content_type);
  void served(int status, std::string_view how);

  Services& services_;
  // Shared with the connection: either may leave first.
  std::shared_ptr<net::Exchange> exchange_;
  std::string request_id_;
  std::string_view traceparent_;
  int64_t began_us_;
  Match match_;
  Callback<void()> welcome_;
  Caller caller_;
  std::optional<model::RunId> run_;
};

// A problem as a response; `context` says to which request.
net::Response problem_response(const model::Problem& problem, const model::ProblemContext& context);

// Whether a header of W3C trace context may be passed on: version "-" trace-id "-" parent-id "-" flags, lower-case hex,
// ids not all zero, version not ff.
bool is_traceparent(std::string_view text);

}  // namespace sluice::api
