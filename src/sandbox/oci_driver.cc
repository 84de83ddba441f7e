#include "sandbox/oci_driver.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "sandbox/box_program.h"
#include "sandbox/machine.h"
#include "sandbox/oci_bundle.h"

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr Millis reap_patience = {30'000};  // for all that an earlier server left
constexpr int attempts_max = 3;
constexpr Millis birth_patience = {30'000};    // a runtime is no zygote: it starts programs and moves groups
constexpr Millis runtime_patience = {10'000};  // to clean up, once its box is dead or given up

Error unavailable(std::string what) { return {ErrorKind::unavailable, std::move(what)}; }

// The last line of what the runtime wrote down, which is why it gave up.
std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

Cell* OciSandbox::Containers::find(uint32_t number) {
  const auto found = map.find(number);
  return found == map.end() ? nullptr : found->second.cell.get();
}

std::vector<Ability> oci_abilities(const SandboxOptions& options, const Machine& machine) {
  const auto runtime = find_runtime(options, machine);
  std::vector<Ability> list = {{"OCI runtime", static_cast<bool>(runtime),
                                runtime ? runtime.value().path + " builds the boxes" : runtime.error().what}};
  for (auto& ability : abilities_of(machine, options.limits)) list.push_back(std::move(ability));
  return list;
}

Result<std::unique_ptr<Sandbox>> OciSandbox::open(SandboxOptions options, world::Reactor& reactor, world::Log& log) {
  if (!options.state_dir.starts_with('/')) {
    return Error{ErrorKind::invalid, "the sandbox's state directory must be absolute, not '" + options.state_dir + "'"};
  }
  Machine machine = probe_machine(options);
  auto runtime = find_runtime(options, machine);
  if (!runtime) return runtime.error();
  if (machine.root.empty()) return unavailable("oci driver: there is no image in " + options.root);
  std::error_code error;
  fs::create_directories(runtime.value().state_dir, error);
  if (error) return unavailable("make " + runtime.value().state_dir + ": " + error.message());
  if (const int count = reap_left_containers(runtime.value(), reap_patience); count > 0) {
    log.write(world::LogLevel::warn, "sandboxes of an earlier server not removed",
              {{"count", int64_t{count}}, {"waited_ms", reap_patience.value}});
  }
  reap_left_groups(machine);
  const auto first = make_plan(options, {}, machine);
  if (!first) return first.error();
  GroupHome groups(machine, first.value().group_limits);
  const std::string memory = groups.directory("memory");
  if (!memory.empty()) runtime.value().groups_path = path_in_hierarchy(memory, machine.control_groups);
  reap_groups_elsewhere(runtime.value(), machine);
  prctl(PR_SET_DUMPABLE, 0);  // a box that got out must not look into the server
  return std::unique_ptr<Sandbox>(std::make_unique<OciSandbox>(
      std::move(options), std::move(machine), std::move(groups), std::move(runtime).take(), reactor, log));
}

OciSandbox::OciSandbox(SandboxOptions options, Machine machine, GroupHome groups, OciRuntime runtime,
                       world::Reactor& reactor, world::Log& log)
    : options_(std::move(options)),
      machine_(std::move(machine)),
      groups_(std::move(groups)),
      runtime_(std::move(runtime)),
      reactor_(reactor),
      log_(log),
      abilities_(oci_abilities(options_, machine_)),
      containers_(std::make_shared<Containers>(reactor)) {}

OciSandbox::~OciSandbox() {
  // Without its line a box ends, and its runtime cleans up after it.
  containers_->map.clear();
  remove_groups();
}

void OciSandbox::fail(Done done, Error error) {
  reactor_.defer([done = std::move(done), error = std::move(error)]() mutable { done(std::move(error)); });
}

uint64_t OciSandbox::open(BoxRequest request, Done done) {
  const uint64_t ticket = next_ticket_++;
  if (closing_) {
    fail(std::move(done), unavailable("the sandbox is closing"));
  } else {
    attempt({std::move(request), attempts_max - 1, ticket, std::move(done)});
  }
  return ticket;
}

void OciSandbox::attempt(Opening opening) {
  auto plan = make_plan(options_, opening.request, machine_);
  if (!plan) return fail(std::move(opening.done), std::move(plan.error()));
  const uint32_t number = next_number_++;
  Container container;
  container.environment = plan.value().environment;
  if (auto launched = launch(number, plan.value(), container); !launched) {
    return fail(std::move(opening.done), std::move(launched.error()));
  }
  container.opening = std::move(opening);
  container.cell->name = container.opening.request.name;
  note(log_, "sandbox ordered", *container.cell, 0);
  containers_->map.emplace(number, std::move(container));
}

void OciSandbox::give_up(uint64_t ticket) {
  for (auto& [number, container] : containers_->map) {
    if (!container.opening.done || container.opening.ticket != ticket) continue;
    fail(std::exchange(container.opening.done, nullptr), unavailable("the sandbox is not wanted any more"));
    note(log_, "sandbox given up", *container.cell, container.cell->age_ms());
    container.cell->kill();
    return forget_later(number);
  }
}

Result<Unit> OciSandbox::launch(uint32_t number, const Plan& plan, Container& container) {
  const std::string groups = runtime_.groups_path.empty() ? "" : runtime_.groups_path + "/s" + std::to_string(number);
  const OciPlace place = {.cgroups_path = groups};
  auto started = start_box_program("launch");
  if (!started) return started.error();
  container.runtime = started.value().process;
  container.runtime_pidfd = OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, container.runtime, 0)));
  container.runtime_end = reactor_.watch(container.runtime_pidfd.get(), {.read = true},
                                         [this, number](world::Ready) { on_runtime_ended(number); });
  const auto command = runtime_.run_command(id_of(number), place.stage + "/bundle", log_of(number));
  Packet order = {{.verb = box::Verb::build, .number = number}, {}, {}};
  order.payload = launch_order(plan, place, runtime_.hides, command);
  const bool is_sent = Line::send_at_once(started.value().line.get(), std::move(order));
  container.cell =
      std::make_unique<Cell>(number, reactor_, *this, groups_,
                             Cell::Birth{.line = std::move(started.value().line), .patience = birth_patience});
  if (is_sent) return Unit{};
  kill(container.runtime, SIGKILL);
  waitpid(container.runtime, nullptr, 0);
  container.runtime_end.reset();
  return unavailable("tell the runtime what to build: " + std::string(std::strerror(errno)));
}

