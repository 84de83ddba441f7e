#include "sandbox/oci_driver.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "sandbox/box_program.h"
#include "sandbox/machine.h"
#include "sandbox/oci_bundle.h"

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr int attempts_max = 3;

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
  reap_left_containers(runtime.value());
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

void OciSandbox::open(BoxRequest request, Done done) {
  if (closing_) return fail(std::move(done), unavailable("the sandbox is closing"));
  attempt(std::move(request), attempts_max - 1, std::move(done));
}

void OciSandbox::attempt(BoxRequest request, int attempts_left, Done done) {
  auto plan = make_plan(options_, request, machine_);
  if (!plan) return fail(std::move(done), std::move(plan.error()));
  const uint32_t number = next_number_++;
  Container container;
  container.request = std::move(request);
  container.attempts_left = attempts_left;
  container.environment = plan.value().environment;
  if (auto launched = launch(number, plan.value(), container); !launched) {
    return fail(std::move(done), std::move(launched.error()).in("open a box"));
  }
  container.done = std::move(done);
  containers_->map.emplace(number, std::move(container));
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
  Line::send_at_once(started.value().line.get(), std::move(order));
  container.cell = std::make_unique<Cell>(number, reactor_, *this, groups_, std::move(started.value().line),
                                          (plan.namespaces & namespace_network) != 0);
  return Unit{};
}

// First its workspace, while it is being laid out; then the box itself, from inside.
void OciSandbox::on_claimed(Cell& cell, Shown shown) { containers_->map.at(cell.number()).shown = std::move(shown); }

void OciSandbox::on_ready(Cell& cell) {
  Container& container = containers_->map.at(cell.number());
  if (!container.done) return;
  cell.claim("", container.environment);
  std::exchange(container.done, nullptr)(std::unique_ptr<Box>(
      std::make_unique<NamespacesBox>(containers_, cell.number(), std::move(container.shown), false)));
}

void OciSandbox::on_lost(Cell& cell, Loss, const std::string& what) {
  // Its runtime may have ended before its line did: then nobody else would say that it is to be forgotten. The map is
  // empty once we are gone.
  reactor_.defer([this, kept = containers_, number = cell.number()] {
    if (kept->map.contains(number)) forget_if_dead(number);
  });
  Container& container = containers_->map.at(cell.number());
  if (container.done) {
    const std::string complaint = last_line(log_of(cell.number()));
    const std::string why = complaint.empty() ? what : runtime_.name + ": " + complaint;
    const std::string& name = container.request.name;
    if (!closing_ && container.attempts_left > 0 && lost_its_group(complaint)) {
      log_.write(world::LogLevel::warn, "box tried again", {{"box", name}, {"why", why}});
      return attempt(std::move(container.request), container.attempts_left - 1, std::exchange(container.done, nullptr));
    }
    log_.write(world::LogLevel::error, "box not opened", {{"box", name}, {"why", why}});
    return std::exchange(container.done, nullptr)(unavailable("open a box: " + why));
  }
  if (cell.lost) std::exchange(cell.lost, nullptr)(what);
}

void OciSandbox::on_dead(Cell& cell) {
  containers_->map.at(cell.number()).init_ended = true;
  forget_if_dead(cell.number());
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
  if (container.runtime_end) return;
  Cell& cell = *container.cell;
  if (cell.is_born() && !container.init_ended) return cell.kill();
  // Of a box that never came up the line tells.
  if (!cell.is_dying()) return;
  std::error_code ignored;
  fs::remove(log_of(number), ignored);
  reactor_.defer([dead = std::move(container.cell)] {
    for (auto& done : std::exchange(dead->when_dead, {})) done();
  });
  if (container.done) fail(std::move(container.done), unavailable("the sandbox is closing"));
  containers_->map.erase(number);
  close_if_empty();
}

void OciSandbox::close(Callback<void()> done) {
  when_closed_.push_back(std::move(done));
  closing_ = true;
  for (auto& [number, container] : containers_->map) container.cell->kill();
  reactor_.defer([this] { close_if_empty(); });
}

void OciSandbox::close_if_empty() {
  if (!closing_ || !containers_->map.empty()) return;
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
