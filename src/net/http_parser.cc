#include "net/http_parser.h"

#include <algorithm>
#include <cstdint>

namespace sluice::net {
namespace {

constexpr std::size_t chunk_line_bytes_max = 256;

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
  Request request = std::move(now_.head.request());
  now_ = Progress{RequestHead(limits_)};
  return request;
}

void RequestParser::refuse(int status, std::string_view detail) {
  now_.head.refuse(status, detail);
  now_.stage = Stage::refused;
  body_.drop();
}

bool RequestParser::heed_refusal(const std::optional<Refused>& refused) {
  if (refused) refuse(refused->status, refused->detail);
  return refused.has_value();
}

// ── lines ───────────────────────────────────────────────────────────────────────────────────────

std::size_t RequestParser::line_room() const {
  switch (now_.stage) {
    case Stage::line: return limits_.line_bytes_max + 2;
    case Stage::chunk_size: return chunk_line_bytes_max + 2;
    case Stage::chunk_end: return 2;
    default: return limits_.header_bytes_max - now_.head.header_bytes() + 2;
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
      !is_token_char(bytes.front())) {
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

// ── the head ────────────────────────────────────────────────────────────────────────────────────

void RequestParser::on_request_line(std::string_view line) {
  if (line.empty()) {  // RFC 9112 §2.2: some clients end a body with one line end too many
    if (std::exchange(now_.skipped_blank, true)) refuse(400, "the request line is empty");
    return;
  }
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return refuse(400, "the request line is malformed");
  now_.head.set_method(line.substr(0, first));
  read_version(line.substr(last + 1));
  now_.head.set_target(line.substr(first + 1, last - first - 1));
  if (!heed_refusal(refused())) now_.stage = Stage::fields;
}

void RequestParser::read_version(std::string_view version) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool well_formed = version.size() == 8 && version.starts_with("HTTP/") && digit(version[5]) &&
                           version[6] == '.' && digit(version[7]);
  if (!well_formed) return refuse(400, "the request line is malformed");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return refuse(505, "only HTTP/1.1, HTTP/1.0 and HTTP/2 are spoken here");
  }
  const bool is_old = version == "HTTP/1.0";
  now_.head.set_version(is_old ? HttpVersion::http_1_0 : HttpVersion::http_1_1);
  now_.keep_alive = !is_old;
}

void RequestParser::on_field(std::string_view line) {
  now_.head.count_field(line.size());
  if (line.front() == ' ' || line.front() == '\t') now_.head.refuse(400, "a header field is folded");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return refuse(400, "a header field has no colon");
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (now_.stage == Stage::trailers) {  // read to find the end; nobody may rely on what is in them
    now_.head.check_field(name, value);
    heed_refusal(refused());
    return;
  }
  if (same_word(name, "connection")) on_connection(value);
  if (same_word(name, "transfer-encoding")) on_transfer_encoding(value);
  now_.head.add_field(name, value);
  heed_refusal(refused());
}

void RequestParser::on_transfer_encoding(std::string_view value) {
  if (std::exchange(now_.has_coding, true)) now_.head.refuse(400, "there are two Transfer-Encoding fields");
  now_.coding = same_word(value, "chunked") ? Coding::chunked : Coding::unknown;
}

void RequestParser::on_connection(std::string_view value) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    const std::string_view word = trimmed(value.substr(0, comma));
    if (same_word(word, "close")) now_.keep_alive = false;
    if (same_word(word, "keep-alive") && is_http_1_0()) now_.keep_alive = true;
    value.remove_prefix(std::min(value.size(), comma + 1));
  }
}

void RequestParser::on_head_end() {
  const auto length = now_.head.length();
  if (now_.has_coding && length) return refuse(400, "there is both a Content-Length and a Transfer-Encoding");
  if (now_.has_coding && is_http_1_0()) return refuse(400, "HTTP/1.0 has no Transfer-Encoding");
  if (now_.coding == Coding::unknown) return refuse(501, "the only Transfer-Encoding known is chunked");
  now_.head.finish();
  if (heed_refusal(refused())) return;
  now_.left = length.value_or(0);
  body_.expect(now_.left);
  now_.stage = now_.coding == Coding::chunked ? Stage::chunk_size : now_.left > 0 ? Stage::body : Stage::done;
}

// ── the body ────────────────────────────────────────────────────────────────────────────────────

std::size_t RequestParser::take_body(std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), now_.left);
  if (heed_refusal(body_.append(bytes.substr(0, size)))) return size;
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
  if (!heed_refusal(body_.finish(now_.head.request().body))) now_.stage = Stage::done;
}

void RequestParser::on_chunk_size(std::string_view line) {
  const std::size_t room = now_.head.body_bytes_max() - body_.size();
  std::size_t size = 0;
  std::size_t digits = 0;
  for (; digits < line.size() && hex_digit(line[digits]) >= 0; ++digits) {
    size = size * 16 + static_cast<std::size_t>(hex_digit(line[digits]));
    if (size > room) {  // also before it could overflow
      now_.head.refuse_large_body();
      heed_refusal(refused());
      return;
    }
  }
  const std::string_view extension = line.substr(digits);
  if (digits == 0 || !(extension.empty() || extension.front() == ';') || !is_field_value(extension)) {
    return refuse(400, "a chunk size is malformed");
  }
  now_.extension_bytes += extension.size();  // a byte of body a chunk, and 200 of extension
  if (now_.extension_bytes > limits_.header_bytes_max) return refuse(400, "the chunk extensions are too large");
  now_.left = size;
  now_.stage = size > 0 ? Stage::chunk : Stage::trailers;
}

}  // namespace sluice::net
