#include "sessions/sandbox_session.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runs/runs.h"
#include "sessions/disk_usage.h"
#include "sessions/file_notifier.h"
#include "sessions/kept_sandboxes.h"
#include "sessions/layer_bytes.h"

namespace sluice::sessions {

using model::EventKind;
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
world::Workers* Host::workers_for(const harness::Dispatch& dispatch) const {
  constexpr uint8_t lines_of_strangers = 64;
  if (shared_workers == nullptr) return workers;
  const auto& tenant = dispatch.agent.tenant_id.ulid;
  if (tenant != Ulid{}) return &shared_workers->of(tenant);
  Ulid line;
  line.bytes.back() = static_cast<uint8_t>(1 + dispatch.run.ulid.bytes.back() % lines_of_strangers);
  return &shared_workers->of(line);
}

SandboxSession::SandboxSession(const Host& host, world::Loop& clock, const harness::Dispatch& dispatch,
                               SessionState state, SessionListener& listener)
    : host_(host),
      clock_(clock),
      options_(host.options),
      dispatch_(dispatch),
      listener_(listener),
      workers_(host.workers_for(dispatch)),
      home_(layer_home(options_.state_dir, dispatch)),
      state_(std::move(state)),
      ready_us_(clock.monotonic_us()),
      file_work_(clock_, options_.keep_ms_max),
      file_report_(options_.file_events_max) {
  for (const auto& name : state_.parked_layers) held_count_ = std::max(held_count_, held_number(name));
  if (dispatch_.keeps_box) host_.kept_sandboxes->lend(dispatch_.conversation);
  if (host_.disk_usage && is_kept(dispatch_)) host_.disk_usage->enter(dispatch_.conversation);
}

SandboxSession::~SandboxSession() {
  if (dispatch_.keeps_box) host_.kept_sandboxes->forget(dispatch_.conversation);
  const bool has_home = phase_began_us_ != 0 || held_count_ != 0;
  if (host_.disk_usage && is_kept(dispatch_)) {
    host_.disk_usage->leave(dispatch_.conversation);
    if (has_home)
      measure_workspace({workers_, host_.disk_usage, home_}, dispatch_.agent.tenant_id, dispatch_.conversation);
  }
  if (!has_home || is_kept(dispatch_) || is_parked_) return;
  workers_->run([home = home_] { (void)workspace::remove_tree(home); }, [] {});
}

bool SandboxSession::are_needed_at_once() const {
  return dispatch_.materials.repository.has_value() || !dispatch_.materials.setup_script.empty();
}

std::string SandboxSession::place_words() const {
  std::string words =
      "You work in a sandbox of your own: a Linux machine, reached through your tools. Your workspace is "
      "/workspace. Files that you put in /workspace/assets are handed to the user.";
  words += host_.egress == nullptr
               ? " There is no network."
               : " Requests leave it only by HTTP and HTTPS, through the proxy in the environment, to hosts that are "
                 "allowed.";
  if (const auto aliases = dispatch_.secrets ? dispatch_.secrets->aliases() : std::vector<std::string>();
      !aliases.empty() && host_.egress != nullptr) {
    words += " Secrets are put into requests on their way out, wherever you write";
    for (const auto& alias : aliases) words += (&alias == &aliases.front() ? " " : ", ") + vault::placeholder(alias);
    words += "; you never see their values.";
  }
  if (!dispatch_.materials.files.empty()) {
    words += " The user attached these files:";
    for (const auto& file : dispatch_.materials.files) {
      words += (&file == &dispatch_.materials.files.front() ? " " : ", ");
      words += "/workspace/" + std::string(attachments_directory) + "/" + runs::to_utf8(file.name);
    }
    words += ".";
  }
  if (!dispatch_.materials.skills.empty()) {
    words += "\n\nSkills you can use; read a skill's SKILL.md before you do:";
    for (const auto& skill : dispatch_.materials.skills) {
      words += "\n- " + skill.name + ": " + skill.description + " (/skills/" + skill.name + "/SKILL.md)";
    }
  }
  return words;
}

std::string SandboxSession::system_words() const {
  auto words = place_words();
  if (!state_.instructions.empty()) words += "\n\nThe workspace's AGENTS.md:\n\n" + state_.instructions;
  return words;
}

void SandboxSession::open(Callback<void()> ready) {
  if (is_ready_) return ready();
  SLUICE_CHECK(!then_);
  then_ = std::move(ready);
  phase_began_us_ = clock_.monotonic_us();
  const auto refusal =
      host_.disk_usage && is_kept(dispatch_) ? host_.disk_usage->refusal(dispatch_.agent.tenant_id) : std::nullopt;
  if (refusal) {
    // Not from inside open().
    return clock_.defer([this, why = *refusal, alive = lifeline_.watch()] {
      if (!alive.expired()) fail(Slug::sandbox_failed, "No sandbox was opened: " + why + ".");
    });
  }
  if (!take_kept_box()) find_layers();
}

bool SandboxSession::take_kept_box() {
  auto kept = host_.kept_sandboxes->take(dispatch_.conversation, home_, dispatch_.materials.skills);
  if (!kept) return false;
  if (!dispatch_.keeps_box || !state_.parked_layers.empty()) {
    kept->kill([](const Result<Unit>&) {});
    return false;
  }
  live_ = std::move(kept);
  live_->enter(*this);
  live_->suspend(is_suspended_);
  live_->serve(guest());
  layers_ = live_->layers;
  state_.instructions = live_->instructions;
  // Not from inside open().
  clock_.defer([this, alive = lifeline_.watch()] {
    if (alive.expired() || !end_phase("sandbox", "Went on in the conversation's sandbox.")) return;
    put_files([this] { be_ready(); });
  });
  return true;
}

void SandboxSession::find_layers() {
  file_work_.send<workspace::Layers>(
      *workers_, "reading the workspace",
      [work = layer_work(), compacts = dispatch_.keeps_box && state_.parked_layers.empty(),
       held = held_paths()](std::stop_token stop) mutable -> Result<workspace::Layers> {
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
          return fail(Slug::run_interrupted, "The run cannot go on: " + layers.error().what + ".");
        }
        if (!layers) return fail(Slug::sandbox_failed, "The workspace cannot be read: " + layers.error().what + ".");
        layers_ = std::move(layers).take();
        fetch_repository();
      });
}

