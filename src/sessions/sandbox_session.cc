#include <algorithm>
#include <utility>

#include "sessions/repository_fetch.h"
#include "sessions/sessions.h"

namespace sluice::sessions {

using model::Slug;

namespace {

struct Measuring {
  world::Workers* workers;
  std::shared_ptr<DiskUsage> disk_usage;
  std::string home;
};

// However the run ended, and whatever it left: cloned, held for a human, kept.
void measure_workspace(const Measuring& how, model::TenantId tenant, model::ConversationId conversation) {
  const auto bytes = std::make_shared<int64_t>(0);
  how.workers->run([bytes, home = how.home] { *bytes = workspace_bytes(home); },
                   [how, bytes, tenant, conversation, removals = how.disk_usage->removals()] {
                     // One that was removed meanwhile may have been this one.
                     if (how.disk_usage->removals() != removals) return measure_workspace(how, tenant, conversation);
                     if (how.disk_usage->knows(conversation) || *bytes > 0)
                       how.disk_usage->note(tenant, conversation, *bytes);
                   });
}

}  // namespace

// A runner may not know the tenants of the server that it works for; the runs of those share some lines.
world::Workers* Host::workers_for(const dispatch::Dispatch& dispatch) const {
  constexpr uint8_t lines_of_strangers = 64;
  if (shared_workers == nullptr) return workers;
  const auto& tenant = dispatch.agent.tenant_id.ulid;
  if (tenant != Ulid{}) return &shared_workers->of(tenant);
  Ulid line;
  line.bytes.back() = static_cast<uint8_t>(1 + dispatch.run.ulid.bytes.back() % lines_of_strangers);
  return &shared_workers->of(line);
}

SandboxSession::SandboxSession(const Host& host, world::Loop& clock, const dispatch::Dispatch& dispatch,
                               SessionState state, runs::EventOutput& output, SessionListener& listener)
    : core_(host, clock, dispatch, std::move(state), output, listener, *this), files_(core_), holding_(core_) {
  if (dispatch.keeps_box) host.kept_sandboxes->lend(dispatch.conversation);
  if (host.disk_usage && is_kept(dispatch)) host.disk_usage->enter(dispatch.conversation);
}

SandboxSession::~SandboxSession() {
  const auto& host = core_.host;
  const auto& dispatch = core_.dispatch;
  if (dispatch.keeps_box) host.kept_sandboxes->forget(dispatch.conversation);
  const bool has_home = core_.phase_began_us != 0 || holding_.has_held();
  if (host.disk_usage && is_kept(dispatch)) {
    host.disk_usage->leave(dispatch.conversation);
    if (has_home) {
      measure_workspace({core_.workers, host.disk_usage, core_.home}, dispatch.agent.tenant_id, dispatch.conversation);
    }
  }
  if (!has_home || is_kept(dispatch) || holding_.is_parked()) return;
  core_.workers->run([home = core_.home] { (void)workspace::remove_tree(home); }, [] {});
}

bool SandboxSession::is_needed_at_once() const {
  return core_.dispatch.materials.repository.has_value() || !core_.dispatch.materials.setup_script.empty();
}

std::string SandboxSession::place_words() const {
  std::string words =
      "You work in a sandbox of your own: a Linux machine, reached through your tools. Your workspace is "
      "/workspace. Files that you put in /workspace/assets are handed to the user.";
  words += core_.host.egress == nullptr
               ? " There is no network."
               : " Requests leave it only by HTTP and HTTPS, through the proxy in the environment, to hosts that are "
                 "allowed.";
  if (const auto aliases = core_.dispatch.secrets ? core_.dispatch.secrets->aliases() : std::vector<std::string>();
      !aliases.empty() && core_.host.egress != nullptr) {
    words += " Secrets are put into requests on their way out, wherever you write";
    for (const auto& alias : aliases) words += (&alias == &aliases.front() ? " " : ", ") + vault::placeholder(alias);
    words += "; you never see their values.";
  }
  if (!core_.dispatch.materials.files.empty()) {
    words += " The user attached these files:";
    for (const auto& file : core_.dispatch.materials.files) {
      words += (&file == &core_.dispatch.materials.files.front() ? " " : ", ");
      words += "/workspace/" + std::string(attachments_directory) + "/" + runs::to_utf8(file.name);
    }
    words += ".";
  }
  if (!core_.dispatch.materials.skills.empty()) {
    words += "\n\nSkills you can use; read a skill's SKILL.md before you do:";
    for (const auto& skill : core_.dispatch.materials.skills) {
      words += "\n- " + skill.name + ": " + skill.description + " (/skills/" + skill.name + "/SKILL.md)";
    }
  }
  return words;
}

std::string SandboxSession::system_words() const {
  auto words = place_words();
  if (!core_.state.instructions.empty()) words += "\n\nThe workspace's AGENTS.md:\n\n" + core_.state.instructions;
  return words;
}

void SandboxSession::start(Sequence& sequence, Task<Outcome> task, Callback<void()> done) {
  sequence.start(std::move(task), [this, done = std::move(done)](Outcome failed) mutable {
    if (failed) return core_.fail(std::move(*failed));
    done();
  });
}

void SandboxSession::open(Callback<void()> ready) {
  if (core_.is_open) return ready();
  SLUICE_CHECK(!std::exchange(is_opening_, true));
  start(opening_, open_session(core_, repository_fetch_), [this, ready = std::move(ready)]() mutable {
    is_opening_ = false;
    ready();
  });
}

std::unique_ptr<sandbox::Process> SandboxSession::start(sandbox::Command command, sandbox::ProcessListener& listener) {
  return core_.live->box()->start(core_.with_variables(std::move(command)), listener);
}

void SandboxSession::run_in_background(std::string step_id, sandbox::Command command) {
  core_.live->run_in_background(std::move(step_id), core_.with_variables(std::move(command)), core_.dispatch.secrets);
}

void SandboxSession::on_sandbox_printed(const std::string& step_id, sandbox::Stream stream, std::string text) {
  core_.emit(runs::printed(step_id, stream, text));
}

void SandboxSession::on_sandbox_request(egress::RequestRecord record) { core_.emit(egress::event_of(record)); }

void SandboxSession::hold(Callback<void()> done) {
  start(closing_, holding_.hold(), [this, done = std::move(done)]() mutable {
    if (!core_.live) core_.is_open = false;
    done();
  });
}

// While a human is waited for the sandbox is not needed: it is opened again over what was held.
void SandboxSession::lose(const std::string& what) {
  if (holding_.is_lost_for_good()) return core_.fail(*sandbox_lost(what));
  core_.is_open = false;
}

void SandboxSession::settle(uint64_t number, bool go_on, std::string_view words) {
  if (core_.live && core_.live->outlet() != nullptr) core_.live->outlet()->settle(number, go_on, words);
}

int64_t SandboxSession::sent_for_good() const {
  return core_.live && core_.live->outlet() != nullptr ? core_.live->outlet()->sent_for_good() : 0;
}

void SandboxSession::allow_host(std::string host) {
  if (!is_allowed_host(host)) core_.state.allowed_hosts.push_back(std::move(host));
}

bool SandboxSession::is_allowed_host(std::string_view host) const {
  return std::ranges::find(core_.state.allowed_hosts, host) != core_.state.allowed_hosts.end();
}

void SandboxSession::suspend(bool suspended) {
  core_.is_suspended = suspended;
  if (core_.live) core_.live->suspend(suspended);
  if (!suspended && core_.when_resumed) core_.clock.defer(std::exchange(core_.when_resumed, nullptr));
}

void SandboxSession::finish(std::string text, Callback<void()> done) {
  start(closing_, end_session(core_, holding_, files_, std::move(text)), std::move(done));
}

void SandboxSession::stop(Callback<void()> gone) {
  opening_.drop();
  closing_.drop();
  forget_held();
  if (repository_fetch_) {
    repository_fetch_->stop(std::move(gone));
    return repository_fetch_.reset();
  }
  if (!core_.live) return core_.clock.defer(std::move(gone));
  // What could not be proven is in the sandbox's log: a run that is stopped is not kept waiting for more.
  core_.live->kill([gone = std::move(gone)](const Result<Unit>&) mutable { gone(); });
  core_.live.reset();
}

}  // namespace sluice::sessions
