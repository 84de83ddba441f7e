#include "bench/waiting/quick.h"

#include "base/check.h"

namespace sluice::waiting {

// ── launches ────────────────────────────────────────────────────────────────────────────────────

QuickLaunches::QuickLaunches(bool with_tasks)
    : needs_{turns.loop,
             *this,
             [](int) { return true; },
             [this](int, Callback<void()> then) { turns.later(std::move(then)); },
             [] { return false; },
             [](int, Callback<void()>) {}},
      launcher_(with_tasks ? make_task_launcher(needs_) : make_callback_launcher(needs_)) {}

void QuickLaunches::launch(int number) {
  if (turns.held == 0) runs_.clear();
  auto& run = *runs_.emplace_back(std::make_unique<Run>(static_cast<Run::Owner&>(*this), number));
  Launch launch;
  launch.work.agent_and_prompt[0] = "a prompt that is long enough to be kept on the heap";
  launch.work.reads_history = true;
  launch.names.materials = {"a repository", "a skill"};
  run.keep_launch(std::move(launch));
  run.remember_mark();
  turns.asked = 0;
  launcher_->begin(run);
  turns.loop.settle();
}

void QuickLaunches::past(int, Callback<void(Result<std::shared_ptr<Past>>)> done) {
  turns.later([done = std::move(done)]() mutable { done(std::make_shared<Past>()); });
}
void QuickLaunches::materials(int, const Names& names, Callback<void(Result<Found>)> done) {
  turns.later([names, done = std::move(done)]() mutable { done(Found{names.materials, {}}); });
}
void QuickLaunches::secrets(int, Callback<void(Result<std::vector<std::string>>)> done) {
  turns.later([done = std::move(done)]() mutable { done(std::vector<std::string>{"a secret"}); });
}
void QuickLaunches::history(int, Callback<void(Result<std::vector<std::string>>)> done) {
  turns.later([done = std::move(done)]() mutable { done(std::vector<std::string>{"what was said"}); });
}
void QuickLaunches::on_run(int, std::string) { ++dispatched; }
void QuickLaunches::write_mark(int, Callback<void()> then) { turns.later(std::move(then)); }

// ── sessions ────────────────────────────────────────────────────────────────────────────────────

namespace {

// Its callback does not come once it was dropped.
class QuickOperation final : public Operation {
 public:
  QuickOperation(Turns& turns, Callback<void()> end) : turns_(turns), end_(std::move(end)) {
    turns.later([this, alive = std::weak_ptr<char>(alive_)] {
      if (alive.expired()) return;
      auto then = std::move(end_);
      then();
    });
  }
  void stop(Callback<void()> gone) override { turns_.loop.defer(std::move(gone)); }

 private:
  Turns& turns_;
  Callback<void()> end_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

class QuickCommand final : public Command {
 public:
  QuickCommand(Turns& turns, CommandListener& listener)
      : operation_(turns, [&listener] { listener.on_ended({.is_well = true}, "printed"); }) {}

 private:
  QuickOperation operation_;
};

class QuickBox final : public Box {
 public:
  explicit QuickBox(Turns& turns) : turns_(turns) {}
  void open(Layers, Binds, Callback<void(Result<Unit>)> then) override {
    turns_.later([then = std::move(then)]() mutable { then(Unit{}); });
  }
  void serve() override {}
  Result<Unit> watch_files() override { return Unit{}; }
  bool was_warm() const override { return true; }
  std::unique_ptr<Command> run(std::string, CommandListener& listener) override {
    return std::make_unique<QuickCommand>(turns_, listener);
  }
  void kill(Callback<void()> gone) override { turns_.loop.defer(std::move(gone)); }

