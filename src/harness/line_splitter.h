// Bytes that are cut anywhere into lines. A line that is longer than line_bytes_max is skipped up to its end, so that a
// program which prints without ever ending a line costs no more memory than that.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::harness {

inline constexpr std::size_t line_bytes_max = std::size_t{8} * 1024 * 1024;

class LineSplitter final {
 public:
  // The lines that are whole now, without their ends ("\n" or "\r\n"); empty ones are left out.
  std::vector<std::string> feed(std::string_view bytes);
  // True once after a line was too long.
  bool take_overlong() { return std::exchange(overlong_, false); }
  // What has come of a line that has not ended.
  std::string_view rest() const { return rest_; }

 private:
  std::string rest_;
  bool skipping_ = false;  // up to the next newline
  bool overlong_ = false;
};

}  // namespace sluice::harness
