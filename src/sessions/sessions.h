// Sandbox sessions: the sandbox in which one run works, from the layers of its conversation's workspace to the layer
// that it leaves behind. Here are the sandbox between runs, its way out and its bridge to the host's tools, the
// commands that run in it, what is put into it (repository, skills, uploaded files), and the layers on disk with what
// they take of it.
//
// Called on the loop's thread; what blocks runs on workers. What is run, and why, is decided by tools and agents.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/task.h"
#include "dispatch/dispatch.h"
#include "sessions/bridge.h"         // IWYU pragma: export
#include "sessions/changed_paths.h"  // IWYU pragma: export
#include "sessions/command_run.h"    // IWYU pragma: export
#include "sessions/disk_usage.h"     // IWYU pragma: export
#include "sessions/file_events.h"
#include "sessions/file_notifier.h"    // IWYU pragma: export
#include "sessions/host_command.h"     // IWYU pragma: export
#include "sessions/kept_sandboxes.h"   // IWYU pragma: export
#include "sessions/layer_bytes.h"      // IWYU pragma: export
#include "sessions/layers.h"           // IWYU pragma: export
#include "sessions/live_sandbox.h"     // IWYU pragma: export
#include "sessions/options.h"          // IWYU pragma: export
#include "sessions/session_core.h"     // IWYU pragma: export
#include "sessions/session_holding.h"  // IWYU pragma: export

namespace sluice::sessions {

// The sandbox session of one dispatch: its sandbox, opened when the first tool needs it (or before the first word to
// the model, when there is a repository or a setup script), what is put into it, what is seen of it from outside, and
// what comes out of it at the end. Its parts do that one after another: opening, holding, ending. On the loop's thread.
//
// A run that fails or is stopped leaves its conversation's workspace as it was when it began. One that waits for a
// human holds what it changed in layers of its own (layers.h) and goes on over them.
class SandboxSession final : private SandboxUser {
 public:
  // `host`, `clock` (of the run), `dispatch`, `output` and `listener` must outlive this. The listener may drop this
  // whenever it is called, and so may the listener of `output`. `state`: of the same run before it waited for a human.
  SandboxSession(const Host& host, world::Loop& clock, const dispatch::Dispatch& dispatch, SessionState state,
                 runs::EventOutput& output, SessionListener& listener);
  ~SandboxSession() override;

  // The model must not be asked before it is open.
  bool is_needed_at_once() const;
  // What the model learns of it, after the agent's own system prompt.
  std::string system_words() const;
  // The same for an agent that reads the workspace's AGENTS.md by itself.
  std::string place_words() const;

  // Before it is opened: a directory of the host that is seen in the sandbox besides the skills.
  void bind(sandbox::Bind bind) { core_.binds.push_back(std::move(bind)); }
  // Before it is opened: where what runs in the sandbox asks its model.
  void set_model_host(egress::ModelHost host) { core_.model_host = std::move(host); }
  // `ready` when the sandbox is there and set up: at once when it is already. Not again before it has come.
  void open(Callback<void()> ready);
  // When it is open; both with the variables of the environment.
  [[nodiscard]] std::unique_ptr<CommandRun> run(sandbox::Command command, CommandBounds bounds,
                                                CommandListener& listener) {
    return core_.run(std::move(command), bounds, listener);
  }
  // A program whose streams are the caller's own: nothing of it is reported, and run() does not know it. With the
  // variables too. `listener` must outlive the Process, which must not outlive this.
  [[nodiscard]] std::unique_ptr<sandbox::Process> start(sandbox::Command command, sandbox::ProcessListener& listener);
  // When it is open. Null: what runs in the sandbox reaches no tools of the host.
  Bridge* bridge() const { return core_.live ? core_.live->bridge() : nullptr; }
  // A command that goes on beside the others. What it prints is reported as the step's.
  void run_in_background(std::string step_id, sandbox::Command command);
  // What the last command to run() changed in the workspace; nothing once its sandbox is gone. At once, or when it is
  // known.
  void find_changed(Callback<void(std::vector<std::string>)> then) { holding_.find_changed(std::move(then)); }
  // The sandbox went away under a command.
  void lose(const std::string& what);

  // ── the way out ──
  void settle(uint64_t number, bool go_on, std::string_view words);
  int64_t sent_for_good() const;
  // By a human, for the rest of the run.
  void allow_host(std::string host);
  bool is_allowed_host(std::string_view host) const;

  // ── waiting for a human ──
  // Holds what was changed so far. Where the dispatch does not keep its sandbox, that is killed first and proven gone.
  void hold(Callback<void()> done);
  // What find_changed() found when it was held.
  const std::vector<std::string>& held_changed() const { return holding_.held_changed(); }
  // The wait is over, and the sandbox is still there.
  void go_on() { holding_.go_on(); }
  SessionState state() const { return holding_.state(); }
  // The sandbox stands still, nothing leaves it, and what is started in it waits; also one that is opened meanwhile.
  void suspend(bool suspended);
  // What was held is not needed any more: the run ends without it.
  void forget_held() { holding_.forget(); }

  // The agent is done: reports the diff, returns files, keeps the workspace. `text` is the answer. `done` is called
  // at once when nothing was ever open and the conversation has no workspace.
  void finish(std::string text, Callback<void()> done);
  // Kills what there is; `gone` when that is proven, or cannot be, also after this is dropped.
  void stop(Callback<void()> gone);

 private:
  void on_sandbox_files(std::vector<workspace::FileNews> news) override { files_.report(std::move(news)); }
  void on_sandbox_printed(const std::string& step_id, sandbox::Stream stream, std::string text) override;
  void on_sandbox_request(egress::RequestRecord record) override;
  void on_sandbox_question(egress::Question question) override {
    core_.listener.on_session_question(std::move(question));
  }
  void on_sandbox_lost(std::string what) override { lose(what); }

  void start(Sequence& sequence, Task<Outcome> task, Callback<void()> done);

  SessionCore core_;
  FileEvents files_;
  SessionHolding holding_;
  std::unique_ptr<RepositoryFetch> repository_fetch_;  // null: no repository is being fetched
  Sequence opening_;
  Sequence closing_;  // holding or ending
  bool is_opening_ = false;
};

}  // namespace sluice::sessions
