// Lines out of bytes that come in pieces. A line that is whole in one piece is not copied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::http {

class Lines final {
 public:
  enum class Found : uint8_t {
    none,      // the end has not come: all bytes were taken
    line,      // it ends with CR LF
    bare_end,  // it ends with LF alone, where one reader sees the end of a line and another does not
    overlong,
  };

  // Takes from the front of `bytes`. `line` is without its end, and is valid until the next call. `bytes_max` is of the
  // line with its end.
  Found take(std::string_view& bytes, std::size_t bytes_max, std::string_view& line);
  // A line has begun, and its end has not come.
  bool begun() const { return !is_whole_ && !partial_.empty(); }

 private:
  std::string partial_;
  bool is_whole_ = false;  // `partial_` was returned as a line
};

}  // namespace sluice::http
