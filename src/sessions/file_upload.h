// The files of one dispatch, put below /workspace/attachments before anybody works there. They are written from
// inside the sandbox, by its own user: a link that an earlier turn left there leads nowhere but into the sandbox.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/callback.h"
#include "base/result.h"
#include "dispatch/dispatch.h"
#include "runs/runs.h"
#include "sessions/command_run.h"
#include "sessions/file_work.h"
#include "world/world.h"

namespace sluice::sessions {

inline constexpr std::string_view attachments_directory = "attachments";

class FileUpload final : private CommandListener {
 public:
  using Start = std::function<std::unique_ptr<CommandRun>(sandbox::Command command, CommandListener& listener)>;

  struct Needs {
    world::Workers& workers;
    world::Loop& loop;
    int64_t check_ms_max = 0;
  };
  // `dispatch` and what is needed must outlive this. `done` comes once, never from inside: or which file it is that
  // cannot be had, and why. Dropping this drops the question.
  FileUpload(const dispatch::Dispatch& dispatch, Needs needs, Start start, Callback<void(Result<Unit>)> done);

 private:
  void on_printed(sandbox::Stream, std::string) override {}
  void on_ended(sandbox::Exit exit, std::string printed) override;

  void next();
  void check(std::string bytes);
  void write(std::string bytes);
  void fail(const std::string& why);
  void finish(Result<Unit> result);

  const dispatch::Dispatch& dispatch_;
  world::Workers& workers_;
  const Start start_;
  Callback<void(Result<Unit>)> done_;
  std::size_t at_ = 0;
  runs::Lifeline lifeline_;
  FileWork file_work_;
  std::unique_ptr<CommandRun> command_;
};

}  // namespace sluice::sessions
