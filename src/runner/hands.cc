#include "runner/hands.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runner/box_shelf.h"
#include "runner/file_herald.h"
#include "runner/layer_bytes.h"
#include "runner/told.h"
#include "runner/tools.h"
#include "runner/workspace_ledger.h"

namespace sluice::runner {

using model::EventKind;
using model::Slug;

namespace {

constexpr std::size_t instructions_chars_max = 32'000;
constexpr std::size_t setup_words_chars_max = 2'000;
constexpr std::size_t file_words_chars_max = 500;
constexpr int64_t instructions_ms_max = 10'000;

bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

struct Measuring {
  world::Workers* workers;
  std::shared_ptr<WorkspaceLedger> ledger;
  std::string home;
};

// However the run ended, and whatever it left: cloned, held for a human, kept.
void measure_workspace(const Measuring& how, model::TenantId tenant, model::ConversationId conversation) {
  const auto bytes = std::make_shared<int64_t>(0);
  how.workers->run([bytes, home = how.home] { *bytes = workspace_bytes(home); },
                   [how, bytes, tenant, conversation, removals = how.ledger->removals()] {
                     // One that was removed meanwhile may have been this one.
                     if (how.ledger->removals() != removals) return measure_workspace(how, tenant, conversation);
                     if (how.ledger->knows(conversation) || *bytes > 0) how.ledger->note(tenant, conversation, *bytes);
                   });
}

}  // namespace

Hands::Hands(const Context& context, const harness::Dispatch& dispatch, HandsState state, HandsListener& listener)
    : context_(context),
      options_(context.options.hands),
      dispatch_(dispatch),
      listener_(listener),
      workers_(context.workers_for(dispatch)),
      home_(layer_home(options_.state_dir, dispatch)),
      state_(std::move(state)),
      ready_us_(context.loop.monotonic_us()),
      file_work_(context_.loop, options_.keep_ms_max),
      file_report_(options_.file_events_max) {
  for (const auto& name : state_.parked_layers) held_count_ = std::max(held_count_, held_number(name));
  if (dispatch_.keeps_box) context_.shelf->lend(dispatch_.conversation);
  if (context_.ledger && is_kept(dispatch_)) context_.ledger->enter(dispatch_.conversation);
}

Hands::~Hands() {
  if (dispatch_.keeps_box) context_.shelf->forget(dispatch_.conversation);
  const bool has_home = phase_began_us_ != 0 || held_count_ != 0;
  if (context_.ledger && is_kept(dispatch_)) {
    context_.ledger->leave(dispatch_.conversation);
    if (has_home)
      measure_workspace({workers_, context_.ledger, home_}, dispatch_.agent.tenant_id, dispatch_.conversation);
  }
  if (!has_home || is_kept(dispatch_) || is_parked_) return;
  workers_->run([home = home_] { (void)workspace::remove_tree(home); }, [] {});
}

bool Hands::are_needed_at_once() const {
  return dispatch_.materials.repository.has_value() || !dispatch_.materials.setup_script.empty();
}

std::string Hands::place_words() const {
  std::string words =
      "You work in a sandbox of your own: a Linux machine, reached through your tools. Your workspace is "
      "/workspace. Files that you put in /workspace/assets are handed to the user.";
  words += context_.egress == nullptr
               ? " There is no network."
               : " Requests leave it only by HTTP and HTTPS, through the proxy in the environment, to hosts that are "
                 "allowed.";
  if (const auto aliases = dispatch_.secrets ? dispatch_.secrets->aliases() : std::vector<std::string>();
      !aliases.empty() && context_.egress != nullptr) {
    words += " Secrets are put into requests on their way out, wherever you write";
    for (const auto& alias : aliases) words += (&alias == &aliases.front() ? " " : ", ") + vault::placeholder(alias);
    words += "; you never see their values.";
  }
  if (!dispatch_.materials.files.empty()) {
    words += " The user attached these files:";
    for (const auto& file : dispatch_.materials.files) {
      words += (&file == &dispatch_.materials.files.front() ? " " : ", ");
      words += "/workspace/" + std::string(attachments_directory) + "/" + to_utf8(file.name);
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

std::string Hands::system_words() const {
  auto words = place_words();
  if (!state_.instructions.empty()) words += "\n\nThe workspace's AGENTS.md:\n\n" + state_.instructions;
  return words;
}

void Hands::open(Callback<void()> ready) {
  if (is_ready_) return ready();
  SLUICE_CHECK(!then_);
  then_ = std::move(ready);
  phase_began_us_ = context_.loop.monotonic_us();
  const auto refusal =
      context_.ledger && is_kept(dispatch_) ? context_.ledger->refusal(dispatch_.agent.tenant_id) : std::nullopt;
  if (refusal) {
    // Not from inside open().
    return context_.loop.defer([this, why = *refusal, alive = lifeline_.watch()] {
      if (!alive.expired()) fail(Slug::sandbox_failed, "No sandbox was opened: " + why + ".");
    });
  }
  if (!take_kept_box()) find_layers();
}

bool Hands::take_kept_box() {
  auto kept = context_.shelf->take(dispatch_.conversation, home_, dispatch_.materials.skills);
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
  context_.loop.defer([this, alive = lifeline_.watch()] {
    if (alive.expired() || !end_phase("sandbox", "Went on in the conversation's sandbox.")) return;
    put_files([this] { be_ready(); });
  });
  return true;
}

void Hands::find_layers() {
  file_work_.send<workspace::Layers>(
      *workers_, "reading the workspace",
      [work = layer_work(), compacts = dispatch_.keeps_box && state_.parked_layers.empty(),
       held = held_paths()](std::stop_token stop) mutable -> Result<workspace::Layers> {
        work.stop = std::move(stop);
        auto layers = read_layers(work.home);
        if (!layers) return layers;
        for (const auto& path : held) {
          if (!is_there(path)) return Error{ErrorKind::not_found, "what the run changed before it waited is gone"};
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

void Hands::fetch_repository() {
  if (!dispatch_.materials.repository || !layers_.empty()) return fetch_skills();
  repository_fetch_ = std::make_unique<RepositoryFetch>(
      options_, dispatch_, RepositoryFetch::Needs{*context_.sandbox, *workers_, context_.common.loop, context_.egress},
      [this](std::string remark) { tell(EventKind::log, log_body("info", to_utf8(remark))); },
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

void Hands::fetch_skills() {
  if (dispatch_.materials.skills.empty()) return open_box();
  skill_fetch_ = std::make_unique<SkillFetch>(
      SkillFetch::Plan{.shelf = options_.state_dir + "/skills",
                       .owner = {options_.owner_uid, options_.owner_uid},
                       .mark = dispatch_.run.text(),
                       .step_ms_max = options_.keep_ms_max},
      dispatch_, *workers_, context_.loop, [this](Result<std::vector<sandbox::Bind>> binds) {
        if (!binds) return fail(Slug::skill_failed, std::move(binds.error().what));
        skills_ = std::move(binds).take();
        skill_fetch_.reset();
        const bool is_one = skills_.size() == 1;
        if (end_phase("skills", "Laid out " + std::to_string(skills_.size()) + (is_one ? " skill." : " skills.")))
          open_box();
      });
}

egress::Guest Hands::guest() const {
  egress::Guest guest{dispatch_.run, dispatch_.agent.policy, dispatch_.secrets, model_host_, {}, {}};
  guest.tenant = tenant_of(dispatch_);
  const auto& workspace = dispatch_.workspace;
  if (!workspace.base_url.empty()) guest.workspace = {workspace.base_url, workspace.token};
  return guest;
}

sandbox::BoxRequest Hands::box_request() const {
  sandbox::BoxRequest request{.name = dispatch_.run.text(), .layers = held_paths(), .binds = skills_};
  request.layers.insert(request.layers.end(), layers_.begin(), layers_.end());
  request.binds.insert(request.binds.end(), binds_.begin(), binds_.end());
  if (context_.egress != nullptr) {
    request.environment = egress::box_environment();
    if (!dispatch_.workspace.base_url.empty()) {
      request.environment["SLUICE_WORKSPACE_URL"] = "http://" + std::string(egress::workspace_host);
    }
  }
  request.environment["WORKSPACE_DIR"] = "/workspace";
  return request;
}

void Hands::open_box() {
  BoxUser& user = *this;
  live_ = std::make_unique<LiveBox>(context_.common, user);
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

void Hands::put_files(Callback<void()> then) {
  if (dispatch_.materials.files.empty()) return then();
  const auto start = [this](sandbox::Command command, CommandListener& listener) {
    return run(std::move(command), {.kept_chars_max = file_words_chars_max}, listener);
  };
  file_put_ = std::make_unique<FilePut>(dispatch_, FilePut::Needs{*workers_, context_.loop, options_.keep_ms_max},
                                        start, [this, then = std::move(then)](const Result<Unit>& put) mutable {
                                          if (!put) return fail(Slug::sandbox_failed, put.error().what);
                                          file_put_.reset();
                                          then();
                                        });
}

void Hands::watch_files() {
  if (options_.watch_files) {
    const auto watched = live_->watch_files();
    if (!watched &&
        !tell(EventKind::log, log_body("warn", "Files are not watched: " + to_utf8(watched.error().what)))) {
      return;
    }
  }
  const bool is_warm = live_->box()->was_warm();
  if (end_phase("sandbox", is_warm ? "Opened a sandbox that was waiting." : "Opened a sandbox.")) read_instructions();
}

// Once a run: the model goes on with what it was shown.
void Hands::read_instructions() {
  if (state_.were_open) return run_setup();
  doing_ = Doing::instructions;
  command_ = run({.argv = {"@read", "AGENTS.md", "1", "2000"}, .timeout_ms = instructions_ms_max},
                 {.kept_chars_max = instructions_chars_max}, *this);
}

void Hands::run_setup() {
  if (dispatch_.materials.setup_script.empty()) return be_ready();
  doing_ = Doing::setup;
  command_ =
      run({.argv = {"bash", "-e", "-c", dispatch_.materials.setup_script}, .timeout_ms = options_.setup_timeout_ms},
          {.kept_chars_max = setup_words_chars_max, .told_bytes_max = options_.tool_output_bytes_max}, *this);
}

void Hands::on_printed(sandbox::Stream, std::string text) {
  if (state_.were_open) return;  // in a box that was opened again: it was told the first time
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) tell(EventKind::log, log_body("info", text));
}

void Hands::on_ended(sandbox::Exit exit, std::string printed) {
  const bool is_well = exit.cause == sandbox::ExitCause::exited && exit.code == 0;
  if (exit.cause == sandbox::ExitCause::box_lost) return lose(exit.what);
  if (std::exchange(doing_, Doing::nothing) == Doing::instructions) {
    if (is_well) live_->instructions = state_.instructions = std::move(printed);
    return run_setup();
  }
  if (!is_well) {
    ToolPlan plan{.is_shell = true};
    plan.command.timeout_ms = options_.setup_timeout_ms;
    if (!end_phase("setup", "The setup script failed.")) return;
    return fail(Slug::setup_failed, "The setup script failed: " + answer_of(plan, exit, std::move(printed)).text);
  }
  if (end_phase("setup", "Ran the setup script.")) be_ready();
}

void Hands::be_ready() {
  is_ready_ = true;
  state_.were_open = true;
  ready_us_ = context_.loop.monotonic_us();
  std::exchange(then_, nullptr)();
}

sandbox::Command Hands::with_variables(sandbox::Command command) const {
  for (const auto& [name, value] : dispatch_.materials.variables) command.environment.try_emplace(name, value);
  return command;
}

std::unique_ptr<CommandRun> Hands::run(sandbox::Command command, CommandBounds bounds, CommandListener& listener) {
  mark_ = mark_changes(live_->box()->changes_fd());
  return std::make_unique<CommandRun>(*live_->box(), with_variables(std::move(command)), bounds, dispatch_.secrets,
                                      context_.loop, listener);
}

std::unique_ptr<sandbox::Process> Hands::start(sandbox::Command command, sandbox::ProcessListener& listener) {
  return live_->box()->start(with_variables(std::move(command)), listener);
}

void Hands::run_in_background(std::string step_id, sandbox::Command command) {
  live_->run_in_background(std::move(step_id), with_variables(std::move(command)), dispatch_.secrets);
}

void Hands::on_box_printed(const std::string& step_id, sandbox::Stream stream, std::string text) {
  tell(EventKind::output, printed_body(step_id, stream, text));
}

void Hands::on_box_passage(egress::Passage passage) { tell(EventKind::egress, egress::to_json(passage)); }

void Hands::on_box_files(std::vector<workspace::FileNews> news) {
  file_report_.trim(news);
  if (file_report_.has_sum() && !std::exchange(file_sum_is_due_, true)) {
    file_sum_timer_ = context_.loop.after({options_.file_sum_ms}, [this] { tell_more_files(); });
  }
  for (auto& piece : news) piece.path = scrubbed(dispatch_.secrets, std::move(piece.path));
  if (context_.herald) context_.herald->tell(dispatch_.run, news, context_.loop.now());
  for (const auto& piece : news) {
    const bool is_overflow = piece.kind == workspace::FileNews::Kind::overflow;
    auto body = is_overflow ? overflow_body() : file_body(piece, context_.loop.now());
    if (!tell(is_overflow ? EventKind::custom : EventKind::file, std::move(body))) return;
  }
}

bool Hands::tell_more_files() {
  file_sum_is_due_ = false;
  file_sum_timer_.cancel();
  if (!file_report_.has_sum()) return true;
  const std::vector<workspace::FileNews> overflow = {{.kind = workspace::FileNews::Kind::overflow}};
  if (context_.herald) context_.herald->tell(dispatch_.run, overflow, context_.loop.now());
  return tell(EventKind::custom, more_files_body(file_report_.take_sum()));
}

bool Hands::tell(EventKind kind, std::string body) {
  const auto alive = lifeline_.watch();
  listener_.on_hands_event(kind, std::move(body));
  return !alive.expired();
}

bool Hands::end_phase(std::string_view phase, std::string_view words) {
  const auto now_us = context_.loop.monotonic_us();
  const auto began_us = std::exchange(phase_began_us_, now_us);
  const auto alive = lifeline_.watch();
  listener_.on_hands_phase(phase, words, (now_us - began_us) / 1000);
  return !alive.expired();
}

void Hands::fail(Slug slug, std::string detail) {
  if (std::exchange(has_failed_, true)) return;
  listener_.on_hands_failed(slug, std::move(detail));
}

void Hands::suspend(bool suspended) {
  is_suspended_ = suspended;
  if (live_) live_->suspend(suspended);
  if (suspended || !std::exchange(ends_later_, false)) return;
  context_.loop.defer([this, alive = lifeline_.watch()] {
    if (!alive.expired()) end();
  });
}

void Hands::stop(Callback<void()> gone) {
  forget_held();
  if (repository_fetch_) {
    repository_fetch_->stop(std::move(gone));
    repository_fetch_.reset();
  } else if (live_) {
    // What could not be proven is in the sandbox's log: whoever stops a run is not kept waiting for more.
    live_->kill([gone = std::move(gone)](const Result<Unit>&) mutable { gone(); });
    live_.reset();
  } else {
    context_.loop.defer(std::move(gone));
  }
}

}  // namespace sluice::runner
