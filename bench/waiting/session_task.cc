// Opening a sandbox session as a coroutine. What stop() must take down one after another belongs to the session; all
// else that is under way belongs to the frame and goes with it.
#include "bench/waiting/session.h"

namespace sluice::waiting {
namespace {

struct Ended {
  Exit exit;
  std::string printed;
};

Error failed(std::string_view what, const Error& why) { return {why.kind, std::string(what) + ": " + why.what + "."}; }

// A command to await.
class CommandWait final : private CommandListener {
 public:
  CommandWait(Box& box, std::string command, Callback<void(std::string)> printed, Callback<void(Ended)> done)
      : printed_(std::move(printed)), done_(std::move(done)), command_(box.run(std::move(command), *this)) {}

 private:
  void on_printed(std::string text) override { printed_(std::move(text)); }
  void on_ended(Exit exit, std::string printed) override {
    auto done = std::move(done_);  // this goes during the call
    done({exit, std::move(printed)});
  }
  Callback<void(std::string)> printed_;
  Callback<void(Ended)> done_;
  std::unique_ptr<Command> command_;
};

class TaskSession final : public Session, private BoxUser {
 public:
  TaskSession(SessionNeeds& needs, const SessionPlan& plan, SessionListener& listener)
      : needs_(needs), plan_(plan), listener_(listener) {}
  void open(Callback<void()> ready) override;
  void stop(Callback<void()> gone) override;

 private:
  void on_box_lost(std::string what) override;

  Task<Result<Unit>> open_all();
  Task<Result<Unit>> open_kept_box();
  Task<Result<Unit>> open_new_box();
  Task<Result<Unit>> prepare();
  Task<Result<Layers>> find_layers();
  Task<Result<Unit>> put_files();
  auto run(std::string command) {
    return answer<Ended>([this, command = std::move(command)](auto done) {
      return std::make_unique<CommandWait>(
          *box_, command, [this](std::string text) { on_printed(std::move(text)); }, std::move(done));
    });
  }
  void on_printed(std::string text);
  Outside tell(std::string body) {
    return outside([this, body = std::move(body)]() mutable { listener_.on_event(std::move(body)); });
  }
  Outside end_phase(std::string_view phase, std::string words) {
    return outside([this, phase, words = std::move(words)]() mutable { listener_.on_phase(phase, std::move(words)); });
  }

