#include "sandbox/cell.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <utility>

namespace sluice::sandbox {
namespace {

// A shell tells of its child's death by signal with 128 and the signal's number.
bool ended_by(int status, int signal) {
  return (WIFSIGNALED(status) && WTERMSIG(status) == signal) ||
         (WIFEXITED(status) && WEXITSTATUS(status) == 128 + signal);
}

std::string start_order(const Command& command, const std::map<std::string, std::string>& environment) {
  auto all = environment;
  for (const auto& [name, value] : command.environment) all[name] = value;
  Payload payload;
  payload.text(command.directory).number(command.argv.size());
  for (const auto& argument : command.argv) payload.text(argument);
  payload.number(all.size());
  for (const auto& [name, value] : all) payload.text(name + "=" + value);
  return payload.take();
}

std::string why_not_started(const box::Head& head, const std::string& program, const std::string& directory) {
  const std::string reason = std::strerror(static_cast<int>(head.a));
  switch (static_cast<box::Stumble>(head.b)) {
    case box::Stumble::fork: return "cannot start another process: " + reason;
    case box::Stumble::directory: return "cannot enter " + directory + ": " + reason;
    case box::Stumble::program: break;
  }
  return head.a == ENOENT ? program + ": command not found" : program + ": " + reason;
}

}  // namespace

Cell::Cell(uint32_t number, world::Reactor& reactor, CellKeeper& keeper, const GroupHome& groups, Birth birth)
    : number_(number), reactor_(reactor), keeper_(keeper), groups_(groups), began_us_(reactor.monotonic_us()) {
  line_ = std::make_unique<Line>(
      reactor_, std::move(birth.line), [this](Packet packet) { heard(std::move(packet)); },
      [this] { fail(Loss::vanished, "its first process ended"); });
  wait_for(birth.patience, "its first process to be started");
}

Cell::~Cell() { end_commands({.cause = ExitCause::box_lost}); }

void Cell::on_built(Packet packet) {
  seat_ = static_cast<uint64_t>(packet.head.b);
  if (packet.descriptors.empty()) return fail(Loss::refused, "the zygote sent no descriptor of it");
  pidfd_ = std::move(packet.descriptors[0]);
  death_ = reactor_.watch(pidfd_.get(), {.read = true}, [this](world::Ready) {
    death_.reset();
    const std::weak_ptr<int> alive = alive_;
    if (!dying_) fail(Loss::vanished, "its first process was killed");
    if (alive.expired()) return;
    patience_.cancel();
    overdue_ = false;
    keeper_.on_dead(*this);
  });
  if (dying_) {
    wait_for(end_patience, "its processes to end");
    return strike();
  }
  wait_for(opening_patience, "its first process to get ready");
  const std::weak_ptr<int> alive = alive_;
  for (auto& said : std::exchange(early_, {})) {
    heard(std::move(said));
    if (alive.expired()) return;
  }
}

void Cell::on_build_failed(uint64_t seat, Loss loss, const std::string& what) {
  seat_ = seat;
  const std::weak_ptr<int> alive = alive_;
  fail(loss, what);
  if (!alive.expired()) keeper_.on_dead(*this);
}

void Cell::claim(std::string order, std::map<std::string, std::string> environment) {
  environment_ = std::move(environment);
  claiming_ = true;
  if (ready_ && !shown_) wait_for(opening_patience, "its first process to lay out the workspace");
  line_->send({{.verb = box::Verb::claim}, {}, std::move(order)});
}

void Cell::heard(Packet packet) {
  if (dying_) return;
  if (!early_.empty() || (packet.head.numbered_count > 0 && !is_born())) return early_.push_back(std::move(packet));
  if (packet.head.numbered_count > 0 && !take_numbered(packet)) {
    return fail(
        Loss::refused,
        "too many descriptors of its user are on their way, and they cannot be taken out of its first process: " +
            std::string(std::strerror(errno)));
  }
  switch (packet.head.verb) {
    case box::Verb::ready: return on_init_ready(std::move(packet));
    case box::Verb::claimed:
      if (packet.descriptors.size() != 2) return fail(Loss::refused, "its workspace was not shown");
      shown_ = true;
      if (ready_) patience_.cancel();
      return keeper_.on_claimed(*this, {std::move(packet.descriptors[0]), std::move(packet.descriptors[1])});
    case box::Verb::failed: return fail(Loss::refused, packet.payload);
    case box::Verb::exited: return on_command_exited(packet.head);
    case box::Verb::not_started: return on_command_not_started(packet.head);
    default: return;
  }
}

bool Cell::take_numbered(Packet& packet) const {
  const std::size_t count = packet.head.numbered_count;
  errno = EINVAL;
  if (count > box::descriptors_max || packet.payload.size() != count * sizeof(uint64_t)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    uint64_t number = 0;
    std::memcpy(&number, packet.payload.data() + i * sizeof number, sizeof number);
    OwnedFd taken(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd_.get(), static_cast<int>(number), 0)));
    if (!taken) return false;
    packet.descriptors.push_back(std::move(taken));
  }
  return true;
}

