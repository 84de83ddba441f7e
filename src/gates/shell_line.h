// A line of shell, taken apart into the commands it would run.
//
// Every command counts alike, wherever it stands: after `;`, in a pipe, a subshell, a loop, `$(…)` or backticks. What
// only the shell will know (variables, wildcards, what a substitution prints) becomes `unknown` of gates/glob.h.
// It need not be complete, because it may doubt: what it is not sure to read as the shell does makes the line doubtful.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::gates {

using Words = std::vector<std::string>;  // without quotes, and without redirections

struct ShellLine {
  std::vector<Words> commands;
  std::vector<std::string> documents;  // lines of here-documents: text, unless a shell runs them
  bool doubtful = false;
};

ShellLine take_apart(std::string_view line);

}  // namespace sluice::gates