void SandboxSession::fetch_repository() {
  if (!dispatch_.materials.repository || !layers_.empty()) return fetch_skills();
  repository_fetch_ = std::make_unique<RepositoryFetch>(
      options_, dispatch_, RepositoryFetch::Needs{*host_.sandbox, *workers_, host_.loop, host_.egress},
      [this](std::string remark) { emit(EventKind::log, runs::log_body("info", runs::to_utf8(remark))); },
      [this](Result<workspace::Layers> layers) {
        const auto& url = dispatch_.materials.repository->url;
        if (!layers) {
          return fail(Slug::repository_failed,
                      "The repository " + url + " could not be fetched: " + layers.error().what + ".");
        }
        layers_ = std::move(layers).take();
        repository_fetch_.reset();
        if (end_phase("repository", "Fetched " + url + ".")) fetch_skills();
      });
}

void SandboxSession::fetch_skills() {
  if (dispatch_.materials.skills.empty()) return open_box();
  skill_fetch_ = std::make_unique<SkillFetch>(
      SkillFetch::Plan{.shelf = options_.state_dir + "/skills",
                       .owner = {options_.owner_uid, options_.owner_uid},
                       .mark = dispatch_.run.text(),
                       .step_ms_max = options_.keep_ms_max},
      dispatch_, *workers_, clock_, [this](Result<std::vector<sandbox::Bind>> binds) {
        if (!binds) return fail(Slug::skill_failed, std::move(binds.error().what));
        skills_ = std::move(binds).take();
        skill_fetch_.reset();
        const bool is_one = skills_.size() == 1;
        if (end_phase("skills", "Laid out " + std::to_string(skills_.size()) + (is_one ? " skill." : " skills.")))
          open_box();
      });
}

egress::RunAccess SandboxSession::guest() const {
  egress::RunAccess guest{dispatch_.run, dispatch_.agent.policy, dispatch_.secrets, model_host_, {}, {}};
  guest.tenant = tenant_of(dispatch_);
  const auto& workspace = dispatch_.workspace;
  if (!workspace.base_url.empty()) guest.workspace = {workspace.base_url, workspace.token};
  return guest;
}

