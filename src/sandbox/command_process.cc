#include "sandbox/command_process.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace sluice::sandbox {
namespace {

constexpr std::size_t piece_bytes_max = 64 * 1024;
constexpr int pieces_a_turn = 4;
constexpr int pieces_at_end_max = 32;  // a pipe that something still fills is not read for ever
constexpr Millis stop_patience = {1'000};
constexpr Millis pipe_patience = {50};

bool make_pipe(OwnedFd& read_end, OwnedFd& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end = OwnedFd(ends[0]);
  write_end = OwnedFd(ends[1]);
  return true;
}

// Only our end: the command's would have to cope with EAGAIN.
void never_block(const OwnedFd& fd) { fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

}  // namespace

CommandProcess::CommandProcess(world::Reactor& reactor, ProcessListener& listener, Command& command, Signal signal)
    : reactor_(reactor),
      listener_(&listener),
      background_(command.background),
      signal_(std::move(signal)),
      keeps_input_(command.keeps_input),
      input_(std::move(command.input)),
      left_us_(std::max<int64_t>(0, command.timeout_ms) * 1'000) {
  watch_deadline();
}

void CommandProcess::watch_deadline() {
  counted_from_us_ = reactor_.monotonic_us();
  if (left_us_ <= 0) return;
  deadline_ = reactor_.after({(left_us_ + 999) / 1'000}, [this] {
    if (!cause_) cause_ = ExitCause::timed_out;
    kill(SIGKILL);
  });
}

void CommandProcess::freeze(bool frozen) {
  if (is_over_ || exit_ || left_us_ == 0 || std::exchange(frozen_, frozen) == frozen) return;
  if (!frozen) return watch_deadline();
  deadline_.cancel();
  // At least one: it is not without a deadline because it has little time left.
  left_us_ = std::max<int64_t>(1, left_us_ - (reactor_.monotonic_us() - counted_from_us_));
}

std::optional<TheirEnds> CommandProcess::open_pipes() {
  TheirEnds theirs;
  if (!make_pipe(theirs.in, in_.fd) || !make_pipe(out_.fd, theirs.out) || !make_pipe(err_.fd, theirs.err)) return {};
  for (const auto* pipe : {&in_, &out_, &err_}) never_block(pipe->fd);
  watch_output();
  write_input();
  return theirs;
}

void CommandProcess::watch_output() {
  for (const Stream stream : {Stream::out, Stream::err}) {
    Pipe& pipe = pipe_of(stream);
    if (!pipe.fd) continue;
    pipe.watch =
        reactor_.watch(pipe.fd.get(), {.read = true}, [this, stream](world::Ready) { read(stream, pieces_a_turn); });
  }
}

void CommandProcess::write_input() {
  const auto keep = shared_from_this();
  while (input_done_ < input_.size()) {
    const ssize_t put = ::write(in_.fd.get(), input_.data() + input_done_, input_.size() - input_done_);
    if (put < 0 && errno == EAGAIN) {
      if (!in_.watch) {
        in_.watch = reactor_.watch(in_.fd.get(), {.write = true}, [this](world::Ready) { write_input(); });
      }
      return;
    }
    if (put < 0 && errno != EINTR) {  // it does not want to read
      keeps_input_ = false;
      break;
    }
    if (put > 0) input_done_ += static_cast<std::size_t>(put);
  }
  if (!keeps_input_) return drop_input();
  input_.clear();
  input_done_ = 0;
  in_.watch.reset();
}

void CommandProcess::drop_input() {
  in_.close();
  input_ = {};
  input_done_ = 0;
}

void CommandProcess::write(std::string_view bytes) {
  if (!in_.fd || !keeps_input_) return;
  if (input_done_ > input_.size() / 2) input_.erase(0, std::exchange(input_done_, 0));
  input_ += bytes;
  if (!in_.watch) write_input();
}

void CommandProcess::close_input() {
  if (!in_.fd || !std::exchange(keeps_input_, false)) return;
  if (!in_.watch) write_input();
}

void CommandProcess::read(Stream stream, int pieces_max) {
  const auto keep = shared_from_this();
  std::array<char, piece_bytes_max> piece;
  for (int i = 0; i < pieces_max; ++i) {
    Pipe& pipe = pipe_of(stream);
    if (!pipe.fd || paused_ || is_over_) return;
    const ssize_t got = ::read(pipe.fd.get(), piece.data(), piece.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      pipe.close();
      return finish_if_drained();
    }
    if (listener_ != nullptr) listener_->on_output(stream, {piece.data(), static_cast<std::size_t>(got)});
  }
}

void CommandProcess::pause(bool paused) {
  if (paused == paused_) return;
  paused_ = paused;
  if (paused) {
    // Removed, because a watch without interest would still report the hang-up again and again.
    out_.watch.reset();
    err_.watch.reset();
    return;
  }
  watch_output();
  if (waited_) {
    reactor_.defer([keep = shared_from_this()] {
      if (!keep->is_over_ && !keep->paused_) keep->finish();
    });
  }
}

void CommandProcess::stop() {
  if (is_over_ || exit_) return;
  if (!cause_) cause_ = ExitCause::stopped;
  kill(SIGTERM);
  patience_ = reactor_.after(stop_patience, [this] { kill(SIGKILL); });
}

void CommandProcess::drop() {
  listener_ = nullptr;
  if (background_ || is_over_) return;
  // Its end is not reported: no need to wait for it here.
  kill(SIGKILL);
  end({});
}

void CommandProcess::on_exited(Exit exit) {
  if (is_over_) return;
  exit_ = std::move(exit);
  deadline_.cancel();
  drop_input();
  // What the command left behind may hold the pipes for hours; a moment is granted to what is in them.
  patience_ = reactor_.after(pipe_patience, [this] {
    waited_ = true;
    if (!paused_) finish();
  });
  finish_if_drained();
}

void CommandProcess::finish_if_drained() {
  if (exit_ && !out_.fd && !err_.fd) finish();
}

void CommandProcess::finish() {
  const auto keep = shared_from_this();
  read(Stream::out, pieces_at_end_max);
  if (!is_over_) read(Stream::err, pieces_at_end_max);
  if (!is_over_ && !paused_) end(std::move(*exit_));
}

void CommandProcess::end(Exit exit) {
  const auto keep = shared_from_this();
  if (std::exchange(is_over_, true)) return;
  drop_input();
  out_.close();
  err_.close();
  deadline_.cancel();
  patience_.cancel();
  signal_ = nullptr;
  if (listener_ != nullptr) std::exchange(listener_, nullptr)->on_exit(std::move(exit));
}

}  // namespace sluice::sandbox
