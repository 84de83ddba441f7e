#include "app/harness_commands.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/box_trial.h"
#include "app/hands.h"
#include "app/program_install.h"
#include "app/programs.h"
#include "base/bytes.h"
#include "base/json.h"
#include "cli/cli.h"

namespace sluice::app {
namespace {

constexpr int64_t check_ms_max = 60'000;

struct Chosen {
  const harness::Program* program;
  std::string version;  // empty: the tested one
};

struct Line {
  FoundProgram found;
  bool fine = true;
  std::string words;
};

Error invalid(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

// `words` are TYPE or, where a version has a meaning, TYPE@VERSION. None: all programs.
Result<std::vector<Chosen>> programs_of(const std::vector<std::string>& words, bool takes_version) {
  std::vector<Chosen> chosen;
  std::vector<std::string_view> known;
  for (const auto& program : harness::programs()) {
    known.push_back(program.agent_type);
    if (words.empty()) chosen.push_back({&program, ""});
  }
  for (const auto& word : words) {
    const auto at = word.find('@');
    const auto type = word.substr(0, at);
    if (const auto* const program = harness::find_program(type)) {
      const auto version = at == word.npos ? "" : word.substr(at + 1);
      if (at != word.npos && !takes_version) return invalid("only install takes a version: name " + type + " alone");
      if (at != word.npos && (version.empty() || !is_exact_version(version))) {
        return invalid(word + " names no exact version; write " + type + "@" + std::string(program->version) +
                       ", which was tested, or another in three numbers");
      }
      chosen.push_back({program, version});
      continue;
    }
    const auto meant = nearest(type, known);
    return invalid("there is no agent program " + type +
                   (meant ? "; did you mean " + std::string(*meant) + "?"
                          : "; there are claude-code, codex, opencode and grok-build"));
  }
  return chosen;
}

// "codex-cli 0.166.0": the first word that begins with a digit.
std::string version_in(std::string_view text) {
  const auto is_part = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_part(text[at]) || text[at] == '.' || (at > 0 && text[at - 1] != ' ' && text[at - 1] != 'v')) continue;
    const auto end = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_part);
    return {text.begin() + static_cast<std::ptrdiff_t>(at), end};
  }
  return "";
}

std::string last_words(const BoxTrial& trial) {
  std::string text = trial.err.empty() ? trial.out : trial.err;
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.find_last_of('\n') + 1).substr(0, 400);
}

Line check(const FoundProgram& found, const sandbox::SandboxOptions& boxes) {
  if (!found.is_usable()) return {found, false, found.words()};
  sandbox::BoxRequest request{.name = "check"};
  if (!found.folder.empty()) {
    const auto place = std::string(harness::program_dir) + "/" + std::string(found.program->agent_type);
    request.binds.push_back({found.folder, place});
  }
  const auto trial =
      try_in_a_box(boxes, std::move(request), {.argv = {found.in_box, "--version"}, .timeout_ms = check_ms_max});
  if (!trial) return {found, false, "no box can be made for it: " + trial.error().what};
  const auto& exit = trial.value().exit;
  if (exit.cause != sandbox::ExitCause::exited || exit.code != 0) {
    const std::string how = std::string(name_of(exit.cause)) + " " + std::to_string(exit.code);
    return {found, false,
            found.in_box + " --version, in a box, ended as " + how + ": " +
                (exit.what.empty() ? last_words(trial.value()) : exit.what)};
  }
  const std::string version = version_in(trial.value().out);
  std::string words = (version.empty() ? "a version that it does not tell" : version) + " runs in a box, in " +
                      std::to_string(trial.value().took_us / 1000) + " ms";
  if (version != found.program->version) words += "; tested with " + std::string(found.program->version);
  return {found, true, std::move(words)};
}