sandbox::BoxRequest SandboxSession::box_request() const {
  sandbox::BoxRequest request{.name = dispatch_.run.text(), .layers = held_paths(), .binds = skills_};
  request.layers.insert(request.layers.end(), layers_.begin(), layers_.end());
  request.binds.insert(request.binds.end(), binds_.begin(), binds_.end());
  if (host_.egress != nullptr) {
    request.environment = egress::proxy_environment();
    if (!dispatch_.workspace.base_url.empty()) {
      request.environment["SLUICE_WORKSPACE_URL"] = "http://" + std::string(egress::workspace_host);
    }
  }
  request.environment["WORKSPACE_DIR"] = "/workspace";
  return request;
}

void SandboxSession::open_box() {
  SandboxUser& user = *this;
  live_ = std::make_unique<LiveSandbox>(host_, user);
  live_->suspend(is_suspended_);
  live_->layers = layers_;
  live_->binds = skills_;
  live_->home = home_;
  live_->open(box_request(), [this, alive = lifeline_.watch()](Result<Unit> opened) {
    if (alive.expired()) return;
    if (!opened) return fail(Slug::sandbox_failed, "No sandbox could be opened: " + opened.error().what + ".");
    live_->serve(guest());
    // In a box that is opened again they are where they were.
    if (state_.were_open) return watch_files();
    put_files([this] { watch_files(); });
  });
}

void SandboxSession::put_files(Callback<void()> then) {
  if (dispatch_.materials.files.empty()) return then();
  const auto start = [this](sandbox::Command command, CommandListener& listener) {
    return run(std::move(command), {.kept_chars_max = file_words_chars_max}, listener);
  };
  file_put_ = std::make_unique<FileUpload>(dispatch_, FileUpload::Needs{*workers_, clock_, options_.keep_ms_max}, start,
                                           [this, then = std::move(then)](const Result<Unit>& put) mutable {
                                             if (!put) return fail(Slug::sandbox_failed, put.error().what);
                                             file_put_.reset();
                                             then();
                                           });
}

void SandboxSession::watch_files() {
  if (options_.watch_files) {
    const auto watched = live_->watch_files();
    if (!watched && !emit(EventKind::log,
                          runs::log_body("warn", "Files are not watched: " + runs::to_utf8(watched.error().what)))) {
      return;
    }
  }
  const bool is_warm = live_->box()->was_warm();
  if (end_phase("sandbox", is_warm ? "Opened a sandbox that was waiting." : "Opened a sandbox.")) read_instructions();
}

// Once a run: the model goes on with what it was shown.
void SandboxSession::read_instructions() {
  if (state_.were_open) return run_setup();
  doing_ = Doing::instructions;
  command_ = run({.argv = {"@read", "AGENTS.md", "1", "2000"}, .timeout_ms = instructions_ms_max},
                 {.kept_chars_max = instructions_chars_max}, *this);
}

void SandboxSession::run_setup() {
  if (dispatch_.materials.setup_script.empty()) return be_ready();
  doing_ = Doing::setup;
  command_ =
      run({.argv = {"bash", "-e", "-c", dispatch_.materials.setup_script}, .timeout_ms = options_.setup_timeout_ms},
          {.kept_chars_max = setup_words_chars_max, .emitted_bytes_max = options_.tool_output_bytes_max}, *this);
}

void SandboxSession::on_printed(sandbox::Stream, std::string text) {
  if (state_.were_open) return;  // in a box that was opened again: it was told the first time
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) emit(EventKind::log, runs::log_body("info", text));
}

void SandboxSession::on_ended(sandbox::Exit exit, std::string printed) {
  const bool is_well = exit.cause == sandbox::ExitCause::exited && exit.code == 0;
  if (exit.cause == sandbox::ExitCause::box_lost) return lose(exit.what);
  if (std::exchange(doing_, Doing::nothing) == Doing::instructions) {
    if (is_well) live_->instructions = state_.instructions = std::move(printed);
    return run_setup();
  }
  if (!is_well) {
    if (!end_phase("setup", "The setup script failed.")) return;
    return fail(Slug::setup_failed,
                "The setup script failed: " + outcome_words(exit, std::move(printed), options_.setup_timeout_ms));
  }
  if (end_phase("setup", "Ran the setup script.")) be_ready();
}

