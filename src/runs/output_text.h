// What a command or a model says, as text: bytes become valid UTF-8 whatever they are and however they are cut into
// pieces, lines and paragraphs are found, and of much only the beginning and the end are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::runs {

// One stream of bytes. A character whose bytes come in two pieces comes out whole; bytes that are no
// UTF-8 come out as U+FFFD.
class Utf8Stream {
 public:
  std::string feed(std::string_view bytes);
  // The bytes ended: what is left of an unfinished character.
  std::string end();

 private:
  std::string partial_;  // the beginning of a character, at most 3 bytes
};

// `bytes` as valid UTF-8.
std::string to_utf8(std::string_view bytes);

// The beginning of valid UTF-8, at most `bytes_max` long, ending between two characters.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max);

// Keeps at most `chars_max` characters of a text of any length: its head and its tail.
class Excerpt {
 public:
  explicit Excerpt(std::size_t chars_max);

  // Valid UTF-8.
  void append(std::string_view text);
  // Whether there was more.
  bool is_cut() const { return left_out() > 0; }
  // With "… N bytes left out …" in between when there was more.
  std::string text() const;

 private:
  std::string_view tail() const;
  std::size_t left_out() const { return bytes_ - head_.size() - tail().size(); }

  const std::size_t chars_max_;
  std::string head_;
  std::size_t head_chars_ = 0;
  std::string tail_;  // its first character may be cut
  std::size_t bytes_ = 0;
};

// Bytes that come in pieces, taken apart into lines. The caller bounds it by held_bytes().
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

// Where one round of an answer ends and the next begins. The rounds' texts are one content (I-9): without a break
// between them the last word of one and the first of the next would be one word.
class Paragraphs {
 public:
  // A tool was called: what is said next is another paragraph, if anything was said before.
  void end_round() { is_due_ = has_said_; }

  // What has to be emitted before `text`, which is emitted next; mostly empty. White space of the model's own is
  // enough.
  std::string before(std::string_view text) {
    if (text.empty()) return {};
    const bool is_missing = is_due_ && !ends_apart_ && !is_space(text.front());
    is_due_ = false;
    note(text);
    return is_missing ? "\n\n" : "";
  }

  // Text that was emitted without before(), for example before the run was taken over.
  void note(std::string_view text) {
    if (text.empty()) return;
    has_said_ = true;
    ends_apart_ = is_space(text.back());
  }

  // `text` is all that is left of what was said; `is_due`: a break was among what was taken back.
  void take_back(std::string_view text, bool is_due) {
    *this = {};
    note(text);
    is_due_ = is_due && has_said_;
  }

 private:
  static bool is_space(char byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

  bool has_said_ = false;
  bool is_due_ = false;
  bool ends_apart_ = false;
};

}  // namespace sluice::runs
