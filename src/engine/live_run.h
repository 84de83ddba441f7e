// One run that is not over, in memory: what its agent reports is gathered, written, and only then folded for readers.
//
// At most one append is under way; what comes meanwhile makes the next one, so a slow disk makes larger batches, not a
// longer queue. Everything here is a fold of the journal plus what is not written yet; dropping a LiveRun loses nothing
// that was sent to anyone. While it waits for a human (live_run_gate.cc) little of it is left: there may be ten
// thousand.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "engine/cancelling.h"
#include "engine/end_waiter.h"
#include "engine/engine.h"
#include "engine/launch.h"
#include "engine/queue_board.h"
#include "engine/run_batch.h"
#include "engine/store_clock.h"

namespace sluice::engine {

class JournalReading;

class LiveRun final : public dispatch::DispatchListener {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // It has something to write; call flush() at the end of this turn.
    virtual void on_dirty(model::RunId run) = 0;
    // There is news for a webhook in the store.
    virtual void on_notice() = 0;
    // The terminal event is on disk and told. The owner drops the run.
    virtual void on_over(LiveRun& run) = 0;
    // The store does not say what became of its last write. It waits for settle(), until on_sure(): a write is there.
    virtual void on_unsure(LiveRun& run, const Error& why) = 0;
    virtual void on_sure() = 0;
    // It cannot be written on: another server carries it, or it is damaged. The owner drops the run.
    virtual void on_lost(LiveRun& run, const Error& why) = 0;
  };

  // The duties of the lifecycle that need more than the run itself, called by perform().
  class Duties {
   public:
    virtual ~Duties() = default;
    // A row of the lifecycle table was taken; it is not on disk yet.
    virtual void on_step(const model::Run& run, const Row& row) = 0;
    virtual void admit(LiveRun& run) = 0;
    virtual void launch(LiveRun& run) = 0;
    virtual void resume(LiveRun& run) = 0;
    virtual void park(LiveRun& run, bool keeps_box) = 0;
  };

  struct Figures {
    explicit Figures(world::Metrics& metrics);
    world::Histogram &first_event, &resumed;
    world::Counter &required, &approved, &denied, &expired;
  };

  struct Needs {
    Owner& owner;
    Duties& duties;
    store::Store& store;
    world::Loop& loop;
    const StoreClock& clock;
    world::IdSource& ids;
    Figures& figures;
    const EngineOptions& options;
  };

  // `message` is the assistant message as the journal so far makes it.
  LiveRun(Needs needs, model::Run run, model::Message message, std::string request_id);

  const model::Run& run() const { return run_; }
  Ref<LiveRun> ref() { return lifetime_.ref(*this); }
  const model::Message& message() const { return message_; }
  int64_t accepted_us() const { return accepted_us_; }
  const std::string& request_id() const { return request_id_; }
  std::string_view problem_name() const { return problem_name_; }  // of its end; empty before, and without one
  // The first events of a run accepted just now: its first reader need not ask the store for them.
  void keep_opening(journal::CommittedBatch opening);
  const journal::CommittedBatch& opening() const { return opening_; }
  // Takes it over from itself, so that nobody can who was asked to; false: not now, it is being written.
  bool renew(Callback<void()> then);
  bool is_renewing() const { return static_cast<bool>(renewal_); }
  // Its tool calls by the journal so far, and its last event's time: none that follows is earlier.
  void remember_steps(OpenSteps steps, Timestamp at) { steps_ = std::move(steps), told_at_ = at; }
  // Its journal has a mark: whoever begins anew must take it back first.
  void remember_mark() { marked_ = true; }
  bool marked() const { return marked_; }
  // How often it went on after a gate.
  void remember_resumed(int64_t count) { resumed_count_ = count; }

  // ── its lifecycle ──
  // Does what is due in the run's state, which is on disk: the only way to launch, resume, park, stop or end a run.
  void perform(Duty duty);
  // It was read from the store after a restart, and is in memory as it was: repeats the duty of its state.
  void restart();

  // ── while it is held ──
  void keep_launch(Launch launch) { launch_ = std::make_unique<Launch>(std::move(launch)); }
  Launch* launch() const { return launch_.get(); }
  std::unique_ptr<Launch> take_launch() { return std::move(launch_); }
  bool tell_place(Place place);  // false: it is not held any more
  void start();
  void end_hold();

  // ── while it is worked on ──
  void use_secrets(std::shared_ptr<vault::Secrets> secrets) { secrets_ = std::move(secrets); }
  const std::shared_ptr<vault::Secrets>& secrets() const { return secrets_; }
  // `then` when it is on disk that nobody may go on from its checkpoint, or its mark, again.
  void use_up_checkpoint(Callback<void()> then);
  void clear_mark(Callback<void()> then);
  // `then` when all that was told so far is on disk.
  void when_written(Callback<void()> then);
  void work_by(std::unique_ptr<dispatch::Work> work);
  bool has_work() const { return work_ != nullptr && !work_over_; }
  void suspend_work(bool suspended);
  void fail(model::Problem problem) { on_failed(std::move(problem)); }
  void cancel(Cancelling::Asker done);
  void wait_for_end(Ref<EndWaiter> waiter);

