#include "cli/line_editor.h"

#include <algorithm>
#include <utility>

namespace sluice::cli {
namespace {

constexpr unsigned char escape_key = 0x1b;
constexpr std::size_t escape_bytes_max = 16;
constexpr std::size_t columns_min = 20;

constexpr unsigned char ctrl(char letter) { return static_cast<unsigned char>(letter & 0x1f); }

bool is_inside_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u; }

// Characters as columns: an approximation that is right for all but wide and combining ones.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return !is_inside_character(byte); }));
}

}  // namespace

LineEditor::LineEditor(std::string prompt, const std::vector<std::string>& earlier, std::size_t columns)
    : prompt_(std::move(prompt)), columns_(std::max(columns, columns_min)), lines_(earlier), shown_(earlier.size()) {
  lines_.emplace_back();
}

LineEditor::State LineEditor::feed(unsigned char byte) {
  if (!escape_.empty()) {
    escape(byte);
    return State::editing;
  }
  if (byte < 0x20 || byte == 0x7f) return control(byte);
  insert(byte);
  return State::editing;
}

LineEditor::State LineEditor::control(unsigned char byte) {
  switch (byte) {
    case '\r':
    case '\n': return State::entered;
    // Typed before the prompt was there, while the terminal still collected lines: the kernel keeps the end of input as
    // NUL.
    case '\0':
    case ctrl('D'):
      if (line_.empty()) return State::ended;
      erase(cursor_, after(cursor_));
      break;
    case ctrl('H'):
    case 0x7f: erase(before(cursor_), cursor_); break;
    case ctrl('A'): cursor_ = 0; break;
    case ctrl('E'): cursor_ = line_.size(); break;
    case ctrl('B'): cursor_ = before(cursor_); break;
    case ctrl('F'): cursor_ = after(cursor_); break;
    case ctrl('P'): fetch(true); break;
    case ctrl('N'): fetch(false); break;
    case ctrl('U'): erase(0, cursor_); break;
    case ctrl('K'): erase(cursor_, line_.size()); break;
    case ctrl('W'): erase_word(); break;
    case '\t': insert(' '); break;
    case escape_key: escape_ = static_cast<char>(byte); break;
    default: break;
  }
  return State::editing;
}

// ESC, then "[" or "O", parameters, and a last byte from "@" to "~". Anything else after ESC is one key with Alt, and
// ignored.
void LineEditor::escape(unsigned char byte) {
  escape_ += static_cast<char>(byte);
  const bool is_sequence = escape_[1] == '[' || escape_[1] == 'O';
  if (is_sequence && escape_.size() == 2) return;
  if (is_sequence && (byte < 0x40 || byte > 0x7e) && escape_.size() < escape_bytes_max) return;
  if (is_sequence) finish_escape(byte);
  escape_.clear();
}

void LineEditor::finish_escape(unsigned char byte) {
  switch (byte) {
    case 'A': return fetch(true);
    case 'B': return fetch(false);
    case 'C': cursor_ = after(cursor_); return;
    case 'D': cursor_ = before(cursor_); return;
    case 'H': cursor_ = 0; return;
    case 'F': cursor_ = line_.size(); return;
    default: break;
  }
  if (escape_ == "\x1b[3~") return erase(cursor_, after(cursor_));
  if (escape_ == "\x1b[1~" || escape_ == "\x1b[7~") cursor_ = 0;
  if (escape_ == "\x1b[4~" || escape_ == "\x1b[8~") cursor_ = line_.size();
}

void LineEditor::insert(unsigned char byte) {
  line_.insert(line_.begin() + static_cast<std::ptrdiff_t>(cursor_), static_cast<char>(byte));
  ++cursor_;
}

void LineEditor::erase(std::size_t from, std::size_t to) {
  line_.erase(from, to - from);
  cursor_ = from;
}

void LineEditor::erase_word() {
  auto from = cursor_;
  while (from > 0 && line_[from - 1] == ' ') --from;
  while (from > 0 && line_[from - 1] != ' ') --from;
  erase(from, cursor_);
}

void LineEditor::fetch(bool older) {
  if (older ? shown_ == 0 : shown_ + 1 == lines_.size()) return;
  lines_[shown_] = std::move(line_);
  shown_ = older ? shown_ - 1 : shown_ + 1;
  line_ = lines_[shown_];
  cursor_ = line_.size();
}

std::size_t LineEditor::before(std::size_t at) const {
  if (at > 0) --at;
  while (at > 0 && is_inside_character(line_[at])) --at;
  return at;
}

std::size_t LineEditor::after(std::size_t at) const {
  if (at < line_.size()) ++at;
  while (at < line_.size() && is_inside_character(line_[at])) ++at;
  return at;
}

std::string LineEditor::drawn() const {
  const auto prompt_width = width_of(prompt_);
  const auto room = columns_ > prompt_width + 1 ? columns_ - prompt_width - 1 : 1;
  // The part of the line that fits, with the cursor in it.
  std::size_t from = 0;
  while (width_of(std::string_view(line_).substr(from, cursor_ - from)) > room) from = after(from);
  std::size_t to = cursor_;
  while (to < line_.size() && width_of(std::string_view(line_).substr(from, to - from)) < room) to = after(to);
  const auto left = width_of(std::string_view(line_).substr(cursor_, to - cursor_));
  std::string out = "\r" + prompt_ + line_.substr(from, to - from) + "\x1b[K";
  if (left > 0) out += "\x1b[" + std::to_string(left) + "D";
  return out;
}

}  // namespace sluice::cli
