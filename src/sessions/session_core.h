// What the parts of one sandbox session share: its sandbox, the layers below it, and the way to report. Each part
// (opening, holding, ending) works on it for a while; no two do at once. On the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/lifetime.h"
#include "base/task.h"
#include "dispatch/dispatch.h"
#include "model/model.h"
#include "runs/runs.h"
#include "sessions/changed_paths.h"
#include "sessions/command_run.h"
#include "sessions/file_work.h"
#include "sessions/layers.h"
#include "sessions/live_sandbox.h"
#include "sessions/options.h"
#include "workspace/workspace.h"

namespace sluice::sessions {

class RepositoryFetch;

inline constexpr std::string_view attachments_directory = "attachments";  // below /workspace

// What a run that waits for a human must find again of its workspace and its way out.
struct SessionState {
  std::vector<std::string> parked_layers;  // names of the run's own layers, topmost first
  std::string instructions;                // AGENTS.md, as the model was shown it
  bool were_open = false;                  // the sandbox was set up before
  std::vector<std::string> allowed_hosts;  // by a human, for this run
};

class SessionListener {
 public:
  virtual ~SessionListener() = default;
  // A request waits at the sandbox's way out, until settle().
  virtual void on_session_question(egress::Question question) = 0;
  // The session is of no more use.
  virtual void on_session_failed(model::Slug slug, std::string detail) = 0;
};

struct SessionFailure {
  model::Slug slug;
  std::string detail;
};
// How a sequence of the session ended. Empty: well.
using Outcome = std::optional<SessionFailure>;

// Whose turn it is at what tenants share; empty where a runner does not know its server's tenants.
std::string tenant_of(const dispatch::Dispatch& dispatch);

Outcome sandbox_failed(std::string detail);
Outcome sandbox_lost(const std::string& what);
Outcome keeping_failed(const std::string& why);
// Processes that still run in the sandbox could change the workspace while it is kept.
Outcome killing_failed(const std::string& why);

struct SessionCore {
  SessionCore(const Host& its_host, world::Loop& its_clock, const dispatch::Dispatch& its_dispatch,
              SessionState its_state, runs::EventOutput& its_output, SessionListener& its_listener,
              SandboxUser& its_user);
  SessionCore(const SessionCore&) = delete;
  SessionCore& operator=(const SessionCore&) = delete;

  // False when the listener dropped the session. Not from a task, which must not be dropped while it runs: a task
  // awaits report() or end_phase().
  bool emit(const model::EventData& event);
  Outside report(model::EventData event);
  // `words`: what the phase that ends here did.
  Outside end_phase(std::string phase, std::string words);
  void fail(SessionFailure failure);

  [[nodiscard]] std::unique_ptr<CommandRun> run(sandbox::Command command, CommandBounds bounds,
                                                CommandListener& listener);
  // The same, to await.
  auto run_to_end(sandbox::Command command, CommandBounds bounds, Callback<void(std::string)> printed = nullptr) {
    mark = mark_changes(live->box()->changes_fd());
    return command_end(*live->box(), with_variables(std::move(command)), bounds, dispatch.secrets, clock,
                       std::move(printed));
  }
  sandbox::Command with_variables(sandbox::Command command) const;
  egress::RunAccess run_access() const;
  std::vector<std::string> held_paths() const;
  FileWorkers file_workers() const { return {clock, *workers, host.options.keep_ms_max}; }
  LayerWork layer_work() const;
  // A descriptor of one's own: the sandbox may be dropped while another thread reads. Empty without a sandbox.
  OwnedFd duplicate_changes() const;

  const Host& host;
  world::Loop& clock;  // the run's
  const dispatch::Dispatch& dispatch;
  runs::EventOutput& output;
  SessionListener& listener;
  SandboxUser& user;
  world::Workers* const workers;
  const std::string home;  // of the layers

  SessionState state;  // but for what holding adds while the sandbox waits
  workspace::Layers layers;
  std::vector<sandbox::Bind> skills;
  std::vector<sandbox::Bind> binds;
  std::optional<egress::ModelHost> model_host;
  std::string gathered;  // all that the run changed, as a layer; empty: that is what the sandbox changed
  ChangeMark mark;       // of the last command
  bool is_open = false;  // and set up
  bool is_suspended = false;
  bool has_failed = false;
  int64_t phase_began_us = 0;
  int64_t ready_us = 0;           // when the agent could begin
  Callback<void()> when_resumed;  // called once, in a turn of its own

  // It must be proven gone when a sequence is cancelled, so it belongs to no task.
  std::unique_ptr<LiveSandbox> live;  // null: not opened, or gone
  Lifetime lifetime;
};

// Opens the sandbox of a session, step after step: the conversation's sandbox if it was kept, or else the layers of its
// workspace, the repository, the skills, the sandbox itself, uploaded files, the watch on files, AGENTS.md and the
// setup script. A step that fails ends it. Reports nothing before its first wait. `fetch` is set while the repository
// is fetched: the sandbox of the clone must be proven gone when the sequence is cancelled.
Task<Outcome> open_session(SessionCore& core, std::unique_ptr<RepositoryFetch>& fetch);

// The skills of the dispatch, unpacked where a sandbox can see them, as
// `core.skills`. A bundle is fetched once and kept by its digest, so the next dispatch that names it finds it there.
Task<Outcome> lay_out_skills(SessionCore& core);
// The files of the dispatch, put below /workspace/attachments. They are written from inside the sandbox, by its
// own user: a link that an earlier turn left there leads nowhere but into the sandbox.
Task<Outcome> upload_files(SessionCore& core);

}  // namespace sluice::sessions
