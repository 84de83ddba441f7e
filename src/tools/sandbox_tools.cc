#include "tools/sandbox_tools.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/json.h"

namespace sluice::tools {
namespace {

constexpr int64_t read_lines_default = 2'000;

enum class Need : uint8_t { required, optional };

struct Argument {
  std::string_view name;
  json::Kind kind;
  Need need;
  std::string_view description;
};

// The arguments of one call, checked against their table.
class Arguments {
 public:
  explicit Arguments(const json::Document& document) : root_(document.root()) {}

  std::string text(std::string_view name, std::string_view otherwise = {}) const {
    const auto value = root_.find(name);
    return std::string(value ? value->string().value_or(otherwise) : otherwise);
  }
  int64_t integer(std::string_view name, int64_t otherwise) const {
    const auto value = root_.find(name);
    return value ? value->integer().value_or(otherwise) : otherwise;
  }
  bool flag(std::string_view name) const {
    const auto value = root_.find(name);
    return value && value->boolean().value_or(false);
  }

 private:
  const json::Value root_;
};

struct Tool {
  std::string_view name;
  std::string_view description;
  std::span<const Argument> arguments;
  Result<ToolPlan> (*plan)(const Arguments& arguments, const sessions::SessionOptions& options);
};

Error wrong(std::string what) { return {ErrorKind::invalid, std::move(what)}; }

Result<ToolPlan> plan_bash(const Arguments& arguments, const sessions::SessionOptions& options) {
  const bool background = arguments.flag("background");
  const auto timeout_ms = arguments.integer("timeout_ms", background ? 0 : options.tool_timeout_ms);
  if ((timeout_ms < 1 && !background) || timeout_ms > options.tool_timeout_ms_max || timeout_ms < 0) {
    return wrong("timeout_ms must be from 1 to " + std::to_string(options.tool_timeout_ms_max) + ".");
  }
  ToolPlan plan{.is_shell = true};
  plan.command.argv = {"bash", "-c", arguments.text("command")};
  plan.command.timeout_ms = timeout_ms;
  plan.command.background = background;
  return plan;
}

ToolPlan shim_plan(std::vector<std::string> argv, const sessions::SessionOptions& options, std::string input = {}) {
  ToolPlan plan;
  plan.command.argv = std::move(argv);
  plan.command.input = std::move(input);
  plan.command.timeout_ms = options.tool_timeout_ms;
  return plan;
}

Result<ToolPlan> plan_read(const Arguments& arguments, const sessions::SessionOptions& options) {
  const auto offset = arguments.integer("offset", 1);
  const auto limit = arguments.integer("limit", read_lines_default);
  if (offset < 1 || limit < 1) return wrong("offset and limit must be at least 1.");
  return shim_plan({"@read", arguments.text("path"), std::to_string(offset), std::to_string(limit)}, options);
}

Result<ToolPlan> plan_write(const Arguments& arguments, const sessions::SessionOptions& options) {
  auto plan = shim_plan({"@write", arguments.text("path")}, options, arguments.text("content"));
  plan.counts = "Bytes written: ";
  return plan;
}

Result<ToolPlan> plan_edit(const Arguments& arguments, const sessions::SessionOptions& options) {
  const auto old = arguments.text("old");
  const auto fresh = arguments.text("new");
  if (old.empty()) return wrong("old must not be empty; to make a file, use write.");
  if (old == fresh) return wrong("old and new are the same: there is nothing to change.");
  auto plan = shim_plan({"@edit", arguments.text("path"), arguments.flag("all") ? "1" : "0"}, options,
                        std::to_string(old.size()) + "\n" + old + fresh);
  plan.counts = "Places changed: ";
  return plan;
}

Result<ToolPlan> plan_glob(const Arguments& arguments, const sessions::SessionOptions& options) {
  return shim_plan({"@glob", arguments.text("pattern"), arguments.text("path", ".")}, options);
}

Result<ToolPlan> plan_grep(const Arguments& arguments, const sessions::SessionOptions& options) {
  return shim_plan({"@grep", arguments.text("pattern"), arguments.text("path", "."), arguments.text("glob"),
                    arguments.flag("ignore_case") ? "i" : ""},
                   options);
}

Result<ToolPlan> plan_list(const Arguments& arguments, const sessions::SessionOptions& options) {
  return shim_plan({"@list", arguments.text("path", ".")}, options);
}

constexpr std::string_view path_words = "Relative to /workspace, or absolute";

constexpr std::array bash_arguments = {
    Argument{"command", json::Kind::string, Need::required, "The command line, as bash reads it"},
    Argument{"timeout_ms", json::Kind::integer, Need::optional, "After so many milliseconds it is killed"},
    Argument{"background", json::Kind::boolean, Need::optional, "Do not wait for it; it lives until the run ends"},
    Argument{"description", json::Kind::string, Need::optional, "What the command does, for people who read the step"},
};
constexpr std::array read_arguments = {
    Argument{"path", json::Kind::string, Need::required, path_words},
    Argument{"offset", json::Kind::integer, Need::optional, "The first line to show; 1 if not given"},
    Argument{"limit", json::Kind::integer, Need::optional, "How many lines to show; 2000 if not given"},
};
constexpr std::array write_arguments = {
    Argument{"path", json::Kind::string, Need::required, path_words},
    Argument{"content", json::Kind::string, Need::required, "All that will be in the file"},
};
constexpr std::array edit_arguments = {
    Argument{"path", json::Kind::string, Need::required, path_words},
    Argument{"old", json::Kind::string, Need::required, "The text to replace, exactly as it stands in the file"},
    Argument{"new", json::Kind::string, Need::required, "What takes its place"},
    Argument{"all", json::Kind::boolean, Need::optional, "Replace every occurrence; otherwise there must be just one"},
};
constexpr std::array glob_arguments = {
    Argument{"pattern", json::Kind::string, Need::required, "Like **/*.cc"},
    Argument{"path", json::Kind::string, Need::optional, "The directory to look in; /workspace if not given"},
};
constexpr std::array grep_arguments = {
    Argument{"pattern", json::Kind::string, Need::required, "A POSIX extended regular expression"},
    Argument{"path", json::Kind::string, Need::optional, "The directory or file to look in; /workspace if not given"},
    Argument{"glob", json::Kind::string, Need::optional, "Only in files whose names match"},
    Argument{"ignore_case", json::Kind::boolean, Need::optional, "Upper and lower case are the same"},
};
constexpr std::array list_arguments = {
    Argument{"path", json::Kind::string, Need::optional, "The directory; /workspace if not given"},
};

constexpr std::array tools = {
    Tool{"bash", "Runs a command in the sandbox, in /workspace.", bash_arguments, plan_bash},
    Tool{"read", "Shows a text file.", read_arguments, plan_read},
    Tool{"write", "Writes a file, and the directories it needs; what was in it is gone.", write_arguments, plan_write},
    Tool{"edit", "Replaces text in a file.", edit_arguments, plan_edit},
    Tool{"glob", "Finds files by their names.", glob_arguments, plan_glob},
    Tool{"grep", "Finds lines in files.", grep_arguments, plan_grep},
    Tool{"list", "Shows what is in a directory.", list_arguments, plan_list},
};

const Tool* find_tool(std::string_view name) {
  const auto* const found = std::ranges::find(tools, name, &Tool::name);
  return found == tools.end() ? nullptr : found;
}

std::string schema_of(const Tool& tool) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("type").string("object").key("properties").begin_object();
  for (const auto& argument : tool.arguments) {
    writer.key(argument.name).begin_object().key("type").string(json::name_of(argument.kind));
    writer.key("description").string(argument.description).end_object();
  }
  writer.end_object().key("required").begin_array();
  for (const auto& argument : tool.arguments) {
    if (argument.need == Need::required) writer.string(argument.name);
  }
  writer.end_array().key("additionalProperties").boolean(false).end_object();
  return out;
}

std::string names_of(std::span<const Argument> arguments) {
  std::string names;
  for (const auto& argument : arguments) names.append(names.empty() ? "" : ", ").append(argument.name);
  return names;
}

// What is wrong with the arguments, if anything is. null is the same as absent: models send both.
std::optional<std::string> fault_in(json::Value root, const Tool& tool) {
  std::optional<std::string> fault;
  root.each_member([&](std::string_view name, json::Value value) {
    const auto argument = std::ranges::find(tool.arguments, name, &Argument::name);
    if (argument == tool.arguments.end()) {
      fault = std::string(tool.name) + " has no argument \"" + std::string(name) + "\"; it has " +
              names_of(tool.arguments) + ".";
    } else if (value.kind() != argument->kind && !(value.is_null() && argument->need == Need::optional)) {
      fault = std::string(name) + " must be of type " + std::string(json::name_of(argument->kind)) + ", not " +
              std::string(json::name_of(value.kind())) + ".";
    } else if (value.string() && value.string()->find('\0') != std::string_view::npos && name != "content") {
      // An argument of exec() ends there: what is run would not be what the policy was asked about.
      fault = std::string(name) + " must not contain the character NUL.";
    }
  });
  for (const auto& argument : tool.arguments) {
    if (argument.need == Need::required && !root.find(argument.name)) {
      fault = std::string(tool.name) + " needs the argument \"" + std::string(argument.name) + "\".";
    }
    const auto value = root.find(argument.name);
    const bool may_be_empty = argument.name == "content" || argument.name == "new" || argument.name == "glob";
    if (value && value->string() == "" && !may_be_empty) fault = std::string(argument.name) + " must not be empty.";
  }
  return fault;
}

}  // namespace