void Cell::on_init_ready(Packet packet) {
  constexpr std::size_t listener_count = box::door_count;
  const bool is_whole = packet.head.a == static_cast<int64_t>(listener_count) &&
                        packet.descriptors.size() == listener_count + (is_born() ? 0 : 1);
  if (is_whole) {
    bridge_listener = std::move(packet.descriptors.back());
    packet.descriptors.pop_back();
    egress_listener = std::move(packet.descriptors.back());
    packet.descriptors.pop_back();
  }
  // Nobody but an OCI runtime saw this one born: it brings the descriptor of itself,
  // and its groups have its number.
  packet.head.b = number_;
  if (!is_born() && !packet.descriptors.empty()) on_built(std::move(packet));
  if (!is_whole) return fail(Loss::refused, "its listeners did not arrive");
  ready_ = true;
  patience_.cancel();
  if (claiming_) wait_for(opening_patience, "its first process to lay out the workspace");
  keeper_.on_ready(*this);
}

void Cell::fail(Loss loss, const std::string& what) {
  if (dying_ || std::exchange(failed_, true)) return;
  const std::weak_ptr<int> alive = alive_;
  strike();
  end_commands({.cause = ExitCause::box_lost, .what = what});
  if (!alive.expired()) keeper_.on_lost(*this, loss, what);
}

void Cell::kill() {
  if (std::exchange(overdue_, false)) wait_for(patience_span_, std::move(awaited_));
  if (!dying_) {
    reactor_.defer([this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) end_commands({.cause = ExitCause::stopped, .code = SIGKILL});
    });
  }
  strike();
}

void Cell::wait_for(Millis patience, std::string what) {
  patience_span_ = patience;
  awaited_ = std::move(what);
  patience_ = reactor_.after(patience, [this] { on_patience_over(); });
}

void Cell::on_patience_over() {
  const std::string what = "waited " + std::to_string(patience_span_.value / 1000) + " s for " + awaited_;
  if (dying_ && !is_born() && !proving_) return keeper_.on_dead(*this);
  if (dying_) {
    overdue_ = true;
    return keeper_.on_overdue(*this, what);
  }
  constexpr int64_t birth_us_max = 60'000'000;
  const int64_t now_us = reactor_.monotonic_us();
  if (!is_born() && now_us - began_us_ < birth_us_max &&
      keeper_.has_built_since(now_us - patience_span_.value * 1000)) {
    return wait_for(patience_span_, std::move(awaited_));
  }
  fail(Loss::vanished, what);
}

void Cell::answer_killers(const Result<Unit>& proof) {
  for (auto& done : std::exchange(when_dead, {})) done(proof);
}

void Cell::wait_for_end(uint32_t command) {
  if (!commands_.contains(command)) return;
  ends_[command] = reactor_.after(end_patience, [this] {
    fail(Loss::vanished, "waited " + std::to_string(end_patience.value / 1000) + " s for a killed command to end");
  });
}

void Cell::strike() {
  if (!std::exchange(dying_, true)) {
    keeper_.on_struck(*this);
    wait_for(is_born() ? end_patience : opening_patience, "its processes to end");
  }
  egress_listener.reset();
  bridge_listener.reset();
  // Without its line an init that is not born yet ends as soon as it looks.
  if (pidfd_) syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  for (const auto& [command, running] : commands_) running->forget_line();
  if (line_) reactor_.defer([line = std::move(line_)] {});
}

void Cell::end_commands(const Exit& exit) {
  ends_.clear();
  unsent_.clear();
  for (auto& [command, running] : std::exchange(commands_, {})) running->end(exit);
}

