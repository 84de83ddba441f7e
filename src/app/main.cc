// The program: what it can do, by the first word.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "app/app.h"
#include "app/hands.h"
#include "app/harness_commands.h"
#include "app/libraries.h"
#include "app/local_commands.h"
#include "app/runner_main.h"
#include "app/store_commands.h"
#include "app/vault_key.h"
#include "base/bytes.h"
#include "base/json.h"
#include "cli/cli.h"

extern "C" char** environ;

namespace sluice::app {
namespace {

constexpr std::string_view version = SLUICE_VERSION;

void print(std::FILE* to, std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); }

std::string program_help() {
  return "sluice " + std::string(version) +
         ": runs AI agents and streams what they do\n\n"
         "usage: sluice COMMAND [flags]\n\n" +
         local_command_list() + "\ncommands that talk to a server:\n" + cli::command_list() +
         "\nMore: sluice COMMAND --help\n";
}

Environment read_environment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

bool take_switch(std::vector<std::string>& flags, std::string_view name) { return std::erase(flags, name) > 0; }

int complain(std::string_view what, Form form) {
  print(stderr, "sluice: " + std::string(what) + "\n");
  if (form == Form::json) print(stdout, cli::error_json(what) + "\n");
  return cli::exit_usage;
}

int add_key(const Config& config, std::string_view program, Form form) {
  const auto file = add_vault_key(config, *world::make_system_entropy());
  if (!file) {
    complain(file.error().what, form);
    return cli::exit_failed;
  }
  std::string json;
  json::Writer(json).begin_object().key("key_file").string(file.value()).end_object();
  print(stdout, form == Form::json ? json + "\n" : "A fresh key is the first of " + file.value() + ".\n");
  const auto& data = config.text("server.data");
  print(stderr, "Restart the server, then: " + cli::Hints(program, {{"--data", data}}).command("vault reseal") + "\n");
  return cli::exit_ok;
}

// The commands that read the server's configuration.
int with_config(std::string_view program, std::string_view command, std::vector<std::string> flags,
                const Environment& environment) {
  if (take_switch(flags, "--help") || take_switch(flags, "-h")) {
    const auto* const asked = find_local_command(command);
    print(stdout, std::string(asked->help) + flags_help(*asked));
    return cli::exit_ok;
  }
  const auto form =
      command != "serve" && command != "runner" && take_switch(flags, "--json") ? Form::json : Form::human;
  if (command == "config" && take_switch(flags, "--reference")) {
    print(stdout, reference_page());
    return cli::exit_ok;
  }
  const auto order = command == "harness" ? take_harness_order(flags) : HarnessOrder{};
  const bool is_upkeep = command == "store" || command == "backup" || command == "restore";
  auto upkeep = is_upkeep ? take_store_order(command, flags) : StoreOrder{};
  if (const auto wrong = is_upkeep ? misuse_of(upkeep) : ""; !wrong.empty()) return complain(wrong, form);
  upkeep.version = version;
  const auto config = Config::read({flags, environment});
  if (!config) return complain(config.error().what, form);
  if (command == "serve") return serve(config.value(), version, program);
  if (command == "runner") return run_runner(config.value(), version);
  if (command == "doctor") return doctor(config.value(), form);
  if (command == "harness") return run_harness(order, config.value(), form);
  if (is_upkeep) return run_store(upkeep, config.value(), form);
  if (command == "vault") return add_key(config.value(), program, form);
  if (command == "sandbox") {
    const auto options = sandbox_options(config.value(), config.value().text("server.data"));
    print(stdout, sandbox::describe_plan(options, {.name = "run_example"}));
    return cli::exit_ok;
  }
  print(stdout, form == Form::json ? to_json(config.value()) + "\n" : to_toml(config.value()));
  return cli::exit_ok;
}

int no_such_command(const std::string& command, Form form) {
  auto words = cli::first_words();
  for (const auto& local : local_commands()) words.push_back(local.word);
  const auto meant = nearest(command, words);
  return complain("there is no command " + command +
                      (meant ? "; did you mean " + std::string(*meant) + "?" : "; sluice --help lists them"),
                  form);
}

int print_version(Form form, bool verbose) {
  if (form == Form::json) {
    std::string json;
    json::Writer writer(json);
    writer.begin_object().key("version").string(version).key("libraries").begin_object();
    for (const auto& library : libraries()) writer.key(library.name).string(library.version);
    writer.end_object().end_object();
    print(stdout, json + "\n");
    return cli::exit_ok;
  }
  std::string text = "sluice " + std::string(version) + "\n";
  if (verbose) {
    for (const auto& library : libraries()) text += std::string(library.name) + " " + library.version + "\n";
  }
  print(stdout, text);
  return cli::exit_ok;
}

int completion(const std::vector<std::string>& words) {
  if (words.size() > 1 && words[1] == "candidates") {
    print(stdout, cli::candidates(std::span(words).subspan(2), completables()));
    return cli::exit_ok;
  }
  const auto script = cli::completion_script(words.size() > 1 ? words[1] : "");
  if (!script) return complain("completion is for bash, zsh or fish: sluice completion bash", Form::human);
  print(stdout, *script);
  return cli::exit_ok;
}

// The commands that ask no server.
int run_local(std::string_view program, const LocalCommand& command, const std::vector<std::string>& words, Form form) {
  const bool asks = words.size() > 1 && (words[1] == "--help" || words[1] == "-h");
  if (asks && !command.is_configured) {
    print(stdout, command.help);
    return cli::exit_ok;
  }
  if (command.word == "completion") return completion(words);
  if (command.word == "version") return print_version(form, std::ranges::find(words, "--verbose") != words.end());
  const bool wants_verb = command.word == "sandbox" || command.word == "harness" || command.word == "vault";
  if (wants_verb && !asks && (words.size() < 2 || !has_verb(command, words[1]))) {
    print(stderr, command.help);
    return cli::exit_usage;
  }
  // harness and store read their verbs themselves.
  const bool passed = command.word == "sandbox" || command.word == "vault";
  return with_config(program, command.word, {words.begin() + (passed && !asks ? 2 : 1), words.end()},
                     read_environment());
}

int run(std::string_view program, const std::vector<std::string>& words) {
  if (words.empty()) {
    print(stderr, program_help());
    return cli::exit_usage;
  }
  const auto& command = words[0];
  if (command == "--help" || command == "-h" || command == "help") {
    print(stdout, program_help());
    return cli::exit_ok;
  }
  const auto form = std::ranges::find(words, "--json") != words.end() ? Form::json : Form::human;
  const auto* local = find_local_command(command == "--version" ? "version" : command);
  // A word may lead to both kinds: of the vault, new-key is done here and the rest by a server.
  const bool is_local = local != nullptr && (!cli::knows(command) || (words.size() > 1 && has_verb(*local, words[1])));
  if (is_local) return run_local(program, *local, words, form);
  if (cli::knows(command)) return cli::run(program, words, read_environment());
  return no_such_command(command, form);
}

}  // namespace
}  // namespace sluice::app

int main(int argc, char** argv) {
  // A program may be started without even its own name.
  if (argc < 1) return sluice::app::run("sluice", {});
  return sluice::app::run(argv[0], {argv + 1, argv + argc});
}
