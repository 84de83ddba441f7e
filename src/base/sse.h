// Splits a byte stream into server-sent events (WHATWG rules: CR, LF or CRLF, comments, multi-line
// data, byte order mark).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice {

class SseReader {
 public:
  struct Event {
    std::string type;  // "message" when none was given
    std::string data;
    std::string id;
  };

  // The events completed by these bytes. `invalid` when a line or an event is longer than
  // limits::provider_line_bytes_max; then give up.
  Result<std::vector<Event>> feed(std::string_view bytes);
  // Where the stream can be resumed (Last-Event-ID): also of an event without data. Empty: nowhere.
  const std::string& last_id() const { return event_.id; }
  // How long to wait before reconnecting, as the stream said last.
  std::optional<int64_t> retry_ms() const { return retry_ms_; }

 private:
  void take_line(std::string_view line, std::vector<Event>& out);

  std::string line_;
  Event event_;
  std::optional<int64_t> retry_ms_;
  bool has_data_ = false;
  bool last_was_cr_ = false;
  bool at_start_ = true;
};

}  // namespace sluice
