#include "net/incoming_head.h"

#include <algorithm>
#include <utility>

#include "http/text.h"

namespace sluice::net {
namespace {

int status_of(http::Fault::Kind kind) {
  switch (kind) {
    case http::Fault::Kind::malformed:
    case http::Fault::Kind::unreadable_version: return 400;
    case http::Fault::Kind::unknown_version: return 505;
    case http::Fault::Kind::long_line: return 414;
    case http::Fault::Kind::large_headers: return 431;
    case http::Fault::Kind::unknown_coding: return 501;
    case http::Fault::Kind::large_body: return 413;
  }
}

}  // namespace

void IncomingHead::refuse(int status, std::string_view detail) {
  if (!refused_) refused_ = {status, std::string(detail)};
}

void IncomingHead::refuse(const http::Fault& fault) {
  if (fault.kind == http::Fault::Kind::large_body) return refuse_large_body();
  refuse(status_of(fault.kind), fault.detail);
}

void IncomingHead::refuse_large_body() {
  refuse(413, "the request body is too large: the limit is " + std::to_string(body_bytes_max_) + " bytes");
}

void IncomingHead::set_request_line(std::string_view method, std::string_view target) {
  heed(http::check_request(method, target));
  head_.method = method;
  head_.target = target;
}

void IncomingHead::add_field(std::string_view name, std::string_view value) {
  check_field(name, value);
  if (!refused_) head_.headers.add(name, value);
}

void IncomingHead::finish(http::RequestHead&& head, const http::HeaderTally& tally) {
  head_ = std::move(head);
  tally_ = tally;
  finish();
}

void IncomingHead::finish() {
  request_.method = std::move(head_.method);
  if (!read_target(std::move(head_.target))) refuse(400, "the request target is malformed");
  check_host();
  read_expectation();
  choose_body_limit();
  read_body_plan();
  request_.headers = std::move(head_.headers);
}

bool IncomingHead::read_target(std::string target) {
  if (target == "*") {
    request_.path = "*";
    return request_.method == "OPTIONS";
  }
  if (!target.starts_with('/')) {  // a whole URL
    const std::string_view url = target;
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos) return false;
    const std::string_view name = url.substr(0, scheme);
    if (!http::same_word(name, "http") && !http::same_word(name, "https")) return false;
    const std::size_t begin = scheme + 3;
    const std::size_t end = std::min(url.find_first_of("/?", begin), url.size());
    if (end == begin || !http::is_authority_text(url.substr(begin, end - begin))) return false;
    target.erase(0, end);
    if (!target.starts_with('/')) target.insert(0, "/");
  }
  if (const std::size_t mark = target.find('?'); mark != std::string::npos) {
    request_.query = target.substr(mark + 1);
    target.resize(mark);
  }
  request_.path = std::move(target);
  return true;
}

void IncomingHead::check_host() {
  std::string_view host;
  const std::size_t count = head_.headers.count("Host", host);
  if (count > 1) return refuse(400, "there are two Host fields");
  if (count == 0) return is_http_1_0() ? void() : refuse(400, "there is no Host field");
  if (!http::is_authority_text(host)) refuse(400, "the Host field is malformed");
}

void IncomingHead::read_expectation() {
  if (is_http_1_0()) return;
  for (const auto& [name, value] : head_.headers.all()) {
    if (!http::same_word(name, "Expect")) continue;
    expects_continue_ = http::same_word(value, "100-continue");
    if (!expects_continue_) return refuse(417, "the only expectation known is 100-continue");
  }
}

void IncomingHead::choose_body_limit() {
  body_bytes_max_ = limits_->body_bytes_max;
  const std::size_t own =
      limits_->body_bytes_max_of != nullptr ? limits_->body_bytes_max_of(request_.method, request_.path) : 0;
  is_open_ = own > 0 && own <= limits::unjudged_body_bytes_max;
  body_bytes_max_ = is_open_ ? own : std::max(body_bytes_max_, own);
}

void IncomingHead::read_body_plan() {
  if (const auto fault = http::plan_body(head_, body_)) return refuse(*fault);
  const bool is_unknown = body_.framing == http::Framing::chunked ||
                          (body_.framing == http::Framing::none && !head_.headers.find("Content-Length"));
  if (is_unknown) return;
  length_ = body_.length;
  if (*length_ > body_bytes_max_) refuse_large_body();
}

}  // namespace sluice::net
