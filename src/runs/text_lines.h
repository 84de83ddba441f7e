// Bytes that come in pieces, taken apart into lines. The caller bounds it by held_bytes().
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::runs {

class TextLines {
 public:
  // The lines that these bytes complete, without their ends; blank ones are left out.
  std::vector<std::string> feed(std::string_view bytes) {
    std::vector<std::string> lines;
    for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      held_.append(bytes.substr(0, end));
      bytes.remove_prefix(end + 1);
      add(lines);
    }
    held_.append(bytes);
    return lines;
  }
  // The bytes ended: what is left, perhaps nothing.
  std::vector<std::string> end() {
    std::vector<std::string> lines;
    add(lines);
    return lines;
  }
  std::size_t held_bytes() const { return held_.size(); }
  void forget() { held_.clear(); }

 private:
  void add(std::vector<std::string>& lines) {
    if (held_.ends_with('\r')) held_.pop_back();
    if (held_.find_first_not_of(" \t") != std::string::npos) lines.push_back(held_);
    held_.clear();
  }

  std::string held_;
};

}  // namespace sluice::runs
