#include "sandbox/box_supervisor.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <utility>

namespace sluice::sandbox {
namespace {

// A shell reports that a signal killed its child by the exit code 128 plus the signal's number.
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

BoxSupervisor::BoxSupervisor(uint32_t number, world::Reactor& reactor, BoxSupervisorListener& listener,
                             const GroupDirectories& groups, Beginning beginning)
    : number_(number), reactor_(reactor), listener_(listener), groups_(groups), began_us_(reactor.monotonic_us()) {
  socket_ = std::make_unique<PacketSocket>(
      reactor_, std::move(beginning.socket), [this](Packet packet) { on_packet(std::move(packet)); },
      [this] { fail(Loss::vanished, "its first process ended"); });
  wait_for(beginning.patience, "its first process to be started");
}

BoxSupervisor::~BoxSupervisor() { end_commands({.cause = ExitCause::box_lost}); }

void BoxSupervisor::on_built(Packet packet) {
  slot_ = static_cast<uint64_t>(packet.head.b);
  if (packet.descriptors.empty()) return fail(Loss::refused, "the zygote sent no descriptor of it");
  pidfd_ = std::move(packet.descriptors[0]);
  death_ = reactor_.watch(pidfd_.get(), {.read = true}, [this](world::Ready) {
    death_.reset();
    const auto alive = lifetime_.watch();
    // A pidfd is readable once the process is dead, whatever the process inside may still have sent before.
    if (!dying_) fail(Loss::vanished, "its first process was killed");
    if (alive.is_over()) return;
    patience_.cancel();
    overdue_ = false;
    listener_.on_dead(*this);
  });
  if (dying_) {
    // It was given up while the zygote forked it: only now is there a process to kill.
    wait_for(end_patience, "its processes to end");
    return kill_processes();
  }
  wait_for(opening_patience, "its first process to get ready");
  const auto alive = lifetime_.watch();
  for (auto& said : std::exchange(early_, {})) {
    on_packet(std::move(said));
    if (alive.is_over()) return;
  }
}

void BoxSupervisor::on_build_failed(uint64_t slot, Loss loss, const std::string& what) {
  slot_ = slot;
  const auto alive = lifetime_.watch();
  fail(loss, what);
  if (!alive.is_over()) listener_.on_dead(*this);
}

void BoxSupervisor::claim(std::string order, std::map<std::string, std::string> environment) {
  environment_ = std::move(environment);
  claiming_ = true;
  if (ready_ && !shown_) wait_for(opening_patience, "its first process to lay out the workspace");
  socket_->send({{.verb = box::Verb::claim}, {}, std::move(order)});
}

void BoxSupervisor::on_packet(Packet packet) {
  if (dying_) return;
  // Packets keep their order: one that needs the pidfd holds up those behind it.
  if (!early_.empty() || (packet.head.numbered_count > 0 && !has_process())) return early_.push_back(std::move(packet));
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
      return listener_.on_claimed(*this, {std::move(packet.descriptors[0]), std::move(packet.descriptors[1])});
    case box::Verb::failed: return fail(Loss::refused, packet.payload);
    case box::Verb::exited: return on_command_exited(packet.head);
    case box::Verb::not_started: return on_command_not_started(packet.head);
    default: return;
  }
}

bool BoxSupervisor::take_numbered(Packet& packet) const {
  const std::size_t count = packet.head.numbered_count;
  errno = EINVAL;
  // The sender is a process of the sandbox: its numbers are not trusted.
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

void BoxSupervisor::on_init_ready(Packet packet) {
  constexpr std::size_t listener_count = box::listener_count;
  const bool is_whole = packet.head.a == static_cast<int64_t>(listener_count) &&
                        packet.descriptors.size() == listener_count + (has_process() ? 0 : 1);
  if (is_whole) {
    bridge_listener = std::move(packet.descriptors.back());
    packet.descriptors.pop_back();
    egress_listener = std::move(packet.descriptors.back());
    packet.descriptors.pop_back();
  }
  // A sandbox that an OCI runtime started was not reported by a zygote: it brings the descriptor of itself, and its
  // groups have its number.
  packet.head.b = number_;
  if (!has_process() && !packet.descriptors.empty()) on_built(std::move(packet));
  if (!is_whole) return fail(Loss::refused, "its listeners did not arrive");
  ready_ = true;
  patience_.cancel();
  if (claiming_) wait_for(opening_patience, "its first process to lay out the workspace");
  listener_.on_ready(*this);
}

void BoxSupervisor::fail(Loss loss, const std::string& what) {
  if (dying_ || std::exchange(failed_, true)) return;
  const auto alive = lifetime_.watch();
  kill_processes();
  end_commands({.cause = ExitCause::box_lost, .what = what});
  if (!alive.is_over()) listener_.on_lost(*this, loss, what);
}

void BoxSupervisor::kill() {
  if (std::exchange(overdue_, false)) wait_for(patience_span_, std::move(awaited_));
  if (!dying_) {
    reactor_.defer(lifetime_.guard([this] { end_commands({.cause = ExitCause::stopped, .code = SIGKILL}); }));
  }
  kill_processes();
}

void BoxSupervisor::wait_for(Millis patience, std::string what) {
  patience_span_ = patience;
  awaited_ = std::move(what);
  patience_ = reactor_.after(patience, [this] { on_patience_over(); });
}

void BoxSupervisor::on_patience_over() {
  const std::string what = "waited " + std::to_string(patience_span_.value / 1000) + " s for " + awaited_;
  if (dying_ && !has_process() && !proving_) return listener_.on_dead(*this);
  if (dying_) {
    overdue_ = true;
    return listener_.on_overdue(*this, what);
  }
  constexpr int64_t beginning_us_max = 60'000'000;
  const int64_t now_us = reactor_.monotonic_us();
  // A zygote that builds others is slow, not stuck: this one waits for its turn.
  if (!has_process() && now_us - began_us_ < beginning_us_max &&
      listener_.has_built_since(now_us - patience_span_.value * 1000)) {
    return wait_for(patience_span_, std::move(awaited_));
  }
  fail(Loss::vanished, what);
}

void BoxSupervisor::report_dead(const Result<Unit>& proof) {
  for (auto& done : std::exchange(when_dead, {})) done(proof);
}

void BoxSupervisor::wait_for_end(uint32_t command) {
  if (!commands_.contains(command)) return;
  ends_[command] = reactor_.after(end_patience, [this] {
    fail(Loss::vanished, "waited " + std::to_string(end_patience.value / 1000) + " s for a killed command to end");
  });
}

void BoxSupervisor::kill_processes() {
  if (!std::exchange(dying_, true)) {
    listener_.on_killed(*this);
    wait_for(has_process() ? end_patience : opening_patience, "its processes to end");
  }
  egress_listener.reset();
  bridge_listener.reset();
  // Without its socket an init that has not started yet ends as soon as it reads from it.
  if (pidfd_) syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  for (const auto& [command, process] : commands_) process->forget_socket();
  // Later, as the socket may be the caller.
  if (socket_) reactor_.defer([socket = std::move(socket_)] {});
}

void BoxSupervisor::end_commands(const Exit& exit) {
  ends_.clear();
  unsent_.clear();
  for (auto& [command, process] : std::exchange(commands_, {})) process->end(exit);
}

std::shared_ptr<CommandProcess> BoxSupervisor::start(Command command, ProcessListener& listener) {
  const uint32_t id = next_command_++;
  auto process = std::make_shared<CommandProcess>(reactor_, listener, command, lifetime_.guard([this, id](int number) {
    if (socket_) signal(id, number);
  }));
  const auto fails = [&](Exit exit) {
    reactor_.defer([process, exit = std::move(exit)]() mutable { process->end(std::move(exit)); });
    return process;
  };
  if (dying_ || !socket_) return fails({.cause = ExitCause::box_lost, .what = "the box has ended"});
  if (command.argv.empty())
    return fails({.cause = ExitCause::not_started, .code = 127, .what = "no command was given"});
  auto ends = process->open_pipes();
  if (!ends) return fails({.cause = ExitCause::not_started, .code = 127, .what = "the server has no descriptors left"});
  Packet packet = {{.verb = box::Verb::start, .number = id}, {}, start_order(command, environment_)};
  packet.descriptors.push_back(std::move(ends->in));
  packet.descriptors.push_back(std::move(ends->out));
  packet.descriptors.push_back(std::move(ends->err));
  commands_[id] = process;
  wanted_[id] = {command.argv[0], command.directory};
  process->freeze(frozen_);
  // The init of a frozen sandbox cannot start it.
  if (frozen_) {
    unsent_.emplace(id, std::move(packet));
  } else {
    socket_->send(std::move(packet));
  }
  return process;
}

void BoxSupervisor::signal(uint32_t command, int number) {
  if (unsent_.erase(command) == 0) {
    socket_->send({{.verb = box::Verb::signal, .number = command, .a = number}, {}, {}});
    if (number == SIGKILL) wait_for_end(command);
    return;
  }
  // It has not begun, and never will.
  wanted_.erase(command);
  reactor_.defer([process = take_command(command), number] {
    if (process) process->end({.cause = process->cause().value_or(ExitCause::stopped), .code = number});
  });
}

void BoxSupervisor::freeze(bool frozen) {
  if (dying_ || !socket_ || std::exchange(frozen_, frozen) == frozen) return;
  socket_->send({{.verb = box::Verb::freeze, .a = frozen ? 1 : 0}, {}, {}});
  for (const auto& [command, process] : commands_) process->freeze(frozen);
  if (frozen) return;
  for (auto& [command, packet] : std::exchange(unsent_, {})) socket_->send(std::move(packet));
}

std::shared_ptr<CommandProcess> BoxSupervisor::take_command(uint32_t command) {
  ends_.erase(command);
  const auto found = commands_.extract(command);
  return found ? std::move(found.mapped()) : nullptr;
}

void BoxSupervisor::on_command_exited(const box::Head& head) {
  wanted_.erase(head.number);
  const auto process = take_command(head.number);
  if (process) process->on_exited(exit_of(head, *process));
}

void BoxSupervisor::on_command_not_started(const box::Head& head) {
  const Wanted wanted = std::exchange(wanted_[head.number], {});
  wanted_.erase(head.number);
  const auto process = take_command(head.number);
  if (!process) return;
  process->end(
      {.cause = ExitCause::not_started, .code = 127, .what = why_not_started(head, wanted.program, wanted.directory)});
}

void note(world::Log& log, std::string_view event, const BoxSupervisor& box, int64_t ms) {
  log.write(world::LogLevel::debug, event,
            {{"sandbox", box.name},
             {"number", int64_t{box.number()}},
             {"slot", static_cast<int64_t>(box.slot())},
             {"ms", ms}});
}

Exit BoxSupervisor::exit_of(const box::Head& head, const CommandProcess& process) {
  const auto status = static_cast<int>(head.a);
  Exit exit{.cpu_ms = head.b / 1000, .memory_bytes_peak = head.c};
  exit.cause = WIFSIGNALED(status) ? ExitCause::killed : ExitCause::exited;
  exit.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  // The server's own reason counts before what the kernel says of the signal by which the command died.
  if (process.cause()) {
    exit.cause = *process.cause();
  } else if (ended_by(status, SIGXCPU)) {
    exit.cause = ExitCause::cpu_limit;
  } else if (ended_by(status, SIGXFSZ)) {
    exit.cause = ExitCause::file_limit;
  } else if (status != 0 && groups_.memory_kills(slot_) > memory_kills_) {
    memory_kills_ = groups_.memory_kills(slot_);
    exit.cause = ExitCause::out_of_memory;
  }
  return exit;
}

}  // namespace sluice::sandbox
