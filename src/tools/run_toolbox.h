// The toolbox of one run: what its agent, its environment and its client bring along. Called on the loop's thread.
#pragma once

#include <memory>

#include "dispatch/dispatch.h"
#include "sessions/sessions.h"
#include "tools/options.h"
#include "tools/toolbox.h"

namespace sluice::tools {

// `context`, `dispatch` and `session` (null: there are none) must outlive it.
std::unique_ptr<Toolbox> make_toolbox(const Context& context, const dispatch::Dispatch& dispatch,
                                      sessions::SandboxSession* session);

}  // namespace sluice::tools
