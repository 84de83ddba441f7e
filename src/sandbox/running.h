// A command at work, from outside: its three pipes, its time, and how it ended.
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

// Shared by the box, which hears of its end, and by the Process that the caller holds; either may go first.
class Running final : public std::enable_shared_from_this<Running> {
 public:
  // How it reaches its process group, for as long as the box has a line.
  using Signal = Callback<void(int signal)>;

  Running(world::Reactor& reactor, ProcessListener& listener, Command& command, Signal signal);

  // Makes the pipes and begins to watch them; empty when there are no descriptors left.
  std::optional<TheirEnds> open_pipes();

  void stop();
  void pause(bool paused);
  void write(std::string_view bytes);
  void close_input();
  std::size_t unwritten_bytes() const { return input_.size() - input_done_; }
  void freeze(bool frozen);  // its time stands still, or goes on
  void drop();               // by the caller: nothing is heard from here on

  // By the box: the command is over. Output that is still in the pipes comes first.
  void on_exited(Exit exit);
  // Ends it here and now, whatever is in the pipes: for a box that is no more.
  void end(Exit exit);
  // The next signals go nowhere.
  void forget_line() { signal_ = nullptr; }

  bool is_over() const { return is_over_; }
  // What was done to it before it ended, if anything was.
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
  ProcessListener* listener_;  // null: nobody listens
  const bool background_;
  Signal signal_;
  bool keeps_input_;   // its end is not in sight: close_input() tells
  std::string input_;  // what the pipe has not taken, and before it what it has
  std::size_t input_done_ = 0;
  Pipe in_, out_, err_;
  bool paused_ = false;
  bool waited_ = false;  // for whoever holds the pipes open after the command's end
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
