#include "sessions/session_core.h"

#include <fcntl.h>

#include <utility>

#include "sessions/repository_fetch.h"

namespace sluice::sessions {

using model::Slug;

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
      ready_us(clock.monotonic_us()),
      file_work(clock, host.options.keep_ms_max) {}

bool SessionCore::emit(const model::EventData& event) {
  const auto alive = lifeline.watch();
  output.emit(event);
  return !alive.expired();
}

bool SessionCore::end_phase(std::string_view phase, std::string_view words) {
  const auto now_us = clock.monotonic_us();
  const auto began_us = std::exchange(phase_began_us, now_us);
  const auto alive = lifeline.watch();
  output.emit_phase(phase, runs::to_utf8(words), (now_us - began_us) / 1000);
  return !alive.expired();
}

void SessionCore::fail(Slug slug, std::string detail) {
  if (std::exchange(has_failed, true)) return;
  listener.on_session_failed(slug, std::move(detail));
}

void SessionCore::fail_undead(const std::string& why) {
  fail(Slug::sandbox_failed, "The sandbox could not be ended: " + runs::to_utf8(why) + ".");
}

void SessionCore::fail_keeping(const std::string& why) {
  fail(Slug::writeback_failed, "The workspace could not be kept: " + why + ".");
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