std::vector<models::ToolSpec> sandbox_tool_specs() {
  std::vector<models::ToolSpec> specs;
  for (const auto& tool : tools) {
    specs.push_back({std::string(tool.name), std::string(tool.description), schema_of(tool)});
  }
  return specs;
}

bool is_sandbox_tool(std::string_view name) { return find_tool(name) != nullptr; }

Result<ToolPlan> plan_sandbox_tool(const models::ToolCall& call, const sessions::SessionOptions& options) {
  const auto* const tool = find_tool(call.name);
  SLUICE_CHECK(tool != nullptr);
  const auto document = json::Document::parse(call.arguments);
  if (!document) return wrong("The arguments are " + document.error().what + ".");
  const auto root = document.value().root();
  if (root.kind() != json::Kind::object) return wrong("The arguments must be a JSON object.");
  if (auto fault = fault_in(root, *tool)) return wrong(*std::move(fault));
  return tool->plan(Arguments(document.value()), options);
}

runs::ToolAnswer answer_of(const ToolPlan& plan, const sandbox::Exit& exit, std::string printed) {
  const bool failed = exit.cause != sandbox::ExitCause::exited || exit.code != 0;
  while (printed.ends_with('\n')) printed.pop_back();
  // The shim's own tools say in words what is wrong; their exit code adds nothing.
  const bool says_it = !plan.is_shell && exit.cause == sandbox::ExitCause::exited && !printed.empty();
  if (failed && !says_it) {
    if (!printed.empty()) printed += '\n';
    printed += sessions::exit_words(exit, plan.command.timeout_ms);
  }
  if (!failed) printed.insert(0, plan.counts);
  if (printed.empty()) printed = plan.is_shell ? "(no output)" : "(nothing)";
  return {std::move(printed), failed};
}

runs::ToolAnswer background_answer() {
  return {"Started in the background. It lives until the run ends; to see what it prints, have it write to a file."};
}

}  // namespace sluice::tools
