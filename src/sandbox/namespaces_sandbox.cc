#include "sandbox/namespaces_sandbox.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sandbox/box_program.h"
#include "sandbox/machine.h"
#include "sandbox/orders.h"
#include "sandbox/syscall_filter.h"

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr int prepare_ms_max = 10'000;
constexpr Millis refill_pause = {5};  // the box just claimed has the processor first
constexpr Millis refill_again = {1'000};
constexpr int64_t refill_retry_ms_max = 30'000;
constexpr std::size_t built_at_once_max = 2;
constexpr std::size_t spare_seats = 2;
constexpr uint64_t seats_of_a_zygote = 1'000'000'000;  // no seat has the number of an earlier zygote's
constexpr Millis birth_patience = {5'000};
constexpr int64_t opening_us_max = 60'000'000;  // an opening that took longer is not tried again
constexpr int zygote_end_ms_max = 2'000;

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

Cell* take_first(std::deque<Cell*>& cells) {
  Cell* const first = cells.front();
  cells.pop_front();
  return first;
}

Error no_descriptor() { return {ErrorKind::overloaded, "no file descriptor is left for another box"}; }

}  // namespace

NamespacesSandbox::Figures::Figures(world::Metrics& metrics)
    : warm(metrics.gauge("sluice_sandbox_warm", "Boxes built ahead that wait for a run.")),
      warm_target(metrics.gauge("sluice_sandbox_warm_target", "Boxes that ought to wait.")),
      live(metrics.gauge("sluice_sandbox_live", "Boxes in use or not proven dead yet.")),
      opened_warm(metrics.counter("sluice_sandbox_opened_total", "Boxes handed out.", "warm=\"yes\"")),
      opened_cold(metrics.counter("sluice_sandbox_opened_total", "Boxes handed out.", "warm=\"no\"")),
      open_seconds(metrics.histogram("sluice_sandbox_open_seconds", "From the request for a box to the box.")) {}

Result<std::unique_ptr<Sandbox>> NamespacesSandbox::open(SandboxOptions options, world::Reactor& reactor,
                                                         world::Log& log, world::Metrics& metrics) {
  while (options.state_dir.size() > 1 && options.state_dir.ends_with('/')) options.state_dir.pop_back();
  if (!options.state_dir.starts_with('/')) {
    return Error{ErrorKind::invalid, "the sandbox's state directory must be absolute, not '" + options.state_dir + "'"};
  }
  Machine machine = probe_machine(options);
  if (!machine.user_namespaces)
    return unavailable("this machine allows no user namespaces: " + abilities_of(machine, options.limits)[0].means);
  if (machine.root.empty()) return unavailable("there is no image in " + options.root);
  if (const int count = reap_left_groups(machine); count > 0) {
    log.write(world::LogLevel::warn, "sandbox groups reaped", {{"count", int64_t{count}}});
  }
  const auto first = make_plan(options, {}, machine);
  if (!first) return first.error();
  GroupHome groups(machine, first.value().group_limits);
  auto sandbox = std::make_unique<NamespacesSandbox>(std::move(options), std::move(machine), std::move(groups), reactor,
                                                     log, metrics);
  if (auto started = sandbox->start_zygote(); !started) return std::move(started.error()).in("start the sandbox");
  prctl(PR_SET_DUMPABLE, 0);  // a box of the same user must not look into the server
  sandbox->refill();
  return std::unique_ptr<Sandbox>(std::move(sandbox));
}

NamespacesSandbox::NamespacesSandbox(SandboxOptions options, Machine machine, GroupHome groups, world::Reactor& reactor,
                                     world::Log& log, world::Metrics& metrics)
    : options_(std::move(options)),
      machine_(std::move(machine)),
      groups_(std::move(groups)),
      reactor_(reactor),
      log_(log),
      figures_(metrics),
      abilities_(abilities_of(machine_, options_.limits)),
      cells_(std::make_shared<Cells>(reactor)) {
  figures_.warm_target.set(options_.warm_target);
}

NamespacesSandbox::~NamespacesSandbox() {
  cells_->map.clear();
  line_.reset();
  end_zygote();
}

Result<Unit> NamespacesSandbox::start_zygote() {
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
  const int line = started.value().line.get();
  Packet answer;
  if (!Line::send_at_once(line, std::move(first)) || !Line::receive_at_once(line, answer, prepare_ms_max)) {
    return unavailable("the box program does not answer");
  }
  if (answer.head.verb != box::Verb::prepared) return unavailable(answer.payload);
  const auto split = std::min(answer.payload.size(), static_cast<std::size_t>(answer.head.b));
  const std::string why_one_user = answer.payload.substr(0, split);
  const std::string what_is_shared = answer.payload.substr(split);
  if (site.user_count > 0 && answer.head.a == 0) {
    log_.write(world::LogLevel::warn, "sandboxes share one user",
               {{"why", why_one_user}, {"user", int64_t{options_.host_uid}}});
  }
  if (!what_is_shared.empty()) {
    log_.write(world::LogLevel::warn, "sandboxes share files with the host", {{"what", what_is_shared}});
  }
  line_ = std::make_unique<Line>(
      reactor_, std::move(started.value().line), [this](Packet packet) { heard(std::move(packet)); },
      [this] { on_zygote_gone(); });
  return Unit{};
}

void NamespacesSandbox::fail(Done done, Error error) {
  reactor_.defer([done = std::move(done), error = std::move(error)]() mutable { done(std::move(error)); });
}

uint64_t NamespacesSandbox::open(BoxRequest request, Done done) {
  const uint64_t ticket = next_ticket_++;
  const auto fails = [&](Error error) {
    fail(std::move(done), std::move(error));
    return ticket;
  };
  if (closing_) return fails(unavailable("the sandbox is closing"));
  if (!broken_.empty()) return fails(unavailable(broken_));
  auto plan = make_plan(options_, request, machine_);
  if (!plan) return fails(std::move(plan.error()));
  const bool is_warm = !warm_.empty();
  Cell* cell = nullptr;
  if (is_warm) {
    cell = take_first(warm_);
    figures_.warm.set(static_cast<int64_t>(warm_.size()));
  } else if (!unclaimed_.empty()) {
    cell = take_first(unclaimed_);
  } else {
    cell = build(plan.value());
  }
  if (cell == nullptr) return fails(no_descriptor());
  claim(*cell, {.plan = std::move(plan.value()),
                .name = std::move(request.name),
                .done = std::move(done),
                .asked_us = reactor_.monotonic_us(),
                .warm = is_warm,
                .ticket = ticket});
  refill_after(refill_pause);
  return ticket;
}

void NamespacesSandbox::give_up(uint64_t ticket) {
  const auto found = std::ranges::find_if(openings_, [&](const auto& entry) { return entry.second.ticket == ticket; });
  if (found == openings_.end()) return;
  const uint32_t number = found->first;
  auto opening = openings_.extract(found);
  if (Cell* const cell = cells_->find(number)) {
    note(log_, "sandbox given up", *cell, ms_since(opening.mapped().asked_us));
    cell->kill();
  }
  fail(std::move(opening.mapped().done), unavailable("the sandbox is not wanted any more"));
}

Cell* NamespacesSandbox::build(const Plan& plan) {
  auto made = Line::make_pair();
  if (!made) return nullptr;
  Line::Pair line = *std::move(made);
  const uint32_t number = next_box_++;
  auto cell = std::make_unique<Cell>(number, reactor_, static_cast<CellKeeper&>(*this), groups_,
                                     Cell::Birth{.line = std::move(line.ours)});
  Packet order = {{.verb = box::Verb::build, .number = number}, {}, build_order(plan, make_upper(number))};
  order.descriptors.push_back(std::move(line.theirs));
  line_->send(std::move(order));
  figures_.live.add(1);
  return (cells_->map[number] = std::move(cell)).get();
}

// Where a tmpfs cannot be an upper layer, a directory stands in.
std::string NamespacesSandbox::make_upper(uint32_t number) const {
  if (machine_.tmpfs_xattrs) return "";
  std::string name = "boxes/b" + std::to_string(number);
  const std::string path = options_.state_dir + "/" + name;
  if (mkdir(path.c_str(), 0755) == 0 && machine_.is_root) {
    if (chown(path.c_str(), options_.host_uid, options_.host_uid) != 0) return name;
  }
  return name;
}

void NamespacesSandbox::claim(Cell& cell, Opening opening) {
  cell.name = opening.name;
  note(log_, opening.warm ? "sandbox claimed" : "sandbox ordered", cell, ms_since(opening.asked_us));
  cell.claim(claim_order(opening.plan, options_.state_dir, options_.harness_dir), opening.plan.environment);
  openings_.emplace(cell.number(), std::move(opening));
}

// In a moment: if the zygote is gone, that is not known yet, and another must be started first.
void NamespacesSandbox::retry(Opening opening) {
  const uint32_t number = next_box_++;
  opening.warm = false;
  Opening& kept = openings_[number] = std::move(opening);
  kept.retry = reactor_.after(refill_pause, [this, number] {
    auto found = openings_.extract(number);
    if (!found) return;
    if (!line_) return found.mapped().done(unavailable(broken_));
    Cell* const cell = build(found.mapped().plan);
    if (cell == nullptr) return found.mapped().done(no_descriptor());
    claim(*cell, std::move(found.mapped()));
  });
}

void NamespacesSandbox::refill_after(Millis delay) {
  refill_timer_ = reactor_.after(delay, [this] { refill(); });
}

void NamespacesSandbox::refill() {
  if (closing_ || !broken_.empty()) return;
  while (std::cmp_less(warm_.size() + unclaimed_.size(), options_.warm_target) &&
         unclaimed_.size() < built_at_once_max) {
    Cell* const cell = build(warm_plan_);
    if (cell == nullptr) return refill_after(refill_again);
    unclaimed_.push_back(cell);
  }
}

void NamespacesSandbox::heard(Packet packet) {
  if (packet.head.verb == box::Verb::buried) {
    const auto grave = graves_.extract(static_cast<uint64_t>(packet.head.a));
    if (grave) forget(grave.mapped());
    return;
  }
  last_built_us_ = reactor_.monotonic_us();
  Cell* const cell = cells_->find(packet.head.number);
  if (cell == nullptr) return kill_unwanted(packet);
  if (packet.head.verb == box::Verb::built) return cell->on_built(std::move(packet));
  if (packet.head.verb == box::Verb::build_failed) {
    cell->on_build_failed(static_cast<uint64_t>(packet.head.b), Loss::refused, packet.payload);
  }
}

void NamespacesSandbox::kill_unwanted(const Packet& built) {
  if (built.head.verb != box::Verb::built) return;
  if (!built.descriptors.empty()) {
    syscall(SYS_pidfd_send_signal, built.descriptors[0].get(), SIGKILL, nullptr, 0);
  }
  if (!groups_.controllers().empty()) line_->send({{.verb = box::Verb::bury, .a = built.head.b}, {}, {}});
}

void NamespacesSandbox::on_ready(Cell& cell) {
  note(log_, "sandbox ready", cell, cell.age_ms());
  if (std::erase(unclaimed_, &cell) == 0) return;  // somebody waits for it: it has its claim already
  refill_failures_ = 0;
  warm_.push_back(&cell);
  figures_.warm.set(static_cast<int64_t>(warm_.size()));
  refill();
}

void NamespacesSandbox::on_claimed(Cell& cell, Shown shown) {
  auto opening = openings_.extract(cell.number());
  if (!opening) return cell.kill();
  Opening& asked = opening.mapped();
  note(log_, "sandbox opened", cell, ms_since(asked.asked_us));
  (asked.warm ? figures_.opened_warm : figures_.opened_cold).add();
  figures_.open_seconds.observe_us(reactor_.monotonic_us() - asked.asked_us);
  asked.done(
      std::unique_ptr<Box>(std::make_unique<NamespacesBox>(cells_, cell.number(), std::move(shown), asked.warm)));
}

void NamespacesSandbox::on_lost(Cell& cell, Loss loss, const std::string& what) {
  const bool was_spare = std::erase(unclaimed_, &cell) + std::erase(warm_, &cell) > 0;
  figures_.warm.set(static_cast<int64_t>(warm_.size()));
  if (auto opening = openings_.extract(cell.number())) {
    Opening& asked = opening.mapped();
    const bool is_young = reactor_.monotonic_us() - asked.asked_us < opening_us_max;
    if (loss == Loss::vanished && is_young && asked.attempts_left-- > 0) {
      log_.write(world::LogLevel::warn, "sandbox tried again", {{"sandbox", asked.name}, {"why", what}});
      return retry(std::move(asked));
    }
    log_.write(world::LogLevel::error, "sandbox not opened", {{"sandbox", asked.name}, {"why", what}});
    return asked.done(unavailable(what));
  }
  if (was_spare) {
    log_.write(world::LogLevel::warn, "spare sandbox lost", {{"why", what}});
    refill_after({std::min<int64_t>(1'000LL * ++refill_failures_, refill_retry_ms_max)});
    return;
  }
  if (cell.lost) std::exchange(cell.lost, nullptr)(what);
}

void NamespacesSandbox::on_dead(Cell& cell) {
  note(log_, "sandbox ended", cell, cell.age_ms());
  if (groups_.controllers().empty() || cell.seat() == 0 || !line_) return forget(cell.number());
  // Its groups can only be removed when nobody is in them, which is the second half of the proof.
  graves_[cell.seat()] = cell.number();
  cell.wait_for_proof("its control groups to be empty");
  line_->send({{.verb = box::Verb::bury, .a = static_cast<int64_t>(cell.seat())}, {}, {}});
}

void NamespacesSandbox::on_overdue(Cell& cell, const std::string& what) {
  log_.write(world::LogLevel::error, "sandbox not proven dead",
             {{"number", int64_t{cell.number()}}, {"seat", static_cast<int64_t>(cell.seat())}, {"why", what}});
  cell.answer_killers(unavailable(what));
}

void NamespacesSandbox::forget(uint32_t number) {
  auto found = cells_->map.extract(number);
  if (!found) return;
  figures_.live.add(-1);
  note(log_, "sandbox gone", *found.mapped(), found.mapped()->age_ms());
  if (!machine_.tmpfs_xattrs) {
    std::error_code ignored;
    fs::remove_all(options_.state_dir + "/boxes/b" + std::to_string(number), ignored);
  }
  // It may be what called us.
  reactor_.defer([cell = std::move(found.mapped())] { cell->answer_killers(Unit{}); });
  end_zygote_if_empty();
}

void NamespacesSandbox::on_zygote_gone() {
  line_.reset();
  if (closing_) return;
  log_.write(world::LogLevel::error, "zygote lost", {});
  end_zygote();
  for (const auto& [seat, number] : std::exchange(graves_, {})) forget(number);
  // The others were its children and die with it, which their own descriptors tell.
  give_up_unborn("the process that builds boxes has ended");
  if (auto started = start_zygote(); !started) {
    end_zygote();
    broken_ = "the process that builds boxes has ended, and another does not start: " + started.error().what;
    log_.write(world::LogLevel::error, "zygote not started", {{"why", broken_}});
  }
  refill_after(refill_pause);
}

void NamespacesSandbox::end_zygote() {
  zygote_death_.reset();
  if (zygote_ < 0) return;
  kill(zygote_, SIGKILL);
  // At once, unless the kernel holds it in a call that no signal ends: then it is left to the kernel.
  pollfd death = {zygote_pidfd_.get(), POLLIN, 0};
  if (poll(&death, 1, zygote_end_ms_max) == 1) {
    waitpid(zygote_, nullptr, 0);
  } else {
    log_.write(world::LogLevel::error, "zygote not dead after SIGKILL", {{"pid", int64_t{zygote_}}});
  }
  zygote_ = -1;
  zygote_pidfd_.reset();
  rmdir(staging_.c_str());
}

void NamespacesSandbox::give_up_unborn(const std::string& why) {
  std::vector<uint32_t> unborn;
  for (const auto& [number, cell] : cells_->map) {
    if (!cell->is_born()) unborn.push_back(number);
  }
  for (const uint32_t number : unborn) {
    if (Cell* const cell = cells_->find(number)) cell->on_build_failed(0, Loss::vanished, why);
  }
}

void NamespacesSandbox::close(Callback<void()> done) {
  if (closing_ && zygote_ < 0) return reactor_.defer(std::move(done));
  when_closed_.push_back(std::move(done));
  if (std::exchange(closing_, true)) return;
  refill_timer_.cancel();
  warm_.clear();
  unclaimed_.clear();
  figures_.warm.set(0);
  for (auto& [number, opening] : std::exchange(openings_, {})) {
    fail(std::move(opening.done), unavailable("the sandbox is closing"));
  }
  for (const auto& [number, cell] : cells_->map) cell->kill();
  close_timer_ = reactor_.after(birth_patience, [this] {
    give_up_unborn("the sandbox is closing");
    // All of them have been killed by now, and each is waited for so long, and for as long again to be buried.
    close_timer_ = reactor_.after({2 * end_patience.value}, [this] { abandon_undead(); });
  });
  reactor_.defer([this] { end_zygote_if_empty(); });
}

void NamespacesSandbox::end_zygote_if_empty() {
  if (!closing_ || !cells_->map.empty() || zygote_death_ || when_closed_.empty()) return;
  line_.reset();
  if (!zygote_pidfd_) return finish_close();
  zygote_death_ = reactor_.watch(zygote_pidfd_.get(), {.read = true}, [this](world::Ready) { finish_close(); });
  close_timer_ = reactor_.after(birth_patience, [this] { finish_close(); });
}

void NamespacesSandbox::abandon_undead() {
  log_.write(world::LogLevel::error, "sandboxes not proven dead while closing",
             {{"count", static_cast<int64_t>(cells_->map.size())}});
  auto undead = std::exchange(cells_->map, {});
  for (auto& [number, cell] : undead) cell->answer_killers(unavailable("the sandbox is closing"));
  end_zygote_if_empty();
}

void NamespacesSandbox::finish_close() {
  end_zygote();
  groups_.remove();
  close_timer_.cancel();
  auto told = std::exchange(when_closed_, {});
  for (auto& tell : told) tell();
}

}  // namespace sluice::sandbox
