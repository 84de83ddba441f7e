// What a tool of the host says while it is called, as its caller hears it: bounded, and without values of secrets.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/lifetime.h"
#include "runs/runs.h"
#include "tools/options.h"
#include "tools/toolbox.h"

namespace sluice::tools {

// False, from every function: the listener dropped this.
class HostCallOutput {
 public:
  // `context` and `listener` must outlive it.
  HostCallOutput(const Context& context, runs::SharedSecrets secrets, HostCallListener& listener);

  // Names without a prefix are not a tool's to give: they get one. The listener scrubs `value`, which is JSON.
  bool custom(std::string_view name, std::string_view value);
  bool output(std::string text);
  // The last.
  void answer(runs::ToolAnswer answer);

 private:
  bool print(std::string text);

  const sessions::SessionOptions& options_;
  const runs::SharedSecrets secrets_;
  HostCallListener& listener_;
  runs::ScrubbedText printed_;
  std::size_t printed_bytes_ = 0;
  bool is_cut_ = false;
  Lifetime lifetime_;
};

// A call of a tool that is the tenant's own server: one signed POST, never repeated, because it is not known here what
// it does.
//
//   {"object":"tool_call","id","run_id","conversation_id","agent_id","name","arguments":{…}}
//
// It answers {"result":…}, {"error":"words"}, or any other JSON or text, which then is the result. As
// application/x-ndjson it reports meanwhile what happens, and ends with one of the last two:
//
//   {"type":"custom","name","value"}, {"type":"output","text"}, {"type":"result","result"}, {"type":"error","error"}
// `context`, `dispatch` and `listener` must outlive it. No callback comes from inside.
[[nodiscard]] std::unique_ptr<HostCall> call_webhook(const Context& context, const dispatch::Dispatch& dispatch,
                                                     const model::WebhookTool& tool, const models::ToolCall& call,
                                                     std::string_view step_id, HostCallListener& listener);

}  // namespace sluice::tools
