// What a command prints, as text: bytes become valid UTF-8 whatever they are and however they are cut
// into pieces, and of much only the beginning and the end are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace sluice::runs
