#include "app/local_commands.h"

#include <algorithm>

#include "app/config.h"
#include "app/harness_commands.h"
#include "app/store_commands.h"
#include "base/bytes.h"

namespace sluice::app {
namespace {

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

constexpr std::string_view completion_help =
    "usage: sluice completion bash|zsh|fish\n"
    "       sluice completion candidates [WORD…]\n\n"
    "Prints what makes a shell complete commands and flags. Packages install it; without one:\n\n"
    "  source <(sluice completion bash)      # in ~/.bashrc\n"
    "  source <(sluice completion zsh)       # in ~/.zshrc, after compinit\n"
    "  sluice completion fish | source       # in ~/.config/fish/config.fish\n\n"
    "These ask for the candidates: what may stand in the place of the last WORD, a line each, with what it is for.\n";

constexpr std::string_view version_help =
    "usage: sluice version [--verbose] [--json]\n\n"
    "Prints the version; with --verbose or --json also those of the libraries it was linked with.\n";

constexpr std::string_view upkeep_keys =
    "server.data|store.url|files.store|files.s3_endpoint|files.s3_region|files.s3_access_key|files.s3_secret_key|"
    "vault.key_file";

constexpr LocalCommand table[] = {
    {"serve", "", "run the server", serve_help, "", true},
    {"runner", "", "carry dispatches for servers elsewhere", runner_help, "", true},
    {"config", "", "print the configuration in force", config_help, "--json|--reference", true},
    {"doctor", "", "say what this machine can and cannot do", doctor_help, "--json", true},
    {"sandbox", "plan", "print how a box is made", sandbox_help, "", true},
    {"harness", "install|list|check", "fetch agent programs, list and try them", harness_help, "--json|--dir", true},
    {"vault", "new-key", "put a fresh key before the vault's others", vault_help, "--json", true},
    {"backup", "", "copy the installation, also while it runs", backup_help, "--with-keys|--json", true, upkeep_keys},
    {"restore", "", "put a backup back", restore_help, "--json", true, upkeep_keys},
    {"store", "verify|export|import|migrate|sweep", "look for damage; carry a store to another database", store_help,
     "--json", true, upkeep_keys},
    {"completion", "bash|zsh|fish|candidates", "print what makes a shell complete these commands", completion_help, "",
     false},
    {"version", "", "print the version", version_help, "--verbose|--json", false},
};

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find('|'), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string value_of(const Key& key) {
  if (key.type == KeyType::boolean) return "true|false";
  return key.choices.empty() ? "VALUE" : std::string(key.choices);
}

std::vector<cli::CompletableFlag> configuration_flags() {
  std::vector<cli::CompletableFlag> flags = {{"--config", "FILE", "read this TOML file first"}};
  for (const auto& key : config_keys()) {
    flags.push_back({"--" + std::string(key.name), value_of(key), std::string(key.help)});
    for (const auto& flag : short_flags()) {
      if (flag.key == key.name) flags.push_back({std::string(flag.flag), value_of(key), std::string(key.help)});
    }
  }
  return flags;
}

}  // namespace

std::span<const LocalCommand> local_commands() { return table; }

const LocalCommand* find_local_command(std::string_view word) {
  const auto* const found = std::ranges::find(table, word, &LocalCommand::word);
  return found == std::end(table) ? nullptr : found;
}

bool has_verb(const LocalCommand& command, std::string_view verb) {
  return std::ranges::any_of(parts_of(command.verbs), [verb](const std::string& known) { return known == verb; });
}

std::string local_command_list() {
  std::string out;
  for (const auto& command : table) {
    std::string line = "  " + std::string(command.word);
    if (!command.verbs.empty()) line += " " + std::string(command.verbs);
    line.resize(std::max<std::size_t>(28, line.size() + 2), ' ');
    out += line + std::string(command.summary) + "\n";
  }
  return out;
}

std::string flags_help(const LocalCommand& command) {
  std::string out = "flags (docs/configuration.md says more):\n  --config FILE\n      read this TOML file first\n";
  const auto shown = parts_of(command.keys);
  for (const auto& key : config_keys()) {
    if (!shown.empty() && std::ranges::find(shown, key.name) == shown.end()) continue;
    out += "  --" + std::string(key.name);
    for (const auto& flag : short_flags()) {
      if (flag.key == key.name) out += ", " + std::string(flag.flag);
    }
    if (!key.fallback.empty()) out += " (" + std::string(key.fallback) + ")";
    out += "\n      " + std::string(key.help) + "\n";
  }
  if (!shown.empty()) out += "The other flags of serve are understood, and change nothing here: sluice serve --help\n";
  return out;
}

std::vector<cli::Completable> completables() {
  const auto configuration = configuration_flags();
  std::vector<cli::Completable> all;
  for (const auto& command : table) {
    cli::Completable one{std::string(command.word), std::string(command.summary), {{"--help", "", "say what it does"}}};
    for (auto& flag : parts_of(command.switches)) one.flags.push_back({flag, flag == "--dir" ? "DIR" : "", ""});
    if (command.is_configured) one.flags.insert(one.flags.end(), configuration.begin(), configuration.end());
    if (command.verbs.empty()) all.push_back(one);
    for (const auto& verb : parts_of(command.verbs)) {
      one.words = std::string(command.word) + " " + verb;
      all.push_back(one);
    }
  }
  return all;
}

}  // namespace sluice::app
