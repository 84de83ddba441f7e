#include "net/http_parser.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace sluice::net {
namespace {

constexpr std::size_t chunk_line_bytes_max = 256;

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

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::size_t RequestParser::feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && now_.stage < Stage::done) {
    const std::string_view rest = bytes.substr(taken);
    const bool in_body = now_.stage == Stage::body || now_.stage == Stage::chunk;
    taken += in_body ? take_body(rest) : take_line(rest);
  }
  return taken;
}

Request RequestParser::take() {
  SLUICE_CHECK(done());
  Request request = std::move(now_.request);
  now_ = Progress{};
  return request;
}

void RequestParser::refuse(int status, std::string_view detail) {
  if (now_.stage == Stage::refused) return;  // the first reason is the one to tell
  now_.stage = Stage::refused;
  now_.refused = {status, std::string(detail)};
  body_.drop();
}

// ── lines ───────────────────────────────────────────────────────────────────────────────────────

std::size_t RequestParser::line_room() const {
  switch (now_.stage) {
    case Stage::line: return limits_.line_bytes_max + 2;
    case Stage::chunk_size: return chunk_line_bytes_max + 2;
    case Stage::chunk_end: return 2;
    default: return limits_.header_bytes_max - now_.header_bytes + 2;
  }
}

void RequestParser::refuse_overlong() {
  switch (now_.stage) {
    case Stage::line: return refuse(414, "the request line is too long");
    case Stage::chunk_size: return refuse(400, "the line of a chunk size is too long");
    case Stage::chunk_end: return refuse(400, "a chunk is longer than its size says");
    default: return refuse(431, "the header fields are too large");
  }
}

std::size_t RequestParser::take_line(std::string_view bytes) {
  // Says at once what could never become a request: TLS to a plain port has no line ends to wait for.
  if (now_.stage == Stage::line && partial_.empty() && bytes.front() != '\r' && bytes.front() != '\n' &&
      !token_chars[static_cast<unsigned char>(bytes.front())]) {
    refuse(400, "this is not an HTTP request");
    return 1;
  }
  const std::size_t end = bytes.find('\n');
  const std::size_t size = end == std::string_view::npos ? bytes.size() : end + 1;
  if (partial_.size() + size > line_room()) {
    refuse_overlong();
  } else if (end == std::string_view::npos) {
    partial_.append(bytes);
  } else if (partial_.empty()) {
    on_line(bytes.substr(0, size));
  } else {
    std::string line = std::move(partial_);
    partial_ = {};
    on_line(line.append(bytes.substr(0, size)));
  }
  return size;
}

void RequestParser::on_line(std::string_view line) {
  if (!line.ends_with("\r\n")) return refuse(400, "a line ends without CR LF");
  line.remove_suffix(2);
  switch (now_.stage) {
    case Stage::line: return on_request_line(line);
    case Stage::fields: return line.empty() ? on_head_end() : on_field(line);
    case Stage::chunk_size: return on_chunk_size(line);
    case Stage::chunk_end:
      now_.stage = Stage::chunk_size;
      return line.empty() ? void() : refuse(400, "a chunk is longer than its size says");
    default: return line.empty() ? on_body_end() : on_field(line);
  }
}

// ── the request line ────────────────────────────────────────────────────────────────────────────

void RequestParser::on_request_line(std::string_view line) {
  if (line.empty()) {  // RFC 9112 §2.2: some clients end a body with one line end too many
    if (std::exchange(now_.skipped_blank, true)) refuse(400, "the request line is empty");
    return;
  }
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return refuse(400, "the request line is malformed");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (method.empty() || !all_in(token_chars, method)) return refuse(400, "the method is malformed");
  if (!read_version(line.substr(last + 1))) return;
  now_.request.method = method;
  if (target.empty() || !all_in(target_chars, target) || !read_target(target)) {
    return refuse(400, "the request target is malformed");
  }
  now_.stage = Stage::fields;
}

bool RequestParser::read_version(std::string_view version) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool well_formed = version.size() == 8 && version.starts_with("HTTP/") && digit(version[5]) &&
                           version[6] == '.' && digit(version[7]);
  if (!well_formed) {
    refuse(400, "the request line is malformed");
  } else if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    refuse(505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
  }
  now_.is_http_1_0 = version == "HTTP/1.0";
  now_.keep_alive = !now_.is_http_1_0;
  return now_.stage != Stage::refused;
}

bool RequestParser::read_target(std::string_view target) {
  if (target == "*") {
    now_.request.path = "*";
    return now_.request.method == "OPTIONS";
  }
  std::string_view path = target;
  if (const std::size_t scheme = target.find("://"); target.front() != '/' && scheme != std::string_view::npos) {
    const std::string_view name = target.substr(0, scheme);
    if (!same_word(name, "http") && !same_word(name, "https")) return false;
    path.remove_prefix(scheme + 3);
    const std::string_view authority = path.substr(0, path.find_first_of("/?"));
    if (authority.empty() || !all_in(host_chars, authority)) return false;
    path.remove_prefix(authority.size());
    if (path.empty() || path.front() == '?') now_.request.path = "/";
  } else if (path.front() != '/') {
    return false;
  }
  const std::size_t mark = std::min(path.find('?'), path.size());
  now_.request.path += path.substr(0, mark);
  now_.request.query = path.substr(std::min(path.size(), mark + 1));
  return true;
}

// ── header fields ───────────────────────────────────────────────────────────────────────────────

