// A running command as the server sees it: its three pipes, its timeout, and how it ended. Used on the loop's thread
// only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {

// Pipe ends for the command: read end of its input, write ends of its output and error.
struct TheirEnds {
  OwnedFd in, out, err;
};

// Shared by the BoxSupervisor, which is informed of its end, and by the Process that the caller holds, because either
// may be destroyed first.
class CommandProcess final : public std::enable_shared_from_this<CommandProcess> {
 public:
  // Sends a signal to its process group while the sandbox is connected.
  using Signal = Callback<void(int signal)>;

  CommandProcess(world::Reactor& reactor, ProcessListener& listener, Command& command, Signal signal);

  // Makes the pipes and begins to watch them; empty if no descriptors are left.
  std::optional<TheirEnds> open_pipes();

  void stop();
  void pause(bool paused);
  void write(std::string_view bytes);
  void close_input();
  std::size_t unwritten_bytes() const { return input_.size() - input_done_; }
  void freeze(bool frozen);  // stops and continues its timeout
  void drop();               // by the caller: no callback comes after this

  // Called by the supervisor when the command is over. Output that is still in the pipes is delivered first.
  void on_exited(Exit exit);
  // Ends it at once, whatever is in the pipes, because the sandbox is gone.
  void end(Exit exit);
  // Further signals have no effect.
  void forget_socket() { signal_ = nullptr; }

  bool is_over() const { return is_over_; }
  // The reason for which it was ended, if it did not end by itself.
  std::optional<ExitCause> cause() const { return cause_; }

 private:
  // The watch goes before its descriptor: a number that is closed may be another thread's file a moment later, and
  // dropping the watch would reach into that.
  struct Pipe {
    OwnedFd fd;
    std::unique_ptr<world::Watch> watch;
    void close() {
      watch.reset();
      fd.reset();
    }
  };

  void read(Stream stream, int pieces_max);
  void watch_output();
  void write_input();
  void drop_input();
  void finish_if_drained();
  void finish();
  void kill(int signal) {
    if (signal_) signal_(signal);
  }
  Pipe& pipe_of(Stream stream) { return stream == Stream::out ? out_ : err_; }

  world::Reactor& reactor_;
  ProcessListener* listener_;  // null after drop()
  const bool background_;
  Signal signal_;
  bool keeps_input_;   // its input stays open until close_input()
  std::string input_;  // what was given; the pipe has taken the first input_done_ bytes
  std::size_t input_done_ = 0;
  Pipe in_, out_, err_;
  bool paused_ = false;
  bool waited_ = false;  // for processes that hold the pipes open after the command's end
  bool is_over_ = false;
  std::optional<ExitCause> cause_;
  std::optional<Exit> exit_;
  void watch_deadline();

  int64_t left_us_ = 0;      // of its time, as of the last freeze(false); 0: it has none
  int64_t counted_from_us_;  // when that was
  bool frozen_ = false;
  world::Timer deadline_;
  world::Timer patience_;
};

}  // namespace sluice::sandbox
