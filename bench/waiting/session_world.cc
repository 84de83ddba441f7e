// Sandbox sessions that are opened while every step may fail or take long, and while their listener drops or stops them
// at any moment: between two turns, or as it is called.
#include <array>
#include <list>
#include <optional>
#include <unordered_map>

#include "bench/waiting/chance.h"
#include "bench/waiting/session.h"
#include "world/fake_world.h"

namespace sluice::waiting {
namespace {

constexpr int session_count = 4;
enum What : int { plan, latency, outcome, end_how, end_when, end_call, lost, warm, watched };

class SessionWorld;

// One session's listener and seams.
class Guest final : public SessionNeeds, public SessionListener {
 public:
  Guest(SessionWorld& world, int number) : world_(world), number_(number) {}
  void begin(bool with_tasks);
  void end();
  void note(std::string what);
  void lose_box() {
    if (user_ != nullptr && session_) note("box lost"), std::exchange(user_, nullptr)->on_box_lost("killed");
  }

  world::Loop& loop() override;
  std::unique_ptr<Box> take_kept_box(BoxUser& user) override;
  std::unique_ptr<Box> make_box(BoxUser& user) override;
  std::unique_ptr<Operation> read_layers(Callback<void(Result<Layers>)> done) override;
  std::unique_ptr<Operation> fetch_repository(Callback<void(std::string)> remark,
                                              Callback<void(Result<Layers>)> done) override;
  std::unique_ptr<Operation> fetch_skills(Callback<void(Result<Binds>)> done) override;
  std::unique_ptr<Operation> put_files(Box& box, Callback<void(Result<Unit>)> done) override;

  void on_event(std::string body) override { hear("event " + body); }
  void on_phase(std::string_view phase, std::string words) override {
    hear("phase " + std::string(phase) + ": " + words);
  }
  void on_failed(std::string why) override {
    note("failed " + why);
    end();
  }

  // How long the next thing takes, how it ends, and whether the session is dropped as it begins or just before its end.
  struct Fate {
    Millis latency;
    std::optional<Error> error;
    bool ends_before = false;
  };
  Fate next_fate(std::string what);
  int open_things = 0;  // operations, boxes and commands
  Story story;

 private:
  friend class FakeBox;
  void hear(std::string what);
  template <typename T, typename Make>
  std::unique_ptr<Operation> operate(std::string what, Callback<void(Result<T>)> done, Make make);