std::shared_ptr<Running> Cell::start(Command command, ProcessListener& listener) {
  const uint32_t id = next_command_++;
  const std::weak_ptr<int> alive = alive_;
  auto running = std::make_shared<Running>(reactor_, listener, command, [this, alive, id](int number) {
    if (!alive.expired() && line_) signal(id, number);
  });
  const auto fails = [&](Exit exit) {
    reactor_.defer([running, exit = std::move(exit)]() mutable { running->end(std::move(exit)); });
    return running;
  };
  if (dying_ || !line_) return fails({.cause = ExitCause::box_lost, .what = "the box has ended"});
  if (command.argv.empty())
    return fails({.cause = ExitCause::not_started, .code = 127, .what = "no command was given"});
  auto ends = running->open_pipes();
  if (!ends) return fails({.cause = ExitCause::not_started, .code = 127, .what = "the server has no descriptors left"});
  Packet packet = {{.verb = box::Verb::start, .number = id}, {}, start_order(command, environment_)};
  packet.descriptors.push_back(std::move(ends->in));
  packet.descriptors.push_back(std::move(ends->out));
  packet.descriptors.push_back(std::move(ends->err));
  commands_[id] = running;
  wanted_[id] = {command.argv[0], command.directory};
  running->freeze(frozen_);
  if (frozen_) {
    unsent_.emplace(id, std::move(packet));
  } else {
    line_->send(std::move(packet));
  }
  return running;
}

void Cell::signal(uint32_t command, int number) {
  if (unsent_.erase(command) == 0) {
    line_->send({{.verb = box::Verb::signal, .number = command, .a = number}, {}, {}});
    if (number == SIGKILL) wait_for_end(command);
    return;
  }
  // It has not begun, and never will.
  wanted_.erase(command);
  reactor_.defer([running = take_command(command), number] {
    if (running) running->end({.cause = running->cause().value_or(ExitCause::stopped), .code = number});
  });
}

void Cell::freeze(bool frozen) {
  if (dying_ || !line_ || std::exchange(frozen_, frozen) == frozen) return;
  line_->send({{.verb = box::Verb::freeze, .a = frozen ? 1 : 0}, {}, {}});
  for (const auto& [command, running] : commands_) running->freeze(frozen);
  if (frozen) return;
  for (auto& [command, packet] : std::exchange(unsent_, {})) line_->send(std::move(packet));
}

std::shared_ptr<Running> Cell::take_command(uint32_t command) {
  ends_.erase(command);
  const auto found = commands_.extract(command);
  return found ? std::move(found.mapped()) : nullptr;
}

void Cell::on_command_exited(const box::Head& head) {
  wanted_.erase(head.number);
  const auto running = take_command(head.number);
  if (running) running->on_exited(exit_of(head, *running));
}

void Cell::on_command_not_started(const box::Head& head) {
  const Wanted wanted = std::exchange(wanted_[head.number], {});
  wanted_.erase(head.number);
  const auto running = take_command(head.number);
  if (!running) return;
  running->end(
      {.cause = ExitCause::not_started, .code = 127, .what = why_not_started(head, wanted.program, wanted.directory)});
}

void note(world::Log& log, std::string_view event, const Cell& cell, int64_t ms) {
  log.write(world::LogLevel::debug, event,
            {{"sandbox", cell.name},
             {"number", int64_t{cell.number()}},
             {"seat", static_cast<int64_t>(cell.seat())},
             {"ms", ms}});
}

Exit Cell::exit_of(const box::Head& head, const Running& running) {
  const auto status = static_cast<int>(head.a);
  Exit exit{.cpu_ms = head.b / 1000, .memory_bytes_peak = head.c};
  exit.cause = WIFSIGNALED(status) ? ExitCause::killed : ExitCause::exited;
  exit.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  if (running.cause()) {
    exit.cause = *running.cause();
  } else if (ended_by(status, SIGXCPU)) {
    exit.cause = ExitCause::cpu_limit;
  } else if (ended_by(status, SIGXFSZ)) {
    exit.cause = ExitCause::file_limit;
  } else if (status != 0 && groups_.memory_kills(seat_) > memory_kills_) {
    memory_kills_ = groups_.memory_kills(seat_);
    exit.cause = ExitCause::out_of_memory;
  }
  return exit;
}

}  // namespace sluice::sandbox
