// One run that is not over, in memory: what its agent says is gathered, written, and only then
// folded for whoever reads along.
//
// At most one append is under way; what comes meanwhile makes the next one, so a slow disk makes
// larger batches, not a longer queue. Everything here is a fold of the journal plus what is not
// written yet; dropping a LiveRun loses nothing that anyone was told.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/open_steps.h"
#include "engine/run_lifecycle.h"

namespace sluice::engine {

class JournalReading;

class LiveRun final : public harness::DispatchListener {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // It has something to write; call flush() at the end of this turn.
    virtual void on_dirty(model::RunId run) = 0;
    // The terminal event is on disk and told. The owner drops the run.
    virtual void on_over(LiveRun& run) = 0;
    // It cannot be written on: fenced out, or the store will not say. The owner drops the run.
    virtual void on_lost(LiveRun& run, const Error& why) = 0;
  };

  struct Needs {
    Owner& owner;
    store::Store& store;
    world::Loop& loop;
    world::Histogram& first_event;
    const std::string& public_base_url;
  };

  // `message` is the assistant message as the journal so far makes it.
  LiveRun(Needs needs, model::Run run, model::Message message, std::string request_id);
  ~LiveRun() override;

  const model::Run& run() const { return run_; }
  const model::Message& message() const { return message_; }
  int64_t accepted_us() const { return accepted_us_; }
  const std::string& request_id() const { return request_id_; }
  // Of the problem it ended with; empty when it did not.
  std::string_view problem_name() const { return problem_name_; }

  // The first events of a run accepted just now: its first reader need not ask the store for them.
  void keep_opening(store::CommittedBatch opening) { opening_ = std::move(opening); }
  const store::CommittedBatch& opening() const { return opening_; }

  void work_by(std::unique_ptr<harness::Work> work) { work_ = std::move(work); }
  void fail(model::Problem problem) { on_failed(std::move(problem)); }
  // `done` gets the run once it is over, however it ended.
  void cancel(Callback<void(Result<model::Run>)> done);
  // What the journal so far shows of its tool calls.
  void remember_steps(OpenSteps steps) { steps_ = std::move(steps); }
  // The wish to cancel was on disk before a restart; nobody works on the run any more.
  void resume_cancelling();
  void wait_for_end(std::weak_ptr<Callback<void(Result<wire::Ending>)>> waiter);

  // The reader's fold stands at this run's head; from here on it gets what is written.
  void attach(JournalReading& reading, const wire::Fold& fold, wire::Format format);
  void detach(JournalReading& reading);

  void flush();
  // Nothing more will be written here: readers and waiters are told so.
  void abandon(const Error& why);

  void on_event(model::RunEvent event) override;
  void on_finished(model::Usage usage) override;
  void on_failed(model::Problem problem) override;

 private:
  struct Audience {
    std::optional<wire::Fold> fold;         // of everyone in `readings`
    std::vector<JournalReading*> readings;  // null: has left
  };

  void mark_dirty();
  bool happen(Happening what);
  void end_with(model::EventKind kind, std::string body);
  void close_steps(std::string_view why);
  std::string problem_json(const model::Problem& problem);
  void on_written(Result<store::CommittedBatch> written);
  void on_refused(const Error& why);
  void tell(const store::CommittedBatch& news);
  void tell_audience(Audience& audience, const store::CommittedBatch& news);
  void stop_work();
  void end_cancelled();
  void finish();

  Needs needs_;
  model::Run run_;  // state: as decided, on disk once `state_to_write_` is empty
  model::Message message_;
  std::string request_id_;
  int64_t accepted_us_;

  OpenSteps steps_;
  std::vector<model::RunEvent> pending_;
  std::optional<RunState> state_to_write_;
  std::vector<model::RunEvent> in_flight_;  // kept until the store answers: a full disk means again
  std::optional<RunState> state_in_flight_;
  bool writing_ = false;
  bool dirty_ = false;
  world::Timer again_;
  int refusals_ = 0;

  store::CommittedBatch opening_;
  std::unique_ptr<harness::Work> work_;
  std::array<Audience, wire::format_count> audiences_;
  std::vector<std::weak_ptr<Callback<void(Result<wire::Ending>)>>> waiters_;
  std::vector<Callback<void(Result<model::Run>)>> cancellers_;
  std::optional<wire::Ending> ending_;
  std::string_view problem_name_;
  bool first_told_ = false;

  // The store's answer may come after this run is gone.
  std::shared_ptr<LiveRun*> self_;
};

}  // namespace sluice::engine
