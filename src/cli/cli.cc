#include "cli/cli.h"

#include "base/bytes.h"
#include "cli/commands.h"

namespace sluice::cli {
namespace {

int complain(Console& console, const std::string& what, std::string_view remedy) {
  console.err("sluice: " + what + "\n" + std::string(remedy));
  return exit_usage;
}

int no_such_command(Console& console, const std::vector<std::string>& words) {
  if (words.size() == 1) return complain(console, words[0] + " needs one more word", help_of_group(words[0]));
  if (words[1] == "--help" || words[1] == "-h") {
    console.out(help_of_group(words[0]));
    return exit_ok;
  }
  return complain(console, "there is no command " + words[0] + " " + words[1], help_of_group(words[0]));
}

std::string missing_key(As as) {
  return as == As::admin
             ? "this command needs the admin key: give --admin-key KEY, SLUICE_ADMIN_KEY or --data DIR of the server"
             : "no service key: give --key KEY, SLUICE_KEY or --data DIR of a server on this machine";
}

}  // namespace

int run(const std::vector<std::string>& words, const Environment& environment) {
  const auto console = make_standard_console();
  const auto found = find_command(words);
  if (found.command == nullptr) return no_such_command(*console, words);
  const Command& command = *found.command;

  std::vector<Flag> known(common_flags().begin(), common_flags().end());
  known.insert(known.end(), command.flags.begin(), command.flags.end());
  const auto arguments = Arguments::parse(std::span(words).subspan(found.words), known);
  const auto more = "More: sluice " + std::string(command.words) + " --help\n";
  if (!arguments) return complain(*console, arguments.error().what, more);
  if (arguments.value().has("--help")) {
    console->out(help_of(command));
    return exit_ok;
  }
  const auto count = arguments.value().operands().size();
  if (count < command.operands_min) return complain(*console, "missing " + std::string(command.operands), more);
  if (count > command.operands_max) {
    return complain(*console, "unexpected argument " + arguments.value().operands().back(), more);
  }

  const auto access = find_access(arguments.value(), environment);
  if (!access) return complain(*console, access.error().what, more);
  const auto& key = command.as == As::admin ? access.value().admin_key : access.value().key;
  if (key.empty()) return complain(*console, missing_key(command.as), more);
  const auto remote = make_remote(access.value());
  if (!remote) {
    console->err("sluice: " + remote.error().what + "\n");
    return exit_unknown;
  }
  Context context{arguments.value(), access.value(), *console, *remote.value()};
  return command.run(context);
}

}  // namespace sluice::cli
