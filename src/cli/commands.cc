#include "cli/commands.h"

#include <algorithm>

#include "base/bytes.h"
#include "cli/cli.h"

namespace sluice::cli {
namespace {

constexpr Flag common[] = {
    {"--url", "URL", "the server; else SLUICE_URL, else base_url of bootstrap.json, else http://127.0.0.1:8080"},
    {"--key", "KEY", "the service key (sk_int_…); else SLUICE_KEY, else service_key of bootstrap.json"},
    {"--admin-key", "KEY", "the admin key (sk_adm_…); else SLUICE_ADMIN_KEY, else admin_key of bootstrap.json"},
    {"--data", "DIR", "where bootstrap.json is; else SLUICE_SERVER_DATA, else ./sluice-data"},
    {"--ca-file", "FILE", "PEM file of certificate authorities to trust, for a server with its own"},
    {"--json", "", "print JSON as the server sent it"},
    {"--help", "", "say what the command does"},
};

std::string_view first_word(std::string_view words) { return words.substr(0, words.find(' ')); }

// To columns, not bytes.
std::string padded(std::string text, std::size_t width) {
  const auto columns = utf8_length(text);
  text.append(std::max(width, columns + 2) - columns, ' ');
  return text;
}

void append_flags(std::string& out, std::span<const Flag> flags) {
  for (const auto& flag : flags) {
    out += padded("  " + std::string(flag.name) + (flag.value.empty() ? "" : " " + std::string(flag.value)), 30) +
           std::string(flag.help) + "\n";
  }
}

std::string usage_of(const Command& command) {
  return "sluice " + std::string(command.words) + (command.operands.empty() ? "" : " " + std::string(command.operands));
}

}  // namespace

std::span<const Flag> common_flags() { return common; }

Found find_command(std::span<const std::string> words) {
  if (words.empty()) return {};
  for (const auto* command : commands()) {
    if (command->words == words[0]) return {command, 1};
    if (words.size() > 1 && command->words == words[0] + " " + words[1]) return {command, 2};
  }
  // A bare noun lists what it names.
  const bool bare = words.size() == 1 || (words[1].starts_with('-') && words[1] != "--help" && words[1] != "-h");
  if (!bare) return {};
  for (const auto* command : commands()) {
    if (command->words == words[0] + " list") return {command, 1};
  }
  return {};
}

std::string help_of(const Command& command) {
  std::string out = "usage: " + usage_of(command) + " [flags]\n\n" + std::string(command.summary) + "\n";
  out += (command.help.starts_with("  ") ? "\nfor example:\n" : "\n") + std::string(command.help) + "\n";
  if (!command.flags.empty()) {
    out += "flags:\n";
    append_flags(out, command.flags);
    out += "\n";
  }
  out += "flags of every command:\n";
  append_flags(out, common);
  return out;
}

std::string help_of_group(std::string_view word) {
  std::string out;
  for (const auto* command : commands()) {
    if (first_word(command->words) == word)
      out += padded("  " + usage_of(*command), 42) + std::string(command->summary) + "\n";
  }
  return out + "\nMore: sluice COMMAND --help\n";
}

std::vector<std::string_view> second_words(std::string_view word) {
  std::vector<std::string_view> words;
  for (const auto* command : commands()) {
    const auto& all = command->words;
    if (first_word(all) == word && all.size() > word.size())
      words.push_back(std::string_view(all).substr(word.size() + 1));
  }
  return words;
}

bool knows(std::string_view word) {
  return std::ranges::any_of(commands(), [word](const Command* c) { return first_word(c->words) == word; });
}

std::vector<std::string_view> first_words() {
  std::vector<std::string_view> words;
  for (const auto* command : commands()) {
    if (words.empty() || words.back() != first_word(command->words)) words.push_back(first_word(command->words));
  }
  return words;
}

std::string command_list() {
  std::string out;
  for (const auto* command : commands())
    out += padded("  " + std::string(command->words), 28) + std::string(command->summary) + "\n";
  return out;
}

// ── completion for shells ──

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