  SessionWorld& world_;
  const int number_;
  int calls_ = 0, heard_ = 0;
  SessionPlan plan_;
  BoxUser* user_ = nullptr;
  std::unique_ptr<Session> session_;
};

class SessionWorld {
 public:
  SessionWorld(uint64_t seed, bool with_tasks) : chance(seed) {
    for (int i = 0; i < session_count; ++i) guests.emplace_back(*this, i);
    for (auto& guest : guests) guest.begin(with_tasks);
  }
  std::vector<Story> play() {
    loop.advance({60'000});
    std::vector<Story> stories;
    for (auto& guest : guests) {
      guest.end();
      SLUICE_CHECK(guest.open_things == 0);
    }
    loop.advance({60'000});
    for (auto& guest : guests) stories.push_back(std::move(guest.story));
    return stories;
  }
  void later(Millis delay, Callback<void()> then) { timers.push_back(loop.after(delay, std::move(then))); }

  world::FakeLoop loop;
  const Chance chance;
  std::list<Guest> guests;
  std::vector<world::Timer> timers;  // of what cannot be cancelled
};

world::Loop& Guest::loop() { return world_.loop; }

void Guest::note(std::string what) {
  if (!session_) ++story.calls_after_end;
  story.lines.push_back(std::to_string(world_.loop.monotonic_us() / 1'000) + " " + std::move(what));
}

// A fifth of the sessions is dropped as its listener is called.
void Guest::hear(std::string what) {
  note(std::move(what));
  if (world_.chance.of(5, number_, end_how) == 0 && ++heard_ == 1 + world_.chance.of(4, number_, end_call)) end();
}

void Guest::end() {
  if (!session_) return;
  note("end");
  story.was_dropped = true;
  auto session = std::move(session_);
  session_ = nullptr;
  if (world_.chance.of(2, number_, end_how, 1) == 0) session->stop([this] { story.lines.emplace_back("gone"); });
  session.reset();
  user_ = nullptr;
  story.lines_before_end = story.lines.size();
  SLUICE_CHECK(open_things == 0);
}

Guest::Fate Guest::next_fate(std::string what) {
  note(std::move(what));
  const auto& chance = world_.chance;
  const int times = ++calls_;
  Fate fate{.latency = {chance.of(600, number_, latency, times)}, .error = {}};
  if (chance.of(12, number_, outcome, times) == 0) {
    fate.error = Error{chance.of(2, number_, outcome, times + 100) == 0 ? ErrorKind::not_found : ErrorKind::unavailable,
                       "no luck"};
  }
  const int how = chance.of(5, number_, end_how);
  if (how == 1 && chance.of(8, number_, end_call) == times) world_.loop.defer([this] { end(); });
  fate.ends_before = how == 2 && chance.of(8, number_, end_call) == times;
  return fate;
}

class FakeOperation final : public Operation {
 public:
  FakeOperation(Guest& guest, Guest::Fate fate, Callback<void()> end) : guest_(guest), end_(std::move(end)) {
    ++guest_.open_things;
    timer_ = guest_.loop().after(fate.latency, [this, &guest, ends_before = fate.ends_before] {
      auto then = std::move(end_);  // this may go during the call, and before it
      if (ends_before) return guest.end();
      then();
    });
  }
  ~FakeOperation() override { --guest_.open_things; }
  void stop(Callback<void()> gone) override { guest_.loop().defer(std::move(gone)); }

 private:
  Guest& guest_;
  Callback<void()> end_;
  world::Timer timer_;
};

class FakeCommand final : public Command {
 public:
  FakeCommand(Guest& guest, Guest::Fate fate, std::string printed, CommandListener& listener)
      : guest_(guest), listener_(listener), fate_(std::move(fate)) {
    ++guest_.open_things;
    timer_ = guest_.loop().after({fate_.latency.value / 2}, [this, printed] {
      timer_ = guest_.loop().after({fate_.latency.value / 2}, [this, printed] { finish(printed); });
      listener_.on_printed(printed + "\n");
    });
  }
  ~FakeCommand() override { --guest_.open_things; }

 private:
  void finish(const std::string& printed) {
    if (fate_.ends_before) return guest_.end();
    const bool box_lost = fate_.error && fate_.error->kind == ErrorKind::not_found;
    listener_.on_ended({.is_well = !fate_.error, .box_lost = box_lost}, box_lost ? "killed" : printed);
  }
  Guest& guest_;
  CommandListener& listener_;
  const Guest::Fate fate_;
  world::Timer timer_;
};

class FakeBox final : public Box {
 public:
  FakeBox(SessionWorld& world, Guest& guest, int number) : world_(world), guest_(guest), number_(number) {
    ++guest_.open_things;
  }
  ~FakeBox() override { --guest_.open_things; }
  void open(Layers below, Binds binds, Callback<void(Result<Unit>)> then) override {
    auto fate = guest_.next_fate("open " + std::to_string(below.size()) + " " + std::to_string(binds.size()));
    if (world_.chance.of(6, number_, lost) == 0)
      world_.later({world_.chance.of(2'000, number_, lost, 1)}, [&guest = guest_] { guest.lose_box(); });
    world_.later(fate.latency, [&guest = guest_, fate, then = std::move(then)]() mutable {
      if (fate.ends_before) guest.end();
      if (fate.error) return then(std::move(*fate.error));
      then(Unit{});
    });
  }
  void serve() override { guest_.note("serve"); }
  Result<Unit> watch_files() override {
    if (world_.chance.of(4, number_, watched) == 0) return Error{ErrorKind::unavailable, "no more watches"};
    return Unit{};
  }
  bool was_warm() const override { return world_.chance.of(2, number_, warm) == 0; }
  std::unique_ptr<Command> run(std::string command, CommandListener& listener) override {
    return std::make_unique<FakeCommand>(guest_, guest_.next_fate("run " + command), "printed by " + command, listener);
  }
  void kill(Callback<void()> gone) override { world_.later({50}, std::move(gone)); }

 private:
  SessionWorld& world_;
  Guest& guest_;
  const int number_;
};

template <typename T, typename Make>
std::unique_ptr<Operation> Guest::operate(std::string what, Callback<void(Result<T>)> done, Make make) {
  auto fate = next_fate(std::move(what));
  auto end = [make, error = fate.error, done = std::move(done)]() mutable {
    if (error) return done(std::move(*error));
    done(make());
  };
  return std::make_unique<FakeOperation>(*this, std::move(fate), std::move(end));
}

std::unique_ptr<Box> Guest::take_kept_box(BoxUser& user) {
  if (world_.chance.of(5, number_, plan, 1) != 0) return nullptr;
  user_ = &user;
  auto box = std::make_unique<FakeBox>(world_, *this, number_);
  box->instructions = "kept instructions";
  note("kept box");
  return box;
}

std::unique_ptr<Box> Guest::make_box(BoxUser& user) {
  user_ = &user;
  return std::make_unique<FakeBox>(world_, *this, number_);
}

std::unique_ptr<Operation> Guest::read_layers(Callback<void(Result<Layers>)> done) {
  const bool has_layers = world_.chance.of(3, number_, plan, 2) == 0;
  return operate<Layers>("layers", std::move(done), [has_layers] {
    return has_layers ? Layers{"a layer whose path is longer than a short string"} : Layers{};
  });
}

std::unique_ptr<Operation> Guest::fetch_repository(Callback<void(std::string)> remark,
                                                   Callback<void(Result<Layers>)> done) {
  if (world_.chance.of(2, number_, plan, 3) == 0) {
    world_.loop.defer([this, remark = std::move(remark)]() mutable {
      if (session_) remark("The server allows no shallow clones.");
    });
  }
  return operate<Layers>("repository", std::move(done), [] { return Layers{"a repository's first layer"}; });
}

std::unique_ptr<Operation> Guest::fetch_skills(Callback<void(Result<Binds>)> done) {
  return operate<Binds>("skills", std::move(done), [] { return Binds{"a skill", "another skill"}; });
}

std::unique_ptr<Operation> Guest::put_files(Box&, Callback<void(Result<Unit>)> done) {
  return operate<Unit>("files", std::move(done), [] { return Unit{}; });
}

void Guest::begin(bool with_tasks) {
  const auto has = [this](int what) { return world_.chance.of(2, number_, plan, what) == 0; };
  plan_ = {.refusal = world_.chance.of(12, number_, plan, 10) == 0 ? "the disk is full" : "",
           .has_repository = has(11),
           .has_skills = has(12),
           .has_files = has(13),
           .has_setup = has(14),
           .were_open = world_.chance.of(4, number_, plan, 15) == 0,
           .watches_files = has(16)};
  session_ = with_tasks ? make_task_session(*this, plan_, *this) : make_callback_session(*this, plan_, *this);
  if (world_.chance.of(5, number_, end_how) == 3) {
    world_.later({world_.chance.of(2'500, number_, end_when)}, [this] { end(); });
  }
  session_->open([this] { note("ready"); });
}

}  // namespace

std::vector<Story> session_stories(uint64_t seed, bool with_tasks) {
  SessionWorld world(seed, with_tasks);
  return world.play();
}

}  // namespace sluice::waiting