  // ── at a gate ──
  void decide(Decision decision, Callback<void(DecideOutcome)> done);
  void reopen_gate(model::Approval approval, Millis left);
  void go_on();
  bool waits_for(model::ApprovalId id) const { return gate_ && gate_->approval.id == id; }
  // From the gate until it is worked on again: what was kept for that is still there.
  bool at_gate() const { return at_gate_; }
  void note_checkpoint() { at_gate_ = true; }
  const model::Approval* open_approval() const { return gate_ ? &gate_->approval : nullptr; }  // null: there is none

  // The reader's fold stands at this run's head; from here on it gets what is written.
  void attach(JournalReading& reading, const wire::Fold& fold, const wire::View& view);
  void detach(JournalReading& reading);

  void flush();
  // The store can be asked again: the journal tells the fate of a write that is unknown, if there is one.
  void settle();
  bool is_doubted() const { return doubted_; }
  // It waits, and not for this server any more: who works, reads or waits along is let go.
  void let_go(const Error& why);
  // Nothing more will be written here: readers and waiters are told so.
  void abandon(const Error& why);
  // The same, but another node goes on with it: its readers read on alone, and those who wait are given back.
  std::vector<Ref<EndWaiter>> hand_on(const Error& why);

  void on_event(model::RunEvent event) override;
  void on_finished(model::Usage usage) override;
  void on_failed(model::Problem problem) override;
  void on_gate(dispatch::Gate gate) override;

 private:
  // Those to whom the same lines are told.
  struct Audience {
    wire::Format format;
    int64_t segment, after;                 // -1: nothing is left out for them any more
    wire::Fold fold;                        // of everyone in `readings`
    std::vector<JournalReading*> readings;  // null: has left
  };
  using Batch = RunBatch;
  struct OpenGate {
    model::Approval approval;
    bool keeps_box = false;
    world::Timer expiry;
    int64_t expires_us = 0;
    Callback<void(DecideOutcome)> decided;  // set while the decision is being written
    int64_t decided_us = 0;
    std::vector<model::ClientResult> results;  // that came with the decision
  };

  void mark_dirty();
  void hold_back_if_full();
  Batch& batch();
  // The duty that follows once it is on disk; nothing if it may not happen now.
  std::optional<Duty> happen(Happening what);
  void add(model::EventKind kind, std::string body);
  void close_steps(std::string_view why);
  std::string problem_json(const model::Problem& problem);
  void on_written(Result<journal::CommittedBatch> written);
  void on_refused(const Error& why);
  void repeat(const Error& why, bool name_is_taken);
  void on_renewed(const Result<model::Run>& taken);
  void be_unsure(const Error& why);
  void note_answer(const Error& why);
  void on_looked(const Result<journal::JournalPage>& page);
  void conclude(const journal::JournalPage& page);
  void acknowledge(const std::vector<model::RunEvent>& written);
  void refuse_askers(const Error& why);
  void tell(const journal::CommittedBatch& news);
  void tell_audience(Audience& audience, const journal::CommittedBatch& news);
  template <typename Farewell>  // false when the run itself went with its readers
  bool dismiss(Audience& audience, Farewell farewell);
  template <typename Farewell>
  void dismiss_readers(Farewell farewell);
  void forget_empty_audiences();
  void stop_work();
  void stop_worker();
  void end_cancelled();
  void add_cancelled_end();
  void finish();

  void watch_gate(Millis left);
  void resolve_gate(model::ApprovalStatus status, std::string by, std::string detail = "");
  void add_records(std::string actor, std::string detail);
  void add_answers(model::GateAnswers answers);
  void resume();
  void end_denied();
  void end_at_gate(Happening what, const model::Problem& problem);
  bool can_take_back(const Batch& refused) const;
  Callback<void(DecideOutcome)> take_back(Undecided before);
  void on_gate_written(const GateRecords& written);
  void settle_in_park();

  Needs needs_;
  model::Run run_;  // state: as decided, on disk once no batch carries it
  model::Message message_;
  std::string request_id_;
  int64_t accepted_us_;

  OpenSteps steps_;
  std::vector<Batch> pending_;
  Batch in_flight_;  // kept until the store answers: a full disk means again
  bool writing_ = false, dirty_ = false, looking_ = false, doubted_ = false;
  std::optional<Error> unsure_;  // why it is not known what became of in_flight_, or of renewal_
  Callback<void()> renewal_;     // under way, or its fate is unknown
  bool first_told_ = false, telling_ = false, work_over_ = false;  // work_over_: by its own word; dropped when silent
  bool at_gate_ = false, marked_ = false, stopping_ = false, held_back_ = false;
  int refusals_ = 0;
  world::Timer again_;
  journal::CommittedBatch opening_;
  std::unique_ptr<Launch> launch_;
  std::unique_ptr<OpenGate> gate_;
  std::vector<model::ClientResult> results_;  // for the Work that waits
  int64_t resumed_count_ = 0;                 // on disk
  Timestamp told_at_;                         // of the last event that was handed to the store
  std::shared_ptr<vault::Secrets> secrets_;
  std::unique_ptr<dispatch::Work> work_;
  std::vector<std::unique_ptr<Audience>> audiences_;
  std::vector<Ref<EndWaiter>> waiters_;
  Cancelling cancelling_;
  std::optional<wire::Ending> ending_;
  std::string_view problem_name_;
  Lifetime lifetime_;
};

}  // namespace sluice::engine
