// What a tool of the host says while it is called, as its caller hears it: bounded, and without values of secrets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

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
  runs::Lifeline lifeline_;
};

}  // namespace sluice::tools
