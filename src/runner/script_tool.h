// Code mode (H-7): the tool run_script, which has a script run in the box, with a function external_NAME for each of
// the host's tools. What it does is told as it happens: code_mode:execution_started, console, external_call,
// external_result, external_error, execution_finished.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runner/toolbox.h"

namespace sluice::runner {

inline constexpr std::string_view script_tool_name = "run_script";

// {"language":"javascript"|"python","code","timeout_ms"?}; `tools` are what it can call.
model::HostTool script_tool(const std::vector<model::HostTool>& tools);

// `context`, `dispatch`, `hands` and `toolbox` must outlive it. Calls of the toolbox obey the agent's policy as the
// model's own do; one that would have to be asked for, and a tool of the client, are refused. No callback comes from
// inside.
[[nodiscard]] std::unique_ptr<HostCall> run_script(const Context& context, const harness::Dispatch& dispatch,
                                                   Hands& hands, Toolbox& toolbox, const models::ToolCall& call,
                                                   HostCallListener& listener);

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

}  // namespace sluice::runner