  SessionNeeds& needs_;
  const SessionPlan& plan_;
  SessionListener& listener_;
  bool is_ready_ = false;
  std::string instructions_;
  std::unique_ptr<Operation> repository_fetch_;
  std::unique_ptr<Box> box_;
  Sequence opening_;
};

void TaskSession::open(Callback<void()> ready) {
  if (is_ready_) return ready();
  opening_.start(open_all(), [this, ready = std::move(ready)](Result<Unit> opened) mutable {
    if (!opened) return listener_.on_failed(std::move(opened.error().what));
    is_ready_ = true;
    ready();
  });
}

Task<Result<Unit>> TaskSession::open_all() {
  if (!plan_.refusal.empty()) {
    co_await next_turn(needs_.loop());
    co_return Error{ErrorKind::denied, "No sandbox was opened: " + plan_.refusal + "."};
  }
  box_ = needs_.take_kept_box(*this);
  if (box_) co_return co_await open_kept_box();
  co_return co_await open_new_box();
}

Task<Result<Unit>> TaskSession::open_kept_box() {
  box_->serve();
  instructions_ = box_->instructions;
  co_await next_turn(needs_.loop());
  co_await end_phase("sandbox", "Went on in the conversation's sandbox.");
  co_return co_await put_files();
}

Task<Result<Unit>> TaskSession::open_new_box() {
  auto layers = co_await find_layers();
  if (!layers) co_return std::move(layers.error());
  Binds skills;
  if (plan_.has_skills) {
    auto binds = co_await answer<Result<Binds>>([this](auto done) { return needs_.fetch_skills(std::move(done)); });
    if (!binds) co_return std::move(binds.error());
    skills = std::move(binds).take();
    co_await end_phase("skills", "Laid out " + std::to_string(skills.size()) + " skills.");
  }
  box_ = needs_.make_box(*this);
  box_->layers = layers.value();
  const auto opened =
      co_await answer<Result<Unit>>([&](auto done) { box_->open(layers.value(), skills, std::move(done)); });
  if (!opened) co_return failed("No sandbox could be opened", opened.error());
  box_->serve();
  co_return co_await prepare();
}

Task<Result<Layers>> TaskSession::find_layers() {
  auto layers = co_await answer<Result<Layers>>([this](auto done) { return needs_.read_layers(std::move(done)); });
  if (!layers) {
    const bool is_gone = layers.error().kind == ErrorKind::not_found;
    co_return failed(is_gone ? "The run cannot go on" : "The workspace cannot be read", layers.error());
  }
  if (!plan_.has_repository || !layers.value().empty()) co_return layers;
  auto fetched = co_await answer<Result<Layers>>([this](auto done) {
    repository_fetch_ =
        needs_.fetch_repository([this](std::string remark) { listener_.on_event(std::move(remark)); }, std::move(done));
  });
  if (!fetched) co_return failed("The repository could not be fetched", fetched.error());
  repository_fetch_.reset();
  co_await end_phase("repository", "Fetched the repository.");
  co_return fetched;
}

// In a box that is opened again everything is where it was.
Task<Result<Unit>> TaskSession::prepare() {
  if (!plan_.were_open) {
    auto put = co_await put_files();
    if (!put) co_return put;
  }
  if (plan_.watches_files) {
    const auto watched = box_->watch_files();
    if (!watched) co_await tell("Files are not watched: " + watched.error().what);
  }
  co_await end_phase("sandbox", box_->was_warm() ? "Opened a sandbox that was waiting." : "Opened a sandbox.");
  if (!plan_.were_open) {
    auto read = co_await run("@read AGENTS.md");
    if (read.exit.box_lost) co_return failed("The sandbox went away", {ErrorKind::unavailable, read.printed});
    if (read.exit.is_well) box_->instructions = instructions_ = std::move(read.printed);
  }
  if (!plan_.has_setup) co_return Unit{};
  auto setup = co_await run("setup");
  if (setup.exit.box_lost) co_return failed("The sandbox went away", {ErrorKind::unavailable, setup.printed});
  co_await end_phase("setup", setup.exit.is_well ? "Ran the setup script." : "The setup script failed.");
  if (!setup.exit.is_well) co_return Error{ErrorKind::invalid, "The setup script failed: " + setup.printed};
  co_return Unit{};
}

Task<Result<Unit>> TaskSession::put_files() {
  if (!plan_.has_files) co_return Unit{};
  co_return co_await answer<Result<Unit>>([this](auto done) { return needs_.put_files(*box_, std::move(done)); });
}

void TaskSession::on_printed(std::string text) {
  if (plan_.were_open) return;
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) listener_.on_event(std::move(text));
}

void TaskSession::on_box_lost(std::string what) {
  opening_.drop();
  listener_.on_failed("The sandbox went away: " + what + ".");
}

void TaskSession::stop(Callback<void()> gone) {
  opening_.drop();
  if (repository_fetch_) {
    repository_fetch_->stop(std::move(gone));
    repository_fetch_.reset();
  } else if (box_) {
    box_->kill(std::move(gone));
    box_.reset();
  } else {
    needs_.loop().defer(std::move(gone));
  }
}

}  // namespace

std::unique_ptr<Session> make_task_session(SessionNeeds& needs, const SessionPlan& plan, SessionListener& listener) {
  return std::make_unique<TaskSession>(needs, plan, listener);
}

}  // namespace sluice::waiting
