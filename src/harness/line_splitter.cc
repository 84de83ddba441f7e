#include "harness/line_splitter.h"

namespace sluice::harness {

std::vector<std::string> LineSplitter::feed(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto piece = bytes.substr(0, newline);
    if (!skipping_ && rest_.size() + piece.size() > line_bytes_max) {
      skipping_ = overlong_ = true;
      rest_ = std::string();  // gives the memory back
    }
    if (!skipping_) rest_ += piece;
    if (newline == std::string_view::npos) break;
    bytes.remove_prefix(newline + 1);
    skipping_ = false;
    if (rest_.ends_with('\r')) rest_.pop_back();
    if (!rest_.empty()) lines.push_back(std::exchange(rest_, {}));
  }
  return lines;
}

}  // namespace sluice::harness
