#include "http/body.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "http/head_parser.h"
#include "http/status.h"
#include "http/text.h"

namespace sluice::http {
namespace {

constexpr std::size_t chunk_line_bytes_max = 256;
constexpr std::size_t size_digits_max = 15;

// The only spelling that every reader understands as the same number. What has more digits than anybody counts is
// still a number.
std::optional<Fault> read_length(std::string_view text, BodyPlan& out) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return Fault{.detail = "the Content-Length is malformed"};
  out = {Framing::length, decimal(text).value_or(UINT64_MAX)};
  if (out.length < UINT64_MAX) return std::nullopt;
  return Fault{Fault::Kind::large_body, "the Content-Length is out of range"};
}

// What both kinds of message may say. `out` stays as it was when they say nothing.
std::optional<Fault> read_framing(const MessageHead& head, BodyPlan& out) {
  std::string_view length;
  std::string_view coding;
  const std::size_t lengths = head.headers.count("Content-Length", length);
  const std::size_t codings = head.headers.count("Transfer-Encoding", coding);
  if (lengths > 1) return Fault{.detail = "there are two Content-Length fields"};
  if (codings > 1) return Fault{.detail = "there are two Transfer-Encoding fields"};
  if (lengths + codings == 2) return Fault{.detail = "there is both a Content-Length and a Transfer-Encoding"};
  if (lengths == 1) return read_length(length, out);
  if (codings == 0) return std::nullopt;
  if (head.minor_version == 0) return Fault{.detail = "HTTP/1.0 has no Transfer-Encoding"};
  if (!same_word(coding, "chunked")) {
    return Fault{Fault::Kind::unknown_coding, "the only Transfer-Encoding known is chunked"};
  }
  out = {Framing::chunked, 0};
  return std::nullopt;
}

}  // namespace

std::optional<Fault> plan_body(const RequestHead& head, BodyPlan& out) {
  out = {};
  if (auto fault = read_framing(head, out)) return fault;
  if (out.framing == Framing::length && out.length == 0) out.framing = Framing::none;
  return std::nullopt;
}

std::optional<Fault> plan_body(const ResponseHead& head, std::string_view method, BodyPlan& out) {
  out = {Framing::until_close, 0};
  if (auto fault = read_framing(head, out)) return fault;
  const bool bodiless = has_no_body(head.status) || method == "HEAD";
  if (bodiless || (out.framing == Framing::length && out.length == 0)) out = {Framing::none, 0};
  return std::nullopt;
}

BodyReader::BodyReader(BodyPlan plan, const BodyLimits& limits, HeaderTally tally)
    : limits_(limits), tally_(tally), left_(plan.length) {
  switch (plan.framing) {
    case Framing::none: stage_ = Stage::done; break;
    case Framing::length: stage_ = plan.length == 0 ? Stage::done : Stage::counted; break;
    case Framing::chunked: stage_ = Stage::chunk_size; break;
    case Framing::until_close: stage_ = Stage::open; break;
  }
}

std::string_view BodyReader::next(std::string_view& bytes) {
  while (!bytes.empty()) {
    switch (stage_) {
      case Stage::counted:
      case Stage::chunk_data: return take_payload(bytes);
      case Stage::open: {
        const std::string_view all = bytes;
        bytes = {};
        return all;
      }
      case Stage::done:
      case Stage::broken: return {};
      default: take_line(bytes);
    }
  }
  return {};
}

void BodyReader::end() {
  if (stage_ == Stage::open) stage_ = Stage::done;
  if (stage_ != Stage::done) breaks({.detail = "the body broke off"});
}

void BodyReader::breaks(Fault fault) {
  fault_ = fault;
  stage_ = Stage::broken;
}

std::string_view BodyReader::take_payload(std::string_view& bytes) {
  const std::string_view piece = bytes.substr(0, static_cast<std::size_t>(std::min<uint64_t>(left_, bytes.size())));
  bytes.remove_prefix(piece.size());
  left_ -= piece.size();
  if (left_ == 0) stage_ = stage_ == Stage::counted ? Stage::done : Stage::chunk_end;
  return piece;
}

// ── lines ───────────────────────────────────────────────────────────────────────────────────────

std::size_t BodyReader::line_room() const {
  switch (stage_) {
    case Stage::chunk_size: return chunk_line_bytes_max + 2;
    case Stage::chunk_end: return 2;
    default: return limits_.trailer_bytes_max - tally_.bytes() + 2;
  }
}

void BodyReader::refuse_overlong() {
  switch (stage_) {
    case Stage::chunk_size: return breaks({.detail = "the line of a chunk size is too long"});
    case Stage::chunk_end: return breaks({.detail = "a chunk is longer than its size says"});
    default: return breaks({Fault::Kind::large_headers, "the header fields are too large"});
  }
}

void BodyReader::take_line(std::string_view& bytes) {
  std::string_view line;
  switch (lines_.take(bytes, line_room(), line)) {
    case Lines::Found::none: return;
    case Lines::Found::line: return on_line(line);
    case Lines::Found::bare_end: return breaks({.detail = "a line ends without CR LF"});
    case Lines::Found::overlong: return refuse_overlong();
  }
}

void BodyReader::on_line(std::string_view line) {
  if (stage_ == Stage::chunk_size) return on_chunk_size(line);
  if (stage_ == Stage::trailer) return on_trailer(line);
  if (!line.empty()) return breaks({.detail = "a chunk is longer than its size says"});
  stage_ = Stage::chunk_size;
}

void BodyReader::on_chunk_size(std::string_view line) {
  std::size_t digits = 0;
  uint64_t size = 0;
  for (; digits < line.size() && hex_digit(line[digits]) >= 0; ++digits) {
    size = size << 4 | static_cast<uint64_t>(hex_digit(line[digits]));
  }
  const std::string_view extension = line.substr(digits);
  if (digits == 0 || !(extension.empty() || extension.front() == ';') || !is_field_value(extension)) {
    return breaks({.detail = "a chunk size is malformed"});
  }
  if (digits > size_digits_max || size > limits_.payload_bytes_max) {
    return breaks({Fault::Kind::large_body, "a chunk is larger than the body may be"});
  }
  if (extension.size() > limits_.extension_bytes_max) return breaks({.detail = "the chunk extensions are too large"});
  limits_.extension_bytes_max -= extension.size();
  if (limits_.payload_bytes_max < UINT64_MAX) limits_.payload_bytes_max -= size;
  left_ = size;
  stage_ = size == 0 ? Stage::trailer : Stage::chunk_data;
}

// Trailers are parsed to find their end, and then dropped: they must not override a checked head.
void BodyReader::on_trailer(std::string_view line) {
  if (line.empty()) {
    stage_ = Stage::done;
    return;
  }
  const HeadLimits bounds{.header_bytes_max = limits_.trailer_bytes_max, .header_count_max = limits_.trailer_count_max};
  if (const auto fault = tally_.count(line.size(), bounds)) return breaks(*fault);
  std::string_view name;
  std::string_view value;
  if (const auto fault = split_field(line, name, value)) breaks(*fault);
}

void append_chunk(std::string& out, std::string_view payload) {
  if (payload.empty()) return;
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), payload.size(), 16).ptr;
  out.append(digits.data(), end).append("\r\n").append(payload).append("\r\n");
}

}  // namespace sluice::http
