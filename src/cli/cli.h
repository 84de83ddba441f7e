// The commands of the command line that talk to a server. They are a client like any other and know only the HTTP API.
// Called once, from the main thread; run() blocks until the command has finished.
//
// Commands that work on this machine (configuration, store, backup …) are in module ops.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::cli {

using Environment = std::vector<std::pair<std::string, std::string>>;

// Exit codes of every command.
inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;  // the server said no, or the run failed
inline constexpr int exit_usage = 2;
inline constexpr int exit_unknown = 3;  // the server cannot be reached, or the outcome is unknown
inline constexpr int exit_interrupted = 130;

// Whether `word` is the first word of a command of this module.
bool knows(std::string_view word);
// The first words of all commands, for suggestions.
std::vector<std::string_view> first_words();
// Every command with its summary, a line each.
std::string command_list();

// `program` is the name that the program was called by; `words` begin with the command's first word. Returns the exit
// code.
int run(std::string_view program, const std::vector<std::string>& words, const Environment& environment);

// ── completion by a shell ──

struct CompletableFlag {
  std::string name;   // "--log.format"
  std::string value;  // "FILE", or choices: "human|json"; empty: a switch
  std::string help;
};

struct Completable {
  std::string words;  // "runs tail"
  std::string summary;
  std::vector<CompletableFlag> flags;
};

// What a shell may put in place of the last of the `typed` words, which begin after the program's name. Each line is
// WORD, a tab and an explanation. Empty if only the user can know, or if a file is expected. `others`: commands of
// other modules.
std::string candidates(std::span<const std::string> typed, std::span<const Completable> others);

// The script for bash, zsh or fish that asks for candidates; empty for another shell.
std::optional<std::string_view> completion_script(std::string_view shell);

// ── text for people and programs ──
std::string shell_quoted(std::string_view text);
std::string error_json(std::string_view what);  // {"error":"…"}

// Commands to paste: the name that the program was called by, and the flags that select the same server.
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
