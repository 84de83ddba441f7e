#include "cli/console.h"

#include <errno.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <utility>

namespace sluice::cli {
namespace {

extern "C" void end_line_and_die(int signal_number) {
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, "\n", 1);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

// While it lives, Ctrl-C still ends the program, but not in the middle of the prompt's line.
class PromptInterrupt {
 public:
  PromptInterrupt() : before_(signal(SIGINT, &end_line_and_die)) {}
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
  while ((count = read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR) continue;
  return count == 1 ? byte : EOF;
}

// While it lives, the terminal shows nothing of what is typed and gives each key at once: a line that it collected
// itself could not be longer than 4095 bytes, and Ctrl-C would end the program with the terminal left like this.
class HiddenTyping {
 public:
  HiddenTyping() {
    tcgetattr(STDIN_FILENO, &before_);
    auto hidden = before_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | ISIG);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  }
  ~HiddenTyping() { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_); }
  HiddenTyping(const HiddenTyping&) = delete;
  HiddenTyping& operator=(const HiddenTyping&) = delete;

 private:
  termios before_{};
};

constexpr int key_interrupt = 3, key_end = 4, key_backspace = 8, key_delete = 127;

void drop_last_character(std::string& line) {
  while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0u) == 0x80u) line.pop_back();
  if (!line.empty()) line.pop_back();
}

struct Typed {
  std::optional<std::string> line;
  bool interrupted = false;
};

Typed read_keys(Console& console, std::string_view prompt) {
  const HiddenTyping hidden;
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
    std::optional<PromptInterrupt> interrupt;
    if (isatty(STDIN_FILENO) != 0) {
      interrupt.emplace();
      out(prompt);
    }
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
  bool can_ask() const override { return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0; }

 private:
  static void put(std::FILE* file, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  }
};

}  // namespace

std::unique_ptr<Console> make_standard_console() { return std::make_unique<StandardConsole>(); }

}  // namespace sluice::cli
