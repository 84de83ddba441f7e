// The journals of runs: what engine, workflows, readers and recovery need of a store, and no more. SQLite and
// PostgreSQL implement it (store/store.h); one contract suite holds both to it.
//
// Called from the loop's thread; every answer comes back on the loop's thread, never from inside the call. Each
// operation is one transaction: all of it or none.
//
// Errors, by what the caller may do:
//   not_found    no such thing for this tenant
//   conflict     the world moved on: an old epoch, a wrong position, a name that is taken
//   overloaded   nothing was written; later may work (disk full, queue full)
//   unavailable  we cannot tell whether it was written. From here on every write is refused until
//                reopen(), because a second attempt could write it twice.
//   corrupt      what was read is not what was written
//
// Not its business: what a state means, what a client sees, when to retry, and records such as agents and tables.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "journal/launch_records.h"
#include "journal/nodes.h"
#include "model/event_codec.h"

namespace sluice::journal {

// One AG-UI run: a run of ours, or the part of it from one wait for a human to the next.
struct AguiRun {
  model::TenantId tenant_id;
  std::string thread_id;
  std::string run_id;  // the client's; unique within its thread
  model::ConversationId conversation_id;
  model::RunId run;
  int64_t segment = 0;
};

// A caller's promise that two requests with this key are one (I-19). Kept for 24 hours.
struct Idempotency {
  model::ServiceKeyId principal;
  std::string operation;  // "createMessage:con_…"
  std::string key;
  std::string request_sha256;  // of what must be the same
};

// The run that a key stands for, or the words that were answered.
struct Replay {
  std::optional<model::Run> run;             // of accept(); empty where the run's record is damaged
  std::optional<std::string> response_body;  // of createConversation without a message
};
struct KeyConflict {};  // the key was used with another request
struct NotCreated {};   // of only_replay

struct NewConversation {
  model::Conversation conversation;
  std::string response_body;  // remembered under the key
  std::optional<Idempotency> idempotency;
  bool only_replay = false;  // it is refused: nothing is created, but a known key is answered
};
using ConversationOutcome = std::variant<Unit, Replay, KeyConflict, NotCreated>;

// An event that is written. Only a Journal can make one, so a fold or a socket, which take Committed, cannot send an
// event that a crash would undo.
class Committed {
 public:
  const model::RunEvent& event() const { return event_; }
  model::Position position() const { return position_; }
  // Calls `visitor` with what the event says, which is decoded once for all readers of the batch, on their one thread.
  void visit(auto&& visitor) const { data_.visit(event_, visitor); }

 private:
  friend class Journal;
  Committed(model::RunEvent event, model::Position position) : event_(std::move(event)), position_(position) {}

