#include "base/sse.h"

#include "base/limits.h"

namespace sluice {
namespace {

constexpr std::size_t retry_digits_max = 9;  // eleven days

// Digits only, as the format demands; empty: something else.
std::optional<int64_t> retry_of(std::string_view text) {
  if (text.empty() || text.size() > retry_digits_max) return std::nullopt;
  int64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

}  // namespace

Result<std::vector<SseReader::Event>> SseReader::feed(std::string_view bytes) {
  std::vector<Event> out;
  for (const char c : bytes) {
    const bool second_of_crlf = c == '\n' && last_was_cr_;
    last_was_cr_ = c == '\r';
    if (second_of_crlf) continue;
    if (c == '\r' || c == '\n') {
      take_line(line_, out);
      line_.clear();
      continue;
    }
    line_ += c;
    if (line_.size() + event_.data.size() > limits::provider_line_bytes_max) {
      return Error{ErrorKind::invalid, "a server-sent event is too long"};
    }
  }
  return out;
}

void SseReader::take_line(std::string_view line, std::vector<Event>& out) {
  if (std::exchange(at_start_, false) && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  if (line.empty()) {
    if (has_data_) {
      event_.data.pop_back();  // the newline that each data line added
      if (event_.type.empty()) event_.type = "message";
      out.push_back(event_);
    }
    event_.type.clear();
    event_.data.clear();
    has_data_ = false;
    return;
  }
  if (line[0] == ':') return;

  const auto colon = line.find(':');
  const auto field = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    event_.data.append(value).push_back('\n');
    has_data_ = true;
  } else if (field == "event") {
    event_.type = value;
  } else if (field == "id" && value.find('\0') == std::string_view::npos) {
    event_.id = value;
  } else if (field == "retry") {
    if (const auto ms = retry_of(value)) retry_ms_ = ms;
  }
}

}  // namespace sluice
