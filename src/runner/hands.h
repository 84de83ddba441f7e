// The hands of one dispatch: its box, opened when the first tool needs it (or before the first word
// to the model, when there is a repository or a setup script), what is put into it, what is seen of
// it from outside, and what comes out of it at the end.
//
// A run that fails or is stopped leaves its conversation's workspace as it was when it began.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "harness/harness.h"
#include "model/model.h"
#include "runner/command_run.h"
#include "runner/held_box.h"
#include "runner/layer_shelf.h"
#include "runner/lifeline.h"
#include "runner/model_call.h"
#include "runner/repository_fetch.h"
#include "runner/skill_fetch.h"
#include "workspace/workspace.h"

namespace sluice::runner {

class HandsListener {
 public:
  virtual ~HandsListener() = default;
  virtual void on_hands_event(model::EventKind kind, std::string body) = 0;
  virtual void on_hands_phase(std::string_view phase, std::string_view words, int64_t duration_ms) = 0;
  // They are of no more use.
  virtual void on_hands_failed(model::Slug slug, std::string detail) = 0;
};

class Hands final : private CommandListener {
 public:
  // `context`, `dispatch` and `listener` must outlive this. The listener may drop this whenever it is
  // called.
  Hands(const Context& context, const harness::Dispatch& dispatch, HandsListener& listener);
  ~Hands() override;

  // The model must not be asked before they are open.
  bool are_needed_at_once() const;
  // What the model is told of them, after the agent's own system prompt.
  std::string system_words() const;

  // `ready` when the box is there and set up: at once when it is already. Not again before it has come.
  void open(Callback<void()> ready);
  // Null before that.
  sandbox::Box* box() const { return box_.box(); }
  // A command that goes on beside the others. What it prints is told as the step's.
  void run_in_background(std::string step_id, sandbox::Command command);
  // The box went away under a command.
  void lose(const std::string& what);

  // Nobody works any more: tells the diff, hands back files, keeps the workspace. `text` is the
  // answer. `done` is called at once when there is no box.
  void finish(std::string text, Callback<void()> done);
  // Kills what there is; `gone` when that is proven, also after this is dropped.
  void stop(Callback<void()> gone);

 private:
  void on_printed(sandbox::Stream stream, std::string text) override;  // of the setup script
  void on_ended(sandbox::Exit exit, std::string printed) override;

  // One after another.
  void find_layers();
  void fetch_repository();
  void fetch_skills();
  void open_box();
  void watch_files();
  void read_instructions();
  void run_setup();
  void be_ready();

  void look_for_changes();
  void tell_changes(Result<workspace::Diff> diff, Result<workspace::Assets> assets);
  void hand_back(workspace::Assets assets);
  void draft();
  void keep_draft(Result<LayerDraft> draft);
  void end();

  void hear(std::vector<workspace::FileNews> news);
  // False when the listener dropped this.
  bool tell(model::EventKind kind, std::string body);
  bool end_phase(std::string_view phase, std::string_view words);
  void fail(model::Slug slug, std::string detail);
  sandbox::BoxRequest box_request() const;

  const Context& context_;
  const HandsOptions& options_;
  const harness::Dispatch& dispatch_;
  HandsListener& listener_;
  const std::string home_;  // of the layers

  enum class Doing : uint8_t { nothing, instructions, setup };
  Doing doing_ = Doing::nothing;
  bool is_ready_ = false;
  bool has_failed_ = false;
  Callback<void()> then_;  // of open() or finish()
  int64_t phase_began_us_ = 0;
  int64_t ready_us_ = 0;
  workspace::Layers layers_;
  std::vector<sandbox::Bind> skills_;
  std::string instructions_;  // AGENTS.md
  std::string text_;

  Lifeline lifeline_;
  std::unique_ptr<RepositoryFetch> repository_fetch_;
  std::unique_ptr<SkillFetch> skill_fetch_;
  HeldBox box_;
  std::unique_ptr<workspace::Watching> watching_;
  std::unique_ptr<CommandRun> command_;
  std::vector<std::unique_ptr<CommandListener>> background_;  // each with its command
};

}  // namespace sluice::runner
