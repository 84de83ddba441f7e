#include "station/station.h"

#include <charconv>
#include <map>
#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "station/session.h"
#include "station/stream_request.h"

namespace sluice::station {
namespace {

enum class Endpoint : unsigned char { stream, dispatch, acknowledge, health, drain };

// What a path means.
struct Route {
  Endpoint endpoint;
  std::string_view dispatch;  // its name, for `dispatch` and `acknowledge`
};

// Ignores what is before the station's own path. Empty if there is no such endpoint.
std::optional<Route> find_route(std::string_view path) {
  if (path.ends_with(dispatch::health_path)) return Route{Endpoint::health, ""};
  if (path.ends_with(dispatch::drain_path)) return Route{Endpoint::drain, ""};
  if (path.ends_with(dispatch::stream_path)) return Route{Endpoint::stream, ""};
  const auto dispatch = dispatch::dispatch_path("");
  const auto at = path.rfind(dispatch);
  if (at == std::string_view::npos) return std::nullopt;
  auto name = path.substr(at + dispatch.size());
  const bool acknowledges = name.ends_with(dispatch::acknowledge_suffix);
  if (acknowledges) name.remove_suffix(dispatch::acknowledge_suffix.size());
  if (!is_name(name)) return std::nullopt;
  return Route{acknowledges ? Endpoint::acknowledge : Endpoint::dispatch, name};
}

// The methods that an endpoint accepts, in the form of the header Allow.
std::string_view methods_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::dispatch: return "GET, DELETE";
    case Endpoint::health: return "GET, HEAD";
    case Endpoint::stream:
    case Endpoint::acknowledge:
    case Endpoint::drain: return "POST";
  }
  return "";
}

using model::Problem;
using model::Slug;

std::string_view bearer_in(const net::Request& request) {
  constexpr std::string_view scheme = "Bearer ";
  // Of two, a proxy in front may have looked at the one and we at the other.
  if (request.headers.count("Authorization") > 1) return "";
  const auto given = request.headers.find("Authorization").value_or("");
  return given.starts_with(scheme) ? given.substr(scheme.size()) : "";
}

bool takes(Endpoint endpoint, std::string_view method) {
  auto methods = methods_of(endpoint);
  while (!methods.empty()) {
    const auto comma = methods.find(", ");
    if (methods.substr(0, comma) == method) return true;
    methods.remove_prefix(comma == std::string_view::npos ? methods.size() : comma + 2);
  }
  return false;
}

Problem not_valid(std::string pointer, std::string message) {
  return {.slug = Slug::validation_error,
          .detail = "The request is not understood.",
          .errors = {{std::move(pointer), std::move(message)}}};
}

// The number in ?after=N; 0 when there is none.
std::optional<int64_t> line_after(const net::Request& request) {
  const auto query = net::parse_query(request.query);
  if (!query) return std::nullopt;
  int64_t line = 0;
  for (const auto& [name, value] : *query) {
    if (name != "after") continue;
    const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), line);
    if (fault != std::errc{} || end != value.data() + value.size() || line < 0) return std::nullopt;
  }
  return line;
}

// The number in {"line":N}.
std::optional<int64_t> line_in(std::string_view body) {
  const auto document = json::Document::parse(body);
  if (!document || document.value().root().kind() != json::Kind::object) return std::nullopt;
  const auto value = document.value().root().find("line");
  const auto line = value ? value->integer() : std::nullopt;
  return line && *line >= 0 ? line : std::nullopt;
}

class HttpStation final : public Station, private Session::Owner {
 public:
  HttpStation(StationNeeds needs, StationOptions options) : needs_(needs), options_(std::move(options)) {}

  void handle(std::shared_ptr<net::Exchange> exchange) override {
    const auto request_id = needs_.ids.make<model::RequestId>().text();
    const auto& request = exchange->request();
    const auto route = find_route(request.path);
    if (!route) return refuse(*exchange, {.slug = Slug::not_found, .detail = "A runner has no such path."}, request_id);
    if (auto problem = refusal(request, route->endpoint)) return refuse(*exchange, *problem, request_id);
    if (route->endpoint != Endpoint::health) exchange->trust_caller();
    switch (route->endpoint) {
      case Endpoint::health: return send_health(*exchange, 200);
      case Endpoint::drain: return begin_drain(*exchange);
      case Endpoint::stream: return open(std::move(exchange), request_id);
      case Endpoint::dispatch:
      case Endpoint::acknowledge: return visit(std::move(exchange), *route, request_id);
    }
  }

  std::optional<net::Response> check_head(const net::Request& head) override {
    const auto route = find_route(head.path);
    auto problem = route ? refusal(head, route->endpoint) : std::optional<Problem>({.slug = Slug::not_found});
    if (!problem) return std::nullopt;
    return response_to(head, *problem, needs_.ids.make<model::RequestId>().text());
  }

