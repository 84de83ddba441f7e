// Opens the sandbox of a session, step after step: the conversation's sandbox if it was kept, or else the layers of its
// workspace, the repository, the skills, the sandbox itself, uploaded files, the watch on files, AGENTS.md and the
// setup script. A step that fails ends the session. On the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/callback.h"
#include "sessions/command_run.h"
#include "sessions/file_upload.h"
#include "sessions/repository_fetch.h"
#include "sessions/session_core.h"
#include "sessions/skill_fetch.h"

namespace sluice::sessions {

class SessionOpening final : private CommandListener {
 public:
  // `core` must outlive this.
  explicit SessionOpening(SessionCore& core) : core_(core) {}

  bool is_done() const { return is_done_; }
  // `ready` comes when all steps are done. Not from inside. Not again before it has come.
  void begin(Callback<void()> ready);
  // The sandbox is gone: it is to be opened again.
  void forget() { is_done_ = false; }
  // False: no repository is being fetched. Otherwise that ends, and `gone` comes when it is proven.
  bool stop_fetch(Callback<void()>& gone);

 private:
  void on_printed(sandbox::Stream stream, std::string text) override;  // of the setup script
  void on_ended(sandbox::Exit exit, std::string printed) override;

  bool take_kept_sandbox();
  void find_layers();
  void fetch_repository();
  void fetch_skills();
  void open_sandbox();
  void put_files(Callback<void()> then);
  void watch_files();
  void read_instructions();
  void run_setup();
  void finish();
  sandbox::BoxRequest box_request() const;

  SessionCore& core_;
  enum class Doing : uint8_t { nothing, instructions, setup };
  Doing doing_ = Doing::nothing;
  bool is_done_ = false;
  Callback<void()> ready_;
  std::unique_ptr<RepositoryFetch> repository_fetch_;
  std::unique_ptr<SkillFetch> skill_fetch_;
  std::unique_ptr<CommandRun> command_;
  std::unique_ptr<FileUpload> file_upload_;
};

}  // namespace sluice::sessions
