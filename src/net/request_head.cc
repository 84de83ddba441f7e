#include "net/request_head.h"

#include <strings.h>

#include <algorithm>
#include <array>

namespace sluice::net {
namespace {

using CharSet = std::array<bool, 256>;

constexpr CharSet make_set(std::string_view others) {
  CharSet set{};
  for (int c = '0'; c <= '9'; ++c) set[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) set[static_cast<std::size_t>(c)] = set[static_cast<std::size_t>(c - 32)] = true;
  for (const char c : others) set[static_cast<unsigned char>(c)] = true;
  return set;
}

constexpr CharSet make_value_set() {
  CharSet set{};
  for (std::size_t c = 0; c < 256; ++c) set[c] = c == '\t' || (c >= ' ' && c != 0x7f);
  return set;
}

constexpr CharSet token_chars = make_set("!#$%&'*+-.^_`|~");
constexpr CharSet host_chars = make_set("-._~!$&'()*+,;=%:[]");
constexpr CharSet target_chars = make_set("-._~!$&'()*+,;=%:@/?[]{}|^`\\\"<>");  // visible ASCII but '#'
constexpr CharSet value_chars = make_value_set();

bool all_in(const CharSet& set, std::string_view text) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return set[static_cast<unsigned char>(c)]; });
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_token_char(char c) { return token_chars[static_cast<unsigned char>(c)]; }
bool is_field_value(std::string_view text) { return all_in(value_chars, text); }

void RequestHead::refuse(int status, std::string_view detail) {
  if (!refused_) refused_ = {status, std::string(detail)};
}

void RequestHead::refuse_large_body() {
  refuse(413, "the request body is too large: the limit is " + std::to_string(body_bytes_max_) + " bytes");
}

// ── what is asked ───────────────────────────────────────────────────────────────────────────────

void RequestHead::set_method(std::string_view method) {
  if (method.empty() || !all_in(token_chars, method)) return refuse(400, "the method is malformed");
  request_.method = method;
}

void RequestHead::set_target(std::string_view target) {
  if (target.empty() || !all_in(target_chars, target) || !read_target(target)) {
    refuse(400, "the request target is malformed");
  }
}

bool RequestHead::read_target(std::string_view target) {
  if (target == "*") {
    request_.path = "*";
    return request_.method == "OPTIONS";
  }
  std::string_view path = target;
  if (const std::size_t scheme = target.find("://"); target.front() != '/' && scheme != std::string_view::npos) {
    const std::string_view name = target.substr(0, scheme);
    if (!same_word(name, "http") && !same_word(name, "https")) return false;
    path.remove_prefix(scheme + 3);
    const std::string_view authority = path.substr(0, path.find_first_of("/?"));
    if (authority.empty() || !all_in(host_chars, authority)) return false;
    path.remove_prefix(authority.size());
    if (path.empty() || path.front() == '?') request_.path = "/";
  } else if (path.front() != '/') {
    return false;
  }
  const std::size_t mark = std::min(path.find('?'), path.size());
  request_.path += path.substr(0, mark);
  request_.query = path.substr(std::min(path.size(), mark + 1));
  return true;
}

// ── header fields ───────────────────────────────────────────────────────────────────────────────

void RequestHead::count_field(std::size_t bytes) {
  header_bytes_ += bytes;
  if (header_bytes_ > limits_->header_bytes_max) return refuse(431, "the header fields are too large");
  if (++header_count_ > limits_->header_count_max) refuse(431, "there are too many header fields");
}

void RequestHead::check_field(std::string_view name, std::string_view value) {
  if (name.empty() || !all_in(token_chars, name)) return refuse(400, "the name of a header field is malformed");
  if (!all_in(value_chars, value)) refuse(400, "the value of a header field is malformed");
}

void RequestHead::add_field(std::string_view name, std::string_view value) {
  check_field(name, value);
  if (refused_) return;
  if (same_word(name, "host")) {
    on_host(value);
  } else if (same_word(name, "content-length")) {
    on_content_length(value);
  } else if (same_word(name, "expect")) {
    (same_word(value, "100-continue") ? expects_continue_ : expects_else_) = true;
  }
  request_.headers.add(name, value);
}

void RequestHead::on_host(std::string_view value) {
  if (std::exchange(has_host_, true)) return refuse(400, "there are two Host fields");
  if (!all_in(host_chars, value)) refuse(400, "the Host field is malformed");
}

void RequestHead::on_content_length(std::string_view value) {
  if (length_) return refuse(400, "there are two Content-Length fields");
  if (value.empty()) return refuse(400, "the Content-Length is malformed");
  std::size_t length = 0;
  for (const char c : value) {
    if (c < '0' || c > '9') return refuse(400, "the Content-Length is malformed");
    const auto digit = static_cast<std::size_t>(c - '0');
    length = length > (SIZE_MAX - digit) / 10 ? SIZE_MAX : length * 10 + digit;
  }
  length_ = length;
}

void RequestHead::finish() {
  if (version_ != HttpVersion::http_1_0) {
    if (!has_host_) return refuse(400, "there is no Host field");
    if (expects_else_) return refuse(417, "the only expectation known is 100-continue");
  }
  body_bytes_max_ = limits_->body_bytes_max;
  const std::size_t own =
      limits_->body_bytes_max_of != nullptr ? limits_->body_bytes_max_of(request_.method, request_.path) : 0;
  is_open_ = own > 0 && own <= limits::unjudged_body_bytes_max;
  body_bytes_max_ = is_open_ ? own : std::max(body_bytes_max_, own);
  if (length_.value_or(0) > body_bytes_max_) refuse_large_body();
}

}  // namespace sluice::net
