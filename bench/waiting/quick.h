// Worlds in which everything answers at the next turn of the loop, or is held: for what a sequence costs while it runs
// and while it waits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/waiting/launch.h"
#include "bench/waiting/session.h"
#include "world/fake_world.h"

namespace sluice::waiting {

// Answers in the next turn; the `held`-th question of each sequence, counted from 1, is not answered.
class Turns {
 public:
  world::FakeLoop loop;
  int held = 0;
  int asked = 0;  // by the present sequence
  std::vector<Callback<void()>> kept;
  void later(Callback<void()> then) {
    if (++asked == held) return kept.push_back(std::move(then));
    loop.defer(std::move(then));
  }
};

// A run with materials, secrets, history and a mark, as they are launched.
class QuickLaunches final : public Store, private Run::Owner {
 public:
  explicit QuickLaunches(bool with_tasks);
  void launch(int number);  // until it is dispatched, or as far as it comes
  void forget_runs() { runs_.clear(); }
  Turns turns;
  int dispatched = 0;

 private:
  void past(int run, Callback<void(Result<std::shared_ptr<Past>>)> done) override;
  void materials(int run, const Names& names, Callback<void(Result<Found>)> done) override;
  void secrets(int run, Callback<void(Result<std::vector<std::string>>)> done) override;
  void history(int run, Callback<void(Result<std::vector<std::string>>)> done) override;
  void on_run(int run, std::string what) override;
  void write_mark(int run, Callback<void()> then) override;

  LaunchNeeds needs_;
  std::unique_ptr<Launcher> launcher_;
  std::vector<std::unique_ptr<Run>> runs_;
};

// A session with a repository, skills, files and a setup script.
class QuickSessions final : public SessionNeeds, private SessionListener {
 public:
  explicit QuickSessions(bool with_tasks) : with_tasks_(with_tasks) {}
  void open();  // until it is ready, or as far as it comes
  void forget_sessions() { sessions_.clear(); }
  Turns turns;
  int ready = 0;

 private:
  world::Loop& loop() override { return turns.loop; }
  std::unique_ptr<Box> take_kept_box(BoxUser&) override { return nullptr; }
  std::unique_ptr<Box> make_box(BoxUser& user) override;
  std::unique_ptr<Operation> read_layers(Callback<void(Result<Layers>)> done) override;
  std::unique_ptr<Operation> fetch_repository(Callback<void(std::string)> remark,
                                              Callback<void(Result<Layers>)> done) override;
  std::unique_ptr<Operation> fetch_skills(Callback<void(Result<Binds>)> done) override;
  std::unique_ptr<Operation> put_files(Box& box, Callback<void(Result<Unit>)> done) override;
  void on_event(std::string) override {}
  void on_phase(std::string_view, std::string) override {}
  void on_failed(std::string why) override;

  const bool with_tasks_;
  const SessionPlan plan_{.has_repository = true, .has_skills = true, .has_files = true, .has_setup = true};
  std::vector<std::unique_ptr<Session>> sessions_;
};

// Runs that wait for a human, and readers that wait for events.
class Parked {
 public:
  virtual ~Parked() = default;
  virtual void decide(bool approved) = 0;
};
std::unique_ptr<Parked> park(world::Loop& loop, bool with_tasks, Callback<void(std::string)> over);

struct EventSource {
  Callback<void(std::string)> news;  // called for each event
};
class Stream {
 public:
  virtual ~Stream() = default;
};
std::unique_ptr<Stream> stream(EventSource& source, bool with_tasks, std::size_t& sent_bytes);

}  // namespace sluice::waiting
