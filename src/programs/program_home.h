// What an agent program keeps in the conversation's workspace between its runs: its own home, and the name of the
// session that it resumes. Both are in the same layers, so they always fit together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "harness/harness.h"
#include "sessions/sessions.h"

namespace sluice::programs {

harness::LaunchFile session_file(std::string_view agent_type, std::string_view session_id);
// What session_file() wrote for the same type; empty for anything else.
std::string session_of(std::string_view text, std::string_view agent_type);

// Both work in the sandbox of `session`, which is open and must outlive the task. They lose the session if its sandbox
// is lost.

// The id of the program's session; empty if it has none.
Task<std::string> read_session(sessions::SandboxSession& session, std::string agent_type);
// Removes `removed`, then writes all files, in order; `unavailable`, in words, for the first that cannot be.
Task<Result<Unit>> write_home(sessions::SandboxSession& session, std::vector<std::string> removed,
                              std::vector<harness::LaunchFile> files);

}  // namespace sluice::programs