  void drain(Millis deadline, Callback<void()> done) override {
    draining_ = true;
    drained_ = std::move(done);
    if (sessions_.empty()) return say_drained();
    deadline_ = needs_.loop.after(deadline, [this] {
      deadline_passed_ = true;
      for (const auto& [id, session] : sessions_) session->stop();
      note_drained();
    });
  }

 private:
  using Sessions = std::map<std::string, std::shared_ptr<Session>, std::less<>>;

  // ── who may come in ──

  std::optional<Problem> refusal(const net::Request& request, Endpoint endpoint) const {
    if (!takes(endpoint, request.method)) {
      return Problem{.slug = Slug::method_not_allowed, .detail = "Use " + std::string(methods_of(endpoint)) + "."};
    }
    if (endpoint == Endpoint::health) return std::nullopt;
    if (!options_.runner_key_sha256.empty() &&
        !equal_in_constant_time(sha256(bearer_in(request)), options_.runner_key_sha256)) {
      return Problem{.slug = Slug::unauthenticated,
                     .detail = "Send 'Authorization: Bearer KEY' with the key of this runner (runner.key)."};
    }
    return endpoint == Endpoint::stream ? fullness() : std::nullopt;
  }

  std::optional<Problem> fullness() const {
    if (draining_) {
      return Problem{.slug = Slug::unavailable, .detail = "The runner is stopping.", .retry_after_seconds = 1};
    }
    if (at_work_ >= options_.concurrent_max) {
      return Problem{.slug = Slug::unavailable,
                     .detail = "The runner carries as many dispatches as it may (runner.concurrent_max).",
                     .retry_after_seconds = 5};
    }
    return std::nullopt;
  }

  void refuse(net::Exchange& exchange, const Problem& problem, const std::string& request_id) {
    exchange.respond(response_to(exchange.request(), problem, request_id));
  }

  net::Response response_to(const net::Request& request, const Problem& problem, const std::string& request_id) {
    net::Response response{.status = model::entry_of(problem.slug).status};
    response.headers.add("Content-Type", "application/problem+json");
    response.headers.add("X-Request-Id", request_id);
    if (problem.slug == Slug::unauthenticated) response.headers.add("WWW-Authenticate", "Bearer");
    const auto route = find_route(request.path);
    if (problem.slug == Slug::method_not_allowed && route) response.headers.add("Allow", methods_of(route->endpoint));
    if (problem.retry_after_seconds) response.headers.add("Retry-After", std::to_string(*problem.retry_after_seconds));
    model::append_json(response.body, problem, {options_.public_base_url, request.path, request_id});
    if (route && route->endpoint == Endpoint::stream) count("refused");
    needs_.log.write(world::LogLevel::info, "runner refused",
                     {{"status", int64_t{response.status}}, {"why", problem.detail}, {"request_id", request_id}});
    return response;
  }

  // ── for operators ──

  void send_health(net::Exchange& exchange, int status) const {
    net::Response response{.status = status, .headers = {{"Content-Type", "application/json"}}};
    json::Writer writer(response.body);
    writer.begin_object().key("status").string(draining_ ? "draining" : "ok").key("slots");
    writer.integer(options_.concurrent_max).key("free").integer(draining_ ? 0 : options_.concurrent_max - at_work_);
    writer.end_object();
    exchange.respond(std::move(response));
  }

  void begin_drain(net::Exchange& exchange) {
    if (!std::exchange(draining_, true)) needs_.log.write(world::LogLevel::info, "draining by request", {});
    send_health(exchange, 202);
  }

  // ── a dispatch, from its beginning ──

  void open(std::shared_ptr<net::Exchange> exchange, const std::string& request_id) {
    auto read = read_stream_request(exchange->request(), options_);
    if (const auto* problem = std::get_if<Problem>(&read)) return refuse(*exchange, *problem, request_id);
    auto request = std::get<StreamRequest>(std::move(read));
    if (request.dispatch.empty()) request.dispatch = needs_.ids.make<model::ExecutionId>().text();
    if (sessions_.contains(request.dispatch)) {
      return refuse(*exchange, {.slug = Slug::name_conflict, .detail = "There is a dispatch of that name already."},
                    request_id);
    }
    const auto session = std::make_shared<Session>(needs_, options_, std::move(request), request_id,
                                                   static_cast<Session::Owner&>(*this));
    sessions_.emplace(session->id(), session);
    count_live(+1);
    session->start(std::move(exchange), headers_of(*session, request_id));
  }

  static net::Headers headers_of(const Session& session, const std::string& request_id) {
    net::Headers headers{{"Content-Type", "application/x-ndjson"},
                         {"Cache-Control", "no-store"},
                         {"X-Accel-Buffering", "no"},
                         {std::string(dispatch::dispatch_header), session.id()},
                         {"X-Request-Id", request_id}};
    if (session.is_careful()) headers.add(dispatch::careful_header, "1");
    return headers;
  }

