#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/box_handle.h"
#include "sandbox/box_program.h"
#include "sandbox/box_supervisor.h"
#include "sandbox/drivers.h"
#include "sandbox/machine.h"
#include "sandbox/oci_bundle.h"
#include "sandbox/oci_runtime.h"
#include "sandbox/plan.h"
#include "sandbox/sandbox.h"

namespace sluice::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr Millis reap_patience = {30'000};  // for all that an earlier server left
constexpr int attempts_max = 3;
constexpr Millis beginning_patience = {30'000};  // a runtime is no zygote: it starts programs and moves groups
constexpr Millis runtime_patience = {10'000};    // to clean up, once its sandbox is dead or given up

Error unavailable(std::string what) { return {ErrorKind::unavailable, std::move(what)}; }

// The last line of the runtime's log: the reason why it gave up.
std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

// The driver `oci`: sandboxes made by crun, runc or another OCI runtime, for machines where those are
// what an operator trusts. Needs root. What runs inside, and how it is spoken to, is the same as
// with `namespaces` (box_supervisor.h); a sandbox is always built when it is requested.
//
// The runtime stays as the parent of its container. When it has ended, and the container's first
// process with it, nothing is left: that is the proof of a sandbox's death.
class OciSandbox final : public Sandbox, public BoxSupervisorListener {
 public:
  OciSandbox(SandboxOptions options, Machine machine, GroupDirectories groups, OciRuntime runtime,
             world::Reactor& reactor, world::Log& log);
  ~OciSandbox() override;

  std::string_view driver() const override { return "oci"; }
  const std::vector<Ability>& abilities() const override { return abilities_; }
  int warm_available() const override { return 0; }
  uint64_t open(BoxRequest request, Callback<void(Result<std::unique_ptr<Box>>)> done) override;
  void give_up(uint64_t ticket) override;
  void close(Callback<void()> done) override;

 private:
  using Done = Callback<void(Result<std::unique_ptr<Box>>)>;

  // A request that a sandbox is being built for.
  struct Opening {
    BoxRequest request;
    int attempts_left = 0;
    uint64_t ticket = 0;
    Done done;  // until it is answered
  };

  // Its runtime's process, and the sandbox in it.
  struct Container {
    std::unique_ptr<BoxSupervisor> box;
    pid_t runtime = -1;
    OwnedFd runtime_pidfd;
    std::unique_ptr<world::Watch> runtime_end;  // null: it has ended
    world::Timer runtime_patience;              // after its sandbox
    bool init_ended = false;
    WorkspaceDirectories shown;
    std::map<std::string, std::string> environment;
    Opening opening;
  };

  struct Containers final : BoxFinder {
    explicit Containers(world::Reactor& loop) : reactor_of_all(loop) {}
    BoxSupervisor* find(uint32_t number) override;
    world::Reactor& reactor() override { return reactor_of_all; }
    std::map<uint32_t, Container> map;
    world::Reactor& reactor_of_all;
  };

  void attempt(Opening opening);
  Result<Unit> launch(uint32_t number, const Plan& plan, Container& container);
  void fail(Done done, Error error);
  void on_runtime_ended(uint32_t number);
  void end_runtime(Container& container);
  void forget_later(uint32_t number);
  void forget_if_dead(uint32_t number);
  // What does not die is left to the kernel.
  void abandon_undead();
  void close_if_empty();
  void remove_groups();
  std::string id_of(uint32_t number) const { return "box-" + std::to_string(number); }
  std::string log_of(uint32_t number) const { return runtime_.state_dir + "/" + id_of(number) + ".log"; }

  void on_ready(BoxSupervisor& box) override;
  void on_claimed(BoxSupervisor& box, WorkspaceDirectories shown) override;
  void on_lost(BoxSupervisor& box, Loss loss, const std::string& what) override;
  void on_dead(BoxSupervisor& box) override;
  void on_killed(BoxSupervisor& box) override { note(log_, "sandbox killed", box, box.age_ms()); }
  void on_overdue(BoxSupervisor& box, const std::string& what) override;
  bool has_built_since(int64_t) const override { return false; }

  const SandboxOptions options_;
  const Machine machine_;
  GroupDirectories groups_;
  const OciRuntime runtime_;
  world::Reactor& reactor_;
  world::Log& log_;
  const std::vector<Ability> abilities_;
  const std::shared_ptr<Containers> containers_;  // shared with sandboxes, which may outlive the Sandbox
  uint32_t next_number_ = 1;
  uint64_t next_ticket_ = 1;
  bool closing_ = false;
  bool groups_removed_ = false;
  world::Timer close_timer_;
  std::vector<Callback<void()>> when_closed_;
};

}  // namespace

BoxSupervisor* OciSandbox::Containers::find(uint32_t number) {
  const auto found = map.find(number);
  return found == map.end() ? nullptr : found->second.box.get();
}

std::vector<Ability> oci_abilities(const SandboxOptions& options, const Machine& machine) {
  const auto runtime = find_runtime(options, machine);
  std::vector<Ability> list = {{"OCI runtime", static_cast<bool>(runtime),
                                runtime ? runtime.value().path + " builds the boxes" : runtime.error().what}};
  for (auto& ability : abilities_of(machine, options.limits)) list.push_back(std::move(ability));
  return list;
}

Result<std::unique_ptr<Sandbox>> open_oci_sandbox(SandboxOptions options, world::Reactor& reactor, world::Log& log) {
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
  GroupDirectories groups(machine, first.value().group_limits);
  const std::string memory = groups.directory("memory");
  if (!memory.empty()) runtime.value().groups_path = path_in_hierarchy(memory, machine.control_groups);
  reap_groups_elsewhere(runtime.value(), machine);
  prctl(PR_SET_DUMPABLE, 0);  // a sandbox that got out must not look into the server
  return std::unique_ptr<Sandbox>(std::make_unique<OciSandbox>(
      std::move(options), std::move(machine), std::move(groups), std::move(runtime).take(), reactor, log));
}

OciSandbox::OciSandbox(SandboxOptions options, Machine machine, GroupDirectories groups, OciRuntime runtime,
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
  // Without its socket a sandbox ends, and its runtime cleans up after it.
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
  container.box->name = container.opening.request.name;
  note(log_, "sandbox ordered", *container.box, 0);
  containers_->map.emplace(number, std::move(container));
}

void OciSandbox::give_up(uint64_t ticket) {
  for (auto& [number, container] : containers_->map) {
    if (!container.opening.done || container.opening.ticket != ticket) continue;
    fail(std::exchange(container.opening.done, nullptr), unavailable("the sandbox is not wanted any more"));
    note(log_, "sandbox given up", *container.box, container.box->age_ms());
    container.box->kill();
    return forget_later(number);
  }
}

Result<Unit> OciSandbox::launch(uint32_t number, const Plan& plan, Container& container) {
  const std::string groups = runtime_.groups_path.empty() ? "" : runtime_.groups_path + "/s" + std::to_string(number);
  const OciLayout place = {.cgroups_path = groups};
  auto started = start_box_program("launch");
  if (!started) return started.error();
  container.runtime = started.value().process;
  container.runtime_pidfd = OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, container.runtime, 0)));
  container.runtime_end = reactor_.watch(container.runtime_pidfd.get(), {.read = true},
                                         [this, number](world::Ready) { on_runtime_ended(number); });
  const auto command = runtime_.run_command(id_of(number), place.stage + "/bundle", log_of(number));
  Packet order = {{.verb = box::Verb::build, .number = number}, {}, {}};
  order.payload = launch_order(plan, place, runtime_.hides, command);
  const bool is_sent = PacketSocket::send_at_once(started.value().socket.get(), std::move(order));
  container.box = std::make_unique<BoxSupervisor>(
      number, reactor_, *this, groups_,
      BoxSupervisor::Beginning{.socket = std::move(started.value().socket), .patience = beginning_patience});
  if (is_sent) return Unit{};
  kill(container.runtime, SIGKILL);
  waitpid(container.runtime, nullptr, 0);
  container.runtime_end.reset();
  return unavailable("tell the runtime what to build: " + std::string(std::strerror(errno)));
}

