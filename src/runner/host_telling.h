// What a tool of the host says while it is called, as its caller hears it: bounded, and without values of secrets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runner/lifeline.h"
#include "runner/scrubbed_text.h"
#include "runner/toolbox.h"

namespace sluice::runner {

// False from whatever is told: the listener dropped this.
class HostTelling {
 public:
  // `context` and `listener` must outlive it.
  HostTelling(const Context& context, SharedSecrets secrets, HostCallListener& listener);

  // Names without a prefix are not a tool's to give: they get one. Whoever tells it on scrubs `value`, which is JSON.
  bool custom(std::string_view name, std::string_view value);
  bool output(std::string text);
  // The last.
  void answer(ToolAnswer answer);

 private:
  bool print(std::string text);

  const HandsOptions& options_;
  const SharedSecrets secrets_;
  HostCallListener& listener_;
  ScrubbedText printed_;
  std::size_t printed_bytes_ = 0;
  bool is_cut_ = false;
  Lifeline lifeline_;
};

}  // namespace sluice::runner