void SandboxSession::be_ready() {
  is_ready_ = true;
  state_.were_open = true;
  ready_us_ = clock_.monotonic_us();
  std::exchange(then_, nullptr)();
}

sandbox::Command SandboxSession::with_variables(sandbox::Command command) const {
  for (const auto& [name, value] : dispatch_.materials.variables) command.environment.try_emplace(name, value);
  return command;
}

std::unique_ptr<CommandRun> SandboxSession::run(sandbox::Command command, CommandBounds bounds,
                                                CommandListener& listener) {
  mark_ = mark_changes(live_->box()->changes_fd());
  return std::make_unique<CommandRun>(*live_->box(), with_variables(std::move(command)), bounds, dispatch_.secrets,
                                      clock_, listener);
}

std::unique_ptr<sandbox::Process> SandboxSession::start(sandbox::Command command, sandbox::ProcessListener& listener) {
  return live_->box()->start(with_variables(std::move(command)), listener);
}

void SandboxSession::run_in_background(std::string step_id, sandbox::Command command) {
  live_->run_in_background(std::move(step_id), with_variables(std::move(command)), dispatch_.secrets);
}

void SandboxSession::on_sandbox_printed(const std::string& step_id, sandbox::Stream stream, std::string text) {
  emit(EventKind::output, runs::printed_body(step_id, stream, text));
}

void SandboxSession::on_sandbox_passage(egress::RequestRecord passage) {
  emit(EventKind::egress, egress::to_json(passage));
}

void SandboxSession::on_sandbox_files(std::vector<workspace::FileNews> news) {
  file_report_.trim(news);
  if (file_report_.has_sum() && !std::exchange(file_sum_is_due_, true)) {
    file_sum_timer_ = clock_.after({options_.file_sum_ms}, [this] { tell_more_files(); });
  }
  for (auto& piece : news) piece.path = runs::scrubbed(dispatch_.secrets, std::move(piece.path));
  if (host_.file_notifier) host_.file_notifier->notify(dispatch_.run, news, clock_.now());
  for (const auto& piece : news) {
    const bool is_overflow = piece.kind == workspace::FileNews::Kind::overflow;
    auto body = is_overflow ? runs::overflow_body() : runs::file_body(piece, clock_.now());
    if (!emit(is_overflow ? EventKind::custom : EventKind::file, std::move(body))) return;
  }
}

bool SandboxSession::tell_more_files() {
  file_sum_is_due_ = false;
  file_sum_timer_.cancel();
  if (!file_report_.has_sum()) return true;
  const std::vector<workspace::FileNews> overflow = {{.kind = workspace::FileNews::Kind::overflow}};
  if (host_.file_notifier) host_.file_notifier->notify(dispatch_.run, overflow, clock_.now());
  return emit(EventKind::custom, runs::more_files_body(file_report_.take_sum()));
}

bool SandboxSession::emit(EventKind kind, std::string body) {
  const auto alive = lifeline_.watch();
  listener_.on_session_event(kind, std::move(body));
  return !alive.expired();
}

bool SandboxSession::end_phase(std::string_view phase, std::string_view words) {
  const auto now_us = clock_.monotonic_us();
  const auto began_us = std::exchange(phase_began_us_, now_us);
  const auto alive = lifeline_.watch();
  listener_.on_session_phase(phase, words, (now_us - began_us) / 1000);
  return !alive.expired();
}

void SandboxSession::fail(Slug slug, std::string detail) {
  if (std::exchange(has_failed_, true)) return;
  listener_.on_session_failed(slug, std::move(detail));
}

void SandboxSession::suspend(bool suspended) {
  is_suspended_ = suspended;
  if (live_) live_->suspend(suspended);
  if (suspended || !std::exchange(ends_later_, false)) return;
  clock_.defer([this, alive = lifeline_.watch()] {
    if (!alive.expired()) end();
  });
}

void SandboxSession::stop(Callback<void()> gone) {
  forget_held();
  if (repository_fetch_) {
    repository_fetch_->stop(std::move(gone));
    repository_fetch_.reset();
  } else if (live_) {
    // What could not be proven is in the sandbox's log: whoever stops a run is not kept waiting for more.
    live_->kill([gone = std::move(gone)](const Result<Unit>&) mutable { gone(); });
    live_.reset();
  } else {
    clock_.defer(std::move(gone));
  }
}

}  // namespace sluice::sessions
