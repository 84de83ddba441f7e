// The commands that contact no server: the two long-running processes, and the commands with which an operator examines
// and maintains an installation. Each command is one row of one table, which says everything that differs between them.
// Commands that talk to a server are in module cli.
//
// Everything here runs on the main thread and blocks until the command has finished.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.h"
#include "config/config.h"

namespace sluice::ops {

using config::Config;

enum class Form : uint8_t { human, json };

// What a command was called with. Words that are configuration are in `config`.
struct Call {
  std::string_view program;  // the name that the program was called by, for hints
  std::string_view version;  // of this program
  Form form;
  std::vector<std::string> operands;
  std::vector<std::string> switches;  // those of the row's switches that were given
  const Config& config;
  bool has(std::string_view name) const;
};

struct Verb {
  std::string_view word;         // empty: the command has no verb
  std::string_view operands;     // "FROM TO"; "[TYPE…]": any number; empty: none
  int (*run)(const Call& call);  // returns the exit code
};

struct Command {
  std::string_view word;
  std::span<const Verb> verbs;  // a command without a verb has one with an empty word
  std::string_view summary;
  std::string_view help;
  std::string_view switches;  // "--json|--reference": they are not configuration
  bool is_configured = true;  // reads the configuration and accepts every flag of serve
  // The configuration keys that matter to it: "server.data|store.url"; empty: its help lists all of them.
  std::string_view keys = {};
  // A switch with which the command runs without reading the configuration.
  std::string_view unconfigured_switch = {};
  // A shorter spelling of one flag: "--dir" for "--harness.dir".
  config::ShortFlag short_flag = {};
};

std::span<const Command> commands();
// Null if there is no command of that name.
const Command* find_command(std::string_view word);
const Verb* find_verb(const Command& command, std::string_view word);

// The words of a command that are not configuration, taken out of `words`.
struct Taken {
  std::vector<std::string> operands;
  std::vector<std::string> switches;
};
Taken take_words(const Command& command, const Verb& verb, std::vector<std::string>& words);
// How the operands are wrong; empty if they are right.
std::string misuse_of(const Command& command, const Verb& verb, std::span<const std::string> operands);

// Every command with its summary, a line each.
std::string command_list();
// The help of a command, with the configuration flags that matter to it.
std::string help_of(const Command& command);
// What a shell may complete the commands with.
std::vector<cli::Completable> completables();

// Reports a failed command: as text on stderr, and as JSON on stdout if that was asked for. Returns `code`.
int fail(std::string_view what, Form form, int code = cli::exit_failed);

// Runs the command that `words` begin with, also one of module cli. Returns the exit code.
int run(std::string_view program, std::string_view version, const std::vector<std::string>& words,
        const config::Environment& environment);

// ── the commands ──

int doctor(const Call& call);
int list_programs(const Call& call);
int install_programs(const Call& call);
int check_programs(const Call& call);
int back_up(const Call& call);
int restore(const Call& call);
int verify_store(const Call& call);
int export_store(const Call& call);
int import_store(const Call& call);
int migrate_store(const Call& call);
int sweep_files(const Call& call);
// The text or JSON of `sluice version`; with the versions of libraries if `verbose`.
std::string version_text(std::string_view version, Form form, bool verbose);

}  // namespace sluice::ops
