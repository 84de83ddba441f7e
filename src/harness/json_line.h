// The lines of a program that speaks JSON: bytes that are cut anywhere become lines, a line becomes a document, and a
// member that is missing or of another kind is empty. What is returned points into the line's Document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace sluice::harness {

inline constexpr std::size_t line_bytes_max = std::size_t{8} * 1024 * 1024;

// A line that is longer than line_bytes_max is skipped up to its end, so that a program which never ends a line costs
// no more memory than that.
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

// As json::Document::parse(); but half of a surrogate pair, which JavaScript writes where it cut a text, is read as
// U+FFFD instead of being refused: the rest of the line may end a call or the run.
Result<json::Document> parse_line(std::string_view line);

json::Value value_in(json::Value object, std::string_view name);
std::string_view text_in(json::Value object, std::string_view name);
// 0 also for what is negative, or more than anybody counts.
int64_t count_in(json::Value object, std::string_view name);
bool is_true_in(json::Value object, std::string_view name);
// As JSON; "{}" for what is no object.
std::string object_in(json::Value object, std::string_view name);

// For a JSON string: bytes of what is no UTF-8 become question marks.
std::string as_utf8(std::string_view text);

}  // namespace sluice::harness
