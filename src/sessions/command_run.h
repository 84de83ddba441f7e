// A command in a sandbox, from its start to its end: what it prints becomes text without secrets, gathered turn by
// turn, and bounded, so that a flood costs no memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/lifetime.h"
#include "base/task.h"
#include "runs/runs.h"
#include "sandbox/sandbox.h"
#include "world/world.h"

namespace sluice::sessions {

class CommandListener {
 public:
  virtual ~CommandListener() = default;
  // Valid UTF-8; at most CommandBounds::emitted_bytes_max of it altogether, and then once how it was cut.
  virtual void on_printed(sandbox::Stream stream, std::string text) = 0;
  // The last call. `printed`: both streams as they came, as much as CommandBounds allow.
  virtual void on_ended(sandbox::Exit exit, std::string printed) = 0;
};

struct CommandBounds {
  std::size_t kept_chars_max = 0;     // of `printed`
  std::size_t emitted_bytes_max = 0;  // 0: on_printed() is not called
  bool emits_only_cut = false;        // on_printed() is called at the end, if `printed` had to leave something out
};

// `bash` is `sh` in a sandbox that has no bash.
//
// Dropping it kills the command, unless it is a background one; the listener is not called any more.
class CommandRun final : private sandbox::ProcessListener {
 public:
  // `sandbox`, `loop` and `listener` must outlive this. No callback comes from inside. What is printed is scrubbed.
  CommandRun(sandbox::Box& box, sandbox::Command command, CommandBounds bounds, runs::SharedSecrets secrets,
             world::Loop& loop, CommandListener& listener);

  // Reports now what was gathered. False when the listener dropped this.
  bool emit();

 private:
  struct Piece {
    sandbox::Stream stream;
    std::string text;
  };

  void on_output(sandbox::Stream stream, std::string_view bytes) override;
  void on_exit(sandbox::Exit exit) override;

  void take(sandbox::Stream stream, std::string text);
  void gather(sandbox::Stream stream, std::string_view text);
  void emit_later();

  const CommandBounds bounds_;
  sandbox::Box& box_;
  world::Loop& loop_;
  CommandListener& listener_;
  runs::Utf8Stream out_;
  runs::Utf8Stream err_;
  runs::ScrubbedText scrubbed_out_;
  runs::ScrubbedText scrubbed_err_;
  runs::Excerpt excerpt_;
  std::vector<Piece> gathered_;
  std::size_t emitted_bytes_ = 0;
  bool is_cut_ = false;
  bool is_emitting_ = false;  // at the end of this turn
  Lifetime lifetime_;
  std::optional<sandbox::Command> otherwise_;  // when there is no bash inside
  std::unique_ptr<sandbox::Process> process_;
};

struct CommandEnd {
  sandbox::Exit exit;
  std::string printed;
  bool is_well() const { return exit.cause == sandbox::ExitCause::exited && exit.code == 0; }
};

// A command to await, see command_end().
class AwaitedCommand final : private CommandListener {
 public:
  AwaitedCommand(sandbox::Box& box, sandbox::Command command, CommandBounds bounds, runs::SharedSecrets secrets,
                 world::Loop& loop, Callback<void(std::string)> printed, Callback<void(CommandEnd)> done)
      : printed_(std::move(printed)),
        done_(std::move(done)),
        run_(box, std::move(command), bounds, std::move(secrets), loop, *this) {}

 private:
  void on_printed(sandbox::Stream, std::string text) override {
    if (printed_) printed_(std::move(text));
  }
  void on_ended(sandbox::Exit exit, std::string printed) override {
    auto done = std::move(done_);  // destroys this
    done(CommandEnd{std::move(exit), std::move(printed)});
  }

  Callback<void(std::string)> printed_;
  Callback<void(CommandEnd)> done_;
  CommandRun run_;
};

// co_await command_end(…): how the command ended. `box` and `loop` as for CommandRun; `printed` may drop the sequence.
inline auto command_end(sandbox::Box& box, sandbox::Command command, CommandBounds bounds, runs::SharedSecrets secrets,
                        world::Loop& loop, Callback<void(std::string)> printed = nullptr) {
  return answer<CommandEnd>([&box, command = std::move(command), bounds, secrets = std::move(secrets), &loop,
                             printed = std::move(printed)](auto done) mutable {
    return std::make_unique<AwaitedCommand>(box, std::move(command), bounds, std::move(secrets), loop,
                                            std::move(printed), std::move(done));
  });
}

// How a command ended, for a person: "exit code 2". Empty if it ended well.
std::string exit_words(const sandbox::Exit& exit, int64_t timeout_ms);
// What it printed, and how it ended.
std::string outcome_words(const sandbox::Exit& exit, std::string printed, int64_t timeout_ms);

}  // namespace sluice::sessions
