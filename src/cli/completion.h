// What a shell may put in place of a word that is being typed, and the few lines that make a shell ask for it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

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

// `typed` are the words after the program's name; the last of them is not finished. Lines of WORD, a tab, and what it
// is for. None where only the user can know, or a file is named. `others`: commands besides those of this room.
std::string candidates(std::span<const std::string> typed, std::span<const Completable> others);

// For bash, zsh or fish; empty for any other.
std::optional<std::string_view> completion_script(std::string_view shell);

}  // namespace sluice::cli
