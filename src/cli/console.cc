#include "cli/console.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

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
    for (int c; (c = std::getc(stdin)) != '\n';) {
      if (c == EOF) return line.empty() ? std::nullopt : std::optional(line);
      line += static_cast<char>(c);
    }
    return line;
  }

  std::string read_all() override {
    std::string all;
    char buffer[4096];
    for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) all.append(buffer, count);
    return all;
  }

  bool is_terminal() const override { return isatty(STDOUT_FILENO) != 0; }

 private:
  static void put(std::FILE* file, std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  }
};

}  // namespace

std::unique_ptr<Console> make_standard_console() { return std::make_unique<StandardConsole>(); }

}  // namespace sluice::cli