// First its workspace, while it is being laid out; then the box itself, from inside.
void OciSandbox::on_claimed(Cell& cell, Shown shown) { containers_->map.at(cell.number()).shown = std::move(shown); }

void OciSandbox::on_ready(Cell& cell) {
  Container& container = containers_->map.at(cell.number());
  if (!container.opening.done) return;
  note(log_, "sandbox opened", cell, cell.age_ms());
  cell.claim("", container.environment);
  std::exchange(container.opening.done, nullptr)(std::unique_ptr<Box>(
      std::make_unique<NamespacesBox>(containers_, cell.number(), std::move(container.shown), false)));
}

void OciSandbox::on_lost(Cell& cell, Loss, const std::string& what) {
  // Its runtime may have ended before its line did: then nobody else would say that it is to be forgotten.
  forget_later(cell.number());
  Opening& opening = containers_->map.at(cell.number()).opening;
  if (opening.done) {
    const std::string complaint = last_line(log_of(cell.number()));
    const std::string why = complaint.empty() ? what : runtime_.name + ": " + complaint;
    const std::string& name = opening.request.name;
    if (!closing_ && opening.attempts_left-- > 0 && lost_its_group(complaint)) {
      log_.write(world::LogLevel::warn, "sandbox tried again", {{"sandbox", name}, {"why", why}});
      return attempt(std::exchange(opening, {}));
    }
    log_.write(world::LogLevel::error, "sandbox not opened", {{"sandbox", name}, {"why", why}});
    return std::exchange(opening.done, nullptr)(unavailable(why));
  }
  if (cell.lost) std::exchange(cell.lost, nullptr)(what);
}

