// A call of a tool that is the tenant's own server: one signed POST, never repeated, because it is not known here what
// it does.
//
//   {"object":"tool_call","id","run_id","conversation_id","agent_id","name","arguments":{…}}
//
// It answers {"result":…}, {"error":"words"}, or any other JSON or text, which then is the result. As
// application/x-ndjson it reports meanwhile what happens, and ends with one of the last two:
//
//   {"type":"custom","name","value"}, {"type":"output","text"}, {"type":"result","result"}, {"type":"error","error"}
#pragma once

#include <memory>
#include <string_view>

#include "tools/options.h"
#include "tools/toolbox.h"

namespace sluice::tools {

// `context`, `dispatch` and `listener` must outlive it. No callback comes from inside.
[[nodiscard]] std::unique_ptr<HostCall> call_webhook(const Context& context, const dispatch::Dispatch& dispatch,
                                                     const model::WebhookTool& tool, const models::ToolCall& call,
                                                     std::string_view step_id, HostCallListener& listener);

}  // namespace sluice::tools
