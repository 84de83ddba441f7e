#include "runner/hands.h"

#include <utility>

#include "runner/errand.h"
#include "runner/file_herald.h"
#include "runner/told.h"
#include "runner/tools.h"

namespace sluice::runner {

using model::EventKind;
using model::Slug;

namespace {

constexpr std::size_t instructions_chars_max = 32'000;
constexpr std::size_t setup_words_chars_max = 2'000;
constexpr int64_t instructions_ms_max = 10'000;

class Background final : public CommandListener {
 public:
  using Tell = Callback<void(EventKind kind, std::string body)>;

  Background(std::string step_id, Tell tell) : id_(std::move(step_id)), tell_(std::move(tell)) {}
  void begin(sandbox::Box& box, sandbox::Command command, CommandBounds bounds, world::Loop& loop) {
    run_ = std::make_unique<CommandRun>(box, std::move(command), bounds, loop, *this);
  }

 private:
  void on_printed(sandbox::Stream stream, std::string text) override {
    tell_(EventKind::output, printed_body(id_, stream, text));
  }
  void on_ended(sandbox::Exit exit, std::string) override {
    if (exit.cause != sandbox::ExitCause::not_started) return;
    tell_(EventKind::output, printed_body(id_, sandbox::Stream::err, "could not be started: " + exit.what));
  }

