#include "station/spool.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"

namespace sluice::station {
namespace {

// `bytes` without its first `count` lines.
std::string without_lines(const std::string& bytes, int64_t count) {
  std::size_t at = 0;
  while (count-- > 0) at = bytes.find('\n', at) + 1;
  return bytes.substr(at);
}

}  // namespace

SharedBytes Spool::add(std::string lines) {
  SLUICE_CHECK(lines.ends_with('\n'));
  last_line_ += std::ranges::count(lines, '\n');
  bytes_ += lines.size();
  return pieces_.emplace_back(last_line_, std::make_shared<const std::string>(std::move(lines))).bytes;
}

std::optional<std::vector<SharedBytes>> Spool::after(int64_t line) const {
  if (line < gone_ || line > last_line_) return std::nullopt;
  std::vector<SharedBytes> out;
  for (const auto& piece : pieces_) {
    if (piece.last <= line) continue;
    const auto before_it = piece.last - std::ranges::count(*piece.bytes, '\n');
    out.push_back(line <= before_it
                      ? piece.bytes
                      : std::make_shared<const std::string>(without_lines(*piece.bytes, line - before_it)));
  }
  return out;
}

bool Spool::let_go(int64_t line) {
  if (line > last_line_) return false;
  gone_ = std::max(gone_, line);
  while (!pieces_.empty() && pieces_.front().last <= gone_) {
    bytes_ -= pieces_.front().bytes->size();
    pieces_.pop_front();
  }
  return true;
}

}  // namespace sluice::station
