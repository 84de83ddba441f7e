#include "http/lines.h"

#include <utility>

namespace sluice::http {

Lines::Found Lines::take(std::string_view& bytes, std::size_t bytes_max, std::string_view& line) {
  if (std::exchange(is_whole_, false)) partial_.clear();
  const std::size_t end = bytes.find('\n');
  line = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
  bytes.remove_prefix(line.size());
  if (partial_.size() + line.size() > bytes_max) return Found::overlong;
  if (end == std::string_view::npos || !partial_.empty()) {
    line = partial_.append(line);
    if (end == std::string_view::npos) return Found::none;
    is_whole_ = true;
  }
  if (!line.ends_with("\r\n")) return Found::bare_end;
  line.remove_suffix(2);
  return Found::line;
}

}  // namespace sluice::http
