// Launching a run, reduced to what it calls: the store, the secrets' scrubbers, the suspension and the dispatcher are
// seams, and the run is the part of an engine's run that a launch touches. Both forms are called on the loop's thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "base/task.h"
#include "world/world.h"

namespace sluice::waiting {

constexpr Millis read_again{500};

inline bool may_pass(const Error& why) {
  return why.kind == ErrorKind::overloaded || why.kind == ErrorKind::unavailable;
}

// What is dispatched: as large as the server's.
struct Work {
  std::array<std::string, 4> agent_and_prompt;
  std::array<std::string, 44> fields;
  std::vector<std::string> materials;
  std::vector<std::string> files;
  std::vector<std::string> secrets;
  std::vector<std::string> history;
  std::string checkpoint;
  std::string mark;
  bool reads_history = false;
  bool keeps_box = false;
};

struct Names {
  std::vector<std::string> materials;
};

struct Launch {
  Work work;
  Names names;
  bool is_sticky = false;
};

struct Past {
  Launch launch;
  bool is_damaged = false;
  bool has_agent = true;
};

struct Found {
  std::vector<std::string> materials;
  std::vector<std::string> missing;
};

enum class RunState : uint8_t { streaming, cancelling };

// One run in memory. Dropping it means that it goes from this server.
class Run {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_run(int run, std::string what) = 0;
    // `then` when the mark is on disk; also after the run has gone.
    virtual void write_mark(int run, Callback<void()> then) = 0;
  };
  Run(Owner& owner, int number) : owner_(owner), number_(number) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { *self_ = nullptr; }

  int number() const { return number_; }
  RunState state() const { return state_; }
  void cancel() { state_ = RunState::cancelling; }
  std::shared_ptr<Run*> self() const { return self_; }  // null once it is gone
  bool marked() const { return marked_; }
  void remember_mark() { marked_ = true; }
  void keep_launch(Launch launch) { launch_ = std::make_unique<Launch>(std::move(launch)); }
  std::unique_ptr<Launch> take_launch() { return std::move(launch_); }

  void warn(std::string text) { report("warn " + text); }
  void fail(std::string text) { report("fail " + text); }
  void dispatched(const Work& work) {
    report("dispatch " + std::to_string(work.materials.size()) + " " + std::to_string(work.files.size()) + " " +
           std::to_string(work.secrets.size()) + " " + std::to_string(work.history.size()));
  }
  // Only while the run is there: its batches go with it.
  void clear_mark(Callback<void()> then) {
    marked_ = false;
    owner_.write_mark(number_, [alive = self_, then = std::move(then)]() mutable {
      if (*alive != nullptr) then();
    });
  }

  Sequence launching;  // the task form's

 private:
  void report(std::string what) {
    if (state_ == RunState::streaming) owner_.on_run(number_, std::move(what));
  }
  Owner& owner_;
  const int number_;
  RunState state_ = RunState::streaming;
  bool marked_ = false;
  std::unique_ptr<Launch> launch_;
  std::shared_ptr<Run*> self_ = std::make_shared<Run*>(this);
};

// Answers come later, on the loop's thread, and outlive the run.
class Store {
 public:
  virtual ~Store() = default;
  virtual void past(int run, Callback<void(Result<std::shared_ptr<Past>>)> done) = 0;
  virtual void materials(int run, const Names& names, Callback<void(Result<Found>)> done) = 0;
  virtual void secrets(int run, Callback<void(Result<std::vector<std::string>>)> done) = 0;
  virtual void history(int run, Callback<void(Result<std::vector<std::string>>)> done) = 0;
};

struct LaunchNeeds {
  world::Loop& loop;
  Store& store;
  std::function<bool(int run)> pin;                              // whether a sandbox can be kept for it
  std::function<void(int run, Callback<void()> then)> scrubber;  // `then` when the secrets' scrubber is made
  std::function<bool()> is_suspended;
  std::function<void(int run, Callback<void()> then)> keep_suspended;  // `then` when the node takes part again
};

// The secrets that the server's keys open; names of the others.
inline std::vector<std::string> open_secrets(const std::vector<std::string>& sealed, std::vector<std::string>& unread) {
  std::vector<std::string> opened;
  for (const auto& secret : sealed) (secret.starts_with('!') ? unread : opened).push_back(secret);
  return opened;
}

inline std::string list_of(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

// Both forms: begin() is called when the run has its slot, cancel() when it is to end.
class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual void begin(Run& run) = 0;
  virtual void cancel(Run& run) = 0;
  // What it still keeps for runs.
  virtual std::size_t held() const { return 0; }
};

std::unique_ptr<Launcher> make_callback_launcher(LaunchNeeds& needs);
std::unique_ptr<Launcher> make_task_launcher(LaunchNeeds& needs);

}  // namespace sluice::waiting
