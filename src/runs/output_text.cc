#include "runs/output_text.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/utf8.h"

namespace sluice::runs {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// How many bytes the character has that begins with `byte`; 0 when none does.
std::size_t length_of(char byte) {
  const auto lead = static_cast<unsigned char>(byte);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// The bytes at the end that may be the beginning of a character.
std::size_t unfinished(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const char byte = bytes[bytes.size() - back];
    if (continues_utf8(byte)) continue;
    return length_of(byte) > back ? back : 0;
  }
  return 0;
}

}  // namespace

std::string to_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto length = length_of(bytes[0]);
    if (length != 0 && length <= bytes.size() && is_utf8(bytes.substr(0, length))) {
      out += bytes.substr(0, length);
      bytes.remove_prefix(length);
    } else {
      out += replacement;
      bytes.remove_prefix(1);
    }
  }
  return out;
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && continues_utf8(text[bytes_max])) --bytes_max;
  return text.substr(0, bytes_max);
}

std::string Utf8Stream::feed(std::string_view bytes) {
  std::string joined;
  if (!partial_.empty()) {
    joined = std::move(partial_);
    joined += bytes;
    bytes = joined;
  }
  const auto kept = unfinished(bytes);
  partial_ = bytes.substr(bytes.size() - kept);
  return to_utf8(bytes.substr(0, bytes.size() - kept));
}

std::string Utf8Stream::end() {
  auto rest = to_utf8(partial_);
  partial_.clear();
  return rest;
}

Excerpt::Excerpt(std::size_t chars_max) : chars_max_(std::max<std::size_t>(chars_max, 2)) {}

void Excerpt::append(std::string_view text) {
  bytes_ += text.size();
  std::size_t taken = 0;
  while (taken < text.size() && head_chars_ < chars_max_ / 2) {
    taken += length_of(text[taken]);
    ++head_chars_;
  }
  head_ += text.substr(0, taken);
  text.remove_prefix(taken);
  const auto tail_bytes_max = 4 * (chars_max_ - chars_max_ / 2);
  if (text.size() > tail_bytes_max) text.remove_prefix(text.size() - tail_bytes_max);
  tail_ += text;
  // Not every time: that would move the whole tail for each piece.
  if (tail_.size() > 2 * tail_bytes_max) tail_.erase(0, tail_.size() - tail_bytes_max);
}

std::string_view Excerpt::tail() const {
  std::size_t begin = tail_.size();
  for (std::size_t chars = 0; begin > 0 && chars < chars_max_ - chars_max_ / 2;) {
    if (!continues_utf8(tail_[--begin])) ++chars;
  }
  while (begin < tail_.size() && continues_utf8(tail_[begin])) ++begin;
  return std::string_view(tail_).substr(begin);
}

std::string Excerpt::text() const {
  const std::string end(tail());
  if (!is_cut()) return head_ + end;
  return head_ + "\n… " + std::to_string(left_out()) + " bytes left out …\n" + end;
}

}  // namespace sluice::runs
