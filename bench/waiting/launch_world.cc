// Runs that are launched while the store answers in any order, refuses, and fails, and while runs are cancelled or go
// away at any moment.
#include "bench/waiting/chance.h"
#include "bench/waiting/launch.h"
#include "world/fake_world.h"

namespace sluice::waiting {
namespace {

constexpr int run_count = 6;
enum What : int {
  plan,
  latency,
  outcome,
  end_how,
  end_when,
  end_call,
  past,
  materials,
  secrets,
  history,
  scrubber,
  mark,
  resume
};

class LaunchWorld final : public Store, private Run::Owner {
 public:
  LaunchWorld(uint64_t seed, bool with_tasks)
      : chance_(seed),
        needs_{loop_,
               *this,
               [this](int run) { return chance_.of(2, run, plan, 8) == 0; },
               [this](int run, Callback<void()> then) { answer_later(run, scrubber, "scrubber", std::move(then)); },
               [this] { return loop_.monotonic_us() / 1'000'000 % 3 == 2; },
               [this](int run, Callback<void()> then) { answer_later(run, resume, "suspended", std::move(then)); }},
        launcher_(with_tasks ? make_task_launcher(needs_) : make_callback_launcher(needs_)),
        stories_(run_count),
        calls_(run_count) {}

  std::vector<Story> play(std::size_t& left_over) {
    for (int i = 0; i < run_count; ++i) begin(i);
    loop_.advance({120'000});
    left_over = launcher_->held();
    runs_.clear();
    return std::move(stories_);
  }

 private:
  // ── the store ──
  void past(int run, Callback<void(Result<std::shared_ptr<Past>>)> done) override {
    answer_later(run, What::past, "past", [this, run, done = std::move(done)](std::optional<Error> why) mutable {
      if (why) return done(std::move(*why));
      auto found = std::make_shared<Past>();
      found->launch = launch_of(run);
      found->is_damaged = chance_.of(12, run, plan, 1) == 0;
      found->has_agent = chance_.of(12, run, plan, 2) != 0;
      done(std::move(found));
    });
  }
  void materials(int run, const Names& names, Callback<void(Result<Found>)> done) override {
    answer_later(run, What::materials, "materials",
                 [this, run, names, done = std::move(done)](std::optional<Error> why) mutable {
                   if (why) return done(std::move(*why));
                   Found found{.materials = names.materials, .missing = {}};
                   if (chance_.of(10, run, plan, 3) == 0) found.missing = {"skill"};
                   done(std::move(found));
                 });
  }
  void secrets(int run, Callback<void(Result<std::vector<std::string>>)> done) override {
    answer_later(run, What::secrets, "secrets", [this, run, done = std::move(done)](std::optional<Error> why) mutable {
      if (why) return done(std::move(*why));
      std::vector<std::string> sealed = {"a secret that is long enough to be on the heap"};
      if (chance_.of(4, run, plan, 4) == 0) sealed.emplace_back("!a secret that no key opens any more");
      done(std::move(sealed));
    });
  }
  void history(int run, Callback<void(Result<std::vector<std::string>>)> done) override {
    answer_later(run, What::history, "history", [done = std::move(done)](std::optional<Error> why) mutable {
      if (why) return done(std::move(*why));
      done(std::vector<std::string>{"what was said before, longer than a short string", "and the answer to that"});
    });
  }

  // ── the run's owner ──
  void on_run(int run, std::string what) override { note(run, std::move(what)); }
  void write_mark(int run, Callback<void()> then) override { answer_later(run, mark, "mark", std::move(then)); }

  Launch launch_of(int run) const {
    Launch launch;
    launch.work.agent_and_prompt[0] = "a prompt that is long enough to be kept on the heap";
    launch.work.reads_history = chance_.of(2, run, plan, 5) == 0;
    if (chance_.of(3, run, plan, 6) == 0) launch.work.checkpoint = "checkpoint";
    if (chance_.of(2, run, plan, 7) == 0) launch.names.materials = {"a repository", "a skill"};
    launch.is_sticky = chance_.of(4, run, plan, 9) == 0;
    return launch;
  }

  void begin(int number) {
    auto& run = *(runs_[number] = std::make_unique<Run>(static_cast<Run::Owner&>(*this), number));
    if (chance_.of(2, number, plan, 10) == 0) run.keep_launch(launch_of(number));
    if (chance_.of(3, number, plan, 11) == 0) run.remember_mark();
    if (chance_.of(3, number, end_how) == 0) {
      ends_.push_back(loop_.after({chance_.of(4'000, number, end_when)}, [this, number] { end(number); }));
    }
    launcher_->begin(run);
  }

  // The run is cancelled, or goes.
  void end(int number) {
    auto& story = stories_[static_cast<std::size_t>(number)];
    if (story.was_cancelled || story.was_dropped) return;
    story.lines_before_end = story.lines.size();
    if (chance_.of(2, number, end_how, 1) == 0) {
      story.was_cancelled = true;
      return launcher_->cancel(*runs_[number]);
    }
    story.was_dropped = true;
    runs_.erase(number);
  }

  void note(int run, std::string what) {
    auto& story = stories_[static_cast<std::size_t>(run)];
    if (story.was_cancelled || story.was_dropped) ++story.calls_after_end;
    story.lines.push_back(std::to_string(loop_.monotonic_us() / 1'000) + " " + std::move(what));
  }

  // A third of the runs end at one of their calls: as it is made, or just before its answer comes.
  template <typename Done>
  void answer_later(int run, What what, const char* name, Done done) {
    const int times = ++calls_[static_cast<std::size_t>(run)];
    note(run, name);
    const bool ends = chance_.of(3, run, end_how) == 1 && chance_.of(9, run, end_call) == times;
    const bool ends_late = chance_.of(2, run, end_call, 1) == 0;
    if (ends && !ends_late) loop_.defer([this, run] { end(run); });
    const int fate = chance_.of(10, run, outcome, times);
    std::optional<Error> why;
    if (fate < 3) why = Error{fate == 0 ? ErrorKind::invalid : ErrorKind::unavailable, "the store says no"};
    if (fate == 0 && chance_.of(3, run, outcome, times + 100) != 0) why.reset();
    answers_.push_back(loop_.after({chance_.of(800, run, latency + 100 * what, times)},
                                   [this, run, ends, ends_late, why, done = std::move(done)]() mutable {
                                     if (ends && ends_late) end(run);
                                     if constexpr (std::is_invocable_v<Done&, std::optional<Error>>) {
                                       done(std::move(why));
                                     } else {
                                       done();
                                     }
                                   }));
  }

  world::FakeLoop loop_;
  Chance chance_;
  LaunchNeeds needs_;
  std::unique_ptr<Launcher> launcher_;
  std::vector<Story> stories_;
  std::vector<int> calls_;
  std::unordered_map<int, std::unique_ptr<Run>> runs_;
  std::vector<world::Timer> ends_, answers_;
};

}  // namespace

std::vector<Story> launch_stories(uint64_t seed, bool with_tasks, std::size_t& left_over) {
  LaunchWorld world(seed, with_tasks);
  return world.play(left_over);
}

}  // namespace sluice::waiting
