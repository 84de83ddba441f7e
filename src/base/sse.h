// Splits a byte stream into server-sent events (WHATWG rules: CR, LF or CRLF, comments, multi-line
// data, byte order mark).
#pragma once

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

 private:
  void take_line(std::string_view line, std::vector<Event>& out);

  std::string line_;
  Event event_;
  bool has_data_ = false;
  bool last_was_cr_ = false;
  bool at_start_ = true;
};

}  // namespace sluice
