#include "api/request/request_context.h"

#include <algorithm>

#include "api/request/services.h"

namespace sluice::api {
namespace {

constexpr std::size_t known_size = 55;
constexpr std::size_t size_max = 256;  // a later version may add fields, not a novel

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_zero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

bool is_traceparent(std::string_view text) {
  if (text.size() < known_size || text.size() > size_max) return false;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace_id = text.substr(3, 32);
  const std::string_view parent_id = text.substr(36, 16);
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  if (!is_hex(version) || !is_hex(trace_id) || !is_hex(parent_id) || !is_hex(text.substr(53, 2))) return false;
  if (version == "ff" || is_zero(trace_id) || is_zero(parent_id)) return false;
  if (text.size() == known_size) return true;
  return version != "00" && text[known_size] == '-' &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

namespace {

constexpr std::size_t long_answer_bytes_min = 64 * 1024;
constexpr std::string_view problem_type = "application/problem+json";

// The policy of the console's pages.
constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

bool is_of_console(std::string_view path) { return path == "/console" || path.starts_with("/console/"); }

// The headers of every answer below /console. `over_tls`: clients reach this server by https.
void add_page_headers(net::Headers& headers, bool over_tls) {
  headers.add("Content-Security-Policy", page_policy);
  headers.add("X-Frame-Options", "DENY");
  if (!headers.find("X-Content-Type-Options")) headers.add("X-Content-Type-Options", "nosniff");
  headers.add("Referrer-Policy", "no-referrer");
  // From now on the browser uses https, whatever link it follows.
  if (over_tls) headers.add("Strict-Transport-Security", "max-age=31536000");
}

// Answers of the API are for the client alone, and browsers must not guess their type.
void add_api_headers(net::Headers& headers) {
  if (!headers.find("Cache-Control")) headers.add("Cache-Control", "no-store");
  if (!headers.find("X-Content-Type-Options")) headers.add("X-Content-Type-Options", "nosniff");
}

model::Problem problem_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::not_found: return {.slug = model::Slug::not_found, .detail = "There is " + error.what + "."};
    case ErrorKind::overloaded:
      return {.slug = model::Slug::unavailable,
              .detail = "The server cannot write right now; nothing was changed.",
              .retry_after_seconds = 1};
    case ErrorKind::unavailable:
      return {.slug = model::Slug::unavailable,
              .detail = "The server cannot tell whether the change was kept. Look before you ask again.",
              .retry_after_seconds = 1};
    case ErrorKind::invalid:
    case ErrorKind::denied:
    case ErrorKind::conflict:
    case ErrorKind::corrupt: break;
  }
  return {.slug = model::Slug::internal, .detail = "Something is wrong on the server; its log says what."};
}

}  // namespace

net::Response problem_response(const model::Problem& problem, const model::ProblemContext& context) {
  net::Response response;
  response.status = model::entry_of(problem.slug).status;
  response.headers.add("Content-Type", problem_type);
  response.headers.add("X-Request-Id", context.request_id);
  if (problem.slug == model::Slug::unauthenticated) response.headers.add("WWW-Authenticate", "Bearer");
  if (problem.retry_after_seconds) {
    response.headers.add("Retry-After", std::to_string(*problem.retry_after_seconds));
  }
  add_api_headers(response.headers);
  model::append_json(response.body, problem, context);
  return response;
}

RequestContext::RequestContext(Services& services, std::shared_ptr<net::Exchange> exchange)
    : services_(services),
      exchange_(std::move(exchange)),
      request_id_(services.needs.ids.make<model::RequestId>().text()),
      began_us_(services.needs.loop.monotonic_us()) {
  const auto traceparent = header("traceparent");
  if (traceparent && is_traceparent(*traceparent)) traceparent_ = *traceparent;
}

bool RequestContext::enter_workspace() {
  const auto workspace = path_id<model::WorkspaceId>();
  if (!workspace || workspace->ulid != tenant().id.ulid) return false;
  std::shift_left(match_.params.begin(), match_.params.end(), 1);
  return true;
}

void RequestContext::answer(int status, std::string_view content_type, std::string body, net::Headers headers) {
  respond({.status = status, .headers = std::move(headers), .body = std::move(body)}, content_type);
}

void RequestContext::answer_shared(std::string_view content_type, SharedBytes bytes, net::Headers headers) {
  respond({.headers = std::move(headers), .shared_body = std::move(bytes)}, content_type);
}

bool RequestContext::may_answer(std::size_t bytes) {
  // A request that changed something is always answered: a refusal would say that nothing was done.
  if (!caller_.holder || bytes < long_answer_bytes_min || http().method != "GET") return true;
  const auto account = services_.answer_accounts.of(caller_.holder->tenant.id);
  if (account->unread_bytes == 0) return true;
  if (account->unread_bytes + bytes <= limits::unread_answers_bytes_of_tenant_max) return true;
  rate_limited(1'000'000, "Clients of this tenant do not read what they were answered: too much of it waits.");
  return false;
}

void RequestContext::respond(net::Response response, std::string_view content_type) {
  if (!response.shared_body && !may_answer(response.body.size())) return;
  if (!content_type.empty()) response.headers.add("Content-Type", content_type);
  response.headers.add("X-Request-Id", request_id_);
  if (content_type.starts_with(json_type)) add_api_headers(response.headers);
  if (is_of_console(http().path)) {
    add_page_headers(response.headers, services_.options.public_base_url.starts_with("https://"));
  }
  const int status = response.status;
  exchange_->respond(std::move(response));
  served(status, "complete");
}

void RequestContext::created(std::string location, std::string body) {
  answer_json(201, std::move(body), {{"Location", std::move(location)}});
}

void RequestContext::no_content() { answer(204, "", ""); }

void RequestContext::problem(const model::Problem& problem, const net::Headers& headers) {
  auto response = problem_response(
      problem, {.base_url = services_.options.public_base_url, .instance = http().path, .request_id = request_id_});
  for (const auto& header : headers.all()) response.headers.add(header.name, header.value);
  if (is_of_console(http().path)) {
    add_page_headers(response.headers, services_.options.public_base_url.starts_with("https://"));
  }
  const int status = response.status;
  exchange_->respond(std::move(response));
  served(status, "complete");
}

void RequestContext::problem(model::Slug slug, std::string_view detail) {
  problem(model::Problem{.slug = slug, .detail = std::string(detail)});
}

void RequestContext::turn_away(model::Slug slug, std::string_view detail) {
  const auto wait_us = services_.wrong_keys.take(http().peer, services_.needs.loop.monotonic_us());
  if (wait_us > 0) return rate_limited(wait_us, "Too many wrong keys came from this address.");
  problem(slug, detail);
}

void RequestContext::rate_limited(int64_t wait_us, std::string_view detail) {
  problem(model::Problem{.slug = model::Slug::rate_limited,
                         .detail = std::string(detail),
                         .retry_after_seconds = (wait_us + 999'999) / 1'000'000});
}

void RequestContext::invalid(std::string pointer, std::string message) {
  model::Problem problem{.slug = model::Slug::validation_error, .detail = "One field is not valid."};
  problem.errors.push_back({std::move(pointer), std::move(message)});
  this->problem(problem);
}

void RequestContext::fail(const Error& error) {
  if (error.kind == ErrorKind::invalid) return invalid("", error.what);
  const auto problem = problem_of(error);
  if (problem.slug != model::Slug::not_found) {
    services_.needs.log.write(world::LogLevel::error, "request failed",
                              {{"request_id", request_id_}, {"why", error.what}});
  }
  if (error.kind == ErrorKind::unavailable && store().needs_reopening()) engine().store_fell_silent(error);
  this->problem(problem);
}

void RequestContext::start_stream(net::Headers headers) {
  add_api_headers(headers);
  headers.add("X-Accel-Buffering", "no");
  headers.add("X-Request-Id", request_id_);
  exchange_->start(200, std::move(headers));
}

void RequestContext::stream_ended(std::string_view how) { served(200, how); }

bool RequestContext::may_log() {
  const std::string tenant = caller_.holder ? caller_.holder->tenant.id.text() : "";
  return services_.request_lines.take(tenant, services_.needs.loop.monotonic_us(), services_.needs.log);
}

void RequestContext::left_unanswered() { served(499, "caller left"); }

void RequestContext::served(int status, std::string_view how) {
  const int64_t duration_us = services_.needs.loop.monotonic_us() - began_us_;
  services_.metrics.served(match_.route, status, duration_us);
  if (!services_.needs.log.wants(world::LogLevel::info) || !may_log()) return;
  const std::string tenant = caller_.holder ? caller_.holder->tenant.id.text() : "-";
  const std::string run = run_ ? run_->text() : "-";
  services_.needs.log.write(world::LogLevel::info, "request served",
                            {{"method", http().method},
                             {"route", match_.route != nullptr ? match_.route->path : "-"},
                             {"status", status},
                             {"answer", how},
                             {"duration_us", duration_us},
                             {"request_id", request_id_},
                             {"tenant", tenant},
                             {"run", run},
                             {"traceparent", traceparent_.empty() ? "-" : traceparent_}});
}

}  // namespace sluice::api
