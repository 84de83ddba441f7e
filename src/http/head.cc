#include "http/head.h"

#include "http/text.h"

namespace sluice::http {
namespace {

constexpr Fault bad_request_line{Fault::Kind::malformed, "the request line is malformed"};
constexpr Fault bad_status_line{Fault::Kind::malformed, "the status line is malformed"};

std::optional<Fault> read_version(std::string_view text, int& minor_version) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool well_formed =
      text.size() == 8 && text.starts_with("HTTP/") && digit(text[5]) && text[6] == '.' && digit(text[7]);
  if (!well_formed) return Fault{Fault::Kind::unreadable_version, bad_request_line.detail};
  if (text[5] != '1' || text[7] > '1') {
    return Fault{Fault::Kind::unknown_version, "only HTTP/1.1 and HTTP/1.0 are spoken on this connection"};
  }
  minor_version = text[7] - '0';
  return std::nullopt;
}

}  // namespace

bool MessageHead::keeps_connection() const {
  if (headers.lists("Connection", "close")) return false;
  return minor_version > 0 || headers.lists("Connection", "keep-alive");
}

std::optional<Fault> HeaderTally::count(std::size_t bytes, const HeadLimits& limits) {
  bytes_ += bytes;
  ++count_;
  if (bytes_ > limits.header_bytes_max) return Fault{Fault::Kind::large_headers, "the header fields are too large"};
  if (count_ > limits.header_count_max) return Fault{Fault::Kind::large_headers, "there are too many header fields"};
  return std::nullopt;
}

std::optional<Fault> check_field(std::string_view name, std::string_view value) {
  if (!is_token(name)) return Fault{.detail = "the name of a header field is malformed"};
  if (!is_field_value(value)) return Fault{.detail = "the value of a header field is malformed"};
  return std::nullopt;
}

std::optional<Fault> check_request(std::string_view method, std::string_view target) {
  if (!is_token(method)) return Fault{.detail = "the method is malformed"};
  if (!is_target(target)) return Fault{.detail = "the request target is malformed"};
  return std::nullopt;
}

std::optional<Fault> read_first_line(std::string_view line, RequestHead& out) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return bad_request_line;
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (auto fault = read_version(line.substr(last + 1), out.minor_version)) return fault;
  if (auto fault = check_request(method, target)) return fault;
  out.method = method;
  out.target = target;
  return std::nullopt;
}

std::optional<Fault> read_first_line(std::string_view line, ResponseHead& out) {
  if (line.size() < 12 || line[8] != ' ' || (line.size() > 12 && line[12] != ' ')) return bad_status_line;
  const auto status = decimal(line.substr(9, 3));
  const std::string_view reason = line.size() > 13 ? line.substr(13) : "";
  if (read_version(line.substr(0, 8), out.minor_version)) return bad_status_line;
  if (!status || *status < 100 || *status > 599 || !is_field_value(reason)) return bad_status_line;
  out.status = static_cast<int>(*status);
  out.reason = reason;
  return std::nullopt;
}

}  // namespace sluice::http
