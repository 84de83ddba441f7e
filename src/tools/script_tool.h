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

// What a script of run_script runs on: the program that takes it, in its own language.
//
// It speaks with this side in lines of JSON, over descriptors 3 (in) and 4 (out), so that what the script and its
// children print, wherever they print it, cannot be mistaken for a word of its own; and in one order, so that what was
// printed before a call is reported before it.
//
//   in    {"code":…,"functions":{"external_NAME":"NAME"},"memory_bytes":N}   the first line
//         {"id":N,"text":…,"failed":true|false}                               the answer of a call
//   out   {"console":{"level":"log"|"info"|"warn"|"error","message":…}}
//         {"call":{"id":N,"name":…,"args":{…}}}
//         {"result":…} or {"error":{"name":…,"message":…,"stack":…}}         the last line
extern const std::string_view javascript_prelude;
extern const std::string_view python_prelude;

}  // namespace sluice::tools
