#include <filesystem>
#include <system_error>
#include <utility>

#include "sessions/disk_usage.h"
#include "sessions/kept_sandboxes.h"
#include "sessions/repository_fetch.h"
#include "sessions/session_core.h"

namespace sluice::sessions {

using model::Slug;

namespace {

constexpr std::size_t instructions_chars_max = 32'000;
constexpr std::size_t setup_words_chars_max = 2'000;
constexpr int64_t instructions_ms_max = 10'000;

bool layer_exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// Null: none is kept. A run that waited for a human brings its changes as layers of its own, over which no kept sandbox
// was opened; that one is killed, or two sandboxes of one conversation would change its workspace.
std::unique_ptr<LiveSandbox> take_kept_sandbox(const SessionCore& core) {
  const auto& dispatch = core.dispatch;
  auto kept = core.host.kept_sandboxes->take(dispatch.conversation, core.home, dispatch.materials.skills);
  if (!kept || (dispatch.keeps_box && core.state.parked_layers.empty())) return kept;
  kept->kill([](const Result<Unit>&) {});
  return nullptr;
}

Task<Outcome> enter_kept_sandbox(SessionCore& core) {
  core.live->enter(core.user);
  core.live->suspend(core.is_suspended);
  core.live->serve(core.run_access());
  core.layers = core.live->layers;
  core.state.instructions = core.live->instructions;
  co_await next_turn(core.clock);  // the caller of open() does not expect a report from inside
  co_await core.end_phase("sandbox", "Went on in the conversation's sandbox.");
  co_return co_await upload_files(core);
}

Task<Outcome> find_layers(SessionCore& core) {
  auto layers = co_await file_job<workspace::Layers>(
      core.file_workers(), "reading the workspace",
      [work = core.layer_work(), compacts = core.dispatch.keeps_box && core.state.parked_layers.empty(),
       held = core.held_paths()](std::stop_token stop) mutable -> Result<workspace::Layers> {
        work.stop = std::move(stop);
        auto layers = read_layers(work.home);
        if (!layers) return layers;
        // Without them the model would continue over files of which it believes that it changed them.
        for (const auto& path : held) {
          if (!layer_exists(path)) return Error{ErrorKind::not_found, "what the run changed before it waited is gone"};
        }
        work.below = std::move(layers).take();
        return compacts ? compacted(work) : work.below;
      });
  if (!layers && layers.error().kind == ErrorKind::not_found) {
    co_return SessionFailure{Slug::run_interrupted, "The run cannot go on: " + layers.error().what + "."};
  }
  if (!layers) co_return sandbox_failed("The workspace cannot be read: " + layers.error().what + ".");
  core.layers = std::move(layers).take();
  co_return std::nullopt;
}

Task<Outcome> fetch_repository(SessionCore& core, std::unique_ptr<RepositoryFetch>& fetch) {
  if (!core.dispatch.materials.repository || !core.layers.empty()) co_return std::nullopt;
  const auto& url = core.dispatch.materials.repository->url;
  fetch = std::make_unique<RepositoryFetch>(core);
  auto layers = co_await fetch->fetch();
  if (!layers) {
    co_return SessionFailure{Slug::repository_failed,
                             "The repository " + url + " could not be fetched: " + layers.error().what + "."};
  }
  core.layers = std::move(layers).take();
  fetch.reset();
  co_await core.end_phase("repository", "Fetched " + url + ".");
  co_return std::nullopt;
}

sandbox::BoxRequest box_request(const SessionCore& core) {
  sandbox::BoxRequest request{.name = core.dispatch.run.text(), .layers = core.held_paths(), .binds = core.skills};
  request.layers.insert(request.layers.end(), core.layers.begin(), core.layers.end());
  request.binds.insert(request.binds.end(), core.binds.begin(), core.binds.end());
  if (core.host.egress != nullptr) {
    request.environment = egress::proxy_environment();
    if (!core.dispatch.workspace.base_url.empty()) {
      request.environment["SLUICE_WORKSPACE_URL"] = "http://" + std::string(egress::workspace_host);
    }
  }
  request.environment["WORKSPACE_DIR"] = "/workspace";
  return request;
}

Task<Outcome> open_sandbox(SessionCore& core) {
  core.live = std::make_unique<LiveSandbox>(core.host, core.user);
  core.live->suspend(core.is_suspended);  // the run may be suspended while the sandbox is being opened
  core.live->layers = core.layers;
  core.live->binds = core.skills;
  core.live->home = core.home;
  const auto opened =
      co_await answer<Result<Unit>>([&core](auto done) { core.live->open(box_request(core), std::move(done)); });
  if (!opened) co_return sandbox_failed("No sandbox could be opened: " + opened.error().what + ".");
  core.live->serve(core.run_access());
  co_return std::nullopt;
}

// The run goes on without them: file events are for spectators, and the diff at the end does not need them.
Task<> watch_files(SessionCore& core) {
  if (!core.host.options.watch_files) co_return;
  const auto watched = core.live->watch_files();
  if (watched) co_return;
  const auto words = "Files are not watched: " + runs::to_utf8(watched.error().what);
  co_await core.report(runs::log_line("warn", words));
}

// Read from inside, as a link named AGENTS.md must lead nowhere but into the sandbox. Most workspaces have none.
Task<Outcome> read_instructions(SessionCore& core) {
  auto read = co_await core.run_to_end({.argv = {"@read", "AGENTS.md", "1", "2000"}, .timeout_ms = instructions_ms_max},
                                       {.kept_chars_max = instructions_chars_max});
  if (read.exit.cause == sandbox::ExitCause::box_lost) co_return sandbox_lost(read.exit.what);
  if (read.is_well()) core.live->instructions = core.state.instructions = std::move(read.printed);
  co_return std::nullopt;
}

// Also in a sandbox that is opened again: processes that the script started are gone with the first one.
Task<Outcome> run_setup(SessionCore& core) {
  const auto& options = core.host.options;
  const auto on_printed = [&core](std::string text) {
    if (core.state.were_open) return;  // in a sandbox that is opened again: it was emitted the first time
    while (text.ends_with('\n')) text.pop_back();
    if (!text.empty()) core.emit(runs::log_line("info", text));
  };
  auto setup = co_await core.run_to_end(
      {.argv = {"bash", "-e", "-c", core.dispatch.materials.setup_script}, .timeout_ms = options.setup_timeout_ms},
      {.kept_chars_max = setup_words_chars_max, .emitted_bytes_max = options.tool_output_bytes_max}, on_printed);
  if (setup.exit.cause == sandbox::ExitCause::box_lost) co_return sandbox_lost(setup.exit.what);
  co_await core.end_phase("setup", setup.is_well() ? "Ran the setup script." : "The setup script failed.");
  if (setup.is_well()) co_return std::nullopt;
  const auto words = outcome_words(setup.exit, std::move(setup.printed), options.setup_timeout_ms);
  co_return SessionFailure{Slug::setup_failed, "The setup script failed: " + words};
}

Task<Outcome> open_new_sandbox(SessionCore& core, std::unique_ptr<RepositoryFetch>& fetch) {
  // In a sandbox that is opened again the files are where they were, and the model continues with the instructions
  // that it was shown.
  const bool is_first = !core.state.were_open;
  if (auto failed = co_await find_layers(core)) co_return failed;
  if (auto failed = co_await fetch_repository(core, fetch)) co_return failed;
  if (auto failed = co_await lay_out_skills(core)) co_return failed;
  if (auto failed = co_await open_sandbox(core)) co_return failed;
  if (is_first) {
    if (auto failed = co_await upload_files(core)) co_return failed;
  }
  co_await watch_files(core);
  co_await core.end_phase("sandbox",
                          core.live->box()->was_warm() ? "Opened a sandbox that was waiting." : "Opened a sandbox.");
  if (is_first) {
    if (auto failed = co_await read_instructions(core)) co_return failed;
  }
  if (core.dispatch.materials.setup_script.empty()) co_return std::nullopt;
  co_return co_await run_setup(core);
}

}  // namespace

Task<Outcome> open_session(SessionCore& core, std::unique_ptr<RepositoryFetch>& fetch) {
  core.phase_began_us = core.clock.monotonic_us();
  const auto& usage = core.host.disk_usage;
  const auto refusal = usage && is_kept(core.dispatch) ? usage->refusal(core.dispatch.agent.tenant_id) : std::nullopt;
  if (refusal) {
    co_await next_turn(core.clock);
    co_return sandbox_failed("No sandbox was opened: " + *refusal + ".");
  }
  core.live = take_kept_sandbox(core);
  auto opening = core.live ? enter_kept_sandbox(core) : open_new_sandbox(core, fetch);
  if (auto failed = co_await opening) co_return failed;
  core.is_open = core.state.were_open = true;
  core.ready_us = core.clock.monotonic_us();
  co_return std::nullopt;
}

}  // namespace sluice::sessions