void print_lines(const std::vector<Line>& lines, Form form) {
  std::string json;
  json::Writer to(json);
  to.begin_array();
  for (const auto& [found, fine, words] : lines) {
    const auto& program = *found.program;
    if (form == Form::human) {
      std::printf("%-12s %-10s %s\n", std::string(program.agent_type).c_str(),
                  fine ? std::string(name_of(found.place)).c_str() : "wrong", words.c_str());
    }
    to.begin_object().key("agent_type").string(program.agent_type).key("package").string(program.package);
    to.key("tested_version").string(program.version).key("where").string(name_of(found.place));
    if (!found.version.empty()) to.key("version").string(found.version);
    if (!found.file.empty()) to.key("path").string(found.file);
    to.key("ok").boolean(fine).key("detail").string(words).end_object();
  }
  to.end_array();
  if (form == Form::json) std::printf("%s\n", json.c_str());
}

int complain(std::string_view what, Form form, int code) {
  std::fprintf(stderr, "sluice: %s\n", std::string(what).c_str());
  if (form == Form::json) std::printf("%s\n", cli::error_json(what).c_str());
  return code;
}

// As the first start of a server makes it: its keys will be there.
void make_data_dir(const Config& config) {
  std::error_code ignored;
  if (!config.text("harness.dir").empty()) return;
  const std::filesystem::path data = config.text("server.data");
  if (std::filesystem::create_directories(data, ignored)) chmod(data.c_str(), 0700);
}

std::vector<Line> install(const std::vector<Chosen>& chosen, const sandbox::SandboxOptions& boxes) {
  std::vector<Line> lines;
  for (const auto& [program, version] : chosen) {
    const auto wanted = version.empty() ? std::string(program->version) : version;
    std::fprintf(stderr, "installing %s %s (%s) into %s …\n", std::string(program->agent_type).c_str(), wanted.c_str(),
                 std::string(program->package).c_str(), boxes.harness_dir.c_str());
    const auto done = install_program(*program, boxes.harness_dir, wanted);
    const auto found = look_for(*program, boxes, "");
    lines.push_back({found, static_cast<bool>(done), done ? found.words() : done.error().what});
  }
  return lines;
}

std::vector<Line> check(const HarnessOrder& order, const std::vector<Chosen>& chosen,
                        const sandbox::SandboxOptions& boxes) {
  std::vector<Line> lines;
  for (const auto& found : look_for_programs(boxes)) {
    const bool is_meant = std::ranges::find(chosen, found.program, &Chosen::program) != chosen.end();
    const bool is_asked_for = !order.types.empty() || found.place != ProgramPlace::missing;
    if (is_meant && is_asked_for) lines.push_back(check(found, boxes));
  }
  return lines;
}

}  // namespace

HarnessOrder take_harness_order(std::vector<std::string>& words) {
  HarnessOrder order;
  if (words.empty()) return order;
  order.verb = words.front();
  words.erase(words.begin());
  for (auto& word : words) {
    if (word == "--dir" || word.starts_with("--dir=")) word.replace(0, 5, "--harness.dir");
  }
  auto flags = words.begin();
  while (flags != words.end() && !flags->starts_with('-')) ++flags;
  order.types.assign(words.begin(), flags);
  words.erase(words.begin(), flags);
  return order;
}

int run_harness(const HarnessOrder& order, const Config& config, Form form) {
  const auto chosen = programs_of(order.types, order.verb == "install");
  if (!chosen) return complain(chosen.error().what, form, cli::exit_usage);
  const auto boxes = sandbox_options(config, config.text("server.data"));
  std::vector<Line> lines;
  if (order.verb == "list") {
    for (auto& found : look_for_programs(boxes)) {
      auto words = found.words();
      lines.push_back({std::move(found), true, std::move(words)});
    }
  } else if (order.verb == "install") {
    make_data_dir(config);
    lines = install(chosen.value(), boxes);
  } else if (config.text("sandbox.driver") == "off") {
    return complain("sandbox.driver is off, and agent programs run in boxes only", form, cli::exit_failed);
  } else {
    lines = check(order, chosen.value(), boxes);
    if (lines.empty()) {
      return complain("no agent program is here: sluice harness install puts them there", form, cli::exit_failed);
    }
  }
  print_lines(lines, form);
  return std::ranges::all_of(lines, &Line::fine) ? cli::exit_ok : cli::exit_failed;
}

}  // namespace sluice::app
