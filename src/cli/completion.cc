#include <algorithm>

#include "cli/cli.h"
#include "cli/commands.h"

namespace sluice::cli {
namespace {

// They ask the program that is on the PATH, not the one that is typed: a key pressed must not start what lies about.
constexpr std::string_view bash_script = R"sh(_sluice() {
  mapfile -t COMPREPLY < <(sluice completion candidates "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)
}
complete -o default -F _sluice sluice
)sh";

constexpr std::string_view zsh_script = R"sh(#compdef sluice
_sluice() {
  local line
  local -a found
  for line in ${(f)"$(sluice completion candidates "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    found+=("${line%%$'\t'*}:${line#*$'\t'}")
  done
  if (( $#found )); then _describe -t words word found; else _files; fi
}
if [[ $funcstack[1] == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
)sh";

constexpr std::string_view fish_script = R"sh(function __sluice_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l found (sluice completion candidates $words[2..-1] 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c sluice -f -a '(__sluice_candidates)'
)sh";

std::vector<Completable> all_of(std::span<const Completable> others) {
  std::vector<Completable> all(others.begin(), others.end());
  for (const auto* command : commands()) {
    Completable one{std::string(command->words), std::string(command->summary), {}};
    for (const auto flags : {command->flags, common_flags()}) {
      for (const auto& flag : flags)
        one.flags.push_back({std::string(flag.name), std::string(flag.value), std::string(flag.help)});
    }
    all.push_back(std::move(one));
  }
  return all;
}

void append(std::string& out, std::string_view begun, std::string_view word, std::string_view what) {
  if (!word.starts_with(begun)) return;
  out += word;
  out += '\t';
  out += what;
  out += '\n';
}

// Commands that go on after `before`, by their next word; one line for all that share it.
std::string next_words(std::span<const Completable> all, const std::string& before, std::string_view begun) {
  std::string out;
  std::vector<std::string_view> given;
  for (const auto& one : all) {
    if (!one.words.starts_with(before)) continue;
    const auto rest = std::string_view(one.words).substr(before.size());
    const auto word = rest.substr(0, rest.find(' '));
    if (std::ranges::find(given, word) != given.end()) continue;
    given.push_back(word);
    append(out, begun, word, word == rest ? one.summary : "…");
  }
  return out;
}

// "human|json", and not "FILE" or "ID|NAME", which only say what is wanted.
std::string choices(std::string_view value, std::string_view begun) {
  std::string out;
  if (value.find('|') == std::string_view::npos ||
      std::ranges::any_of(value, [](char c) { return c >= 'A' && c <= 'Z'; }))
    return out;
  while (!value.empty()) {
    const auto end = std::min(value.find('|'), value.size());
    append(out, begun, value.substr(0, end), "");
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return out;
}

}  // namespace

std::string candidates(std::span<const std::string> typed, std::span<const Completable> others) {
  const auto all = all_of(others);
  if (typed.empty()) return next_words(all, "", "");
  const auto& begun = typed.back();
  if (typed.size() == 1) return next_words(all, "", begun);
  const auto named = [&](const std::string& words) { return std::ranges::find(all, words, &Completable::words); };
  auto command = typed.size() > 2 ? named(typed[0] + " " + typed[1]) : all.end();
  if (command == all.end()) command = named(typed[0]);
  if (command == all.end()) return typed.size() == 2 ? next_words(all, typed[0] + " ", begun) : "";
  const auto flag = std::ranges::find(command->flags, typed[typed.size() - 2], &CompletableFlag::name);
  if (flag != command->flags.end() && !flag->value.empty()) return choices(flag->value, begun);
  std::string out;
  if (begun.starts_with('-')) {
    for (const auto& one : command->flags) append(out, begun, one.name, one.help);
  }
  return out;
}

std::optional<std::string_view> completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script;
  if (shell == "zsh") return zsh_script;
  if (shell == "fish") return fish_script;
  return {};
}

}  // namespace sluice::cli
