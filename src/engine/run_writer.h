// The writing of one run's journal: events and changes of state are gathered in batches, and each batch is one append.
//
// At most one append is under way; what is added meanwhile makes the next one, so a slow disk makes larger batches and
// not a longer queue. A full disk is waited for. When the outcome of an append is unknown, it is neither repeated nor
// dropped: the journal says whether it was written, and the run's epoch says whether this server may still write.
//
// Called from the loop's thread. What a batch means is for RunProgress and RunGate to know.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/lifetime.h"
#include "engine/gate_records.h"
#include "engine/open_steps.h"
#include "engine/run_needs.h"

namespace sluice::engine {

// A run and the assistant message that its journal makes, as decided: the state is on disk once no batch carries it.
// The epoch and the head are those of the store.
struct RunRecord {
  model::Run run;
  model::Message message;
};

// What a decision changes before it is on disk.
struct Undecided {
  model::Approval approval;
  OpenSteps steps;
};

// The content of one append. An approval is made by one batch and resolved by a later one. A human's decision has a
// batch for itself, because it is taken back when the disk is full.
struct RunBatch {
  std::vector<model::RunEvent> events;
  std::size_t event_bytes = 0;  // of their bodies
  std::optional<RunState> state;
  Duty duty = Duty::none;  // of that state: it is performed when the batch is on disk
  std::unique_ptr<GateRecords> gate;
  std::unique_ptr<Undecided> before;  // of a decision
  std::vector<Callback<void()>> written;
  bool closed = false;  // the store has seen it, so it is repeated unchanged: no event is added

  bool takes_more() const { return !before && !closed; }
};

// What a run may have in memory while the store is slow, or refuses because its disk is full.
inline constexpr std::size_t unwritten_events_max = 1'000;
inline constexpr std::size_t unwritten_event_bytes_max = 16 * 1024 * 1024;

class RunWriter final {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // There is something to write; call flush() at the end of this turn.
    virtual void on_dirty() = 0;
    // More is unwritten than a run may have in memory, or no more than that.
    virtual void on_backlog(bool is_full) = 0;
    // The batch is on disk as these events. The writer may be gone when this returns.
    virtual void on_written(const RunBatch& batch, const journal::CommittedBatch& events) = 0;
    // The batch was certainly not written. True: what it stands for has been undone, and it is dropped. Otherwise it is
    // written again. The writer may be gone when this returns true.
    virtual bool undo(RunBatch& refused, const Error& why, bool name_is_taken) = 0;
    virtual void on_unsure(const Error& why) = 0;
    virtual void on_sure() = 0;
    // Nothing more can be written. The writer may be gone when this returns.
    virtual void on_lost(const Error& why) = 0;
  };
  // `lifetime` is that of the host, which owns the writer.
  RunWriter(Host& host, const RunNeeds& needs, RunRecord& record, const Lifetime& lifetime)
      : host_(host), needs_(needs), record_(record), lifetime_(lifetime) {}

  // The batch to which the next event is added.
  RunBatch& batch();
  // The same, but nothing was added to it yet.
  RunBatch& empty_batch() { return pending_.emplace_back(); }
  void add(model::RunEvent event);
  // Has what waits written at the end of this turn.
  void write_soon();
  // Writes the next batch, unless something is under way.
  void flush();
  // Calls `then` when everything added so far is on disk.
  void when_written(Callback<void()> then);
  // A batch that the store has not seen changes the run's state.
  bool changes_state_later() const;
  bool is_full() const;

  // Raises the run's epoch, so that no other node can take the run by the old one. False: something is under way.
  bool renew(Callback<void()> then);
  bool is_renewing() const { return static_cast<bool>(renewal_); }
  // The store can be asked again: if the outcome of a write is unknown, the journal is read for it.
  void settle();
  // An outcome was unknown, and the store has given no certain answer since.
  bool is_unsettled() const { return is_unsettled_; }

  // The time of the last event that the store was given: no later one is earlier.
  void remember_time(Timestamp at) { last_event_at_ = at; }
  // The run is parked, perhaps for days: unused memory is given back.
  void shrink() { pending_.shrink_to_fit(); }
  // Nothing more is tried.
  void stop() { timer_.cancel(); }

 private:
  // What is under way. Only `idle` begins something else. The batch in flight and the renewal are never both there:
  //              in flight     renewal      why_unknown_    timer_
  //   idle       none          none         none            off
  //   appending  the batch     none         none            off
  //   renewing   none          its answer   none            off
  //   unknown    one of them                the reason      off, or on until the journal is read again
  //   looking    one of them                the reason      off
  //   pausing    none          perhaps      none            on until it is tried again
  enum class Stage : uint8_t { idle, appending, renewing, unknown, looking, pausing };

  void check_stage() const;
  void on_written(const journal::CommittedBatch& written);
  void on_refused(const Error& why);
  void repeat(const Error& why, bool name_is_taken);
  void on_renewed(const Result<model::Run>& taken);
  void pause(int64_t wait_ms, Callback<void()> then);
  void be_unsure(const Error& why);
  void note_refusal(const Error& why);
  void note_success();
  void on_journal(const Result<journal::JournalPage>& page);
  void conclude(const journal::JournalPage& page);

  Host& host_;
  const RunNeeds& needs_;
  RunRecord& record_;
  const Lifetime& lifetime_;
  std::vector<RunBatch> pending_;
  RunBatch in_flight_;  // kept until the store answers, because it may have to be written again
  Callback<void()> renewal_;
  std::unique_ptr<Error> why_unknown_;
  world::Timer timer_;
  Timestamp last_event_at_;
  int refusals_ = 0;  // in a row
  Stage stage_ = Stage::idle;
  bool is_dirty_ = false;
  bool is_unsettled_ = false;
};

}  // namespace sluice::engine
