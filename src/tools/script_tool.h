// Code mode (H-7): the tool run_script, which has a script run in the sandbox, with a function external_NAME for each
// of the host's tools. What it does is reported as it happens: code_mode:execution_started, console, external_call,
// external_result, external_error, execution_finished.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "sandbox/sandbox.h"
#include "tools/options.h"

namespace sluice::tools {

inline constexpr std::string_view script_tool_name = "run_script";

// {"language":"javascript"|"python","code","timeout_ms"?}; `tools` are what it can call.
model::HostTool script_tool(const std::vector<model::HostTool>& tools);

// ── what a script is ──
struct Script {
  bool is_python = false;
  std::string code;
  int64_t timeout_ms = 0;
};

// `invalid`, in words for the model.
Result<Script> script_of(std::string_view arguments, const ScriptOptions& options);
sandbox::Command command_of(const Script& script, const std::map<std::string, std::string>& functions,
                            const ScriptOptions& options);
// "external_crm__lookup": what a script calls a tool.
std::string function_of(std::string_view tool);

}  // namespace sluice::tools
