// Code mode (H-7): the tool run_script, which has a script run in the box, with a function external_NAME for each of
// the host's tools. What it does is told as it happens: code_mode:execution_started, console, external_call,
// external_result, external_error, execution_finished.
#pragma once

#include <memory>
#include <string_view>

#include "runner/toolbox.h"

namespace sluice::runner {

inline constexpr std::string_view script_tool_name = "run_script";

// {"language":"javascript"|"python","code","timeout_ms"?}; `tools` are what it can call.
model::HostTool script_tool(const std::vector<model::HostTool>& tools);

// `context`, `dispatch`, `hands` and `toolbox` must outlive it. Calls of the toolbox obey the agent's policy as the
// model's own do; one that would have to be asked for, and a tool of the client, are refused.
[[nodiscard]] std::unique_ptr<HostCall> run_script(const Context& context, const harness::Dispatch& dispatch,
                                                   Hands& hands, Toolbox& toolbox, const models::ToolCall& call,
                                                   HostCallListener& listener);

}  // namespace sluice::runner
