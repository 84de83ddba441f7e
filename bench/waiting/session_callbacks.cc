// Opening a sandbox session as it is done today: ten steps of an object, one after another.
#include "bench/waiting/session.h"

namespace sluice::waiting {
namespace {

class Lifeline final {
 public:
  std::weak_ptr<const char> watch() const { return line_; }

 private:
  std::shared_ptr<const char> line_ = std::make_shared<const char>('\0');
};

class CallbackSession final : public Session, private CommandListener, private BoxUser {
 public:
  CallbackSession(SessionNeeds& needs, const SessionPlan& plan, SessionListener& listener)
      : needs_(needs), plan_(plan), listener_(listener) {}
  void open(Callback<void()> ready) override;
  void stop(Callback<void()> gone) override;

 private:
  void on_printed(std::string text) override;
  void on_ended(Exit exit, std::string printed) override;
  void on_box_lost(std::string what) override { fail("The sandbox went away: " + what + "."); }

  bool take_kept_box();
  void find_layers();
  void fetch_repository();
  void fetch_skills();
  void open_box();
  void put_files(Callback<void()> then);
  void watch_files();
  void read_instructions();
  void run_setup();
  void be_ready();

  bool tell(std::string body);
  bool end_phase(std::string_view phase, std::string words);
  void fail(std::string why);

  SessionNeeds& needs_;
  const SessionPlan& plan_;
  SessionListener& listener_;
  enum class Doing : uint8_t { nothing, instructions, setup };
  Doing doing_ = Doing::nothing;
  bool is_ready_ = false;
  bool has_failed_ = false;
  Callback<void()> then_;
  Layers layers_;
  Binds skills_;
  std::string instructions_;
  Lifeline lifeline_;
  std::unique_ptr<Operation> file_work_;
  std::unique_ptr<Operation> repository_fetch_;
  std::unique_ptr<Operation> skill_fetch_;
  std::unique_ptr<Box> box_;
  std::unique_ptr<Command> command_;
  std::unique_ptr<Operation> file_put_;
};

void CallbackSession::open(Callback<void()> ready) {
  if (is_ready_) return ready();
  SLUICE_CHECK(!then_);
  then_ = std::move(ready);
  if (!plan_.refusal.empty()) {
    // Not from inside open().
    return needs_.loop().defer([this, alive = lifeline_.watch()] {
      if (!alive.expired()) fail("No sandbox was opened: " + plan_.refusal + ".");
    });
  }
  if (!take_kept_box()) find_layers();
}

bool CallbackSession::take_kept_box() {
  box_ = needs_.take_kept_box(*this);
  if (!box_) return false;
  box_->serve();
  layers_ = box_->layers;
  instructions_ = box_->instructions;
  // Not from inside open().
  needs_.loop().defer([this, alive = lifeline_.watch()] {
    if (alive.expired() || !end_phase("sandbox", "Went on in the conversation's sandbox.")) return;
    put_files([this] { be_ready(); });
  });
  return true;
}

void CallbackSession::find_layers() {
  file_work_ = needs_.read_layers([this](Result<Layers> layers) {
    if (!layers && layers.error().kind == ErrorKind::not_found) {
      return fail("The run cannot go on: " + layers.error().what + ".");
    }
    if (!layers) return fail("The workspace cannot be read: " + layers.error().what + ".");
    layers_ = std::move(layers).take();
    fetch_repository();
  });
}

void CallbackSession::fetch_repository() {
  if (!plan_.has_repository || !layers_.empty()) return fetch_skills();
  repository_fetch_ =
      needs_.fetch_repository([this](std::string remark) { tell(std::move(remark)); },
                              [this](Result<Layers> layers) {
                                if (!layers)
                                  return fail("The repository could not be fetched: " + layers.error().what + ".");
                                layers_ = std::move(layers).take();
                                repository_fetch_.reset();
                                if (end_phase("repository", "Fetched the repository.")) fetch_skills();
                              });
}

void CallbackSession::fetch_skills() {
  if (!plan_.has_skills) return open_box();
  skill_fetch_ = needs_.fetch_skills([this](Result<Binds> binds) {
    if (!binds) return fail(std::move(binds.error().what));
    skills_ = std::move(binds).take();
    skill_fetch_.reset();
    if (end_phase("skills", "Laid out " + std::to_string(skills_.size()) + " skills.")) open_box();
  });
}

void CallbackSession::open_box() {
  box_ = needs_.make_box(*this);
  box_->layers = layers_;
  box_->open(layers_, skills_, [this, alive = lifeline_.watch()](Result<Unit> opened) {
    if (alive.expired()) return;
    if (!opened) return fail("No sandbox could be opened: " + opened.error().what + ".");
    box_->serve();
    if (plan_.were_open) return watch_files();
    put_files([this] { watch_files(); });
  });
}

void CallbackSession::put_files(Callback<void()> then) {
  if (!plan_.has_files) return then();
  file_put_ = needs_.put_files(*box_, [this, then = std::move(then)](Result<Unit> put) mutable {
    if (!put) return fail(std::move(put.error().what));
    file_put_.reset();
    then();
  });
}

void CallbackSession::watch_files() {
  if (plan_.watches_files) {
    const auto watched = box_->watch_files();
    if (!watched && !tell("Files are not watched: " + watched.error().what)) return;
  }
  const bool is_warm = box_->was_warm();
  if (end_phase("sandbox", is_warm ? "Opened a sandbox that was waiting." : "Opened a sandbox.")) read_instructions();
}

void CallbackSession::read_instructions() {
  if (plan_.were_open) return run_setup();
  doing_ = Doing::instructions;
  command_ = box_->run("@read AGENTS.md", *this);
}

void CallbackSession::run_setup() {
  if (!plan_.has_setup) return be_ready();
  doing_ = Doing::setup;
  command_ = box_->run("setup", *this);
}

void CallbackSession::on_printed(std::string text) {
  if (plan_.were_open) return;
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) tell(std::move(text));
}

void CallbackSession::on_ended(Exit exit, std::string printed) {
  if (exit.box_lost) return on_box_lost(std::move(printed));
  if (std::exchange(doing_, Doing::nothing) == Doing::instructions) {
    if (exit.is_well) box_->instructions = instructions_ = std::move(printed);
    return run_setup();
  }
  if (!exit.is_well) {
    if (!end_phase("setup", "The setup script failed.")) return;
    return fail("The setup script failed: " + printed);
  }
  if (end_phase("setup", "Ran the setup script.")) be_ready();
}

void CallbackSession::be_ready() {
  is_ready_ = true;
  std::exchange(then_, nullptr)();
}

bool CallbackSession::tell(std::string body) {
  const auto alive = lifeline_.watch();
  listener_.on_event(std::move(body));
  return !alive.expired();
}

bool CallbackSession::end_phase(std::string_view phase, std::string words) {
  const auto alive = lifeline_.watch();
  listener_.on_phase(phase, std::move(words));
  return !alive.expired();
}

void CallbackSession::fail(std::string why) {
  if (std::exchange(has_failed_, true)) return;
  listener_.on_failed(std::move(why));
}

void CallbackSession::stop(Callback<void()> gone) {
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

std::unique_ptr<Session> make_callback_session(SessionNeeds& needs, const SessionPlan& plan,
                                               SessionListener& listener) {
  return std::make_unique<CallbackSession>(needs, plan, listener);
}

}  // namespace sluice::waiting