void OciSandbox::on_dead(Cell& cell) {
  note(log_, "sandbox ended", cell, cell.age_ms());
  containers_->map.at(cell.number()).init_ended = true;
  forget_if_dead(cell.number());
}

void OciSandbox::on_overdue(Cell& cell, const std::string& what) {
  log_.write(world::LogLevel::error, "sandbox not proven dead", {{"sandbox", id_of(cell.number())}, {"why", what}});
  cell.answer_killers(unavailable(what));
}

// The map is empty once we are gone.
void OciSandbox::forget_later(uint32_t number) {
  reactor_.defer([this, kept = containers_, number] {
    if (kept->map.contains(number)) forget_if_dead(number);
  });
}

// Nothing of its box is left for it to wait for.
void OciSandbox::end_runtime(Container& container) {
  container.cell->wait_for_proof("its runtime to end");
  container.runtime_patience =
      reactor_.after(runtime_patience, [this, pid = container.runtime, pidfd = container.runtime_pidfd.get()] {
        log_.write(world::LogLevel::warn, "runtime killed", {{"runtime", runtime_.name}, {"pid", int64_t{pid}}});
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
      });
}

void OciSandbox::on_runtime_ended(uint32_t number) {
  Container& container = containers_->map.at(number);
  waitpid(container.runtime, nullptr, 0);
  // From inside the watch's own callback.
  container.runtime_end.reset();
  forget_if_dead(number);
}

void OciSandbox::forget_if_dead(uint32_t number) {
  Container& container = containers_->map.at(number);
  Cell& cell = *container.cell;
  if (container.runtime_end) {
    if (cell.is_dying() && (container.init_ended || !cell.is_born())) end_runtime(container);
    return;
  }
  if (cell.is_born() && !container.init_ended) return cell.kill();
  // Of a box that never came up the line tells.
  if (!cell.is_dying()) return;
  std::error_code ignored;
  fs::remove(log_of(number), ignored);
  note(log_, "sandbox gone", cell, cell.age_ms());
  reactor_.defer([dead = std::move(container.cell)] { dead->answer_killers(Unit{}); });
  if (container.opening.done) fail(std::move(container.opening.done), unavailable("the sandbox is closing"));
  containers_->map.erase(number);
  close_if_empty();
}

void OciSandbox::close(Callback<void()> done) {
  when_closed_.push_back(std::move(done));
  closing_ = true;
  for (auto& [number, container] : containers_->map) {
    container.cell->kill();
    forget_later(number);
  }
  close_timer_ = reactor_.after({2 * end_patience.value + runtime_patience.value}, [this] { abandon_undead(); });
  reactor_.defer([this] { close_if_empty(); });
}

void OciSandbox::abandon_undead() {
  log_.write(world::LogLevel::error, "sandboxes not proven dead while closing",
             {{"count", static_cast<int64_t>(containers_->map.size())}});
  auto undead = std::exchange(containers_->map, {});
  for (auto& [number, container] : undead) {
    if (container.opening.done) fail(std::move(container.opening.done), unavailable("the sandbox is closing"));
    container.cell->answer_killers(unavailable("the sandbox is closing"));
  }
  close_if_empty();
}

void OciSandbox::close_if_empty() {
  if (!closing_ || !containers_->map.empty()) return;
  close_timer_.cancel();
  remove_groups();
  for (auto& tell : std::exchange(when_closed_, {})) reactor_.defer(std::move(tell));
}

// Once: afterwards another Sandbox of this process may have groups of the same name.
void OciSandbox::remove_groups() {
  if (std::exchange(groups_removed_, true)) return;
  groups_.remove();
  remove_left_groups(runtime_);
}

}  // namespace sluice::sandbox
