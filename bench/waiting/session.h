// Opening a sandbox session, reduced to what it calls. Whatever takes time is a seam: an operation that dropping
// cancels, or a box, whose answer to open() may come after it was dropped. The listener may drop the session whenever
// it is called.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "base/task.h"
#include "world/world.h"

namespace sluice::waiting {

using Layers = std::vector<std::string>;
using Binds = std::vector<std::string>;

inline auto next_turn(world::Loop& loop) {
  return answer<Unit>([&loop](auto done) { loop.defer(std::move(done)); });
}

class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void on_event(std::string body) = 0;
  virtual void on_phase(std::string_view phase, std::string words) = 0;
  virtual void on_failed(std::string why) = 0;
};

// Dropping it cancels it: its callback does not come any more.
class Operation {
 public:
  virtual ~Operation() = default;
  // To be dropped then. `gone`: nothing is left of it.
  virtual void stop(Callback<void()> gone) = 0;
};

struct Exit {
  bool is_well = false;
  bool box_lost = false;
};

class CommandListener {
 public:
  virtual ~CommandListener() = default;
  virtual void on_printed(std::string text) = 0;
  virtual void on_ended(Exit exit, std::string printed) = 0;
};

class Command {
 public:
  virtual ~Command() = default;  // kills it; its listener is not called any more
};

class BoxUser {
 public:
  virtual ~BoxUser() = default;
  virtual void on_box_lost(std::string what) = 0;
};

class Box {
 public:
  virtual ~Box() = default;
  virtual void open(Layers layers, Binds binds, Callback<void(Result<Unit>)> then) = 0;
  virtual void serve() = 0;
  virtual Result<Unit> watch_files() = 0;
  virtual bool was_warm() const = 0;
  virtual std::unique_ptr<Command> run(std::string command, CommandListener& listener) = 0;
  virtual void kill(Callback<void()> gone) = 0;  // also after it was dropped
  Layers layers;
  std::string instructions;
};

struct SessionPlan {
  std::string refusal;  // of the tenant's disk; empty: none
  bool has_repository = false;
  bool has_skills = false;
  bool has_files = false;
  bool has_setup = false;
  bool were_open = false;
  bool watches_files = true;
};

struct SessionNeeds {
  virtual ~SessionNeeds() = default;
  virtual world::Loop& loop() = 0;
  virtual std::unique_ptr<Box> take_kept_box(BoxUser& user) = 0;  // null: none is kept
  virtual std::unique_ptr<Box> make_box(BoxUser& user) = 0;
  virtual std::unique_ptr<Operation> read_layers(Callback<void(Result<Layers>)> done) = 0;
  virtual std::unique_ptr<Operation> fetch_repository(Callback<void(std::string)> remark,
                                                      Callback<void(Result<Layers>)> done) = 0;
  virtual std::unique_ptr<Operation> fetch_skills(Callback<void(Result<Binds>)> done) = 0;
  virtual std::unique_ptr<Operation> put_files(Box& box, Callback<void(Result<Unit>)> done) = 0;
};

// Both forms. Dropping it cancels what is under way; stop() also says when nothing is left of the sandbox.
class Session {
 public:
  virtual ~Session() = default;
  virtual void open(Callback<void()> ready) = 0;
  virtual void stop(Callback<void()> gone) = 0;
};

std::unique_ptr<Session> make_callback_session(SessionNeeds& needs, const SessionPlan& plan, SessionListener& listener);
std::unique_ptr<Session> make_task_session(SessionNeeds& needs, const SessionPlan& plan, SessionListener& listener);

}  // namespace sluice::waiting
