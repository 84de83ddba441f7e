// The process that builds the boxes of the driver `namespaces`: its start, its end, and the next one.
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sandbox/box_program.h"
#include "sandbox/namespaces_sandbox.h"
#include "sandbox/orders.h"
#include "sandbox/syscall_filter.h"

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr Millis prepare_patience = {10'000};
constexpr std::size_t spare_seats = 2;
constexpr uint64_t seats_of_a_zygote = 1'000'000'000;  // no seat has the number of an earlier zygote's

Error unavailable(std::string what) { return {ErrorKind::unavailable, std::move(what)}; }

// The box's user must be able to reach what lies below; nobody else need.
void let_box_user_through(const std::string& directory, uint32_t group) {
  struct stat there {};
  if (stat(directory.c_str(), &there) != 0 || (there.st_mode & S_IXOTH) != 0) return;
  if (chown(directory.c_str(), static_cast<uid_t>(-1), group) == 0) chmod(directory.c_str(), there.st_mode | S_IXGRP);
}

// Fresh: what an earlier life left there is gone.
Result<std::string> make_staging(const SandboxOptions& options, bool is_root) {
  std::error_code error;
  const std::string boxes = options.state_dir + "/boxes";
  fs::remove_all(boxes, error);
  fs::create_directories(boxes, error);
  std::string staging = boxes + "/zygote-XXXXXX";
  if (mkdtemp(staging.data()) == nullptr)
    return unavailable("make a directory in " + boxes + ": " + std::strerror(errno));
  if (is_root) {
    let_box_user_through(options.state_dir, options.host_uid);
    let_box_user_through(boxes, options.host_uid);
  }
  return staging;
}

}  // namespace

Result<OwnedFd> NamespacesSandbox::launch_zygote() {
  auto plan = make_plan(options_, {}, machine_);
  if (!plan) return plan.error();
  warm_plan_ = std::move(plan.value());
  auto filter = compile_filter(warm_plan_.syscalls);
  if (!filter) return filter.error();
  auto staging = make_staging(options_, machine_.is_root);
  if (!staging) return staging.error();
  staging_ = staging.value();
  auto started = start_box_program();
  if (!started) return started.error();
  zygote_ = started.value().process;
  zygote_pidfd_ = OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, zygote_, 0)));

  const uint64_t first_seat = zygotes_++ * seats_of_a_zygote + 1;
  const Site site = {staging_,
                     options_.state_dir,
                     options_.harness_dir,
                     static_cast<uint64_t>(options_.warm_target) + spare_seats,
                     first_seat,
                     options_.host_uid,
                     machine_.is_root ? options_.host_uid_count : 0};
  Packet first = {{.verb = box::Verb::prepare}, {}, prepare_order(warm_plan_, machine_, site, groups_.controllers())};
  first.descriptors.push_back(std::move(filter.value()));
  for (auto& group : groups_.open()) first.descriptors.push_back(std::move(group));
  if (!Line::send_at_once(started.value().line.get(), std::move(first))) {
    return unavailable("the box program does not listen");
  }
  return std::move(started.value().line);
}

Result<Unit> NamespacesSandbox::start_zygote() {
  auto line = launch_zygote();
  if (!line) return line.error();
  Packet answer;
  if (!Line::receive_at_once(line.value().get(), answer, static_cast<int>(prepare_patience.value))) {
    return unavailable("the box program does not answer");
  }
  if (auto prepared = take_prepared(answer); !prepared) return prepared;
  listen(std::move(line).take());
  return Unit{};
}

void NamespacesSandbox::listen(OwnedFd line) {
  line_ = std::make_unique<Line>(
      reactor_, std::move(line), [this](Packet packet) { heard(std::move(packet)); }, [this] { on_zygote_gone(); });
}

Result<Unit> NamespacesSandbox::take_prepared(const Packet& answer) {
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
  is_prepared_ = true;
  return Unit{};
}

void NamespacesSandbox::on_zygote_gone() {
  line_.reset();
  if (closing_) return;
  if (!std::exchange(is_prepared_, false)) return be_broken("it ended before it was ready");
  log_.write(world::LogLevel::error, "zygote lost", {});
  for (const auto& [seat, number] : std::exchange(graves_, {})) forget(number);
  // The others were its children and die with it, which their own descriptors tell.
  give_up_unborn("the process that builds boxes has ended");
  bury_zygote();
}

// Nothing of it waits inside a call: runs, and other servers, must not notice how long it takes.
void NamespacesSandbox::replace_zygote() {
  auto line = launch_zygote();
  if (!line) return be_broken(line.error().what);
  zygote_timer_ = reactor_.after(prepare_patience, [this] {
    be_broken("waited " + std::to_string(prepare_patience.value / 1000) + " s for it to get ready");
  });
  listen(std::move(line).take());
  for (const auto& [seat, number] : graves_) bury(seat);
}

void NamespacesSandbox::on_prepared(const Packet& answer) {
  zygote_timer_.cancel();
  if (auto prepared = take_prepared(answer); !prepared) return be_broken(prepared.error().what);
  order_waiting();
  refill();
}

void NamespacesSandbox::be_broken(const std::string& why) {
  broken_ = "the process that builds boxes has ended, and another does not start: " + why;
  log_.write(world::LogLevel::error, "zygote not started", {{"why", broken_}});
  line_.reset();
  for (const auto& [seat, number] : std::exchange(graves_, {})) forget(number);
  bury_zygote();
  order_waiting();
}

void NamespacesSandbox::bury_zygote() {
  if (zygote_ < 0) return on_zygote_buried();
  kill(zygote_, SIGKILL);
  zygote_death_ = reactor_.watch(zygote_pidfd_.get(), {.read = true}, [this](world::Ready) { on_zygote_buried(); });
  zygote_timer_ = reactor_.after(zygote_end_patience, [this] { on_zygote_buried(); });
}

void NamespacesSandbox::on_zygote_buried() {
  zygote_timer_.cancel();
  end_zygote({0});
  if (broken_.empty()) replace_zygote();
}

void NamespacesSandbox::end_zygote(Millis patience) {
  zygote_death_.reset();
  if (zygote_ < 0) return;
  kill(zygote_, SIGKILL);
  // At once, unless the kernel holds it in a call that no signal ends: then it is left to the kernel.
  pollfd death = {zygote_pidfd_.get(), POLLIN, 0};
  if (poll(&death, 1, static_cast<int>(patience.value)) == 1) {
    waitpid(zygote_, nullptr, 0);
  } else {
    log_.write(world::LogLevel::error, "zygote not dead after SIGKILL", {{"pid", int64_t{zygote_}}});
  }
  zygote_ = -1;
  zygote_pidfd_.reset();
  rmdir(staging_.c_str());
}

}  // namespace sluice::sandbox
