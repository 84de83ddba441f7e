#include "sandbox/namespaces_sandbox.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sandbox/machine.h"
#include "sandbox/orders.h"

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr Millis refill_pause = {5};  // the box just claimed has the processor first
constexpr Millis refill_again = {1'000};
constexpr int64_t refill_retry_ms_max = 30'000;
constexpr std::size_t built_at_once_max = 2;
constexpr Millis birth_patience = {5'000};
constexpr int64_t opening_us_max = 60'000'000;  // an opening that took longer is not tried again

Error unavailable(std::string what) { return {ErrorKind::unavailable, std::move(what)}; }

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
  end_zygote(zygote_end_patience);
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
  } else if (is_prepared_) {
    cell = build(plan.value());
    if (cell == nullptr) return fails(no_descriptor());
  }
  Opening opening = {.plan = std::move(plan.value()),
                     .name = std::move(request.name),
                     .done = std::move(done),
                     .asked_us = reactor_.monotonic_us(),
                     .warm = is_warm,
                     .ticket = ticket};
  if (cell == nullptr) return wait_for_zygote(std::move(opening)), ticket;
  claim(*cell, std::move(opening));
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
    if (found) order(std::move(found.mapped()));
  });
}

void NamespacesSandbox::order(Opening opening) {
  if (!broken_.empty()) return fail(std::move(opening.done), unavailable(broken_));
  if (!is_prepared_) return wait_for_zygote(std::move(opening));
  Cell* const cell = build(opening.plan);
  if (cell == nullptr) return fail(std::move(opening.done), no_descriptor());
  claim(*cell, std::move(opening));
}

void NamespacesSandbox::wait_for_zygote(Opening opening) {
  const uint32_t number = next_box_++;
  openings_[number] = std::move(opening);
  without_zygote_.push_back(number);
}

void NamespacesSandbox::order_waiting() {
  for (const uint32_t number : std::exchange(without_zygote_, {})) {
    auto found = openings_.extract(number);
    if (found) order(std::move(found.mapped()));
  }
}

void NamespacesSandbox::refill_after(Millis delay) {
  refill_timer_ = reactor_.after(delay, [this] { refill(); });
}

void NamespacesSandbox::refill() {
  if (closing_ || !is_prepared_) return;
  while (std::cmp_less(warm_.size() + unclaimed_.size(), options_.warm_target) &&
         unclaimed_.size() < built_at_once_max) {
    Cell* const cell = build(warm_plan_);
    if (cell == nullptr) return refill_after(refill_again);
    unclaimed_.push_back(cell);
  }
}

void NamespacesSandbox::heard(Packet packet) {
  if (!is_prepared_) return on_prepared(packet);
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
  if (!groups_.controllers().empty()) bury(static_cast<uint64_t>(built.head.b));
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
  const bool has_no_zygote = !line_ && (closing_ || !broken_.empty());
  if (groups_.controllers().empty() || cell.seat() == 0 || has_no_zygote) return forget(cell.number());
  // Its groups can only be removed when nobody is in them, which is the second half of the proof.
  graves_[cell.seat()] = cell.number();
  cell.wait_for_proof("its control groups to be empty");
  if (line_) bury(cell.seat());
}

void NamespacesSandbox::bury(uint64_t seat) {
  line_->send({{.verb = box::Verb::bury, .a = static_cast<int64_t>(seat)}, {}, {}});
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
  zygote_timer_.cancel();
  zygote_death_.reset();
  without_zygote_.clear();
  warm_.clear();
  unclaimed_.clear();
  figures_.warm.set(0);
  for (auto& [number, opening] : std::exchange(openings_, {})) {
    fail(std::move(opening.done), unavailable("the sandbox is closing"));
  }
  if (!line_) {
    for (const auto& [seat, number] : std::exchange(graves_, {})) forget(number);
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
  end_zygote(zygote_end_patience);
  groups_.remove();
  close_timer_.cancel();
  auto told = std::exchange(when_closed_, {});
  for (auto& tell : told) tell();
}

}  // namespace sluice::sandbox
