#include "tools/script_tool.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "runs/runs.h"

namespace sluice::tools {
namespace {

constexpr std::size_t code_bytes_max = 256 * 1024;
constexpr std::size_t function_bytes_max = 4'000;    // what is reported of one
constexpr std::size_t functions_bytes_max = 32'000;  // and of all

constexpr std::string_view parameters =
    R"({"type":"object","properties":{)"
    R"("language":{"type":"string","enum":["javascript","python"],"description":"javascript if not given"},)"
    R"("code":{"type":"string","description":"The body of a function: return what you want to see"},)"
    R"("timeout_ms":{"type":"integer","minimum":1,"description":"How long it may run; 30000 if not given"}},)"
    R"("required":["code"],"additionalProperties":false})";

std::string functions_words(const std::vector<model::HostTool>& tools) {
  std::string words;
  for (const auto& tool : tools) {
    std::string one = "\n\n" + function_of(tool.name) + "(args): " + tool.description + "\nargs: " + tool.parameters;
    if (one.size() > function_bytes_max) one = std::string(runs::utf8_prefix(one, function_bytes_max)) + " …";
    if (words.size() + one.size() > functions_bytes_max) one = "\n\n" + function_of(tool.name) + "(args)";
    words += one;
  }
  return words;
}

Error invalid(std::string words) { return {ErrorKind::invalid, std::move(words)}; }

}  // namespace

std::string function_of(std::string_view tool) {
  std::string name = "external_" + std::string(tool);
  std::ranges::replace(name, '-', '_');
  return name;
}

model::HostTool script_tool(const std::vector<model::HostTool>& tools) {
  std::string words =
      "Runs a script in your sandbox, in /workspace, and answers with what it returns and what it prints. JavaScript "
      "runs on node, with await and require; Python runs on python3. Use it where many calls of tools, or much of what "
      "they answer, would only pass through your hands.";
  if (!tools.empty()) {
    words +=
        " The script can call these tools as functions (in JavaScript: await them). Each takes an object and answers "
        "with the tool's answer, parsed if it is JSON; a call that fails throws.";
    words += functions_words(tools);
  }
  return {
      .name = std::string(script_tool_name), .description = std::move(words), .parameters = std::string(parameters)};
}

Result<Script> script_of(std::string_view arguments, const ScriptOptions& options) {
  const auto document = json::Document::parse(arguments);
  if (!document) return invalid("The arguments of run_script are not JSON: " + document.error().what + ".");
  const auto root = document.value().root();
  const auto code = root.find("code");
  if (!code || !code->string() || code->string()->empty()) return invalid("run_script needs code, a string.");
  if (code->string()->size() > code_bytes_max) {
    return invalid("The code is longer than " + std::to_string(code_bytes_max) + " bytes: put data into files.");
  }
  Script script{.code = std::string(*code->string()), .timeout_ms = options.timeout_ms};
  if (const auto language = root.find("language")) {
    const auto name = language->string().value_or("");
    if (name != "javascript" && name != "python") return invalid("language must be \"javascript\" or \"python\".");
    script.is_python = name == "python";
  }
  if (const auto timeout = root.find("timeout_ms")) {
    const auto ms = timeout->integer().value_or(0);
    if (ms < 1 || ms > options.timeout_ms_max) {
      return invalid("timeout_ms must be an integer from 1 to " + std::to_string(options.timeout_ms_max) + ".");
    }
    script.timeout_ms = ms;
  }
  return script;
}

sandbox::Command command_of(const Script& script, const std::map<std::string, std::string>& functions,
                            const ScriptOptions& options) {
  sandbox::Command command{.keeps_input = true, .timeout_ms = script.timeout_ms};
  command.argv = {"sh", "-c", "exec 3<&0 4>&1 </dev/null >&2; exec \"$@\"", "sh"};
  if (script.is_python) {
    command.argv.insert(command.argv.end(), {"python3", "-B", "-c", std::string(python_prelude)});
  } else {
    command.argv.insert(command.argv.end(), {"node", "--max-old-space-size=" + std::to_string(options.memory_mib_max),
                                             "-e", std::string(javascript_prelude)});
  }
  json::Writer writer(command.input);
  writer.begin_object().key("code").string(script.code).key("functions").begin_object();
  for (const auto& [function, tool] : functions) writer.key_escaped(function).string(tool);
  writer.end_object().key("memory_bytes").integer(options.memory_mib_max << 20).end_object();
  command.input += '\n';
  return command;
}

}  // namespace sluice::tools