// The workspace comes first, while it is being laid out; then the sandbox is ready.
void OciSandbox::on_claimed(BoxSupervisor& box, WorkspaceDirectories shown) {
  containers_->map.at(box.number()).shown = std::move(shown);
}

void OciSandbox::on_ready(BoxSupervisor& box) {
  Container& container = containers_->map.at(box.number());
  if (!container.opening.done) return;
  note(log_, "sandbox opened", box, box.age_ms());
  box.claim("", container.environment);
  std::exchange(container.opening.done, nullptr)(
      std::unique_ptr<Box>(std::make_unique<BoxHandle>(containers_, box.number(), std::move(container.shown), false)));
}

void OciSandbox::on_lost(BoxSupervisor& box, Loss, const std::string& what) {
  // Its runtime may have ended before the socket was closed, and then no other event removes it from the map.
  forget_later(box.number());
  Opening& opening = containers_->map.at(box.number()).opening;
  if (opening.done) {
    const std::string complaint = last_line(log_of(box.number()));
    const std::string why = complaint.empty() ? what : runtime_.name + ": " + complaint;
    const std::string& name = opening.request.name;
    if (!closing_ && opening.attempts_left-- > 0 && lost_its_group(complaint)) {
      log_.write(world::LogLevel::warn, "sandbox tried again", {{"sandbox", name}, {"why", why}});
      return attempt(std::exchange(opening, {}));
    }
    log_.write(world::LogLevel::error, "sandbox not opened", {{"sandbox", name}, {"why", why}});
    return std::exchange(opening.done, nullptr)(unavailable(why));
  }
  if (box.lost) std::exchange(box.lost, nullptr)(what);
}

