// A repository, cloned in a sandbox of its own and frozen into the first layer of a workspace. What git reaches there
// is the host of the repository, through a listener that the server answers, and nothing else. The credential is in the
// environment of git there, and nowhere else: not in its arguments, not in a file, not in the agent's sandbox. It is a
// secret in reach of the run, or one of the operator's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "base/task.h"
#include "dispatch/dispatch.h"
#include "egress/egress.h"
#include "sessions/options.h"
#include "sessions/sandbox_handle.h"
#include "sessions/session_core.h"

namespace sluice::sessions {

// The commands that fetch it, in order. `denied` or `invalid`, in words for the person who made the
// repository, when it may not be fetched.
Result<std::vector<sandbox::Command>> clone_commands(const dispatch::RepositoryUse& repository,
                                                     const SessionOptions& options, const vault::Secrets* secrets);

class RepositoryFetch final {
 public:
  // `core` must outlive this.
  explicit RepositoryFetch(SessionCore& core);

  // The layers, or why there are none. Once.
  Task<Result<workspace::Layers>> fetch();
  // Once fetch() has been dropped. `gone`: nothing is left of the sandbox, also after this is dropped.
  void stop(Callback<void()> gone);

 private:
  Task<Result<Unit>> open_sandbox();
  Task<Result<Unit>> run_commands(std::vector<sandbox::Command> commands);
  Task<Result<workspace::Layers>> freeze();
  Result<std::vector<sandbox::Command>> commands(bool whole_history) const;
  Error fault_of_proxy() const;
  // Without anything that is the credential's.
  std::string shown(std::string words) const;
  const dispatch::RepositoryUse& repository() const { return *core_.dispatch.materials.repository; }
  const vault::Secrets* secrets() const { return core_.dispatch.secrets.get(); }

  SessionCore& core_;
  const SessionOptions& options_;
  world::Loop& loop_;  // the server's: the clone continues while the run is suspended
  SandboxHandle box_;
  std::unique_ptr<egress::SingleHostProxy> proxy_;  // null before the sandbox is open
};

}  // namespace sluice::sessions
