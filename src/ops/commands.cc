#include "ops/commands.h"

#include <algorithm>
#include <cstdio>

#include "app/app.h"
#include "base/bytes.h"
#include "base/json.h"
#include "installation/options.h"
#include "installation/vault_key.h"

namespace sluice::ops {
namespace {

constexpr std::string_view serve_help =
    "usage: sluice serve [flags]\n\n"
    "Serves until SIGTERM or SIGINT, which let runs and responses in flight end (server.drain_seconds); a second\n"
    "signal ends it at once. The first start creates the data directory, a demo tenant and its keys\n"
    "(DIR/bootstrap.json).\n\n"
    "  sluice serve\n"
    "  sluice serve --listen 0.0.0.0:8443 --tls-cert chain.pem --tls-key key.pem\n"
    "  sluice serve --config /etc/sluice.toml --log.format json\n\n";

constexpr std::string_view runner_help =
    "usage: sluice runner [flags]\n\n"
    "Receives dispatches by POST /stream and executes them in sandboxes, for any workspace that answers the callbacks\n"
    "(docs/runner.md). Until SIGTERM or SIGINT, like serve. Its key is runner.key, best as SLUICE_RUNNER_KEY.\n\n"
    "  sluice runner --listen 127.0.0.1:8090 --data /var/lib/sluice-runner\n\n";

constexpr std::string_view config_help =
    "usage: sluice config [--json] [--reference] [flags of serve]\n\n"
    "Prints the configuration in force as TOML, with the source of each value; secrets are masked.\n"
    "--reference prints the page docs/configuration.md instead.\n\n"
    "  sluice config --config /etc/sluice.toml\n\n";

constexpr std::string_view doctor_help =
    "usage: sluice doctor [--json] [flags of serve]\n\n"
    "Checks what this machine and this configuration can and cannot do, and names the consequences. Exit code 1 if\n"
    "something that is needed is missing.\n\n"
    "  sluice doctor --data /var/lib/sluice\n\n";

constexpr std::string_view sandbox_help =
    "usage: sluice sandbox plan [flags of serve]\n\n"
    "Prints how a sandbox is made with this configuration: namespaces, mounts, limits, system calls.\n\n"
    "  sluice sandbox plan --sandbox.memory_mib 512\n\n";

constexpr std::string_view harness_help =
    "usage: sluice harness install [TYPE[@VERSION]…] [--dir DIR] [--json] [flags of serve]\n"
    "       sluice harness list [--json] [flags of serve]\n"
    "       sluice harness check [TYPE…] [--json] [flags of serve]\n\n"
    "The agent programs that runs use: claude-code, codex, opencode, grok-build. install gets them by npm into\n"
    "harness.dir, at VERSION or at the tested version; without a TYPE, all of them. list prints which are\n"
    "installed, and their versions. check starts each in a sandbox, as runs do, and reports what is wrong. A running\n"
    "server uses an installed program from the next run on.\n\n"
    "  sluice harness install codex opencode\n"
    "  sluice harness install claude-code@2.1.326\n"
    "  sluice harness check\n\n";

constexpr std::string_view vault_help =
    "usage: sluice vault new-key [--json] [flags of serve]\n\n"
    "Puts a new key before the others of the vault's key file. After a restart of the server, new secrets are sealed\n"
    "under it; sluice vault reseal seals the existing secrets again.\n\n"
    "  sluice vault new-key --data /var/lib/sluice\n\n";

constexpr std::string_view backup_help =
    "usage: sluice backup DIR [--with-keys] [--json] [flags of serve]\n\n"
    "Copies the store and its files into DIR, which must not exist; the server may be running. The copy is read again "
    "and\n"
    "checked before DIR gets its name; damage is reported, and copied as it is (exit code 1). Without --with-keys the\n"
    "backup contains neither the vault's key nor bootstrap.json: keep those elsewhere, because the secrets in the "
    "backup\n"
    "cannot be opened without the key, and can be opened by anybody who has it.\n\n"
    "  sluice backup /backup/sluice-2026-11-16 --data /var/lib/sluice\n\n";

constexpr std::string_view restore_help =
    "usage: sluice restore DIR [--json] [flags of serve]\n\n"
    "Copies a backup into an empty data directory (--data) and an empty store (--store), after checking every file of "
    "it,\n"
    "and verifies the result.\n\n"
    "  sluice restore /backup/sluice-2026-11-16 --data /var/lib/sluice\n\n";

constexpr std::string_view store_help =
    "usage: sluice store verify [--json] [flags of serve]\n"
    "       sluice store export FILE [flags of serve]\n"
    "       sluice store import FILE [flags of serve]\n"
    "       sluice store migrate FROM TO\n"
    "       sluice store sweep [flags of serve]\n\n"
    "verify checks every row, journal, message, hash chain and file and names what is damaged; exit code 1 if\n"
    "something is. It changes nothing, and a server may be running. export writes a consistent copy of the store into "
    "FILE;\n"
    "a server may be running. import reads it into an empty store; migrate does both at once, between sqlite:PATH\n"
    "and postgresql://…: no server may be running. sweep removes unused files that are older than a day, while the\n"
    "server is stopped. More: docs/backup.md.\n\n"
    "  sluice store verify --data /var/lib/sluice\n"
    "  sluice store migrate sqlite:/var/lib/sluice/sluice.db postgresql://sluice@db/sluice\n\n";

constexpr std::string_view completion_help =
    "usage: sluice completion bash|zsh|fish\n"
    "       sluice completion candidates [WORD…]\n\n"
    "Prints the script that makes a shell complete commands and flags. Packages install it; without a package:\n\n"
    "  source <(sluice completion bash)      # in ~/.bashrc\n"
    "  source <(sluice completion zsh)       # in ~/.zshrc, after compinit\n"
    "  sluice completion fish | source       # in ~/.config/fish/config.fish\n\n"
    "The scripts ask for candidates: what may replace the last WORD, a line each, with an explanation.\n";

constexpr std::string_view version_help =
    "usage: sluice version [--verbose] [--json]\n\n"
    "Prints the version; with --verbose or --json also the versions of the libraries in use.\n";

constexpr std::string_view maintenance_keys =
    "server.data|store.url|files.store|files.s3_endpoint|files.s3_region|files.s3_access_key|files.s3_secret_key|"
    "vault.key_file";

int serve(const Call& call) { return app::serve(call.config, call.version, call.program); }

int run_runner(const Call& call) { return app::run_runner(call.config, call.version); }

int print_text(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return cli::exit_ok;
}

int print_config(const Call& call) {
  if (call.has("--reference")) return print_text(config::reference_page());
  return print_text(call.form == Form::json ? config::to_json(call.config) + "\n" : config::to_toml(call.config));
}

int print_sandbox_plan(const Call& call) {
  const auto options = installation::sandbox_options(call.config, call.config.text("server.data"));
  return print_text(sandbox::describe_plan(options, {.name = "run_example"}));
}

int add_vault_key(const Call& call) {
  const auto file = installation::add_vault_key(call.config, *world::make_system_entropy());
  if (!file) return fail(file.error().what, call.form);
  std::string json;
  json::Writer(json).begin_object().key("key_file").string(file.value()).end_object();
  print_text(call.form == Form::json ? json + "\n" : "A new key is the first of " + file.value() + ".\n");
  const cli::Hints hints(call.program, {{"--data", call.config.text("server.data")}});
  std::fprintf(stderr, "Restart the server, then: %s\n", hints.command("vault reseal").c_str());
  return cli::exit_ok;
}

int print_version(const Call& call) { return print_text(version_text(call.version, call.form, call.has("--verbose"))); }

int print_completion(std::string_view shell) { return print_text(std::string(*cli::completion_script(shell))); }
int print_bash_completion(const Call& /*call*/) { return print_completion("bash"); }
int print_zsh_completion(const Call& /*call*/) { return print_completion("zsh"); }
int print_fish_completion(const Call& /*call*/) { return print_completion("fish"); }
int print_candidates(const Call& call) { return print_text(cli::candidates(call.operands, completables())); }

constexpr std::string_view raw_words = "[WORD…]";  // the words of a command line that a shell completes

constexpr Verb serve_verbs[] = {{"", "", serve}};
constexpr Verb runner_verbs[] = {{"", "", run_runner}};
constexpr Verb config_verbs[] = {{"", "", print_config}};
constexpr Verb doctor_verbs[] = {{"", "", doctor}};
constexpr Verb sandbox_verbs[] = {{"plan", "", print_sandbox_plan}};
constexpr Verb harness_verbs[] = {
    {"install", "[TYPE…]", install_programs}, {"list", "[TYPE…]", list_programs}, {"check", "[TYPE…]", check_programs}};
constexpr Verb vault_verbs[] = {{"new-key", "", add_vault_key}};
constexpr Verb backup_verbs[] = {{"", "DIR", back_up}};
constexpr Verb restore_verbs[] = {{"", "DIR", restore}};
constexpr Verb store_verbs[] = {{"verify", "", verify_store},
                                {"export", "FILE", export_store},
                                {"import", "FILE", import_store},
                                {"migrate", "FROM TO", migrate_store},
                                {"sweep", "", sweep_files}};
constexpr Verb completion_verbs[] = {{"bash", "", print_bash_completion},
                                     {"zsh", "", print_zsh_completion},
                                     {"fish", "", print_fish_completion},
                                     {"candidates", raw_words, print_candidates}};
constexpr Verb version_verbs[] = {{"", "", print_version}};

constexpr Command all_commands[] = {
    {"serve", serve_verbs, "run the server", serve_help, ""},
    {"runner", runner_verbs, "execute dispatches for servers elsewhere", runner_help, ""},
    {.word = "config",
     .verbs = config_verbs,
     .summary = "print the configuration in force",
     .help = config_help,
     .switches = "--json|--reference",
     .unconfigured_switch = "--reference"},
    {"doctor", doctor_verbs, "check what this machine can and cannot do", doctor_help, "--json"},
    {"sandbox", sandbox_verbs, "print how a sandbox is made", sandbox_help, "--json"},
    {.word = "harness",
     .verbs = harness_verbs,
     .summary = "install, list and check agent programs",
     .help = harness_help,
     .switches = "--json",
     .short_flag = {"--dir", "--harness.dir"}},
    {"vault", vault_verbs, "put a new key before the vault's others", vault_help, "--json"},
    {"backup", backup_verbs, "copy the installation, also while it runs", backup_help, "--with-keys|--json", true,
     maintenance_keys},
    {"restore", restore_verbs, "restore a backup", restore_help, "--json", true, maintenance_keys},
    {"store", store_verbs, "look for damage; copy a store to another database", store_help, "--json", true,
     maintenance_keys},
    {"completion", completion_verbs, "print the script that makes a shell complete these commands", completion_help, "",
     false},
    {"version", version_verbs, "print the version", version_help, "--verbose|--json", false},
};

std::vector<std::string> parts_of(std::string_view text, char separator = '|') {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool contains(std::span<const std::string> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string verbs_of(const Command& command, std::string_view separator) {
  std::string names;
  for (const auto& verb : command.verbs) {
    if (!names.empty()) names += separator;
    names += verb.word;
  }
  return names;
}

bool needs_verb(const Command& command) { return !command.verbs.front().word.empty(); }

std::string value_of(const config::Key& key) {
  if (key.type == config::KeyType::boolean) return "true|false";
  return key.choices.empty() ? "VALUE" : std::string(key.choices);
}

std::vector<cli::CompletableFlag> configuration_flags() {
  std::vector<cli::CompletableFlag> flags = {{"--config", "FILE", "read this TOML file first"}};
  for (const auto& key : config::config_keys()) {
    flags.push_back({"--" + std::string(key.name), value_of(key), std::string(key.help)});
    for (const auto& flag : config::short_flags()) {
      if (flag.key == key.name) flags.push_back({std::string(flag.flag), value_of(key), std::string(key.help)});
    }
  }
  return flags;
}

Form form_of(std::span<const std::string> words) { return contains(words, "--json") ? Form::json : Form::human; }

int no_such_command(const std::string& command, Form form) {
  auto words = cli::first_words();
  for (const auto& known : all_commands) words.push_back(known.word);
  const auto meant = nearest(command, words);
  return fail("there is no command " + command +
                  (meant ? "; did you mean " + std::string(*meant) + "?" : "; sluice --help lists them"),
              form, cli::exit_usage);
}

int no_such_verb(const Command& command, std::span<const std::string> words) {
  const std::string name(command.word);
  const auto known = verbs_of(command, ", ");
  const bool is_missing = words.empty() || words[0].starts_with('-');
  const auto what = is_missing ? name + " needs one more word: " + known
                               : "there is no command " + name + " " + words[0] + "; there are " + known;
  const int code = fail(what, form_of(words), cli::exit_usage);
  std::fprintf(stderr, "%s", std::string(command.help).c_str());
  return code;
}

// Help may be asked for anywhere, except among the raw words of a command line.
bool asks_for_help(const Verb* verb, std::span<const std::string> words) {
  if (verb != nullptr && verb->operands == raw_words) return false;
  return contains(words, "--help") || contains(words, "-h");
}

int run_command(const Command& command, std::string_view program, std::string_view version,
                std::vector<std::string> words, const config::Environment& environment) {
  const auto* verb = &command.verbs.front();
  if (needs_verb(command)) verb = words.empty() ? nullptr : find_verb(command, words[0]);
  if (asks_for_help(verb, words)) return print_text(help_of(command));
  if (verb == nullptr) return no_such_verb(command, words);
  if (needs_verb(command)) words.erase(words.begin());

  auto taken = take_words(command, *verb, words);
  const auto form = form_of(taken.switches);
  if (const auto wrong = misuse_of(command, *verb, taken.operands); !wrong.empty()) {
    return fail(wrong, form, cli::exit_usage);
  }
  const bool is_configured = command.is_configured && !contains(taken.switches, command.unconfigured_switch);
  auto sources = is_configured ? config::ConfigSources{std::move(words), environment} : config::ConfigSources{};
  const auto config = Config::read(sources);
  if (!config) return fail(config.error().what, form, cli::exit_usage);
  return verb->run({.program = program,
                    .version = version,
                    .form = form,
                    .operands = std::move(taken.operands),
                    .switches = std::move(taken.switches),
                    .config = config.value()});
}

std::string program_help(std::string_view version) {
  return "sluice " + std::string(version) +
         ": runs AI agents and streams what they do\n\n"
         "usage: sluice COMMAND [flags]\n\n" +
         command_list() + "\ncommands that talk to a server:\n" + cli::command_list() +
         "\nMore: sluice COMMAND --help\n";
}

}  // namespace

bool Call::has(std::string_view name) const { return contains(switches, name); }

std::span<const Command> commands() { return all_commands; }

const Command* find_command(std::string_view word) {
  const auto* const found = std::ranges::find(all_commands, word, &Command::word);
  return found == std::end(all_commands) ? nullptr : found;
}

const Verb* find_verb(const Command& command, std::string_view word) {
  const auto found = std::ranges::find(command.verbs, word, &Verb::word);
  return found == command.verbs.end() ? nullptr : &*found;
}

Taken take_words(const Command& command, const Verb& verb, std::vector<std::string>& words) {
  Taken taken;
  if (verb.operands == raw_words) {
    taken.operands = std::move(words);
    return taken;
  }
  for (const auto& name : parts_of(command.switches)) {
    if (std::erase(words, name) > 0) taken.switches.push_back(name);
  }
  if (const auto& [flag, key] = command.short_flag; !flag.empty()) {
    for (auto& word : words) {
      if (word == flag || word.starts_with(std::string(flag) + "=")) word.replace(0, flag.size(), key);
    }
  }
  if (verb.operands.empty() && !needs_verb(command)) return taken;
  const auto flags = std::ranges::find_if(words, [](const auto& word) { return word.starts_with('-'); });
  taken.operands.assign(words.begin(), flags);
  words.erase(words.begin(), flags);
  return taken;
}

std::string misuse_of(const Command& command, const Verb& verb, std::span<const std::string> operands) {
  if (verb.operands.starts_with('[')) return "";
  const auto names = parts_of(verb.operands, ' ');
  if (operands.size() == names.size()) return "";
  const auto name = std::string(command.word) + (verb.word.empty() ? "" : " " + std::string(verb.word));
  if (names.empty()) return name + " takes flags only, not " + operands[0];
  return name + " needs " + std::string(verb.operands) + ", followed by flags. More: sluice " +
         std::string(command.word) + " --help";
}

std::string command_list() {
  std::string out;
  for (const auto& command : all_commands) {
    std::string line = "  " + std::string(command.word);
    if (needs_verb(command)) line += " " + verbs_of(command, "|");
    line.resize(std::max<std::size_t>(28, line.size() + 2), ' ');
    out += line + std::string(command.summary) + "\n";
  }
  return out;
}

std::string help_of(const Command& command) {
  std::string out(command.help);
  if (!command.is_configured) return out;
  out += "flags (more in docs/configuration.md):\n  --config FILE\n      read this TOML file first\n";
  const auto shown = parts_of(command.keys);
  for (const auto& key : config::config_keys()) {
    if (!shown.empty() && !contains(shown, key.name)) continue;
    out += "  --" + std::string(key.name);
    for (const auto& flag : config::short_flags()) {
      if (flag.key == key.name) out += ", " + std::string(flag.flag);
    }
    if (!key.fallback.empty()) out += " (" + std::string(key.fallback) + ")";
    out += "\n      " + std::string(key.help) + "\n";
  }
  if (!shown.empty()) out += "The other flags of serve are accepted, but change nothing here: sluice serve --help\n";
  return out;
}

std::vector<cli::Completable> completables() {
  const auto configuration = configuration_flags();
  std::vector<cli::Completable> all;
  for (const auto& command : all_commands) {
    cli::Completable one{std::string(command.word), std::string(command.summary), {{"--help", "", "print its help"}}};
    for (auto& flag : parts_of(command.switches)) one.flags.push_back({flag, "", ""});
    if (!command.short_flag.flag.empty()) one.flags.push_back({std::string(command.short_flag.flag), "DIR", ""});
    if (command.is_configured) one.flags.insert(one.flags.end(), configuration.begin(), configuration.end());
    for (const auto& verb : command.verbs) {
      one.words = std::string(command.word) + (verb.word.empty() ? "" : " " + std::string(verb.word));
      all.push_back(one);
    }
  }
  return all;
}

int fail(std::string_view what, Form form, int code) {
  std::fprintf(stderr, "sluice: %s\n", std::string(what).c_str());
  if (form == Form::json) std::printf("%s\n", cli::error_json(what).c_str());
  return code;
}

int run(std::string_view program, std::string_view version, const std::vector<std::string>& words,
        const config::Environment& environment) {
  if (words.empty()) {
    std::fputs(program_help(version).c_str(), stderr);
    return cli::exit_usage;
  }
  const auto& word = words[0];
  if (word == "--help" || word == "-h" || word == "help") return print_text(program_help(version));
  const auto* command = find_command(word == "--version" ? "version" : word);
  // The vault has commands of both kinds: new-key works on this machine, the others talk to a server.
  const bool is_ours = command != nullptr && (!cli::knows(word) || (words.size() > 1 && find_verb(*command, words[1])));
  if (is_ours) return run_command(*command, program, version, {words.begin() + 1, words.end()}, environment);
  if (cli::knows(word)) return cli::run(program, words, environment);
  return no_such_command(word, form_of(words));
}

}  // namespace sluice::ops
