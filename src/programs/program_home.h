// What an agent program keeps in the conversation's workspace between its runs: its own home, and the name of the
// session that it resumes. Both are in the same layers, so they always fit together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "harness/harness.h"
#include "runs/runs.h"
#include "sessions/sessions.h"

namespace sluice::programs {

harness::LaunchFile session_file(std::string_view agent_type, std::string_view session_id);
// What session_file() wrote for the same type; empty for anything else.
std::string session_of(std::string_view text, std::string_view agent_type);

// Reads and writes there, one thing at a time. Dropping it ends it.
class ProgramHome final : private sessions::CommandListener {
 public:
  // `session` is open and must outlive this.
  explicit ProgramHome(sessions::SandboxSession& session) : session_(session) {}

  // Empty: there is none. May drop this.
  void read_session(std::string agent_type, Callback<void(std::string session_id)> then);
  // Takes `removed` away, then writes all files, in order; `unavailable`, in words, for the first that cannot be. May
  // drop this.
  void prepare(std::vector<std::string> removed, std::vector<harness::LaunchFile> files,
               Callback<void(Result<Unit>)> then);
  void write(std::vector<harness::LaunchFile> files, Callback<void(Result<Unit>)> then) {
    prepare({}, std::move(files), std::move(then));
  }

 private:
  void on_printed(sandbox::Stream, std::string) override {}
  void on_ended(sandbox::Exit exit, std::string printed) override;
  void write_next();

  sessions::SandboxSession& session_;
  std::string agent_type_;
  Callback<void(std::string)> then_read_;
  bool is_removing_ = false;
  std::vector<harness::LaunchFile> files_;  // the last is the next
  Callback<void(Result<Unit>)> then_written_;
  std::unique_ptr<sessions::CommandRun> run_;
};

}  // namespace sluice::programs
