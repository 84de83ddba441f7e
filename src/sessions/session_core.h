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
#include "dispatch/dispatch.h"
#include "model/model.h"
#include "runs/runs.h"
#include "sessions/changed_paths.h"
#include "sessions/file_work.h"
#include "sessions/layers.h"
#include "sessions/live_sandbox.h"
#include "sessions/options.h"
#include "sessions/session_state.h"
#include "workspace/workspace.h"

namespace sluice::sessions {

class SessionListener {
 public:
  virtual ~SessionListener() = default;
  // A request waits at the sandbox's way out, until settle().
  virtual void on_session_question(egress::Question question) = 0;
  // The session is of no more use.
  virtual void on_session_failed(model::Slug slug, std::string detail) = 0;
};

struct SessionCore {
  SessionCore(const Host& its_host, world::Loop& its_clock, const dispatch::Dispatch& its_dispatch,
              SessionState its_state, runs::EventOutput& its_output, SessionListener& its_listener,
              SandboxUser& its_user);
  SessionCore(const SessionCore&) = delete;
  SessionCore& operator=(const SessionCore&) = delete;

  // False when the listener dropped the session, as from everything here that reports.
  bool emit(const model::EventData& event);
  // `words`: what the phase that ends here did.
  bool end_phase(std::string_view phase, std::string_view words);
  void fail(model::Slug slug, std::string detail);
  void fail_keeping(const std::string& why);
  // What still runs in the sandbox could change the workspace while it is kept.
  void fail_undead(const std::string& why);

  [[nodiscard]] std::unique_ptr<CommandRun> run(sandbox::Command command, CommandBounds bounds,
                                                CommandListener& listener);
  sandbox::Command with_variables(sandbox::Command command) const;
  egress::RunAccess run_access() const;
  std::vector<std::string> held_paths() const;
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
  bool is_suspended = false;
  bool has_failed = false;
  int64_t phase_began_us = 0;
  int64_t ready_us = 0;  // when the agent could begin

  runs::Lifeline lifeline;
  FileWork file_work;
  std::unique_ptr<LiveSandbox> live;  // null: not opened, or no more
};

}  // namespace sluice::sessions
