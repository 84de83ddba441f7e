#include "net/http_head.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "http/status.h"
#include "http/text.h"

namespace sluice::net {
namespace {

void append_value(std::string& out, std::string_view value) {
  const std::size_t begin = out.size();
  out += value;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
      [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
}

}  // namespace

SharedBytes take_body(Response& response) {
  if (response.shared_body) return std::move(response.shared_body);
  return std::make_shared<const std::string>(std::move(response.body));
}

bool is_servers_own(std::string_view name) {
  static constexpr std::string_view ours[] = {"content-length", "date", "connection", "transfer-encoding"};
  return std::ranges::any_of(ours, [&](std::string_view own) { return http::same_word(own, name); });
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
  out.append("HTTP/1.1 ")
      .append(std::to_string(facts.status))
      .append(" ")
      .append(http::reason_of(facts.status))
      .append("\r\n");
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
