// The program: what it can do, by the first word.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "app/app.h"
#include "app/hands.h"
#include "app/harness_commands.h"
#include "app/runner_main.h"
#include "app/vault_key.h"
#include "base/bytes.h"
#include "base/json.h"
#include "cli/cli.h"

extern "C" char** environ;

namespace sluice::app {
namespace {

constexpr std::string_view version = SLUICE_VERSION;

constexpr std::string_view serve_help =
    "usage: sluice serve [flags]\n\n"
    "Serves until SIGTERM or SIGINT, which let runs and answers in flight end (server.drain_seconds); a second\n"
    "signal ends it at once. The first start makes the data directory, a demo tenant and its keys\n"
    "(DIR/bootstrap.json).\n\n"
    "  sluice serve\n"
    "  sluice serve --listen 0.0.0.0:8443 --tls-cert chain.pem --tls-key key.pem\n"
    "  sluice serve --config /etc/sluice.toml --log.format json\n\n";
constexpr std::string_view runner_help =
    "usage: sluice runner [flags]\n\n"
    "Takes dispatches by POST /stream and carries them in sandboxes, for any workspace that answers the callbacks\n"
    "(docs/runner.md). Until SIGTERM or SIGINT, like serve. Its key is runner.key, best as SLUICE_RUNNER_KEY.\n\n"
    "  sluice runner --listen 127.0.0.1:8090 --data /var/lib/sluice-runner\n\n";
constexpr std::string_view config_help =
    "usage: sluice config [--json] [--reference] [flags of serve]\n\n"
    "Prints the configuration in force as TOML, with the source of each value; secrets are masked.\n"
    "--reference prints the page docs/configuration.md instead.\n\n"
    "  sluice config --config /etc/sluice.toml\n\n";
constexpr std::string_view doctor_help =
    "usage: sluice doctor [--json] [flags of serve]\n\n"
    "Says what this machine and this configuration can and cannot do, and what it costs. Exit code 1 when\n"
    "something that is needed is missing.\n\n"
    "  sluice doctor --data /var/lib/sluice\n\n";

constexpr std::string_view sandbox_help =
    "usage: sluice sandbox plan [flags of serve]\n\n"
    "Prints how a box is made with this configuration: namespaces, mounts, limits, system calls.\n\n"
    "  sluice sandbox plan --sandbox.memory_mib 512\n\n";

constexpr std::string_view vault_help =
    "usage: sluice vault new-key [--json] [flags of serve]\n\n"
    "Puts a fresh key before the others of the vault's key file. After a restart of the server new secrets are sealed\n"
    "under it; sluice vault reseal seals those that are there anew.\n\n"
    "  sluice vault new-key --data /var/lib/sluice\n\n";

void print(std::FILE* to, std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); }

std::string flags_help() {
  std::string out = "flags (docs/configuration.md says more):\n  --config FILE\n      read this TOML file first\n";
  for (const auto& key : config_keys()) {
    out += "  --" + std::string(key.name);
    for (const auto& flag : short_flags()) {
      if (flag.key == key.name) out += ", " + std::string(flag.flag);
    }
    if (!key.fallback.empty()) out += " (" + std::string(key.fallback) + ")";
    out += "\n      " + std::string(key.help) + "\n";
  }
  return out;
}

std::string program_help() {
  return "sluice " + std::string(version) +
         ": runs AI agents and streams what they do\n\n"
         "usage: sluice COMMAND [flags]\n\n"
         "  serve                     run the server\n"
         "  runner                    carry dispatches for servers elsewhere\n"
         "  config                    print the configuration in force\n"
         "  doctor                    say what this machine can and cannot do\n"
         "  sandbox plan              print how a box is made\n"
         "  harness install|list|check  fetch agent programs, list and try them\n"
         "  vault new-key             put a fresh key before the vault's others\n"
         "  version                   print the version\n\n"
         "commands that talk to a server:\n" +
         cli::command_list() + "\nMore: sluice COMMAND --help\n";
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
  const auto help = command == "serve"     ? serve_help
                    : command == "runner"  ? runner_help
                    : command == "config"  ? config_help
                    : command == "sandbox" ? sandbox_help
                    : command == "harness" ? harness_help
                    : command == "vault"   ? vault_help
                                           : doctor_help;
  if (take_switch(flags, "--help") || take_switch(flags, "-h")) {
    print(stdout, std::string(help) + flags_help());
    return cli::exit_ok;
  }
  const auto form =
      command != "serve" && command != "runner" && take_switch(flags, "--json") ? Form::json : Form::human;
  if (command == "config" && take_switch(flags, "--reference")) {
    print(stdout, reference_page());
    return cli::exit_ok;
  }
  const auto order = command == "harness" ? take_harness_order(flags) : HarnessOrder{};
  const auto config = Config::read({flags, environment});
  if (!config) return complain(config.error().what, form);
  if (command == "serve") return serve(config.value(), version, program);
  if (command == "runner") return run_runner(config.value(), version);
  if (command == "doctor") return doctor(config.value(), form);
  if (command == "harness") return run_harness(order, config.value(), form);
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
  for (const auto* word : {"serve", "runner", "config", "doctor", "sandbox", "harness", "version"})
    words.emplace_back(word);
  const auto meant = nearest(command, words);
  return complain("there is no command " + command +
                      (meant ? "; did you mean " + std::string(*meant) + "?" : "; sluice --help lists them"),
                  form);
}

int print_version(Form form) {
  std::string json;
  json::Writer(json).begin_object().key("version").string(version).end_object();
  print(stdout, (form == Form::json ? json : "sluice " + std::string(version)) + "\n");
  return cli::exit_ok;
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
  if (command == "version" || command == "--version") return print_version(form);
  const auto environment = read_environment();
  if (command == "serve" || command == "runner" || command == "config" || command == "doctor") {
    return with_config(program, command, {words.begin() + 1, words.end()}, environment);
  }
  if (command == "sandbox") {
    if (words.size() < 2 || words[1] != "plan") {
      const bool asks = words.size() > 1 && (words[1] == "--help" || words[1] == "-h");
      print(asks ? stdout : stderr, sandbox_help);
      return asks ? cli::exit_ok : cli::exit_usage;
    }
    return with_config(program, command, {words.begin() + 2, words.end()}, environment);
  }
  if (command == "harness") {
    const bool asks = words.size() > 1 && (words[1] == "--help" || words[1] == "-h");
    if (words.size() > 1 && (asks || is_harness_verb(words[1]))) {
      return with_config(program, command, {words.begin() + 1, words.end()}, environment);
    }
    print(stderr, harness_help);
    return cli::exit_usage;
  }
  // The other words of the vault are for a server.
  if (command == "vault" && words.size() > 1 && words[1] == "new-key") {
    return with_config(program, command, {words.begin() + 2, words.end()}, environment);
  }
  if (cli::knows(command)) return cli::run(program, words, environment);
  return no_such_command(command, form);
}

}  // namespace
}  // namespace sluice::app

int main(int argc, char** argv) {
  // A program may be started without even its own name.
  if (argc < 1) return sluice::app::run("sluice", {});
  return sluice::app::run(argv[0], {argv + 1, argv + argc});
}
