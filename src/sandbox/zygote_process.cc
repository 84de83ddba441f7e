#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "sandbox/box_program.h"
#include "sandbox/namespaces_sandbox.h"
#include "sandbox/orders.h"
#include "sandbox/syscall_filter.h"

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr Millis prepare_patience = {10'000};
constexpr Millis zygote_end_patience = {2'000};
constexpr std::size_t spare_slots = 2;
constexpr uint64_t slots_of_a_zygote = 1'000'000'000;  // no slot has the number of an earlier zygote's

Error unavailable(std::string what) { return {ErrorKind::unavailable, std::move(what)}; }

// The sandbox's user must be able to reach what lies below; no other user has to.
void let_sandbox_user_through(const std::string& directory, uint32_t group) {
  struct stat there{};
  if (stat(directory.c_str(), &there) != 0 || (there.st_mode & S_IXOTH) != 0) return;
  if (chown(directory.c_str(), static_cast<uid_t>(-1), group) == 0) chmod(directory.c_str(), there.st_mode | S_IXGRP);
}

// Makes an empty one; what an earlier server left there is removed.
Result<std::string> make_staging(const SandboxOptions& options, bool is_root) {
  std::error_code error;
  const std::string boxes = options.state_dir + "/boxes";
  fs::remove_all(boxes, error);
  fs::create_directories(boxes, error);
  std::string staging = boxes + "/zygote-XXXXXX";
  if (mkdtemp(staging.data()) == nullptr)
    return unavailable("make a directory in " + boxes + ": " + std::strerror(errno));
  if (is_root) {
    let_sandbox_user_through(options.state_dir, options.host_uid);
    let_sandbox_user_through(boxes, options.host_uid);
  }
  return staging;
}

}  // namespace

ZygoteProcess::ZygoteProcess(const SandboxOptions& options, const Machine& machine, const GroupDirectories& groups,
                             world::Reactor& reactor, world::Log& log, ZygoteListener& listener)
    : options_(options), machine_(machine), groups_(groups), reactor_(reactor), log_(log), listener_(listener) {}

ZygoteProcess::~ZygoteProcess() {
  socket_.reset();
  end(zygote_end_patience);
}

Result<OwnedFd> ZygoteProcess::launch() {
  auto plan = make_plan(options_, {}, machine_);
  if (!plan) return plan.error();
  plan_ = std::move(plan.value());
  auto filter = compile_filter(plan_.syscalls);
  if (!filter) return filter.error();
  auto staging = make_staging(options_, machine_.is_root);
  if (!staging) return staging.error();
  staging_ = staging.value();
  auto started = start_box_program();
  if (!started) return started.error();
  process_ = started.value().process;
  pidfd_ = OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, process_, 0)));

  const uint64_t first_slot = launched_count_++ * slots_of_a_zygote + 1;
  const Site site = {staging_,
                     options_.state_dir,
                     options_.harness_dir,
                     static_cast<uint64_t>(options_.warm_target) + spare_slots,
                     first_slot,
                     options_.host_uid,
                     machine_.is_root ? options_.host_uid_count : 0};
  Packet first = {{.verb = box::Verb::prepare}, {}, prepare_order(plan_, machine_, site, groups_.controllers())};
  first.descriptors.push_back(std::move(filter.value()));
  for (auto& group : groups_.open()) first.descriptors.push_back(std::move(group));
  if (!PacketSocket::send_at_once(started.value().socket.get(), std::move(first))) {
    return unavailable("the box program does not listen");
  }
  return std::move(started.value().socket);
}

Result<Unit> ZygoteProcess::start() {
  auto socket = launch();
  if (!socket) return socket.error();
  Packet answer;
  if (!PacketSocket::receive_at_once(socket.value().get(), answer, static_cast<int>(prepare_patience.value))) {
    return unavailable("the box program does not answer");
  }
  if (auto prepared = take_prepared(answer); !prepared) return prepared;
  listen(std::move(socket).take());
  return Unit{};
}

