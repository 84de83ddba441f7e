#include "sessions/command_run.h"

#include <utility>

namespace sluice::sessions {

using sandbox::Stream;

namespace {

constexpr std::size_t piece_bytes_max = 64 * 1024;  // of what is emitted at once

}  // namespace

CommandRun::CommandRun(sandbox::Box& box, sandbox::Command command, CommandBounds bounds, runs::SharedSecrets secrets,
                       world::Loop& loop, CommandListener& listener)
    : bounds_(bounds),
      box_(box),
      loop_(loop),
      listener_(listener),
      scrubbed_out_(secrets),
      scrubbed_err_(std::move(secrets)),
      excerpt_(bounds.kept_chars_max) {
  if (command.argv[0] == "bash") {
    otherwise_ = command;
    otherwise_->argv[0] = "sh";
  }
  process_ = box.start(std::move(command), *this);
}

void CommandRun::on_output(Stream stream, std::string_view bytes) {
  const bool is_out = stream == Stream::out;
  take(stream, (is_out ? scrubbed_out_ : scrubbed_err_).push((is_out ? out_ : err_).feed(bytes)));
}

void CommandRun::take(Stream stream, std::string text) {
  if (text.empty()) return;
  excerpt_.append(text);
  if (bounds_.emitted_bytes_max == 0 || is_cut_) return;
  const auto fits = runs::utf8_prefix(text, bounds_.emitted_bytes_max - emitted_bytes_);
  emitted_bytes_ += fits.size();
  gather(stream, fits);
  if (fits.size() < text.size()) {
    is_cut_ = true;
    gather(stream, "\n… output cut: more than " + std::to_string(bounds_.emitted_bytes_max) + " bytes …\n");
  }
  emit_later();
}

void CommandRun::gather(Stream stream, std::string_view text) {
  while (!text.empty()) {
    const bool joins = !gathered_.empty() && gathered_.back().stream == stream &&
                       gathered_.back().text.size() + text.size() <= piece_bytes_max;
    if (!joins) gathered_.push_back({stream, {}});
    const auto piece = runs::utf8_prefix(text, piece_bytes_max);
    gathered_.back().text += piece;
    text.remove_prefix(piece.size());
  }
}

void CommandRun::emit_later() {
  if (bounds_.emits_only_cut || std::exchange(is_emitting_, true)) return;
  loop_.defer(lifetime_.guard([this] { emit(); }));
}

bool CommandRun::emit() {
  is_emitting_ = false;
  const auto alive = lifetime_.watch();
  for (auto& piece : std::exchange(gathered_, {})) {
    listener_.on_printed(piece.stream, std::move(piece.text));
    if (alive.is_over()) return false;
  }
  return true;
}

void CommandRun::on_exit(sandbox::Exit exit) {
  // Small images have no bash; that is known only once it was not found.
  if (exit.cause == sandbox::ExitCause::not_started && otherwise_) {
    process_ = box_.start(*std::exchange(otherwise_, std::nullopt), *this);
    return;
  }
  take(Stream::out, scrubbed_out_.push(out_.end()) + scrubbed_out_.finish());
  take(Stream::err, scrubbed_err_.push(err_.end()) + scrubbed_err_.finish());
  if (bounds_.emits_only_cut && !excerpt_.is_cut()) gathered_.clear();
  if (!emit()) return;
  exit.what = runs::to_utf8(exit.what);
  listener_.on_ended(std::move(exit), excerpt_.text());
}

std::string exit_words(const sandbox::Exit& exit, int64_t timeout_ms) {
  using sandbox::ExitCause;
  const auto because = exit.what.empty() ? std::string() : ": " + exit.what;
  switch (exit.cause) {
    case ExitCause::exited: return exit.code == 0 ? std::string() : "exit code " + std::to_string(exit.code);
    case ExitCause::killed: return "killed by signal " + std::to_string(exit.code) + because;
    case ExitCause::timed_out: return "killed because it took longer than " + std::to_string(timeout_ms) + " ms";
    case ExitCause::stopped: return "stopped" + because;
    case ExitCause::out_of_memory: return "killed because the sandbox ran out of memory" + because;
    case ExitCause::cpu_limit: return "killed because it used too much processor time" + because;
    case ExitCause::file_limit: return "killed because it wrote a file larger than is allowed" + because;
    case ExitCause::not_started: return "could not be started" + because;
    case ExitCause::box_lost: return "the sandbox went away" + because;
  }
  return "ended" + because;
}

std::string outcome_words(const sandbox::Exit& exit, std::string printed, int64_t timeout_ms) {
  while (printed.ends_with('\n')) printed.pop_back();
  const auto how = exit_words(exit, timeout_ms);
  if (!how.empty() && !printed.empty()) printed += '\n';
  return printed + how;
}

}  // namespace sluice::sessions
