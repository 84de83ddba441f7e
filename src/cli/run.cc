#include "cli/cli.h"

#include <algorithm>
#include <chrono>

#include "base/bytes.h"
#include "base/json.h"
#include "cli/commands.h"

namespace sluice::cli {

std::string shell_quoted(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+:=@").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string error_json(std::string_view what) {
  std::string out, words(what);
  // A command line may have any bytes in it; JSON must be UTF-8.
  if (!is_utf8(words)) {
    std::ranges::replace_if(words, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  json::Writer(out).begin_object().key("error").string(words).end_object();
  return out;
}

Hints::Hints(std::string_view program, const Flags& flags) : program_(shell_quoted(program)) {
  for (const auto& [name, value] : flags) flags_ += " " + std::string(name) + " " + shell_quoted(value);
}

std::string Hints::command(std::string_view words) const { return program_ + " " + std::string(words) + flags_; }

namespace {

struct Complaint {
  Console& console;
  Form form;
  std::string more;  // where to read on

  int operator()(const std::string& what, const std::string& remedy = "") const {
    report_error(console, form, what);
    console.err(remedy.empty() ? more : remedy);
    return exit_usage;
  }
};

int no_such_command(const Complaint& complain, const std::vector<std::string>& words) {
  if (words.size() == 1) return complain(words[0] + " needs one more word", help_of_group(words[0]));
  if (words[1] == "--help" || words[1] == "-h") {
    complain.console.out(help_of_group(words[0]));
    return exit_ok;
  }
  const auto meant = nearest(words[1], second_words(words[0]));
  return complain("there is no command " + words[0] + " " + words[1] +
                      (meant ? "; did you mean " + words[0] + " " + std::string(*meant) + "?" : ""),
                  help_of_group(words[0]));
}

std::string missing_key(As as) {
  return as == As::admin
             ? "this command needs the admin key: give --admin-key KEY, SLUICE_ADMIN_KEY or --data DIR of the server"
             : "no service key: give --key KEY, SLUICE_KEY or --data DIR of a server on this machine";
}

Timestamp wall_clock() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count()};
}

// The flags that select the server, without keys, which must not be repeated on a terminal.
Hints hints_of(std::string_view program, const Arguments& arguments) {
  Hints::Flags flags;
  for (const std::string_view name : {"--url", "--data", "--ca-file"}) {
    if (arguments.has(name)) flags.emplace_back(name, arguments.flag(name));
  }
  return {program, flags};
}

}  // namespace

int run(std::string_view program, const std::vector<std::string>& words, const Environment& environment) {
  const auto console = make_standard_console();
  const bool json = std::ranges::find(words, "--json") != words.end();
  Complaint complain{*console, json ? Form::json : Form::human, ""};
  const auto found = find_command(words);
  if (found.command == nullptr) return no_such_command(complain, words);
  const Command& command = *found.command;
  complain.more = "More: " + shell_quoted(program) + " " + std::string(command.words) + " --help\n";

  std::vector<Flag> known(common_flags().begin(), common_flags().end());
  known.insert(known.end(), command.flags.begin(), command.flags.end());
  const auto arguments = Arguments::parse(std::span(words).subspan(found.words), known);
  if (!arguments) return complain(arguments.error().what);
  if (arguments.value().has("--help")) {
    console->out(help_of(command));
    return exit_ok;
  }
  const auto count = arguments.value().operands().size();
  if (count < command.operands_min) return complain("missing " + std::string(command.operands));
  if (count > command.operands_max) return complain("unexpected argument " + arguments.value().operands().back());

  const auto access = find_access(arguments.value(), environment);
  if (!access) return complain(access.error().what);
  const auto& key = command.as == As::admin ? access.value().admin_key : access.value().key;
  if (key.empty() && command.as != As::none) return complain(missing_key(command.as));
  const auto remote = make_remote(access.value());
  if (!remote) {
    report_error(*console, complain.form, remote.error().what);
    return exit_unknown;
  }
  const auto hints = hints_of(program, arguments.value());
  Context context{arguments.value(), access.value(), *console, *remote.value(), hints, wall_clock};
  return command.run(context);
}

}  // namespace sluice::cli