void ZygoteProcess::listen(OwnedFd socket) {
  socket_ = std::make_unique<PacketSocket>(
      reactor_, std::move(socket), [this](Packet packet) { on_packet(std::move(packet)); }, [this] { on_gone(); });
}

Result<Unit> ZygoteProcess::take_prepared(const Packet& answer) {
  if (answer.head.verb != box::Verb::prepared) return unavailable(answer.payload);
  const auto split = std::min(answer.payload.size(), static_cast<std::size_t>(answer.head.b));
  const std::string why_one_user = answer.payload.substr(0, split);
  const std::string what_is_shared = answer.payload.substr(split);
  if (machine_.is_root && options_.host_uid_count > 0 && answer.head.a == 0) {
    log_.write(world::LogLevel::warn, "sandboxes share one user",
               {{"why", why_one_user}, {"user", int64_t{options_.host_uid}}});
  }
  if (!what_is_shared.empty()) {
    log_.write(world::LogLevel::warn, "sandboxes share files with the host", {{"what", what_is_shared}});
  }
  is_ready_ = true;
  return Unit{};
}

void ZygoteProcess::on_packet(Packet packet) {
  if (!is_ready_) return on_prepared(packet);
  listener_.on_zygote_packet(std::move(packet));
}

void ZygoteProcess::close() {
  closing_ = true;
  patience_.cancel();
  death_.reset();
}

void ZygoteProcess::hang_up(Callback<void()> ended) {
  SLUICE_CHECK(is_running());
  socket_.reset();
  death_ = reactor_.watch(pidfd_.get(), {.read = true}, [ended = std::move(ended)](world::Ready) mutable { ended(); });
}

void ZygoteProcess::on_gone() {
  socket_.reset();
  if (closing_) return;
  if (!std::exchange(is_ready_, false)) return give_up("it ended before it was ready");
  log_.write(world::LogLevel::error, "zygote lost", {});
  listener_.on_zygote_lost();
  kill_process();
}

// No call waits for it: runs, and other servers, must not notice how long it takes.
void ZygoteProcess::replace() {
  auto socket = launch();
  if (!socket) return give_up(socket.error().what);
  patience_ = reactor_.after(prepare_patience, [this] {
    give_up("waited " + std::to_string(prepare_patience.value / 1000) + " s for it to get ready");
  });
  listen(std::move(socket).take());
  listener_.on_zygote_launched();
}

void ZygoteProcess::on_prepared(const Packet& answer) {
  patience_.cancel();
  if (auto prepared = take_prepared(answer); !prepared) return give_up(prepared.error().what);
  listener_.on_zygote_ready();
}

void ZygoteProcess::give_up(const std::string& why) {
  broken_ = "the process that builds boxes has ended, and another does not start: " + why;
  log_.write(world::LogLevel::error, "zygote not started", {{"why", broken_}});
  socket_.reset();
  kill_process();
  listener_.on_zygote_broken();
}

void ZygoteProcess::kill_process() {
  if (process_ < 0) return on_killed();
  kill(process_, SIGKILL);
  death_ = reactor_.watch(pidfd_.get(), {.read = true}, [this](world::Ready) { on_killed(); });
  patience_ = reactor_.after(zygote_end_patience, [this] { on_killed(); });
}

void ZygoteProcess::on_killed() {
  patience_.cancel();
  end({0});
  if (broken_.empty()) replace();
}

void ZygoteProcess::end(Millis patience) {
  death_.reset();
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  // At once, unless the kernel holds it in a call that no signal ends: then it is left to the kernel.
  pollfd death = {pidfd_.get(), POLLIN, 0};
  if (poll(&death, 1, static_cast<int>(patience.value)) == 1) {
    waitpid(process_, nullptr, 0);
  } else {
    log_.write(world::LogLevel::error, "zygote not dead after SIGKILL", {{"pid", int64_t{process_}}});
  }
  process_ = -1;
  pidfd_.reset();
  rmdir(staging_.c_str());
}

}  // namespace sluice::sandbox
