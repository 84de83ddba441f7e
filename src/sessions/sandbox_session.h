// The hands of one dispatch: its box, opened when the first tool needs it (or before the first word
// to the model, when there is a repository or a setup script), what is put into it, what is seen of
// it from outside, and what comes out of it at the end.
//
// A run that fails or is stopped leaves its conversation's workspace as it was when it began. One that
// waits for a human holds what it changed in layers of its own (layer_shelf.h) and goes on over them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "harness/harness.h"
#include "model/model.h"
#include "runs/runs.h"
#include "sessions/changed_paths.h"
#include "sessions/command_run.h"
#include "sessions/file_report.h"
#include "sessions/file_upload.h"
#include "sessions/file_work.h"
#include "sessions/layers.h"
#include "sessions/live_sandbox.h"
#include "sessions/options.h"
#include "sessions/repository_fetch.h"
#include "sessions/session_state.h"
#include "sessions/skill_fetch.h"
#include "workspace/workspace.h"

namespace sluice::sessions {

class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void on_session_event(model::EventKind kind, std::string body) = 0;
  virtual void on_session_phase(std::string_view phase, std::string_view words, int64_t duration_ms) = 0;
  // A request waits at the box's way out, until settle().
  virtual void on_session_question(egress::Question question) = 0;
  // They are of no more use.
  virtual void on_session_failed(model::Slug slug, std::string detail) = 0;
};

class SandboxSession final : private CommandListener, private SandboxUser {
 public:
  // `host`, `clock` (of the run), `dispatch` and `listener` must outlive this. The listener may drop this whenever it
  // is called. `state`: of the same run before it waited for a human.
  SandboxSession(const Host& host, world::Loop& clock, const harness::Dispatch& dispatch, SessionState state,
                 SessionListener& listener);
  ~SandboxSession() override;

  // The model must not be asked before they are open.
  bool are_needed_at_once() const;
  // What the model is told of them, after the agent's own system prompt.
  std::string system_words() const;
  // The same for an agent that reads the workspace's AGENTS.md by itself.
  std::string place_words() const;

  // Before they are opened: a directory of the host that is seen in the box besides the skills.
  void bind(sandbox::Bind bind) { binds_.push_back(std::move(bind)); }
  // Before they are opened: where what runs in the box asks its model.
  void set_model_host(egress::ModelHost host) { model_host_ = std::move(host); }
  // `ready` when the box is there and set up: at once when it is already. Not again before it has come.
  void open(Callback<void()> ready);
  // When they are open; both with the variables of the environment.
  [[nodiscard]] std::unique_ptr<CommandRun> run(sandbox::Command command, CommandBounds bounds,
                                                CommandListener& listener);
  // A program whose streams are the caller's own: nothing of it is told, and run() does not know it. With the variables
  // too. `listener` must outlive the Process, which must not outlive this.
  [[nodiscard]] std::unique_ptr<sandbox::Process> start(sandbox::Command command, sandbox::ProcessListener& listener);
  // When they are open. Null: what runs in the box reaches no tools of the host.
  Bridge* bridge() const { return live_ ? live_->bridge() : nullptr; }
  // A command that goes on beside the others. What it prints is told as the step's.
  void run_in_background(std::string step_id, sandbox::Command command);
  // What the last command to run() changed in the workspace; nothing once its box is gone. At once, or when it is
  // known.
  void find_changed(Callback<void(std::vector<std::string>)> then);
  // The box went away under a command.
  void lose(const std::string& what);

  // ── the way out ──
  void settle(uint64_t number, bool go_on, std::string_view words);
  int64_t sent_for_good() const;
  // By a human, for the rest of the run.
  void allow_host(std::string host);
  bool is_allowed_host(std::string_view host) const;

  // ── waiting for a human ──
  // Holds what was changed so far. Where the dispatch does not keep its box, that is killed first and proven gone.
  void hold(Callback<void()> done);
  // What find_changed() found when it was held.
  const std::vector<std::string>& held_changed() const { return held_changed_; }
  // The wait is over, and the box is still there.
  void go_on();
  SessionState state() const;
  // The box stands still, nothing leaves it, and what is started in it waits; also one that is opened meanwhile.
  void suspend(bool suspended);
  // What was held is wanted no more: the run ends without it.
  void forget_held();

