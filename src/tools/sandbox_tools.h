// The tools of a native agent: how they are described to a model, and which command each call becomes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/models.h"
#include "runs/runs.h"
#include "sandbox/sandbox.h"

namespace sluice::tools {

std::vector<models::ToolSpec> sandbox_tool_specs();
bool is_sandbox_tool(std::string_view name);

// What a call has the sandbox do.
struct ToolPlan {
  sandbox::Command command;
  std::string_view counts;  // what the number is that it prints; empty: it prints no number
  bool is_shell = false;    // bash: its output is reported as it comes, its exit code is part of the result
};

// `call.name` is a tool. `invalid`, in words for the model, which may try again.
Result<ToolPlan> plan_sandbox_tool(const models::ToolCall& call, const sessions::SessionOptions& options);

// What the model is shown. `printed`: what the command printed, as much of it as a result may have.
runs::ToolAnswer answer_of(const ToolPlan& plan, const sandbox::Exit& exit, std::string printed);

// Instead of waiting for it.
runs::ToolAnswer background_answer();

}  // namespace sluice::tools
