// A sandbox with all that belongs to it for as long as it lives: its way out, the watch on its files, what runs in its
// background, and what lies below it. A run works in it; a conversation may keep it for its next run.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/lifetime.h"
#include "dispatch/dispatch.h"
#include "egress/egress.h"
#include "model/model.h"
#include "runs/runs.h"
#include "sessions/bridge.h"
#include "sessions/command_run.h"
#include "sessions/options.h"
#include "sessions/sandbox_handle.h"
#include "workspace/workspace.h"

namespace sluice::sessions {

// The run that works in it.
class SandboxUser {
 public:
  virtual ~SandboxUser() = default;
  virtual void on_sandbox_files(std::vector<workspace::FileNews> news) = 0;
  // By a command in the background.
  virtual void on_sandbox_printed(const std::string& step_id, sandbox::Stream stream, std::string text) = 0;
  virtual void on_sandbox_request(egress::RequestRecord record) = 0;
  virtual void on_sandbox_question(egress::Question question) = 0;
  // It ended by itself. May drop the sandbox.
  virtual void on_sandbox_lost(std::string what) = 0;
};

// Directories that are not watched and not compared: what the options say, and where agent programs keep their state.
std::vector<std::string> ignored_directories(const SessionOptions& options);

class LiveSandbox final : private egress::SandboxProxyListener {
 public:
  // `host` and the user must outlive this, or leave it.
  LiveSandbox(const Host& host, SandboxUser& user);
  ~LiveSandbox() override;

  void open(sandbox::BoxRequest request, Callback<void(Result<Unit>)> then);
  sandbox::Box* box() const { return box_.box(); }
  // Null: there is none.
  egress::SandboxProxy* outlet() const { return outlet_.get(); }
  // Null: what runs inside reaches no tools of the host.
  Bridge* bridge() const { return bridge_.get(); }
  // `unavailable` when its files cannot be watched.
  Result<Unit> watch_files();
  void settle_files();
  void run_in_background(std::string step_id, sandbox::Command command, runs::SharedSecrets secrets);
  // From now on its requests are those of the run that has this access.
  void serve(egress::RunAccess access);

  // Its processes stop where they are, and no request of theirs leaves; also if it is not open yet.
  void suspend(bool suspended);
  // Without a user: its processes go on, its requests do not, and nothing of it is reported.
  void leave();
  // Another run's.
  void enter(SandboxUser& user) {
    user_ = &user;
    ++user_count_;
  }
  // When it ends while it has no user.
  void when_lost(Callback<void()> then) { when_lost_ = std::move(then); }

  // Kills what is inside; `gone` when that is proven, or with the reason why it is not, also after this is dropped. A
  // sandbox that is still being opened is given up. Its descriptors stay good.
  void kill(Callback<void(Result<Unit>)> gone);

  // ── what lies below, as the session that opened it knows ──
  workspace::Layers layers;          // the conversation's, when it was opened
  std::string kept;                  // where what it changed was kept; empty: nowhere yet
  std::vector<sandbox::Bind> binds;  // skills
  std::string home;                  // of the layers
  std::string instructions;          // AGENTS.md

 private:
  class Background;

  void on_request(egress::RequestRecord record) override;
  void on_question(egress::Question question) override;
  void open_bridge();
  void lose(std::string what);

  const Host& host_;
  SandboxUser* user_;  // null: none
  int user_count_ = 1;
  bool is_suspended_ = false;
  Callback<void()> when_lost_;
  SandboxHandle box_;
  std::unique_ptr<workspace::Watching> watching_;
  std::vector<std::unique_ptr<Background>> background_;
  std::unique_ptr<egress::SandboxProxy> outlet_;
  std::unique_ptr<Bridge> bridge_;
  Lifetime lifetime_;
};

}  // namespace sluice::sessions
