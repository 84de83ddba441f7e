#include "egress/body_framing.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "egress/http_text.h"

namespace sluice::egress {
namespace {

constexpr std::size_t line_bytes_max = 1024;         // a chunk's size with its extensions, or one trailer
constexpr std::size_t trailer_bytes_max = 8 * 1024;  // all of them

Refusal ambiguous(std::string_view what) { return {400, "where the body ends is in doubt: " + std::string(what)}; }

// What both kinds of message may say. `framing` stays as it was when they say nothing.
std::optional<Refusal> read_framing(const Fields& fields, int minor_version, BodyPlan& out) {
  const std::size_t lengths = fields.count("Content-Length");
  const std::size_t codings = fields.count("Transfer-Encoding");
  if (lengths > 0 && codings > 0) return ambiguous("both Content-Length and Transfer-Encoding");
  if (lengths > 1) return ambiguous("more than one Content-Length");
  if (codings > 1) return ambiguous("more than one Transfer-Encoding");
  if (lengths == 1) {
    const auto length = decimal(*fields.find("Content-Length"));
    if (!length) return ambiguous("the Content-Length is no number");
    out = {Framing::length, *length};
  }
  if (codings == 1) {
    if (minor_version == 0) return ambiguous("Transfer-Encoding in HTTP/1.0");
    if (!same_word(*fields.find("Transfer-Encoding"), "chunked")) return ambiguous("a Transfer-Encoding but chunked");
    out = {Framing::chunked, 0};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> plan_body(const RequestHead& head, BodyPlan& out) {
  out = {};
  if (auto refusal = read_framing(head.fields, head.minor_version, out)) return refusal;
  if (out.framing == Framing::length && out.length == 0) out.framing = Framing::none;
  return std::nullopt;
}

std::optional<Refusal> plan_body(const ResponseHead& head, std::string_view method, BodyPlan& out) {
  out = {Framing::until_close, 0};
  if (auto refusal = read_framing(head.fields, head.minor_version, out)) return refusal;
  const bool bodiless = head.status < 200 || head.status == 204 || head.status == 304 || method == "HEAD";
  if (bodiless || (out.framing == Framing::length && out.length == 0)) out = {Framing::none, 0};
  return std::nullopt;
}

BodyReader::BodyReader(BodyPlan plan) : left_(plan.length) {
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
  if (stage_ != Stage::done) stage_ = Stage::broken;
}

std::string_view BodyReader::take_payload(std::string_view& bytes) {
  const std::string_view piece = bytes.substr(0, static_cast<std::size_t>(std::min<uint64_t>(left_, bytes.size())));
  bytes.remove_prefix(piece.size());
  left_ -= piece.size();
  if (left_ == 0) stage_ = stage_ == Stage::counted ? Stage::done : Stage::chunk_end;
  return piece;
}

void BodyReader::take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t size = end == std::string_view::npos ? bytes.size() : end + 1;
  if (line_.size() + size > line_bytes_max) {
    stage_ = Stage::broken;
    return;
  }
  line_.append(bytes.substr(0, size));
  bytes.remove_prefix(size);
  if (end == std::string_view::npos) return;
  // A line feed without its CR, or a CR within, is where one reader sees a line end and another none.
  if (!line_.ends_with("\r\n") || line_.find('\r') != line_.size() - 2) {
    stage_ = Stage::broken;
    return;
  }
  on_line(std::string_view(line_).substr(0, line_.size() - 2));
  line_.clear();
}

void BodyReader::on_line(std::string_view line) {
  if (stage_ == Stage::chunk_size) return on_chunk_size(line);
  if (stage_ == Stage::chunk_end) {
    stage_ = line.empty() ? Stage::chunk_size : Stage::broken;
    return;
  }
  trailer_bytes_ += line.size();
  if (line.empty()) {
    stage_ = Stage::done;
  } else if (trailer_bytes_ > trailer_bytes_max || !is_field_value(line)) {
    stage_ = Stage::broken;
  }
}

void BodyReader::on_chunk_size(std::string_view line) {
  std::size_t digits = 0;
  uint64_t size = 0;
  for (; digits < line.size() && hex_digit(line[digits]) >= 0; ++digits) {
    size = size << 4 | static_cast<uint64_t>(hex_digit(line[digits]));
  }
  const std::string_view extension = line.substr(digits);
  const bool fits =
      digits > 0 && digits <= 15 && (extension.empty() || extension.front() == ';') && is_field_value(extension);
  left_ = size;
  stage_ = !fits ? Stage::broken : size == 0 ? Stage::trailer : Stage::chunk_data;
}

void append_chunk(std::string& out, std::string_view payload) {
  if (payload.empty()) return;
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), payload.size(), 16).ptr;
  out.append(digits.data(), end).append("\r\n").append(payload).append("\r\n");
}

}  // namespace sluice::egress
