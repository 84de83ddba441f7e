// Editing one line at a terminal: keys in, the line and what the terminal must be sent out. Pure: no terminal is
// touched here.
//
// Arrow keys, Home and End move; Up and Down fetch earlier lines; Ctrl-A, E, B, F, P, N, U, K, W, D and Backspace do
// what they do in a shell. A line that is wider than the terminal scrolls sideways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

class LineEditor final {
 public:
  enum class State : uint8_t { editing, entered, ended };

  // `earlier` are the lines that Up fetches, oldest first. `columns` is the terminal's width.
  LineEditor(std::string prompt, const std::vector<std::string>& earlier, std::size_t columns);

  // One byte that was typed.
  State feed(unsigned char byte);
  const std::string& line() const { return line_; }
  // What the terminal must be sent to show the line as it is now.
  std::string drawn() const;

 private:
  State control(unsigned char byte);
  void escape(unsigned char byte);
  void finish_escape(unsigned char byte);
  void insert(unsigned char byte);
  void erase(std::size_t from, std::size_t to);
  void erase_word();
  void fetch(bool older);
  std::size_t before(std::size_t at) const;  // the start of the character to the left
  std::size_t after(std::size_t at) const;   // the end of the character to the right

  const std::string prompt_;
  const std::size_t columns_;
  std::vector<std::string> lines_;  // the earlier ones, and last what is typed
  std::size_t shown_;               // of `lines_`
  std::string line_;
  std::size_t cursor_ = 0;  // in bytes, at a character's start
  std::string escape_;      // bytes of an escape sequence that is not complete
};

}  // namespace sluice::cli