  model::RunEvent event_;
  model::Position position_;
  model::DecodedOnce data_;
};
using CommittedBatch = std::vector<Committed>;

// When an operation counts as done.
enum class CommitClass : uint8_t {
  flow,      // written to the database; survives the death of the process, not of the machine's power
  boundary,  // on disk (fsync)
};

// Everything that is created when a message is accepted, in one transaction (boundary).
struct NewRun {
  std::optional<model::Conversation> conversation;  // created with it (I-2)
  model::Message user_message;
  model::Message assistant_message;     // in_progress
  model::Run run;                       // run.head and epoch are the store's to set: epoch 1
  std::vector<model::RunEvent> events;  // the journal's first
  std::optional<Idempotency> idempotency;
  std::optional<AguiRun> agui;          // kept with it; the tenant, conversation and run in it are the store's to set
  std::vector<model::FileId> attached;  // of the tenant's bag; those in no chat join this one
  // They came with the message: kept as by put_secrets() where it is accepted, and only there.
  std::vector<model::SealedSecret> secrets;
  std::vector<model::AuditEntry> audit;
  // A user's message of the conversation: what was said from there on is replaced by this, and is no history any more.
  std::optional<model::MessageId> replaces_from;
  bool only_replay = false;  // it is refused: nothing is created, but a known key is answered
  AskForLaunch ask;          // empty: the run is not launched now
};

struct Accepted {
  model::Conversation conversation;  // as it is after acceptance
  model::Agent agent;                // the one the run uses
  model::Run run;
  CommittedBatch events;
  std::optional<LaunchRecords> launch;  // the answer to `ask`; empty: to be read on its own
};
struct Busy {
  model::Run run;  // the one in flight
};
struct Archived {};
using AcceptOutcome = std::variant<Accepted, Replay, KeyConflict, Busy, Archived, NotCreated>;

// Events to add to a run's journal, right after `head`, and what they make of its records.
struct Append {
  model::RunId run;
  model::Epoch epoch;
  model::Position head;
  std::vector<model::RunEvent> events;
  CommitClass commit_class = CommitClass::flow;
  std::optional<model::RunState> state;             // the run's new state
  std::optional<model::Message> assistant_message;  // its new form; with a terminal state it frees the conversation
  // What a gate's opening or closing amounts to, in the same transaction.
  std::optional<model::Approval> approval;   // made, or changed
  std::vector<model::SealedSecret> secrets;  // as by put_secrets(); left out when the conversation is archived
  std::vector<model::AuditEntry> audit;
  std::vector<model::Notice> notices;  // kept only where the tenant has a webhook_url
  std::optional<AguiRun> agui;         // the AG-UI run that goes on from here, of the same conversation and run
};

// The runs that are not over, oldest first, and the time by the store's clock: it is the same for all who ask.
struct UnfinishedRuns {
  std::vector<model::Run> runs;
  Timestamp now;
};

struct JournalPage {
  CommittedBatch events;
  model::Run run;  // as it was when the page was read
};

class Journal {
 public:
  virtual ~Journal() = default;

  // An all-zero agent_id stands for the tenant's default agent, here and in accept(); the stored
  // conversation has the real one. `not_found` when the agent is not the tenant's.
  virtual void create_conversation(NewConversation made, Done<ConversationOutcome> done) = 0;

  // ── runs and their journals ──
  // Takes the conversation's one flight: Busy while another run of it is not over. `not_found` when
  // the conversation is not the tenant's (run.tenant_id).
  virtual void accept(NewRun made, Done<AcceptOutcome> done) = 0;
  virtual void append(Append append, Done<CommittedBatch> done) = 0;
  // Makes the caller the run's only writer, and its node the one that carries it. `conflict` unless the run's epoch is
  // `seen`, and when it is over.
  virtual void take_over(model::RunId run, model::Epoch seen, Done<model::Run> done) = 0;
  // Events after `after`, oldest first, about `bytes_max` of them and at least one if there is one.
  // A journal that is sealed reads the same.
  virtual void read(model::RunId run, model::Position after, std::size_t bytes_max, Done<JournalPage> done) = 0;

  // The runs that recovery resumes or ends.
  virtual void unfinished_runs(Done<UnfinishedRuns> done) = 0;
  // Of these, oldest first, those whose row names this node, which must be carrying them, or a node that is not in the
  // list: somebody must take them up.
  virtual void carried_runs(Done<std::vector<model::RunId>> done) = 0;

  // The nodes that share the database.
  virtual Nodes& nodes() = 0;

  // After `unavailable`: opens anew, so that writing is possible again. Epochs decide what counts.
  virtual void reopen(Done<Unit> done) = 0;
  // True when no write is accepted until the store is reopened. A full disk is no reason.
  virtual bool needs_reopening() const = 0;
  // True when nothing can be written now. For /readyz.
  virtual bool broken() const = 0;

 protected:
  // The events at positions `first` and on. Called only when they are written.
  static CommittedBatch committed(std::vector<model::RunEvent> events, model::Position first);
};

}  // namespace sluice::journal
