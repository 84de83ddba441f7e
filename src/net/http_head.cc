#include "net/http_head.h"

#include <strings.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace sluice::net {
namespace {

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 425: return "Too Early";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "";
  }
}

void append_value(std::string& out, std::string_view value) {
  const std::size_t begin = out.size();
  out += value;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
      [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
}

}  // namespace

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

SharedBytes take_body(Response& response) {
  if (response.shared_body) return std::move(response.shared_body);
  return std::make_shared<const std::string>(std::move(response.body));
}

bool is_servers_own(std::string_view name) {
  static constexpr std::string_view ours[] = {"content-length", "date", "connection", "transfer-encoding"};
  return std::any_of(std::begin(ours), std::end(ours), [&](std::string_view own) {
    return own.size() == name.size() && strncasecmp(own.data(), name.data(), name.size()) == 0;
  });
}

std::string_view DateLine::value_at(Timestamp now) {
  std::string_view line = at(now);
  line.remove_prefix(line.find(' ') + 1);
  line.remove_suffix(2);
  return line;
}

std::string_view DateLine::at(Timestamp now) {
  static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const int64_t second = now.ms / 1000;
  if (second == second_) return text_;
  second_ = second;
  const auto clock = static_cast<std::time_t>(second);
  std::tm at{};
  gmtime_r(&clock, &at);
  char text[80];
  std::snprintf(text, sizeof text, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[at.tm_wday], at.tm_mday,
                months[at.tm_mon], at.tm_year + 1900, at.tm_hour, at.tm_min, at.tm_sec);
  text_ = text;
  return text_;
}

void append_head(std::string& out, const HeadFacts& facts, const Headers& headers, DateLine& date) {
  out.append("HTTP/1.1 ").append(std::to_string(facts.status)).append(" ").append(reason(facts.status)).append("\r\n");
  for (const auto& [name, value] : headers.all()) {
    if (is_servers_own(name)) continue;
    append_value(out, name);
    out += ": ";
    append_value(out, value);
    out += "\r\n";
  }
  out += date.at(facts.now);
  if (facts.framing == Framing::length) {
    out.append("Content-Length: ").append(std::to_string(facts.length)).append("\r\n");
  }
  if (facts.framing == Framing::chunked) out += "Transfer-Encoding: chunked\r\n";
  if (facts.persistence == Persistence::close) out += "Connection: close\r\n";
  if (facts.persistence == Persistence::keep_alive) out += "Connection: keep-alive\r\n";
  out += "\r\n";
}

}  // namespace sluice::net
