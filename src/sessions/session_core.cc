#include "sessions/session_core.h"

#include <fcntl.h>

#include <utility>

namespace sluice::sessions {

using model::Slug;

std::string tenant_of(const dispatch::Dispatch& dispatch) {
  const auto tenant = dispatch.agent.tenant_id;
  return tenant == model::TenantId{} ? std::string() : tenant.text();
}

Outcome sandbox_failed(std::string detail) { return SessionFailure{Slug::sandbox_failed, std::move(detail)}; }

Outcome sandbox_lost(const std::string& what) {
  return sandbox_failed("The sandbox went away" + (what.empty() ? "" : ": " + runs::to_utf8(what)) + ".");
}

Outcome keeping_failed(const std::string& why) {
  return SessionFailure{Slug::writeback_failed, "The workspace could not be kept: " + why + "."};
}

Outcome killing_failed(const std::string& why) {
  return sandbox_failed("The sandbox could not be ended: " + runs::to_utf8(why) + ".");
}

SessionCore::SessionCore(const Host& its_host, world::Loop& its_clock, const dispatch::Dispatch& its_dispatch,
                         SessionState its_state, runs::EventOutput& its_output, SessionListener& its_listener,
                         SandboxUser& its_user)
    : host(its_host),
      clock(its_clock),
      dispatch(its_dispatch),
      output(its_output),
      listener(its_listener),
      user(its_user),
      workers(host.workers_for(dispatch)),
      home(layer_home(host.options.state_dir, dispatch)),
      state(std::move(its_state)),
      ready_us(clock.monotonic_us()) {}

bool SessionCore::emit(const model::EventData& event) {
  const auto alive = lifetime.watch();
  output.emit(event);
  return !alive.is_over();
}

Outside SessionCore::report(model::EventData event) {
  return outside([this, event = std::move(event)] { output.emit(event); });
}

Outside SessionCore::end_phase(std::string phase, std::string words) {
  const auto now_us = clock.monotonic_us();
  const auto ms = (now_us - std::exchange(phase_began_us, now_us)) / 1000;
  return outside(
      [this, phase = std::move(phase), words = runs::to_utf8(words), ms] { output.emit_phase(phase, words, ms); });
}

void SessionCore::fail(SessionFailure failure) {
  if (std::exchange(has_failed, true)) return;
  listener.on_session_failed(failure.slug, std::move(failure.detail));
}

OwnedFd SessionCore::duplicate_changes() const {
  return OwnedFd(live ? fcntl(live->box()->changes_fd(), F_DUPFD_CLOEXEC, 0) : -1);
}

std::unique_ptr<CommandRun> SessionCore::run(sandbox::Command command, CommandBounds bounds,
                                             CommandListener& its_listener) {
  mark = mark_changes(live->box()->changes_fd());
  return std::make_unique<CommandRun>(*live->box(), with_variables(std::move(command)), bounds, dispatch.secrets, clock,
                                      its_listener);
}

sandbox::Command SessionCore::with_variables(sandbox::Command command) const {
  for (const auto& [name, value] : dispatch.materials.variables) command.environment.try_emplace(name, value);
  return command;
}

egress::RunAccess SessionCore::run_access() const {
  egress::RunAccess access{dispatch.run, dispatch.agent.policy, dispatch.secrets, model_host, {}, {}};
  access.tenant = tenant_of(dispatch);
  const auto& workspace = dispatch.workspace;
  if (!workspace.base_url.empty()) access.workspace = {workspace.base_url, workspace.token};
  return access;
}

std::vector<std::string> SessionCore::held_paths() const {
  std::vector<std::string> paths;
  for (const auto& name : state.parked_layers) paths.push_back(home + "/" + name);
  return paths;
}

LayerWork SessionCore::layer_work() const {
  LayerWork work{.changes_fd = -1,
                 .home = home,
                 .below = layers,
                 .mark = dispatch.run.text(),
                 .owner = {host.options.owner_uid, host.options.owner_uid},
                 .held = held_paths(),
                 .gathered = gathered};
  if (live) work.kept = live->kept;
  return work;
}

}  // namespace sluice::sessions