  const std::string id_;
  Tell tell_;
  std::unique_ptr<CommandRun> run_;
};

}  // namespace

Hands::Hands(const Context& context, const harness::Dispatch& dispatch, HandsListener& listener)
    : context_(context),
      options_(context.options.hands),
      dispatch_(dispatch),
      listener_(listener),
      home_(layer_home(options_.state_dir, dispatch)),
      box_(context.loop) {}

Hands::~Hands() {
  if (phase_began_us_ == 0 || is_kept(dispatch_)) return;
  context_.workers->run([home = home_] { (void)workspace::remove_tree(home); }, [] {});
}

bool Hands::are_needed_at_once() const {
  return dispatch_.materials.repository.has_value() || !dispatch_.materials.setup_script.empty();
}

std::string Hands::system_words() const {
  std::string words =
      "You work in a sandbox of your own: a Linux machine without network, reached through your tools. Your workspace "
      "is /workspace. Files that you put in /workspace/assets are handed to the user.";
  if (!dispatch_.materials.skills.empty()) {
    words += "\n\nSkills you can use; read a skill's SKILL.md before you do:";
    for (const auto& skill : dispatch_.materials.skills) {
      words += "\n- " + skill.name + ": " + skill.description + " (/skills/" + skill.name + "/SKILL.md)";
    }
  }
  if (!instructions_.empty()) words += "\n\nThe workspace's AGENTS.md:\n\n" + instructions_;
  return words;
}

void Hands::open(Callback<void()> ready) {
  if (is_ready_) return ready();
  SLUICE_CHECK(!then_);
  then_ = std::move(ready);
  phase_began_us_ = context_.loop.monotonic_us();
  find_layers();
}

void Hands::find_layers() {
  send<Result<workspace::Layers>>(
      *context_.workers, lifeline_.watch(), [home = home_] { return read_layers(home); },
      [this](Result<workspace::Layers> layers) {
        if (!layers) return fail(Slug::sandbox_failed, "The workspace cannot be read: " + layers.error().what + ".");
        layers_ = std::move(layers).take();
        fetch_repository();
      });
}

void Hands::fetch_repository() {
  if (!dispatch_.materials.repository || !layers_.empty()) return fetch_skills();
  repository_fetch_ = std::make_unique<RepositoryFetch>(
      options_, dispatch_, RepositoryFetch::Needs{*context_.sandbox, *context_.workers, context_.loop},
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
  skill_fetch_ =
      std::make_unique<SkillFetch>(SkillFetch::Plan{.shelf = options_.state_dir + "/skills",
                                                    .owner = {options_.owner_uid, options_.owner_uid},
                                                    .mark = dispatch_.run.text()},
                                   dispatch_, *context_.workers, [this](Result<std::vector<sandbox::Bind>> binds) {
                                     if (!binds) return fail(Slug::skill_failed, std::move(binds.error().what));
                                     skills_ = std::move(binds).take();
                                     skill_fetch_.reset();
                                     if (end_phase("skills", "Laid out " + std::to_string(skills_.size()) + " skills."))
                                       open_box();
                                   });
}

sandbox::BoxRequest Hands::box_request() const {
  sandbox::BoxRequest request{
      .name = dispatch_.run.text(), .layers = layers_, .binds = skills_, .environment = dispatch_.materials.variables};
  request.environment["WORKSPACE_DIR"] = "/workspace";
  return request;
}

void Hands::open_box() {
  box_.open(*context_.sandbox, box_request(), [this, alive = lifeline_.watch()](Result<Unit> opened) {
    if (alive.expired()) return;
    if (!opened) return fail(Slug::sandbox_failed, "No sandbox could be opened: " + opened.error().what + ".");
    box_.box()->on_lost([this, alive](std::string what) {
      // Not from inside the box, which this drops.
      context_.loop.defer([this, alive, what = std::move(what)] {
        if (!alive.expired()) lose(what);
      });
    });
    watch_files();
  });
}

void Hands::watch_files() {
  if (options_.watch_files) {
    auto watching = context_.watcher->watch(box_.box()->workspace_fd(), {.ignored = options_.ignored_directories},
                                            [this](std::vector<workspace::FileNews> news) { hear(std::move(news)); });
    const auto alive = lifeline_.watch();
    if (watching) {
      watching_ = std::move(watching).take();
    } else if (!tell(EventKind::log, log_body("warn", "Files are not watched: " + to_utf8(watching.error().what)))) {
      return;
    }
  }
  const bool is_warm = box_.box()->was_warm();
  if (end_phase("sandbox", is_warm ? "Opened a sandbox that was waiting." : "Opened a sandbox.")) read_instructions();
}

void Hands::read_instructions() {
  doing_ = Doing::instructions;
  CommandListener& listener = *this;
  command_ = std::make_unique<CommandRun>(
      *box_.box(), sandbox::Command{.argv = {"@read", "AGENTS.md", "1", "2000"}, .timeout_ms = instructions_ms_max},
      CommandBounds{.kept_chars_max = instructions_chars_max}, context_.loop, listener);
}

void Hands::run_setup() {
  if (dispatch_.materials.setup_script.empty()) return be_ready();
  doing_ = Doing::setup;
  CommandListener& listener = *this;
  command_ = std::make_unique<CommandRun>(
      *box_.box(),
      sandbox::Command{.argv = {"bash", "-e", "-c", dispatch_.materials.setup_script},
                       .timeout_ms = options_.setup_timeout_ms},
      CommandBounds{.kept_chars_max = setup_words_chars_max, .told_bytes_max = options_.tool_output_bytes_max},
      context_.loop, listener);
}

void Hands::on_printed(sandbox::Stream, std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) tell(EventKind::log, log_body("info", text));
}

void Hands::on_ended(sandbox::Exit exit, std::string printed) {
  const bool is_well = exit.cause == sandbox::ExitCause::exited && exit.code == 0;
  if (exit.cause == sandbox::ExitCause::box_lost) return lose(exit.what);
  if (std::exchange(doing_, Doing::nothing) == Doing::instructions) {
    if (is_well) instructions_ = std::move(printed);
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
  ready_us_ = context_.loop.monotonic_us();
  std::exchange(then_, nullptr)();
}

void Hands::run_in_background(std::string step_id, sandbox::Command command) {
  auto background = std::make_unique<Background>(
      std::move(step_id), [this](EventKind kind, std::string body) { tell(kind, std::move(body)); });
  background->begin(*box_.box(), std::move(command), {.told_bytes_max = options_.tool_output_bytes_max}, context_.loop);
  background_.push_back(std::move(background));
}

void Hands::hear(std::vector<workspace::FileNews> news) {
  if (context_.herald) context_.herald->tell(dispatch_.run, news, context_.loop.now());
  for (const auto& piece : news) {
    const bool is_overflow = piece.kind == workspace::FileNews::Kind::overflow;
    auto body = is_overflow ? overflow_body() : file_body(piece, context_.loop.now());
    if (!tell(is_overflow ? EventKind::custom : EventKind::file, std::move(body))) return;
  }
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

void Hands::lose(const std::string& what) {
  fail(Slug::sandbox_failed, "The sandbox went away" + (what.empty() ? std::string() : ": " + to_utf8(what)) + ".");
}

void Hands::fail(Slug slug, std::string detail) {
  if (std::exchange(has_failed_, true)) return;
  listener_.on_hands_failed(slug, std::move(detail));
}

void Hands::stop(Callback<void()> gone) {
  watching_.reset();
  if (!repository_fetch_) return box_.kill(std::move(gone));
  repository_fetch_->stop(std::move(gone));
  repository_fetch_.reset();
}

}  // namespace sluice::runner
