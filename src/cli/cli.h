// The command line's client commands: a client like any other, which knows only the HTTP API.
//
// Not its business: serving, the server's configuration, the database (app).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/completion.h"

namespace sluice::cli {

using Environment = std::vector<std::pair<std::string, std::string>>;

// Exit codes of every command.
inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;  // the server said no, or the run failed
inline constexpr int exit_usage = 2;
inline constexpr int exit_unknown = 3;  // the server cannot be reached, or what became of it is not known
inline constexpr int exit_interrupted = 130;

// Is `word` the first word of a command of this room?
bool knows(std::string_view word);
// First words of all commands, for suggestions.
std::vector<std::string_view> first_words();
// Every command with what it does, a line each.
std::string command_list();

// `program` is how it was called; `words` begin with the command's first. Gives the exit code.
int run(std::string_view program, const std::vector<std::string>& words, const Environment& environment);

// ── words for people and programs ──
std::string shell_quoted(std::string_view text);
std::string error_json(std::string_view what);  // {"error":"…"}

// Commands to paste: the program as it was called, and the flags that lead to the same server again.
class Hints {
 public:
  using Flags = std::vector<std::pair<std::string_view, std::string>>;
  Hints(std::string_view program, const Flags& flags);
  std::string command(std::string_view words) const;

 private:
  std::string program_;
  std::string flags_;
};

}  // namespace sluice::cli
