// Turns what an agent program says into events of its run, within bounds: words, the session's name, usage, steps, log
// lines. What is no event (questions, calls of the host's tools, the end of its turn) goes to the user. On the loop's
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agents/agents.h"
#include "base/lifetime.h"
#include "harness/harness.h"
#include "model/model.h"
#include "programs/program_steps.h"
#include "runs/runs.h"
#include "world/world.h"

namespace sluice::programs {

// The answer as the program wrote it, which it may take back in part, and as the run emitted it, with breaks between
// paragraphs and without secrets.
class ProgramAnswer {
 public:
  // `output` must outlive this. Its listener may drop this whenever it is called.
  explicit ProgramAnswer(runs::EventOutput& output) : output_(output) {}

  void say(std::string text);
  // The program keeps so many bytes of what this process of it said, and takes back the rest.
  void replace(std::size_t kept_bytes);
  // A call begins: what is said next is another paragraph.
  void end_round() { paragraphs_.end_round(); }
  // As it was emitted.
  std::string text() const;

  // Another process of the program goes on.
  void begin_process();
  // After `text`, in another life of the run.
  void restore(std::string text);

 private:
  struct Break {
    std::size_t at = 0;  // of raw_: before these bytes it was emitted
    std::string text;
  };

  runs::EventOutput& output_;
  std::string before_;  // by an earlier process of the run, as it was emitted
  std::string raw_;     // by this one
  std::vector<Break> breaks_;
  runs::Paragraphs paragraphs_;
  Lifetime lifetime_;
};

class ProgramEventsUser {
 public:
  virtual ~ProgramEventsUser() = default;
  virtual void fail(model::Slug slug, std::string detail) = 0;
  // Of the kinds permission, withdrawn, host_call, deferred, finished, failed.
  virtual void on_heard(harness::Heard& heard) = 0;
};

class ProgramEvents final {
 public:
  struct Needs {
    world::Loop& loop;
    runs::EventOutput& output;
    ProgramSteps& steps;
    agents::RunFiller& filler;
  };
  // All must outlive this. The user may drop it whenever it is called, and so may the listener of the output.
  ProgramEvents(Needs needs, std::string agent_type, ProgramEventsUser& user)
      : loop_(needs.loop),
        output_(needs.output),
        steps_(needs.steps),
        filler_(needs.filler),
        agent_type_(std::move(agent_type)),
        user_(user),
        answer_(output_) {}

  // `is_turn`: what a program says of its own end is not part of the answer.
  void hear(harness::Heard& heard, bool is_turn);
  // False, from all of these, when the run is over or was dropped.
  bool fits_journal(const harness::Heard& heard);
  bool emit_steps(const StepEvents& events);
  bool emit_refusal(const harness::ProgramCall& call, std::string_view why);
  bool is_bounded(std::size_t more_bytes);

  ProgramAnswer& answer() { return answer_; }
  const ProgramAnswer& answer() const { return answer_; }
  const std::string& session_id() const { return session_id_; }
  void set_session_id(std::string id) { session_id_ = std::move(id); }
  // What the policy last refused, as long as no words followed.
  const std::string& refusal() const { return refusal_; }
  std::size_t said_bytes() const { return said_bytes_; }
  // Of all processes of the program.
  model::Usage usage() const {
    return {usage_before_.input_tokens + usage_.input_tokens, usage_before_.output_tokens + usage_.output_tokens};
  }
  const model::Usage& usage_of_process() const { return usage_; }

  // Another process of the program goes on.
  void begin_process();
  // After what this run said in another life; `session_id` was emitted then.
  void restore(std::string session_id, std::string said, std::size_t said_bytes, model::Usage usage);

 private:
  void hear_session(std::string session_id);
  void hear_words(harness::Heard& heard);
  void hear_usage(const model::Usage& usage);
  void hear_custom(const harness::Heard& heard);

  world::Loop& loop_;
  runs::EventOutput& output_;
  ProgramSteps& steps_;
  agents::RunFiller& filler_;
  const std::string agent_type_;
  ProgramEventsUser& user_;
  ProgramAnswer answer_;
  std::string session_id_;       // empty: none yet
  std::string emitted_session_;  // as it was emitted
  std::size_t said_bytes_ = 0;
  std::size_t event_bytes_ = 0;
  std::string refusal_;
  model::Usage usage_before_, usage_;
  Lifetime lifetime_;
};

}  // namespace sluice::programs
