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

constexpr std::span<const Command> (*tables[])() = {talk_commands, material_commands, operator_commands};

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

std::vector<const Command*> commands() {
  std::vector<const Command*> all;
  for (const auto table : tables) {
    for (const auto& command : table()) all.push_back(&command);
  }
  return all;
}
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

}  // namespace sluice::cli