void RequestParser::on_field(std::string_view line) {
  now_.header_bytes += line.size();
  if (++now_.header_count > limits_.header_count_max) return refuse(431, "there are too many header fields");
  if (line.front() == ' ' || line.front() == '\t') return refuse(400, "a header field is folded");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return refuse(400, "a header field has no colon");
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (name.empty() || !all_in(token_chars, name)) return refuse(400, "the name of a header field is malformed");
  if (!all_in(value_chars, value)) return refuse(400, "the value of a header field is malformed");
  if (now_.stage == Stage::trailers) return;  // read to find the end; nobody may rely on what is in them
  on_known_field(name, value);
  now_.request.headers.add(name, value);
}

void RequestParser::on_known_field(std::string_view name, std::string_view value) {
  if (same_word(name, "host")) return on_host(value);
  if (same_word(name, "connection")) return on_connection(value);
  if (same_word(name, "content-length")) return on_content_length(value);
  if (same_word(name, "transfer-encoding")) return on_transfer_encoding(value);
  if (same_word(name, "expect")) {
    (same_word(value, "100-continue") ? now_.expects_continue : now_.expects_else) = true;
  }
}

void RequestParser::on_host(std::string_view value) {
  if (std::exchange(now_.has_host, true)) return refuse(400, "there are two Host fields");
  if (!all_in(host_chars, value)) return refuse(400, "the Host field is malformed");
}

void RequestParser::on_content_length(std::string_view value) {
  if (now_.length) return refuse(400, "there are two Content-Length fields");
  if (value.empty()) return refuse(400, "the Content-Length is malformed");
  std::size_t length = 0;
  for (const char c : value) {
    if (c < '0' || c > '9') return refuse(400, "the Content-Length is malformed");
    const auto digit = static_cast<std::size_t>(c - '0');
    length = length > (SIZE_MAX - digit) / 10 ? SIZE_MAX : length * 10 + digit;
  }
  now_.length = length;
}

void RequestParser::on_transfer_encoding(std::string_view value) {
  if (std::exchange(now_.has_coding, true)) return refuse(400, "there are two Transfer-Encoding fields");
  now_.coding = same_word(value, "chunked") ? Coding::chunked : Coding::unknown;
}

void RequestParser::on_connection(std::string_view value) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    const std::string_view word = trimmed(value.substr(0, comma));
    if (same_word(word, "close")) now_.keep_alive = false;
    if (same_word(word, "keep-alive") && now_.is_http_1_0) now_.keep_alive = true;
    value.remove_prefix(std::min(value.size(), comma + 1));
  }
}

void RequestParser::on_head_end() {
  if (!now_.has_host && !now_.is_http_1_0) return refuse(400, "there is no Host field");
  if (now_.has_coding && now_.length) return refuse(400, "there is both a Content-Length and a Transfer-Encoding");
  if (now_.has_coding && now_.is_http_1_0) return refuse(400, "HTTP/1.0 has no Transfer-Encoding");
  if (now_.coding == Coding::unknown) return refuse(501, "the only Transfer-Encoding known is chunked");
  if (now_.expects_else && !now_.is_http_1_0) return refuse(417, "the only expectation known is 100-continue");
  now_.body_bytes_max = limits_.body_bytes_max;
  if (limits_.body_bytes_max_of != nullptr) {
    const auto wanted = limits_.body_bytes_max_of(now_.request.method, now_.request.path);
    now_.body_bytes_max = std::max(now_.body_bytes_max, wanted);
  }
  if (now_.length.value_or(0) > now_.body_bytes_max) return refuse_large_body();
  if (now_.is_http_1_0) now_.expects_continue = false;
  now_.left = now_.length.value_or(0);
  body_.expect(now_.left);
  now_.stage = now_.coding == Coding::chunked ? Stage::chunk_size : now_.left > 0 ? Stage::body : Stage::done;
}

void RequestParser::refuse_large_body() {
  refuse(413, "the request body is too large: the limit is " + std::to_string(now_.body_bytes_max) + " bytes");
}

// ── the body ────────────────────────────────────────────────────────────────────────────────────

std::size_t RequestParser::take_body(std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), now_.left);
  if (const auto refused = body_.append(bytes.substr(0, size))) {
    refuse(refused->status, refused->detail);
    return size;
  }
  now_.left -= size;
  if (now_.left > 0) return size;
  if (now_.stage == Stage::chunk) {
    now_.stage = Stage::chunk_end;
  } else {
    on_body_end();
  }
  return size;
}

void RequestParser::on_body_end() {
  if (const auto refused = body_.finish(now_.request.body)) return refuse(refused->status, refused->detail);
  now_.stage = Stage::done;
}

void RequestParser::on_chunk_size(std::string_view line) {
  const std::size_t room = now_.body_bytes_max - body_.size();
  std::size_t size = 0;
  std::size_t digits = 0;
  for (; digits < line.size() && hex_digit(line[digits]) >= 0; ++digits) {
    size = size * 16 + static_cast<std::size_t>(hex_digit(line[digits]));
    if (size > room) return refuse_large_body();  // also before it could overflow
  }
  const std::string_view extension = line.substr(digits);
  if (digits == 0 || !(extension.empty() || extension.front() == ';') || !all_in(value_chars, extension)) {
    return refuse(400, "a chunk size is malformed");
  }
  now_.extension_bytes += extension.size();  // a byte of body a chunk, and 200 of extension
  if (now_.extension_bytes > limits_.header_bytes_max) return refuse(400, "the chunk extensions are too large");
  now_.left = size;
  now_.stage = size > 0 ? Stage::chunk : Stage::trailers;
}

}  // namespace sluice::net
