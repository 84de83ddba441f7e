#include "sessions/session_opening.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "sessions/disk_usage.h"
#include "sessions/kept_sandboxes.h"

namespace sluice::sessions {

using model::Slug;

namespace {

constexpr std::size_t instructions_chars_max = 32'000;
constexpr std::size_t setup_words_chars_max = 2'000;
constexpr std::size_t file_words_chars_max = 500;
constexpr int64_t instructions_ms_max = 10'000;

bool layer_exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

}  // namespace

void SessionOpening::begin(Callback<void()> ready) {
  SLUICE_CHECK(!ready_);
  ready_ = std::move(ready);
  core_.phase_began_us = core_.clock.monotonic_us();
  const auto& usage = core_.host.disk_usage;
  const auto refusal = usage && is_kept(core_.dispatch) ? usage->refusal(core_.dispatch.agent.tenant_id) : std::nullopt;
  if (refusal) {
    return core_.clock.defer([this, why = *refusal, alive = core_.lifeline.watch()] {
      if (!alive.expired()) core_.fail(Slug::sandbox_failed, "No sandbox was opened: " + why + ".");
    });
  }
  if (!take_kept_sandbox()) find_layers();
}

bool SessionOpening::stop_fetch(Callback<void()>& gone) {
  if (!repository_fetch_) return false;
  repository_fetch_->stop(std::move(gone));
  repository_fetch_.reset();
  return true;
}

bool SessionOpening::take_kept_sandbox() {
  auto kept = core_.host.kept_sandboxes->take(core_.dispatch.conversation, core_.home, core_.dispatch.materials.skills);
  if (!kept) return false;
  if (!core_.dispatch.keeps_box || !core_.state.parked_layers.empty()) {
    kept->kill([](const Result<Unit>&) {});
    return false;
  }
  core_.live = std::move(kept);
  core_.live->enter(core_.user);
  core_.live->suspend(core_.is_suspended);
  core_.live->serve(core_.run_access());
  core_.layers = core_.live->layers;
  core_.state.instructions = core_.live->instructions;
  // Not from inside open().
  core_.clock.defer([this, alive = core_.lifeline.watch()] {
    if (alive.expired() || !core_.end_phase("sandbox", "Went on in the conversation's sandbox.")) return;
    put_files([this] { finish(); });
  });
  return true;
}

void SessionOpening::find_layers() {
  core_.file_work.send<workspace::Layers>(
      *core_.workers, "reading the workspace",
      [work = core_.layer_work(), compacts = core_.dispatch.keeps_box && core_.state.parked_layers.empty(),
       held = core_.held_paths()](std::stop_token stop) mutable -> Result<workspace::Layers> {
        work.stop = std::move(stop);
        auto layers = read_layers(work.home);
        if (!layers) return layers;
        for (const auto& path : held) {
          if (!layer_exists(path)) return Error{ErrorKind::not_found, "what the run changed before it waited is gone"};
        }
        work.below = std::move(layers).take();
        return compacts ? compacted(work) : work.below;
      },
      [this](Result<workspace::Layers> layers) {
        if (!layers && layers.error().kind == ErrorKind::not_found) {
          return core_.fail(Slug::run_interrupted, "The run cannot go on: " + layers.error().what + ".");
        }
        if (!layers)
          return core_.fail(Slug::sandbox_failed, "The workspace cannot be read: " + layers.error().what + ".");
        core_.layers = std::move(layers).take();
        fetch_repository();
      });
}

void SessionOpening::fetch_repository() {
  if (!core_.dispatch.materials.repository || !core_.layers.empty()) return fetch_skills();
  repository_fetch_ = std::make_unique<RepositoryFetch>(
      core_.host.options, core_.dispatch,
      RepositoryFetch::Needs{*core_.host.sandbox, *core_.workers, core_.host.loop, core_.host.egress},
      [this](std::string remark) { core_.emit(runs::log_line("info", runs::to_utf8(remark))); },
      [this](Result<workspace::Layers> layers) {
        const auto& url = core_.dispatch.materials.repository->url;
        if (!layers) {
          return core_.fail(Slug::repository_failed,
                            "The repository " + url + " could not be fetched: " + layers.error().what + ".");
        }
        core_.layers = std::move(layers).take();
        repository_fetch_.reset();
        if (core_.end_phase("repository", "Fetched " + url + ".")) fetch_skills();
      });
}

void SessionOpening::fetch_skills() {
  if (core_.dispatch.materials.skills.empty()) return open_sandbox();
  skill_fetch_ = std::make_unique<SkillFetch>(
      SkillFetch::Plan{.bundles_dir = core_.host.options.state_dir + "/skills",
                       .owner = {core_.host.options.owner_uid, core_.host.options.owner_uid},
                       .mark = core_.dispatch.run.text(),
                       .step_ms_max = core_.host.options.keep_ms_max},
      core_.dispatch, *core_.workers, core_.clock, [this](Result<std::vector<sandbox::Bind>> binds) {
        if (!binds) return core_.fail(Slug::skill_failed, std::move(binds.error().what));
        core_.skills = std::move(binds).take();
        skill_fetch_.reset();
        const bool is_one = core_.skills.size() == 1;
        if (core_.end_phase("skills",
                            "Laid out " + std::to_string(core_.skills.size()) + (is_one ? " skill." : " skills.")))
          open_sandbox();
      });
}

sandbox::BoxRequest SessionOpening::box_request() const {
  sandbox::BoxRequest request{.name = core_.dispatch.run.text(), .layers = core_.held_paths(), .binds = core_.skills};
  request.layers.insert(request.layers.end(), core_.layers.begin(), core_.layers.end());
  request.binds.insert(request.binds.end(), core_.binds.begin(), core_.binds.end());
  if (core_.host.egress != nullptr) {
    request.environment = egress::proxy_environment();
    if (!core_.dispatch.workspace.base_url.empty()) {
      request.environment["SLUICE_WORKSPACE_URL"] = "http://" + std::string(egress::workspace_host);
    }
  }
  request.environment["WORKSPACE_DIR"] = "/workspace";
  return request;
}

void SessionOpening::open_sandbox() {
  core_.live = std::make_unique<LiveSandbox>(core_.host, core_.user);
  core_.live->suspend(core_.is_suspended);
  core_.live->layers = core_.layers;
  core_.live->binds = core_.skills;
  core_.live->home = core_.home;
  core_.live->open(box_request(), [this, alive = core_.lifeline.watch()](Result<Unit> opened) {
    if (alive.expired()) return;
    if (!opened) return core_.fail(Slug::sandbox_failed, "No sandbox could be opened: " + opened.error().what + ".");
    core_.live->serve(core_.run_access());
    // In a sandbox that is opened again they are where they were.
    if (core_.state.were_open) return watch_files();
    put_files([this] { watch_files(); });
  });
}

void SessionOpening::put_files(Callback<void()> then) {
  if (core_.dispatch.materials.files.empty()) return then();
  const auto start = [this](sandbox::Command command, CommandListener& listener) {
    return core_.run(std::move(command), {.kept_chars_max = file_words_chars_max}, listener);
  };
  file_upload_ = std::make_unique<FileUpload>(
      core_.dispatch, FileUpload::Needs{*core_.workers, core_.clock, core_.host.options.keep_ms_max}, start,
      [this, then = std::move(then)](const Result<Unit>& put) mutable {
        if (!put) return core_.fail(Slug::sandbox_failed, put.error().what);
        file_upload_.reset();
        then();
      });
}

void SessionOpening::watch_files() {
  if (core_.host.options.watch_files) {
    const auto watched = core_.live->watch_files();
    if (!watched &&
        !core_.emit(runs::log_line("warn", "Files are not watched: " + runs::to_utf8(watched.error().what)))) {
      return;
    }
  }
  const bool is_warm = core_.live->box()->was_warm();
  if (core_.end_phase("sandbox", is_warm ? "Opened a sandbox that was waiting." : "Opened a sandbox."))
    read_instructions();
}

// Once a run: the model continues with what it was shown.
void SessionOpening::read_instructions() {
  if (core_.state.were_open) return run_setup();
  doing_ = Doing::instructions;
  command_ = core_.run({.argv = {"@read", "AGENTS.md", "1", "2000"}, .timeout_ms = instructions_ms_max},
                       {.kept_chars_max = instructions_chars_max}, *this);
}

void SessionOpening::run_setup() {
  if (core_.dispatch.materials.setup_script.empty()) return finish();
  doing_ = Doing::setup;
  command_ = core_.run(
      {.argv = {"bash", "-e", "-c", core_.dispatch.materials.setup_script},
       .timeout_ms = core_.host.options.setup_timeout_ms},
      {.kept_chars_max = setup_words_chars_max, .emitted_bytes_max = core_.host.options.tool_output_bytes_max}, *this);
}

void SessionOpening::on_printed(sandbox::Stream, std::string text) {
  if (core_.state.were_open) return;  // in a sandbox that was opened again: it was emitted the first time
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) core_.emit(runs::log_line("info", text));
}

void SessionOpening::on_ended(sandbox::Exit exit, std::string printed) {
  const bool is_well = exit.cause == sandbox::ExitCause::exited && exit.code == 0;
  if (exit.cause == sandbox::ExitCause::box_lost) return core_.user.on_sandbox_lost(exit.what);
  if (std::exchange(doing_, Doing::nothing) == Doing::instructions) {
    if (is_well) core_.live->instructions = core_.state.instructions = std::move(printed);
    return run_setup();
  }
  if (!is_well) {
    if (!core_.end_phase("setup", "The setup script failed.")) return;
    return core_.fail(
        Slug::setup_failed,
        "The setup script failed: " + outcome_words(exit, std::move(printed), core_.host.options.setup_timeout_ms));
  }
  if (core_.end_phase("setup", "Ran the setup script.")) finish();
}

void SessionOpening::finish() {
  is_done_ = true;
  core_.state.were_open = true;
  core_.ready_us = core_.clock.monotonic_us();
  std::exchange(ready_, nullptr)();
}

}  // namespace sluice::sessions