void OciSandbox::on_dead(BoxSupervisor& box) {
  note(log_, "sandbox ended", box, box.age_ms());
  containers_->map.at(box.number()).init_ended = true;
  forget_if_dead(box.number());
}

void OciSandbox::on_overdue(BoxSupervisor& box, const std::string& what) {
  log_.write(world::LogLevel::error, "sandbox not proven dead", {{"sandbox", id_of(box.number())}, {"why", what}});
  box.report_dead(unavailable(what));
}

// The map is empty once this is destroyed.
void OciSandbox::forget_later(uint32_t number) {
  reactor_.defer([this, kept = containers_, number] {
    if (kept->map.contains(number)) forget_if_dead(number);
  });
}

// Its sandbox is gone, so the runtime has nothing to wait for.
void OciSandbox::end_runtime(Container& container) {
  container.box->wait_for_proof("its runtime to end");
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
  BoxSupervisor& box = *container.box;
  if (container.runtime_end) {
    if (box.is_dying() && (container.init_ended || !box.has_process())) end_runtime(container);
    return;
  }
  if (box.has_process() && !container.init_ended) return box.kill();
  // A sandbox that never came up is dying once its socket is closed.
  if (!box.is_dying()) return;
  std::error_code ignored;
  fs::remove(log_of(number), ignored);
  note(log_, "sandbox gone", box, box.age_ms());
  reactor_.defer([dead = std::move(container.box)] { dead->report_dead(Unit{}); });
  if (container.opening.done) fail(std::move(container.opening.done), unavailable("the sandbox is closing"));
  containers_->map.erase(number);
  close_if_empty();
}

void OciSandbox::close(Callback<void()> done) {
  when_closed_.push_back(std::move(done));
  closing_ = true;
  for (auto& [number, container] : containers_->map) {
    container.box->kill();
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
    container.box->report_dead(unavailable("the sandbox is closing"));
  }
  close_if_empty();
}

void OciSandbox::close_if_empty() {
  if (!closing_ || !containers_->map.empty()) return;
  close_timer_.cancel();
  remove_groups();
  for (auto& done : std::exchange(when_closed_, {})) reactor_.defer(std::move(done));
}

// Only once, because afterwards another Sandbox of this process may have groups of the same name.
void OciSandbox::remove_groups() {
  if (std::exchange(groups_removed_, true)) return;
  groups_.remove();
  remove_left_groups(runtime_);
}

}  // namespace sluice::sandbox
