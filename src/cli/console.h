// Where a command writes to and reads from: a terminal, files, or a test.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::cli {

class Console {
 public:
  virtual ~Console() = default;
  // At once, not when the line is full.
  virtual void out(std::string_view text) = 0;
  virtual void err(std::string_view text) = 0;
  // Without its newline; empty at the end of the input.
  virtual std::optional<std::string> read_line(std::string_view prompt) = 0;
  // Reads a line without showing it. Empty also if there is no terminal.
  virtual std::optional<std::string> read_hidden(std::string_view prompt) = 0;
  virtual std::string read_all() = 0;
  // Is a person looking at what out() writes?
  virtual bool is_terminal() const = 0;
  // Do out() and err() write to the same place, so that what one begins the other goes on?
  virtual bool is_one_file() const = 0;
  // Is a person there who can be asked something?
  virtual bool can_ask() const = 0;
};

std::unique_ptr<Console> make_standard_console();

// ── failures: for a person on standard error and, with --json, for a program on standard output ──

enum class Form : uint8_t { human, json };

void report_error(Console& console, Form form, std::string_view what);
// Reports the problem that the server answered.
void report_problem(Console& console, Form form, int status, std::string_view body);

}  // namespace sluice::cli
