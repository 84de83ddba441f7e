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
#include "dispatch/dispatch.h"
#include "egress/egress.h"
#include "runs/runs.h"
#include "sessions/command_run.h"
#include "sessions/file_work.h"
#include "sessions/layers.h"
#include "sessions/options.h"
#include "sessions/repository_address.h"
#include "sessions/sandbox_handle.h"
#include "world/world.h"

namespace sluice::sessions {

// The commands that fetch it, in order. `denied` or `invalid`, in words for the person who made the
// repository, when it may not be fetched.
Result<std::vector<sandbox::Command>> clone_commands(const dispatch::RepositoryUse& repository,
                                                     const SessionOptions& options, const vault::Secrets* secrets);

// Whose turn it is at what tenants share; empty where a runner does not know its server's tenants.
std::string tenant_of(const dispatch::Dispatch& dispatch);

class RepositoryFetch final : private CommandListener {
 public:
  struct Needs {
    sandbox::Sandbox& sandbox;
    world::Workers& workers;
    world::Loop& loop;
    egress::Egress* egress;  // null: nothing leaves a sandbox
  };
  // All must outlive this. `done` comes once, never from inside: the layers, or why there are none.
  // `remark`, at most once before: what somebody who waits should know. Either may drop this.
  RepositoryFetch(const SessionOptions& options, const dispatch::Dispatch& dispatch, Needs needs,
                  Callback<void(std::string)> remark, Callback<void(Result<workspace::Layers>)> done);

  // To be dropped then. `gone`: nothing is left of the sandbox.
  void stop(Callback<void()> gone);

 private:
  void on_printed(sandbox::Stream, std::string) override {}
  void on_ended(sandbox::Exit exit, std::string printed) override;

  void begin();
  void open_box();
  void open_door();
  void run_next();
  // The last command once more, and what follows it, for the whole history.
  void run_without_depth();
  void freeze();
  void take(Result<LayerDraft> draft);
  void finish(Result<workspace::Layers> layers);
  Error fault_of_door() const;
  // Without anything that is the credential's.
  std::string shown(std::string words) const;
  const vault::Secrets* secrets() const { return dispatch_.secrets.get(); }

  const SessionOptions& options_;
  const dispatch::Dispatch& dispatch_;
  const Needs needs_;
  Callback<void(std::string)> remark_;
  Callback<void(Result<workspace::Layers>)> done_;
  std::vector<sandbox::Command> commands_;
  std::size_t next_command_ = 0;
  runs::Lifeline lifeline_;
  FileWork file_work_;
  SandboxHandle box_;
  std::unique_ptr<egress::SingleHostProxy> door_;  // null before the sandbox is open
  std::unique_ptr<CommandRun> run_;
};

}  // namespace sluice::sessions
