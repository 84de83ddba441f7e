// `sluice harness install|list|check`: the agent programs that runs use.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/bytes.h"
#include "base/json.h"
#include "installation/options.h"
#include "installation/program_install.h"
#include "installation/programs.h"
#include "ops/commands.h"
#include "ops/sandbox_trial.h"

namespace sluice::ops {
namespace {

using installation::FoundProgram;
using installation::ProgramPlace;

constexpr int64_t check_ms_max = 60'000;

struct Chosen {
  const harness::Program* program;
  std::string version;  // empty: the tested one
};

struct Line {
  FoundProgram found;
  bool is_fine = true;
  std::string detail;
};

Error invalid(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

// Parses words of the form TYPE or, if `takes_version`, TYPE@VERSION. No words: all programs.
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
      if (at != word.npos && (version.empty() || !installation::is_exact_version(version))) {
        return invalid(word + " names no exact version; write " + type + "@" + std::string(program->version) +
                       ", the tested version, or another one in three numbers");
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

std::string last_words(const SandboxTrial& trial) {
  std::string text = trial.err.empty() ? trial.out : trial.err;
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.find_last_of('\n') + 1).substr(0, 400);
}

Line check(const FoundProgram& found, const sandbox::SandboxOptions& sandboxes) {
  if (!found.is_usable()) return {found, false, found.describe()};
  sandbox::BoxRequest request{.name = "check"};
  if (!found.folder.empty()) {
    const auto place = std::string(harness::program_dir) + "/" + std::string(found.program->agent_type);
    request.binds.push_back({found.folder, place});
  }
  const auto trial = try_in_sandbox(sandboxes, std::move(request),
                                    {.argv = {found.in_sandbox, "--version"}, .timeout_ms = check_ms_max});
  if (!trial) return {found, false, "no sandbox can be made for it: " + trial.error().what};
  const auto& exit = trial.value().exit;
  if (exit.cause != sandbox::ExitCause::exited || exit.code != 0) {
    const std::string how = std::string(name_of(exit.cause)) + " " + std::to_string(exit.code);
    return {found, false,
            found.in_sandbox + " --version, in a sandbox, ended as " + how + ": " +
                (exit.what.empty() ? last_words(trial.value()) : exit.what)};
  }
  const std::string version = version_in(trial.value().out);
  std::string detail = (version.empty() ? "an unknown version" : version) + " runs in a sandbox, in " +
                       std::to_string(trial.value().took_us / 1000) + " ms";
  if (version != found.program->version) detail += "; tested with " + std::string(found.program->version);
  return {found, true, std::move(detail)};
}

void print_lines(const std::vector<Line>& lines, Form form) {
  std::string json;
  json::Writer to(json);
  to.begin_array();
  for (const auto& [found, is_fine, detail] : lines) {
    const auto& program = *found.program;
    if (form == Form::human) {
      std::printf("%-12s %-10s %s\n", std::string(program.agent_type).c_str(),
                  is_fine ? std::string(name_of(found.place)).c_str() : "wrong", detail.c_str());
    }
    to.begin_object().key("agent_type").string(program.agent_type).key("package").string(program.package);
    to.key("tested_version").string(program.version).key("where").string(name_of(found.place));
    if (!found.version.empty()) to.key("version").string(found.version);
    if (!found.file.empty()) to.key("path").string(found.file);
    to.key("ok").boolean(is_fine).key("detail").string(detail).end_object();
  }
  to.end_array();
  if (form == Form::json) std::printf("%s\n", json.c_str());
}

// Creates the data directory privately, like the first start of a server, because keys will be stored in it.
void make_data_dir(const Config& config) {
  std::error_code ignored;
  if (!config.text("harness.dir").empty()) return;
  const std::filesystem::path data = config.text("server.data");
  if (std::filesystem::create_directories(data, ignored)) chmod(data.c_str(), 0700);
}

std::vector<Line> install(const std::vector<Chosen>& chosen, const sandbox::SandboxOptions& sandboxes) {
  std::vector<Line> lines;
  for (const auto& [program, version] : chosen) {
    const auto wanted = version.empty() ? std::string(program->version) : version;
    std::fprintf(stderr, "installing %s %s (%s) into %s …\n", std::string(program->agent_type).c_str(), wanted.c_str(),
                 std::string(program->package).c_str(), sandboxes.harness_dir.c_str());
    const auto done = installation::install_program(*program, sandboxes.harness_dir, wanted);
    const auto found = installation::look_for(*program, sandboxes, "");
    lines.push_back({found, static_cast<bool>(done), done ? found.describe() : done.error().what});
  }
  return lines;
}

int print_result(const std::vector<Line>& lines, Form form) {
  print_lines(lines, form);
  return std::ranges::all_of(lines, &Line::is_fine) ? cli::exit_ok : cli::exit_failed;
}

sandbox::SandboxOptions sandboxes_of(const Config& config) {
  return installation::sandbox_options(config, config.text("server.data"));
}

}  // namespace

int list_programs(const Call& call) {
  const auto chosen = programs_of(call.operands, false);
  if (!chosen) return fail(chosen.error().what, call.form, cli::exit_usage);
  std::vector<Line> lines;
  for (auto& found : installation::look_for_programs(sandboxes_of(call.config))) {
    auto detail = found.describe();
    lines.push_back({std::move(found), true, std::move(detail)});
  }
  return print_result(lines, call.form);
}

int install_programs(const Call& call) {
  const auto chosen = programs_of(call.operands, true);
  if (!chosen) return fail(chosen.error().what, call.form, cli::exit_usage);
  make_data_dir(call.config);
  return print_result(install(chosen.value(), sandboxes_of(call.config)), call.form);
}

int check_programs(const Call& call) {
  const auto chosen = programs_of(call.operands, false);
  if (!chosen) return fail(chosen.error().what, call.form, cli::exit_usage);
  if (call.config.text("sandbox.driver") == "off") {
    return fail("sandbox.driver is off, and agent programs run in sandboxes only", call.form);
  }
  const auto sandboxes = sandboxes_of(call.config);
  std::vector<Line> lines;
  for (const auto& found : installation::look_for_programs(sandboxes)) {
    const bool is_chosen = std::ranges::find(chosen.value(), found.program, &Chosen::program) != chosen.value().end();
    if (is_chosen && (!call.operands.empty() || found.place != ProgramPlace::missing)) {
      lines.push_back(check(found, sandboxes));
    }
  }
  if (lines.empty()) return fail("no agent program is installed; install one with: sluice harness install", call.form);
  return print_result(lines, call.form);
}

}  // namespace sluice::ops
