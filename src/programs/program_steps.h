// The calls and subagents of an agent program, as steps of the run. One call has one step, wherever it is reported: in
// the program's own stream, at the bridge, or again in another process after the run waited for a human. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/harness.h"
#include "model/event.h"
#include "model/model.h"
#include "runs/runs.h"
#include "tools/tools.h"

namespace sluice::programs {

using StepEvents = std::vector<model::EventData>;

// One that was reported as running.
struct OpenStep {
  std::string id;
  std::string name;
  std::string arguments;  // JSON
  std::string subagent;
  int64_t used_ms = 0;
  bool operator==(const OpenStep&) const = default;
};

// The same JSON, however its members are ordered and spaced; text that is none stands for itself.
std::string canonical_json(std::string_view text);

class ProgramSteps {
 public:
  struct Bounds {
    std::size_t output_bytes_max = 0;  // of one step
    std::size_t result_chars_max = 0;
    std::size_t open_max = 1024;  // a program that ends none of them
  };
  ProgramSteps(Bounds bounds, runs::SharedSecrets secrets);

  // Of the kinds call_… and subagent_…, and of text and reasoning of a subagent.
  StepEvents hear(const harness::Heard& heard, int64_t now_us);

  // The step of a call about which something is asked of us, reported as running if it was not. `of_host`: we carry it
  // out, so end() alone ends it.
  std::string claim(const harness::ProgramCall& call, bool of_host, int64_t now_us, StepEvents& events);
  StepEvents print(std::string_view step_id, std::string_view text);
  StepEvents end(std::string_view step_id, const runs::ToolAnswer& answer, int64_t now_us);
  // What we carry out is not waited for: a call that is the same continues it.
  void release(std::string_view step_id);
  // All that are open, because the program is over.
  StepEvents break_off(const std::string& why, int64_t now_us);

  // Of this process.
  bool is_any_at_work() const;
  bool are_too_many() const { return steps_.size() > bounds_.open_max || subagents_.size() > bounds_.open_max; }

  // ── another process continues ──
  // While a human is waited for, no time passes.
  void pause(int64_t now_us);
  void go_on(int64_t now_us);
  // The program is ended meanwhile: what it was still writing, and its subagents, end with it.
  StepEvents let_go(const std::string& why, int64_t now_us);
  int64_t count() const { return count_; }
  std::vector<OpenStep> open_steps() const;
  // The program's ids have lost their meaning: the same call, made again, continues its step, and a step whose call is
  // not made again is broken off as such.
  void take_up(const std::vector<OpenStep>& steps, int64_t count, int64_t now_us);

 private:
  struct Step {
    std::string id;
    std::string call_id;  // the program's; empty: not known
    std::string name;
    std::string arguments;
    std::string canonical;  // of the arguments, without secrets
    std::string subagent;
    bool is_running = false;  // reported so; otherwise it is being written
    bool is_of_host = false;
    bool is_orphan = false;  // the process that made the call is gone, and no other has made it again
    int64_t began_us = 0;
    int64_t used_ms = 0;
    std::size_t printed_bytes = 0;
    runs::ScrubbedText pieces, output;
  };
  struct Subagent {
    std::string name;
    runs::ScrubbedText text, reasoning;
  };

  Step& add(const harness::ProgramCall& call, std::string_view subagent);
  Step* find(std::string_view call_id);
  Step* find_step(std::string_view step_id);
  // One that no call of this process has: of another process, or of the bridge alone.
  Step* find_unnamed(std::string_view name, std::string_view canonical, bool of_host);
  std::string canonical_of(std::string_view arguments) const;
  void run(Step& step, const harness::ProgramCall& call, int64_t now_us, StepEvents& events);
  void hear_running(const harness::Heard& heard, int64_t now_us, StepEvents& events);
  void hear_piece(const harness::Heard& heard, StepEvents& events);
  void hear_subagent(const harness::Heard& heard, StepEvents& events);
  void speak(const harness::Heard& heard, StepEvents& events);
  void print(Step& step, std::string text, StepEvents& events);
  void end(Step& step, const runs::ToolAnswer& answer, int64_t now_us, StepEvents& events);

  const Bounds bounds_;
  const runs::SharedSecrets secrets_;
  std::list<Step> steps_;  // open ones, oldest first
  std::map<std::string, Subagent, std::less<>> subagents_;
  std::deque<std::string> over_;  // ids of calls that were ended, and name and arguments of those without one; bounded
  int64_t count_ = 0;
};

}  // namespace sluice::programs
