// One request on its way to an answer: who asks, what for, and the one place where answers are told.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/routes.h"
#include "api/surface.h"
#include "model/model.h"
#include "net/net.h"

namespace sluice::api {

inline constexpr std::string_view json_type = "application/json";

class RequestContext final {
 public:
  RequestContext(Surface& surface, std::shared_ptr<net::Exchange> exchange);

  Surface& surface() const { return surface_; }
  store::Store& store() const { return surface_.needs.store; }
  engine::Engine& engine() const { return surface_.needs.engine; }
  world::IdSource& ids() const { return surface_.needs.ids; }
  Timestamp now() const { return surface_.needs.loop.now(); }
  net::Exchange& exchange() const { return *exchange_; }
  const net::Request& request() const { return exchange_->request(); }
  std::optional<std::string_view> header(std::string_view name) const { return request().headers.find(name); }
  // Of two, a proxy in front may have looked at the one and we at the other.
  bool is_repeated(std::string_view header_name) const { return request().headers.count(header_name) > 1; }
  const std::string& request_id() const { return request_id_; }
  // As it came, when it is a valid one of W3C's; empty otherwise.
  std::string_view traceparent() const { return traceparent_; }

  void set_match(const Match& match) { match_ = match; }
  const Route* route() const { return match_.route; }
  std::string_view path_param(std::size_t index) const { return match_.params[index]; }
  // Empty when what stands in the path is no id of that kind: then there is no such thing.
  template <typename AnyId>
  std::optional<AnyId> path_id(std::size_t index = 0) const {
    return AnyId::parse(match_.params[index]);
  }

  // Only the head has come: where the handler would be called, `welcome` is.
  void set_only_head(Callback<void()> welcome) { welcome_ = std::move(welcome); }
  bool is_only_head() const { return static_cast<bool>(welcome_); }
  // All is well that can be seen before the body. `self` is this one.
  void let_in(const Asked& self) { is_only_head() ? welcome_() : route()->handle(self); }

  // The first parameter is the workspace: is it the holder's? From then on the others are counted
  // without it, so that handlers serve both surfaces.
  bool enter_workspace();

  void set_holder(Holder holder) { holder_ = std::move(holder); }
  // On routes for service keys only.
  const store::KeyHolder& holder() const { return SLUICE_CHECK(holder_ != nullptr), *holder_; }
  const model::Tenant& tenant() const { return holder().tenant; }
  // A sandbox asks, and not a service key. Its run; none for an execution that was made by hand.
  bool is_guest() const { return !guest_name_.empty(); }
  const std::optional<model::Run>& guest_run() const { return guest_run_; }
  // `name` for the audit chain: "run:run_…".
  void set_guest(std::string name, std::optional<model::Run> run) {
    guest_name_ = std::move(name);
    guest_run_ = std::move(run);
  }
  // The operator acts for the tenant, without a key of its own.
  void set_admin_acts() { admin_acts_ = true; }
  // Who asks, for the audit chain.
  std::string actor() const {
    if (is_guest()) return guest_name_;
    return admin_acts_ ? "console:admin" : "service_key:" + holder().key.id.text();
  }
  void set_run(model::RunId run) { run_ = run; }

  // ── answers: exactly one of these, or a stream ──
  // Asked before a long answer is made of what was read. False: it was refused, because too much of what the tenant's
  // clients were answered waits unread.
  bool may_answer(std::size_t bytes);
  void answer(int status, std::string_view content_type, std::string body, net::Headers headers = {});
  void answer_json(int status, std::string body, net::Headers headers = {}) {
    answer(status, json_type, std::move(body), std::move(headers));
  }
  // With 200 and bytes that others are answered with, too.
  void answer_shared(std::string_view content_type, SharedBytes bytes, net::Headers headers = {});
  void created(std::string location, std::string body);
  void no_content();
  void problem(const model::Problem& problem);
  void problem(model::Slug slug, std::string_view detail);
  void not_found() { problem(model::Slug::not_found, "There is nothing here under that name."); }
  // Of a credential that is not good. Whoever shows too many is told to wait instead; those who come from the same
  // address with a good one are not.
  void turn_away(model::Slug slug, std::string_view detail);
  void rate_limited(int64_t wait_us, std::string_view detail);
  void invalid(std::string pointer, std::string message);
  // What the store's errors mean to a caller; handlers treat `conflict` before.
  void fail(const Error& error);

  // For streams, which tell their own head and end.
  void start_stream(net::Headers headers);
  void stream_ended(std::string_view how);
  // Is a line of the log about this request within the budget of its sender?
  bool may_log();
  // Nobody is there to be answered any more; for the log, which says 499 as proxies do.
  void left_unanswered();

 private:
  void respond(net::Response response, std::string_view content_type);
  void served(int status, std::string_view how);

  Surface& surface_;
  // Shared with the connection: either may leave first.
  std::shared_ptr<net::Exchange> exchange_;
  std::string request_id_;
  std::string_view traceparent_;
  int64_t began_us_;
  Match match_;
  Callback<void()> welcome_;
  Holder holder_;
  bool admin_acts_ = false;
  std::optional<model::Run> guest_run_;
  std::string guest_name_;
  std::optional<model::RunId> run_;
};

// A problem as a response; `context` says where.
net::Response problem_response(const model::Problem& problem, const model::ProblemContext& context);

}  // namespace sluice::api