 private:
  Turns& turns_;
};

template <typename T>
std::unique_ptr<Operation> operate(Turns& turns, Callback<void(Result<T>)> done, T value) {
  return std::make_unique<QuickOperation>(
      turns, [done = std::move(done), value = std::move(value)]() mutable { done(std::move(value)); });
}

}  // namespace

void QuickSessions::open() {
  if (turns.held == 0) sessions_.clear();
  auto& session = *sessions_.emplace_back(with_tasks_ ? make_task_session(*this, plan_, *this)
                                                      : make_callback_session(*this, plan_, *this));
  turns.asked = 0;
  session.open([this] { ++ready; });
  turns.loop.settle();
}

std::unique_ptr<Box> QuickSessions::make_box(BoxUser&) { return std::make_unique<QuickBox>(turns); }
std::unique_ptr<Operation> QuickSessions::read_layers(Callback<void(Result<Layers>)> done) {
  return operate<Layers>(turns, std::move(done), {});
}
std::unique_ptr<Operation> QuickSessions::fetch_repository(Callback<void(std::string)>,
                                                           Callback<void(Result<Layers>)> done) {
  return operate<Layers>(turns, std::move(done), {"a layer"});
}
std::unique_ptr<Operation> QuickSessions::fetch_skills(Callback<void(Result<Binds>)> done) {
  return operate<Binds>(turns, std::move(done), {"a skill"});
}
std::unique_ptr<Operation> QuickSessions::put_files(Box&, Callback<void(Result<Unit>)> done) {
  return operate<Unit>(turns, std::move(done), {});
}
void QuickSessions::on_failed(std::string) { SLUICE_CHECK(false); }

// ── a run that waits for a human ────────────────────────────────────────────────────────────────

namespace {

constexpr Millis week{7 * 24 * 3'600'000};

class CallbackParked final : public Parked {
 public:
  CallbackParked(world::Loop& loop, Callback<void(std::string)> over)
      : over_(std::move(over)), expiry_(loop.after(week, [this] { over_("expired"); })) {}
  void decide(bool approved) override {
    expiry_.cancel();
    over_(approved ? "approved" : "denied");
  }

 private:
  Callback<void(std::string)> over_;
  world::Timer expiry_;
};

class TaskParked final : public Parked {
 public:
  TaskParked(world::Loop& loop, Callback<void(std::string)> over) : over_(std::move(over)) {
    waiting_.start(wait(loop));
  }
  void decide(bool approved) override { decided_(approved ? "approved" : "denied"); }

 private:
  Task<> wait(world::Loop& loop) {
    const auto how = co_await answer<std::string>([this, &loop](auto done) {
      decided_ = done;
      return loop.after(week, [done]() mutable { done("expired"); });
    });
    co_await outside([this, how] { over_(how); });
  }
  Callback<void(std::string)> over_, decided_;
  Sequence waiting_;
};

// ── a reader that waits for events ──────────────────────────────────────────────────────────────

class CallbackStream final : public Stream {
 public:
  CallbackStream(EventSource& source, std::size_t& sent_bytes) : source_(source), sent_bytes_(sent_bytes) {
    source_.news = [this](std::string event) { sent_bytes_ += event.size(); };
  }
  ~CallbackStream() override { source_.news = nullptr; }

 private:
  EventSource& source_;
  std::size_t& sent_bytes_;
};

class TaskStream final : public Stream {
 public:
  TaskStream(EventSource& source, std::size_t& sent_bytes) { reading_.start(read(source, sent_bytes)); }

 private:
  static Task<> read(EventSource& source, std::size_t& sent_bytes) {
    while (true) {
      const auto event = co_await answer<std::string>([&source](auto done) { source.news = std::move(done); });
      sent_bytes += event.size();
    }
  }
  Sequence reading_;
};

}  // namespace

std::unique_ptr<Parked> park(world::Loop& loop, bool with_tasks, Callback<void(std::string)> over) {
  if (with_tasks) return std::make_unique<TaskParked>(loop, std::move(over));
  return std::make_unique<CallbackParked>(loop, std::move(over));
}

std::unique_ptr<Stream> stream(EventSource& source, bool with_tasks, std::size_t& sent_bytes) {
  if (with_tasks) return std::make_unique<TaskStream>(source, sent_bytes);
  return std::make_unique<CallbackStream>(source, sent_bytes);
}

}  // namespace sluice::waiting
