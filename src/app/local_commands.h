// The commands that ask no server: what they are called, what they take, and what is said about them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.h"

namespace sluice::app {

struct LocalCommand {
  std::string_view word;
  std::string_view verbs;  // "install|list|check", which come second; empty: there are none
  std::string_view summary;
  std::string_view help;
  std::string_view switches;  // "--json|--reference"
  bool is_configured;         // takes every flag of serve
  // The configuration keys that matter to it, "server.data|store.url"; empty: its help lists them all.
  std::string_view keys = {};
};

std::span<const LocalCommand> local_commands();
// Null when there is none of that name.
const LocalCommand* find_local_command(std::string_view word);
bool has_verb(const LocalCommand& command, std::string_view verb);

// Every one with what it does, a line each.
std::string local_command_list();
// The flags that stand for keys of the configuration, as far as they matter to the command.
std::string flags_help(const LocalCommand& command);
// What a shell may complete them with.
std::vector<cli::Completable> completables();

}  // namespace sluice::app
