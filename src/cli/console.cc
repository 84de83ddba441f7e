#include "cli/console.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "cli/line_editor.h"

namespace sluice::cli {
namespace {

// How the terminal was before a line is edited on it; set while PromptInterrupt lives. A signal's handler can have it
// from nowhere else.
termios terminal_before{};

extern "C" void restore_and_die(int signal_number) {
  tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal_before);
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, "\n", 1);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

// While it lives, Ctrl-C still ends the program, but not in the middle of the prompt's line, and the terminal is left
// as it was found.
class PromptInterrupt {
 public:
  PromptInterrupt() {
    tcgetattr(STDIN_FILENO, &terminal_before);
    before_ = signal(SIGINT, &restore_and_die);
  }
  ~PromptInterrupt() { signal(SIGINT, before_); }
  PromptInterrupt(const PromptInterrupt&) = delete;
  PromptInterrupt& operator=(const PromptInterrupt&) = delete;

 private:
  void (*before_)(int);
};

// A byte at a time, so that nothing waits unseen between two who read. And from the system itself: a signal's handler
// runs while we wait there, wherever one is only let through between calls (ThreadSanitizer).
int next_byte() {
  unsigned char byte = 0;
  ssize_t count = 0;
  while ((count = ::read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR) continue;
  return count == 1 ? byte : EOF;
}

// While it lives, the terminal shows nothing of what is typed and gives each key at once: a line that it collected
// itself could not be longer than 4095 bytes.
class RawTyping {
 public:
  enum class Typed : uint8_t { hidden, edited };
  explicit RawTyping(Typed typed) {
    tcgetattr(STDIN_FILENO, &before_);
    auto raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
    // Ctrl-C would end the program with the terminal left like this, where nothing waits for the signal.
    if (typed == Typed::hidden) raw.c_lflag &= ~static_cast<tcflag_t>(ISIG);
    // What was typed before is no part of a secret, and is the beginning of a message.
    tcsetattr(STDIN_FILENO, typed == Typed::hidden ? TCSAFLUSH : TCSADRAIN, &raw);
  }
  ~RawTyping() { tcsetattr(STDIN_FILENO, TCSADRAIN, &before_); }
  RawTyping(const RawTyping&) = delete;
  RawTyping& operator=(const RawTyping&) = delete;

 private:
  termios before_{};
};

constexpr std::size_t lines_kept_max = 500;
constexpr int key_interrupt = 3, key_end = 4, key_backspace = 8, key_delete = 127;

void drop_last_character(std::string& line) {
  while (!line.empty() && continues_utf8(line.back())) line.pop_back();
  if (!line.empty()) line.pop_back();
}

struct Typed {
  std::optional<std::string> line;
  bool interrupted = false;
};

Typed read_keys(Console& console, std::string_view prompt) {
  const RawTyping hidden(RawTyping::Typed::hidden);
  console.err(prompt);  // from here on somebody types
  std::string line;
  for (int key; (key = next_byte()) != '\n';) {
    if (key == key_interrupt) return {.interrupted = true};
    if (key == EOF || key == key_end) return {};
    if (key == key_backspace || key == key_delete) {
      drop_last_character(line);
    } else {
      line += static_cast<char>(key);
    }
  }
  return {.line = line};
}

class StandardConsole final : public Console {
 public:
  void out(std::string_view text) override { put(stdout, text); }
  void err(std::string_view text) override { put(stderr, text); }

  std::optional<std::string> read_line(std::string_view prompt) override {
    if (isatty(STDIN_FILENO) != 0) return edit_line(prompt);
    std::string line;
    for (int c; (c = next_byte()) != '\n';) {
      if (c == EOF) return line.empty() ? std::nullopt : std::optional(line);
      line += static_cast<char>(c);
    }
    return line;
  }

  std::optional<std::string> read_hidden(std::string_view prompt) override {
    if (!can_ask()) return std::nullopt;
    auto typed = read_keys(*this, prompt);
    err("\n");
    if (typed.interrupted) {
      signal(SIGINT, SIG_DFL);
      raise(SIGINT);
    }
    return std::move(typed.line);
  }

  std::string read_all() override {
    std::string all;
    char buffer[4096];
    for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) all.append(buffer, count);
    return all;
  }

  bool is_terminal() const override { return isatty(STDOUT_FILENO) != 0; }
  bool is_one_file() const override {
    struct stat out{}, err{};
    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 && out.st_dev == err.st_dev &&
           out.st_ino == err.st_ino;
  }
  bool can_ask() const override { return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0; }

 private:
  std::optional<std::string> edit_line(std::string_view prompt) {
    LineEditor editor(std::string(prompt), lines_, columns());
    auto state = LineEditor::State::editing;
    {
      const PromptInterrupt interrupt;
      const RawTyping raw(RawTyping::Typed::edited);
      out(prompt);
      while (state == LineEditor::State::editing) {
        const int key = next_byte();
        state = key == EOF ? LineEditor::State::ended : editor.feed(static_cast<unsigned char>(key));
        if (state == LineEditor::State::editing) out(editor.drawn());
      }
    }
    out("\n");
    if (state != LineEditor::State::entered) return std::nullopt;
    if (!editor.line().empty() && (lines_.empty() || lines_.back() != editor.line())) lines_.push_back(editor.line());
    if (lines_.size() > lines_kept_max) lines_.erase(lines_.begin());
    return editor.line();
  }

  static std::size_t columns() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }

  static void put(std::FILE* file, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  }

  std::vector<std::string> lines_;  // that were entered, for Up
};

}  // namespace

std::unique_ptr<Console> make_standard_console() { return std::make_unique<StandardConsole>(); }

}  // namespace sluice::cli