  void on_over(Session& session, Outcome outcome) override {
    count(outcome);
    needs_.log.write(world::LogLevel::info, "dispatch ended",
                     {{"outcome", outcome},
                      {"duration_us", needs_.loop.monotonic_us() - session.began_us()},
                      {"request_id", session.request_id()}});
    count_live(-1);
    note_drained();
  }

  void on_released(Session& session) override {
    const auto found = sessions_.find(session.id());
    // It is still on the stack.
    needs_.loop.defer([ended = std::move(found->second)] {});
    sessions_.erase(found);
    note_drained();
  }

  // ── a dispatch that somebody comes back to ──

  void visit(std::shared_ptr<net::Exchange> exchange, Route route, const std::string& request_id) {
    const auto found = sessions_.find(route.dispatch);
    if (found == sessions_.end()) return refuse(*exchange, unknown(), request_id);
    const auto session = found->second;
    const auto& request = exchange->request();
    if (route.endpoint == Endpoint::acknowledge) return acknowledge(*exchange, *session, request_id);
    if (session->account().was_replaced(request.headers.find(dispatch::reader_header).value_or(""))) {
      return refuse(
          *exchange,
          {.slug = Slug::resource_in_use, .detail = "Another reader came later, and the dispatch is its own."},
          request_id);
    }
    if (request.method == "GET") return reattach(std::move(exchange), *session, request_id);
    session->kill([exchange = std::move(exchange)] { exchange->respond({.status = 204}); });
  }

  static Problem unknown() {
    return {.slug = Slug::not_found,
            .detail =
                "There is no such dispatch: it ended and was acknowledged, its caller was away for too long, or "
                "the runner was started again since."};
  }

  void reattach(std::shared_ptr<net::Exchange> exchange, Session& session, const std::string& request_id) {
    const auto line = line_after(exchange->request());
    if (!line) return refuse(*exchange, not_valid("after", "must be a line's number"), request_id);
    if (!session.account().has_after(*line)) return refuse(*exchange, unknown(), request_id);
    auto reader = std::string(exchange->request().headers.find(dispatch::reader_header).value_or(""));
    if (!reader.empty() && !is_name(reader)) {
      return refuse(*exchange, not_valid(std::string(dispatch::reader_header), "is not a name"), request_id);
    }
    reattached_.add();
    session.account().attach(std::move(exchange), std::move(reader), headers_of(session, request_id), *line);
  }

  void acknowledge(net::Exchange& exchange, Session& session, const std::string& request_id) {
    const auto line = line_in(exchange.request().body.view());
    if (!line) return refuse(exchange, not_valid("/line", "must be a line's number"), request_id);
    if (!session.account().acknowledge(*line)) {
      return refuse(exchange, not_valid("/line", "was not sent yet"), request_id);
    }
    exchange.respond({.status = 204});
  }

  // ── the end ──

  void note_drained() {
    if (draining_ && drained_ && (sessions_.empty() || (deadline_passed_ && at_work_ == 0))) say_drained();
  }

  void say_drained() {
    deadline_.cancel();
    needs_.loop.defer(std::exchange(drained_, nullptr));
  }

  void count(std::string_view outcome) {
    needs_.metrics
        .counter("sluice_dispatches_total", "Dispatches that came to POST /stream.",
                 "outcome=\"" + std::string(outcome) + "\"")
        .add();
  }

  void count_live(int change) {
    at_work_ += change;
    live_.set(at_work_);
  }

  const StationNeeds needs_;
  const StationOptions options_;
  world::Gauge& live_ = needs_.metrics.gauge("sluice_dispatches_live", "Dispatches at work.");
  world::Counter& reattached_ =
      needs_.metrics.counter("sluice_dispatches_reattached_total", "Callers that came back to their dispatch.");
  Sessions sessions_;  // at work, or with lines that are not safe yet
  int at_work_ = 0;
  bool draining_ = false;
  bool deadline_passed_ = false;
  Callback<void()> drained_;
  world::Timer deadline_;
};

}  // namespace

std::unique_ptr<Station> make_station(StationNeeds needs, StationOptions options) {
  return std::make_unique<HttpStation>(needs, std::move(options));
}

bool is_station_path(std::string_view path, Mount mount) {
  if (mount == Mount::below_sandbox) return path.starts_with("/sandbox/") && find_route(path).has_value();
  const bool is_at_root = path == dispatch::stream_path || path.starts_with(dispatch::dispatch_path("")) ||
                          path == dispatch::health_path || path == dispatch::drain_path;
  return is_at_root && find_route(path).has_value();
}

std::size_t body_bytes_max_of(std::string_view, std::string_view path) {
  const auto route = find_route(path);
  return route && route->endpoint == Endpoint::health ? limits::open_body_bytes_max : 0;
}

}  // namespace sluice::station
