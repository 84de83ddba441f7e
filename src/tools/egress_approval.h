// A request that waits at the sandbox's way out, in words: what a human is asked about it, and what it is refused with
// where none is asked. Pure.
#pragma once

#include <string>
#include <string_view>

#include "egress/egress.h"
#include "tools/ask_tools.h"

namespace sluice::tools {

ApprovalRequest approval_request_for(const egress::Question& question);
// No human can be asked.
std::string unasked_words(const egress::Question& question);
// One can be, but only `when`: "for a command that is waited for".
std::string untimely_words(const egress::Question& question, std::string_view when);

}  // namespace sluice::tools