  // Nobody works any more: tells the diff, hands back files, keeps the workspace. `text` is the
  // answer. `done` is called at once when nothing was ever open and the conversation has no workspace.
  void finish(std::string text, Callback<void()> done);
  // Kills what there is; `gone` when that is proven, or cannot be, also after this is dropped.
  void stop(Callback<void()> gone);

 private:
  void on_printed(sandbox::Stream stream, std::string text) override;  // of the setup script
  void on_ended(sandbox::Exit exit, std::string printed) override;

  void on_sandbox_files(std::vector<workspace::FileNews> news) override;
  void on_sandbox_printed(const std::string& step_id, sandbox::Stream stream, std::string text) override;
  void on_sandbox_passage(egress::RequestRecord passage) override;
  void on_sandbox_question(egress::Question question) override { listener_.on_session_question(std::move(question)); }
  void on_sandbox_lost(std::string what) override { lose(what); }

  // One after another.
  bool take_kept_box();
  void find_layers();
  void fetch_repository();
  void fetch_skills();
  void open_box();
  void put_files(Callback<void()> then);
  void watch_files();
  void read_instructions();
  void run_setup();
  void be_ready();

  void find_held_changed();
  void hold_changes();
  void take_held(Result<std::string> name);

  void tell_kept_diff(Callback<void()> done);
  bool tell_diffs(const std::optional<std::string>& own, const std::string& all);
  void find_layers_to_end();
  void look_for_changes();
  struct Made;
  void tell_changes(Made made);
  void hand_back(workspace::Assets assets);
  void draft();
  struct Drafted;
  void keep_draft(Drafted drafted);
  void end();

  // False when the listener dropped this.
  bool emit(model::EventKind kind, std::string body);
  bool tell_more_files();
  bool end_phase(std::string_view phase, std::string_view words);
  void fail(model::Slug slug, std::string detail);
  void fail_keeping(const std::string& why);
  void fail_undead(const std::string& why);
  egress::RunAccess guest() const;
  sandbox::BoxRequest box_request() const;
  LayerWork layer_work() const;
  bool keeps_box() const;
  std::vector<std::string> undiffed_directories() const;
  std::vector<std::string> held_paths() const;
  sandbox::Command with_variables(sandbox::Command command) const;

  const Host& host_;
  world::Loop& clock_;
  const SessionOptions& options_;
  const harness::Dispatch& dispatch_;
  SessionListener& listener_;
  world::Workers* const workers_;
  const std::string home_;  // of the layers

  enum class Doing : uint8_t { nothing, instructions, setup };
  Doing doing_ = Doing::nothing;
  SessionState state_;    // but for the snapshot
  std::string snapshot_;  // of the box while it waits: its name; empty: none
  std::vector<std::string> held_changed_;
  ChangeMark mark_;     // of the last command
  int held_count_ = 0;  // the number of the last that was held, perhaps in a life before this one
  bool is_ready_ = false;
  bool is_waiting_ = false;  // with the box
  bool is_parked_ = false;   // without
  bool has_failed_ = false;
  bool is_suspended_ = false;
  bool ends_later_ = false;  // the box is to be kept, and does not run on before it is known that the run is still ours
  Callback<void()> then_;    // of open(), hold() or finish()
  int64_t phase_began_us_ = 0;
  int64_t ready_us_ = 0;
  workspace::Layers layers_;
  std::vector<sandbox::Bind> skills_;
  std::vector<sandbox::Bind> binds_;
  std::optional<egress::ModelHost> model_host_;
  std::string text_;
  std::string gathered_;  // all that the run changed, as a layer; empty: that is what the box changed

  runs::Lifeline lifeline_;
  FileWork file_work_;
  std::unique_ptr<RepositoryFetch> repository_fetch_;
  std::unique_ptr<SkillFetch> skill_fetch_;
  std::unique_ptr<LiveSandbox> live_;  // null: not opened, or no more
  std::unique_ptr<CommandRun> command_;
  std::unique_ptr<FileUpload> file_put_;

  FileReport file_report_;
  bool file_sum_is_due_ = false;
  world::Timer file_sum_timer_;
};

}  // namespace sluice::sessions
