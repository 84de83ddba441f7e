#include "sandbox/namespaces_sandbox.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sandbox/drivers.h"
#include "sandbox/machine.h"
#include "sandbox/orders.h"

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr Millis refill_pause = {5};  // the sandbox just claimed has the processor first
constexpr Millis refill_again = {1'000};
constexpr int64_t refill_retry_ms_max = 30'000;
constexpr std::size_t built_at_once_max = 2;
constexpr Millis beginning_patience = {5'000};
constexpr Millis zygote_end_patience = {2'000};
constexpr int64_t opening_us_max = 60'000'000;  // an opening that took longer is not tried again

Error unavailable(std::string what) { return {ErrorKind::unavailable, std::move(what)}; }

BoxSupervisor* take_first(std::deque<BoxSupervisor*>& boxes) {
  BoxSupervisor* const first = boxes.front();
  boxes.pop_front();
  return first;
}

Error no_descriptor() { return {ErrorKind::overloaded, "no file descriptor is left for another box"}; }

}  // namespace

NamespacesSandbox::SandboxMetrics::SandboxMetrics(world::Metrics& metrics)
    : warm(metrics.gauge("sluice_sandbox_warm", "Boxes built ahead that wait for a run.")),
      warm_target(metrics.gauge("sluice_sandbox_warm_target", "Boxes that ought to wait.")),
      live(metrics.gauge("sluice_sandbox_live", "Boxes in use or not proven dead yet.")),
      opened_warm(metrics.counter("sluice_sandbox_opened_total", "Boxes handed out.", "warm=\"yes\"")),
      opened_cold(metrics.counter("sluice_sandbox_opened_total", "Boxes handed out.", "warm=\"no\"")),
      open_seconds(metrics.histogram("sluice_sandbox_open_seconds", "From the request for a box to the box.")) {}

Result<std::unique_ptr<Sandbox>> open_namespaces_sandbox(SandboxOptions options, world::Reactor& reactor,
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
  GroupDirectories groups(machine, first.value().group_limits);
  auto sandbox = std::make_unique<NamespacesSandbox>(std::move(options), std::move(machine), std::move(groups), reactor,
                                                     log, metrics);
  if (auto started = sandbox->start(); !started) return std::move(started.error()).in("start the sandbox");
  prctl(PR_SET_DUMPABLE, 0);  // a sandbox of the same user must not be able to inspect the server
  return std::unique_ptr<Sandbox>(std::move(sandbox));
}

NamespacesSandbox::NamespacesSandbox(SandboxOptions options, Machine machine, GroupDirectories groups,
                                     world::Reactor& reactor, world::Log& log, world::Metrics& metrics)
    : options_(std::move(options)),
      machine_(std::move(machine)),
      groups_(std::move(groups)),
      reactor_(reactor),
      log_(log),
      metrics_(metrics),
      abilities_(abilities_of(machine_, options_.limits)),
      boxes_(std::make_shared<Boxes>(reactor)),
      zygote_(options_, machine_, groups_, reactor, log, *this) {
  metrics_.warm_target.set(options_.warm_target);
}

Result<Unit> NamespacesSandbox::start() {
  auto started = zygote_.start();
  if (started) refill();
  return started;
}

NamespacesSandbox::~NamespacesSandbox() { boxes_->map.clear(); }

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
  if (!zygote_.why_broken().empty()) return fails(unavailable(zygote_.why_broken()));
  auto plan = make_plan(options_, request, machine_);
  if (!plan) return fails(std::move(plan.error()));
  const bool is_warm = !warm_.empty();
  BoxSupervisor* box = nullptr;
  if (is_warm) {
    box = take_first(warm_);
    metrics_.warm.set(static_cast<int64_t>(warm_.size()));
  } else if (!unclaimed_.empty()) {
    box = take_first(unclaimed_);
  } else if (zygote_.is_ready()) {
    box = build(plan.value());
    if (box == nullptr) return fails(no_descriptor());
  }
  Opening opening = {.plan = std::move(plan.value()),
                     .name = std::move(request.name),
                     .done = std::move(done),
                     .asked_us = reactor_.monotonic_us(),
                     .warm = is_warm,
                     .ticket = ticket};
  if (box == nullptr) return wait_for_zygote(std::move(opening)), ticket;
  claim(*box, std::move(opening));
  refill_after(refill_pause);
  return ticket;
}

void NamespacesSandbox::give_up(uint64_t ticket) {
  const auto found = std::ranges::find_if(openings_, [&](const auto& entry) { return entry.second.ticket == ticket; });
  if (found == openings_.end()) return;
  const uint32_t number = found->first;
  auto opening = openings_.extract(found);
  if (BoxSupervisor* const box = boxes_->find(number)) {
    note(log_, "sandbox given up", *box, ms_since(opening.mapped().asked_us));
    box->kill();
  }
  fail(std::move(opening.mapped().done), unavailable("the sandbox is not wanted any more"));
}

BoxSupervisor* NamespacesSandbox::build(const Plan& plan) {
  auto made = PacketSocket::make_pair();
  if (!made) return nullptr;
  PacketSocket::Pair socket = *std::move(made);
  const uint32_t number = next_box_++;
  auto box = std::make_unique<BoxSupervisor>(number, reactor_, static_cast<BoxSupervisorListener&>(*this), groups_,
                                             BoxSupervisor::Beginning{.socket = std::move(socket.ours)});
  Packet order = {{.verb = box::Verb::build, .number = number}, {}, build_order(plan, make_upper(number))};
  order.descriptors.push_back(std::move(socket.theirs));
  zygote_.send(std::move(order));
  metrics_.live.add(1);
  return (boxes_->map[number] = std::move(box)).get();
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

void NamespacesSandbox::claim(BoxSupervisor& box, Opening opening) {
  box.name = opening.name;
  note(log_, opening.warm ? "sandbox claimed" : "sandbox ordered", box, ms_since(opening.asked_us));
  box.claim(claim_order(opening.plan, options_.state_dir, options_.harness_dir), opening.plan.environment);
  openings_.emplace(box.number(), std::move(opening));
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
  if (!zygote_.why_broken().empty()) return fail(std::move(opening.done), unavailable(zygote_.why_broken()));
  if (!zygote_.is_ready()) return wait_for_zygote(std::move(opening));
  BoxSupervisor* const box = build(opening.plan);
  if (box == nullptr) return fail(std::move(opening.done), no_descriptor());
  claim(*box, std::move(opening));
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
  if (closing_ || !zygote_.is_ready()) return;
  while (std::cmp_less(warm_.size() + unclaimed_.size(), options_.warm_target) &&
         unclaimed_.size() < built_at_once_max) {
    BoxSupervisor* const box = build(zygote_.plan());
    if (box == nullptr) return refill_after(refill_again);
    unclaimed_.push_back(box);
  }
}

void NamespacesSandbox::on_zygote_packet(Packet packet) {
  if (packet.head.verb == box::Verb::groups_removed) {
    const auto removal = removals_.extract(static_cast<uint64_t>(packet.head.a));
    if (removal) forget(removal.mapped());
    return;
  }
  last_built_us_ = reactor_.monotonic_us();
  BoxSupervisor* const box = boxes_->find(packet.head.number);
  if (box == nullptr) return kill_unwanted(packet);
  if (packet.head.verb == box::Verb::built) return box->on_built(std::move(packet));
  if (packet.head.verb == box::Verb::build_failed) {
    box->on_build_failed(static_cast<uint64_t>(packet.head.b), Loss::refused, packet.payload);
  }
}

void NamespacesSandbox::kill_unwanted(const Packet& built) {
  if (built.head.verb != box::Verb::built) return;
  if (!built.descriptors.empty()) {
    syscall(SYS_pidfd_send_signal, built.descriptors[0].get(), SIGKILL, nullptr, 0);
  }
  if (!groups_.controllers().empty()) remove_groups(static_cast<uint64_t>(built.head.b));
}

void NamespacesSandbox::on_ready(BoxSupervisor& box) {
  note(log_, "sandbox ready", box, box.age_ms());
  if (std::erase(unclaimed_, &box) == 0) return;  // a request waits for it, and its claim was sent already
  refill_failures_ = 0;
  warm_.push_back(&box);
  metrics_.warm.set(static_cast<int64_t>(warm_.size()));
  refill();
}

void NamespacesSandbox::on_claimed(BoxSupervisor& box, WorkspaceDirectories shown) {
  auto opening = openings_.extract(box.number());
  if (!opening) return box.kill();
  Opening& asked = opening.mapped();
  note(log_, "sandbox opened", box, ms_since(asked.asked_us));
  (asked.warm ? metrics_.opened_warm : metrics_.opened_cold).add();
  metrics_.open_seconds.observe_us(reactor_.monotonic_us() - asked.asked_us);
  asked.done(std::unique_ptr<Box>(std::make_unique<BoxHandle>(boxes_, box.number(), std::move(shown), asked.warm)));
}

void NamespacesSandbox::on_lost(BoxSupervisor& box, Loss loss, const std::string& what) {
  const bool was_spare = std::erase(unclaimed_, &box) + std::erase(warm_, &box) > 0;
  metrics_.warm.set(static_cast<int64_t>(warm_.size()));
  if (auto opening = openings_.extract(box.number())) {
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
  if (box.lost) std::exchange(box.lost, nullptr)(what);
}

void NamespacesSandbox::on_dead(BoxSupervisor& box) {
  note(log_, "sandbox ended", box, box.age_ms());
  const bool has_no_zygote = !zygote_.is_connected() && (closing_ || !zygote_.why_broken().empty());
  if (groups_.controllers().empty() || box.slot() == 0 || has_no_zygote) return forget(box.number());
  // Its groups can only be removed when no process is in them, which is the second half of the proof.
  removals_[box.slot()] = box.number();
  box.wait_for_proof("its control groups to be empty");
  if (zygote_.is_connected()) remove_groups(box.slot());
}

void NamespacesSandbox::remove_groups(uint64_t slot) {
  zygote_.send({{.verb = box::Verb::remove_groups, .a = static_cast<int64_t>(slot)}, {}, {}});
}

void NamespacesSandbox::on_overdue(BoxSupervisor& box, const std::string& what) {
  log_.write(world::LogLevel::error, "sandbox not proven dead",
             {{"number", int64_t{box.number()}}, {"slot", static_cast<int64_t>(box.slot())}, {"why", what}});
  box.report_dead(unavailable(what));
}

void NamespacesSandbox::forget(uint32_t number) {
  auto found = boxes_->map.extract(number);
  if (!found) return;
  metrics_.live.add(-1);
  note(log_, "sandbox gone", *found.mapped(), found.mapped()->age_ms());
  if (!machine_.tmpfs_xattrs) {
    std::error_code ignored;
    fs::remove_all(options_.state_dir + "/boxes/b" + std::to_string(number), ignored);
  }
  // It may be the caller.
  reactor_.defer([box = std::move(found.mapped())] { box->report_dead(Unit{}); });
  end_zygote_if_empty();
}

void NamespacesSandbox::on_zygote_lost() {
  forget_removals();
  // The others were its children and die with it, as their own descriptors show.
  give_up_unstarted("the process that builds boxes has ended");
}

void NamespacesSandbox::on_zygote_launched() {
  for (const auto& [slot, number] : removals_) remove_groups(slot);
}

void NamespacesSandbox::on_zygote_ready() {
  order_waiting();
  refill();
}

void NamespacesSandbox::on_zygote_broken() {
  forget_removals();
  order_waiting();
}

// No zygote will say any more that these groups are removed.
void NamespacesSandbox::forget_removals() {
  for (const auto& [slot, number] : std::exchange(removals_, {})) forget(number);
}

void NamespacesSandbox::give_up_unstarted(const std::string& why) {
  std::vector<uint32_t> unstarted;
  for (const auto& [number, box] : boxes_->map) {
    if (!box->has_process()) unstarted.push_back(number);
  }
  for (const uint32_t number : unstarted) {
    if (BoxSupervisor* const box = boxes_->find(number)) box->on_build_failed(0, Loss::vanished, why);
  }
}

void NamespacesSandbox::close(Callback<void()> done) {
  if (closing_ && !zygote_.is_running()) return reactor_.defer(std::move(done));
  when_closed_.push_back(std::move(done));
  if (std::exchange(closing_, true)) return;
  refill_timer_.cancel();
  zygote_.close();
  without_zygote_.clear();
  warm_.clear();
  unclaimed_.clear();
  metrics_.warm.set(0);
  for (auto& [number, opening] : std::exchange(openings_, {})) {
    fail(std::move(opening.done), unavailable("the sandbox is closing"));
  }
  if (!zygote_.is_connected()) forget_removals();
  for (const auto& [number, box] : boxes_->map) box->kill();
  close_timer_ = reactor_.after(beginning_patience, [this] {
    give_up_unstarted("the sandbox is closing");
    // All of them have been killed by now; each may take so long to die, and as long again to lose its groups.
    close_timer_ = reactor_.after({2 * end_patience.value}, [this] { abandon_undead(); });
  });
  reactor_.defer([this] { end_zygote_if_empty(); });
}

void NamespacesSandbox::end_zygote_if_empty() {
  if (!closing_ || !boxes_->map.empty() || zygote_.is_ending() || when_closed_.empty()) return;
  if (!zygote_.is_running()) return finish_close();
  zygote_.hang_up([this] { finish_close(); });
  close_timer_ = reactor_.after(beginning_patience, [this] { finish_close(); });
}

void NamespacesSandbox::abandon_undead() {
  log_.write(world::LogLevel::error, "sandboxes not proven dead while closing",
             {{"count", static_cast<int64_t>(boxes_->map.size())}});
  auto undead = std::exchange(boxes_->map, {});
  for (auto& [number, box] : undead) box->report_dead(unavailable("the sandbox is closing"));
  end_zygote_if_empty();
}

void NamespacesSandbox::finish_close() {
  zygote_.end(zygote_end_patience);
  groups_.remove();
  close_timer_.cancel();
  for (auto& done : std::exchange(when_closed_, {})) done();
}

}  // namespace sluice::sandbox
