#include "programs/program_policy.h"

#include <array>
#include <optional>
#include <utility>

#include "base/json.h"
#include "runs/runs.h"

namespace sluice::programs {
namespace {

using gates::Ruling;
using model::Effect;

constexpr std::size_t shown_bytes_max = 16'000;  // a person cannot judge what they cannot read
constexpr std::size_t refused_bytes_max = 200;   // of what was refused: enough to know it by

struct SameTool {
  std::string_view program;
  std::string_view native;
};
constexpr SameTool same_tools[] = {
    {"Bash", "bash"},
    {"shell", "bash"},
    {"local_shell", "bash"},
    {"exec_command", "bash"},
    {"command_execution", "bash"},
    {"commandExecution", "bash"},
    {"run_terminal_command", "bash"},
    {"run_terminal_cmd", "bash"},
    {"run_shell_command", "bash"},
    {"shell_command", "bash"},
    {"monitor", "bash"},
    {"execute", "bash"},
    {"Write", "write"},
    {"write_file", "write"},
    {"create_file", "write"},
    {"Edit", "edit"},
    {"MultiEdit", "edit"},
    {"NotebookEdit", "edit"},
    {"apply_patch", "edit"},
    {"file_change", "edit"},
    {"fileChange", "edit"},
    {"search_replace", "edit"},
    {"edit_file", "edit"},
    {"patch", "edit"},
    {"Read", "read"},
    {"read_file", "read"},
    {"view_image", "read"},
    {"Glob", "glob"},
    {"Grep", "grep"},
    {"grep_search", "grep"},
    {"LS", "list"},
    {"list_dir", "list"},
    {"list_directory", "list"},
};

// Where calls say what they run, and what they touch; whichever tool it is, so that one with an unknown name is judged
// too.
constexpr std::array<std::string_view, 3> command_members = {"command", "cmd", "script"};
constexpr std::array<std::string_view, 19> path_members = {
    "file_path", "filePath",      "path",     "notebook_path",    "target_file", "filename",        "file",
    "filepath",  "abs_path",      "dir_path", "target_directory", "directory",   "tool_input_file", "image",
    "images",    "absolute_path", "paths",    "file_paths",       "files"};
constexpr std::array<std::string_view, 4> patch_members = {"patch", "patchText", "input", "diff"};
constexpr std::array<std::string_view, 5> patch_lines = {
    "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/"};

bool is_shell(std::string_view word) {
  const auto name = word.substr(word.rfind('/') + 1);
  return name == "bash" || name == "sh" || name == "zsh";
}

std::string shell_word(std::string_view word) {
  std::string out = "'";
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

// "/bin/bash -lc 'touch x'" is `touch x`; what is not exactly that stays as it is, and is judged as that.
std::string unwrapped(std::string_view command) {
  for (const std::string_view flag : {" -lc ", " -c "}) {
    const auto at = command.find(flag);
    if (at == command.npos || !is_shell(command.substr(0, at))) continue;
    const auto line = command.substr(at + flag.size());
    if (line.size() < 2 || line.front() != '\'' || line.back() != '\'') continue;
    const auto inside = line.substr(1, line.size() - 2);
    if (inside.find('\'') == inside.npos) return std::string(inside);
  }
  return std::string(command);
}

std::string command_in(json::Value value) {
  if (const auto line = value.string()) return unwrapped(*line);
  std::vector<std::string> words;
  value.each_element([&](json::Value word) { words.emplace_back(word.string().value_or("")); });
  if (words.size() == 3 && is_shell(words[0]) && (words[1] == "-c" || words[1] == "-lc")) return words[2];
  std::string line;
  for (const auto& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

void add_paths_of_patch(std::string_view patch, std::vector<std::string>& paths) {
  while (!patch.empty()) {
    const auto line = patch.substr(0, patch.find('\n'));
    for (const auto begin : patch_lines) {
      if (line.starts_with(begin)) paths.emplace_back(line.substr(begin.size()));
    }
    patch.remove_prefix(std::min(line.size() + 1, patch.size()));
  }
}

// "a.txt" and ["a.txt", …] alike.
void add_paths_in(json::Value value, std::vector<std::string>& paths) {
  if (const auto path = value.string()) paths.emplace_back(*path);
  value.each_element([&](json::Value element) {
    if (const auto path = element.string()) paths.emplace_back(*path);
  });
}

// {"a.txt": {…}} and [{"path": "a.txt"}, …] alike.
void add_paths_of_changes(json::Value changes, std::vector<std::string>& paths) {
  changes.each_member([&](std::string_view path, json::Value) { paths.emplace_back(path); });
  changes.each_element([&](json::Value change) {
    const auto path = change.find("path");
    if (path && path->string()) paths.emplace_back(*path->string());
  });
}

int strictness(Effect effect) { return effect == Effect::deny ? 2 : effect == Effect::ask ? 1 : 0; }

std::string object_of(const harness::ProgramCall& call, const ProgramAct& act) {
  if (!act.command.empty()) return act.command;
  if (act.paths.empty()) return call.arguments;
  std::string words;
  for (const auto& path : act.paths) words += (words.empty() ? "" : ", ") + path;
  return words;
}

std::string shown(const harness::ProgramCall& call, const ProgramAct& act) {
  return (act.command.empty() ? call.name : "Run") + ": " + object_of(call, act);
}

}  // namespace

ProgramAct act_of(const harness::ProgramCall& call) {
  ProgramAct act;
  const auto document = json::Document::parse(call.arguments);
  if (!document) return act;
  const auto root = document.value().root();
  for (const auto name : command_members) {
    const auto value = root.find(name);
    if (value && act.command.empty()) act.command = command_in(*value);
  }
  for (const auto name : path_members) {
    const auto value = root.find(name);
    if (value) add_paths_in(*value, act.paths);
  }
  for (const auto name : patch_members) {
    const auto value = root.find(name);
    if (value && value->string()) add_paths_of_patch(*value->string(), act.paths);
  }
  if (const auto changes = root.find("changes")) add_paths_of_changes(*changes, act.paths);
  return act;
}

std::string_view native_name(std::string_view tool) {
  for (const auto& same : same_tools) {
    if (same.program == tool) return same.native;
  }
  return {};
}

Ruling rule_on_program_call(const model::Policy& policy, const harness::ProgramCall& call) {
  if (!may_object(policy)) return {};
  const auto act = act_of(call);
  auto ruling = gates::rule_on_tool(policy, call.name);
  const auto consider = [&](Ruling other) {
    if (strictness(other.effect) > strictness(ruling.effect)) ruling = std::move(other);
  };
  if (const auto native = native_name(call.name); !native.empty()) consider(gates::rule_on_tool(policy, native));
  if (!act.command.empty()) consider(gates::rule_on_command(policy, act.command));
  for (const auto& path : act.paths) consider(gates::rule_on_file(policy, path));
  if (ruling.effect == Effect::ask && shown(call, act).size() > shown_bytes_max) {
    ruling.effect = Effect::deny;
    ruling.reason = "a human would have to be asked, and it is too long to be shown to one";
  }
  return ruling;
}

tools::ApprovalRequest approval_request_for_program_call(const Ruling& ruling, const harness::ProgramCall& call) {
  return {.reason = ruling.reason.empty() ? "The agent's policy wants a human asked before this." : ruling.reason,
          .items = {{.description = shown(call, act_of(call))}}};
}

std::string refused_call_words(const harness::ProgramCall& call, std::string_view why) {
  const auto object = runs::to_utf8(object_of(call, act_of(call)));
  const auto named = runs::utf8_prefix(object, refused_bytes_max);
  return call.name + " (" + std::string(named) + (named.size() < object.size() ? "…" : "") + ") was " +
         std::string(why);
}

bool may_object(const model::Policy& policy) {
  for (const auto& rule : policy) {
    if (rule.subject != model::Subject::host && rule.effect != Effect::allow) return true;
  }
  return false;
}

}  // namespace sluice::programs
