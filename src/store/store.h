// The door of the store: the journal is the truth, the records are what it amounts to. SQLite
// and PostgreSQL stand behind it; one contract suite holds both.
//
// Called from the loop's thread; every answer comes back on the loop's thread, never from inside
// the call. Each operation is one transaction: all of it or none.
//
// Errors, by what the caller may do:
//   not_found    no such thing for this tenant
//   conflict     the world moved on: an old epoch, a wrong position, a name that is taken
//   overloaded   nothing was written; later may work (disk full, queue full)
//   unavailable  we cannot tell whether it was written. From here on every write is refused until
//                reopen(), because a second attempt could write it twice.
//   corrupt      what was read is not what was written
//
// Not its business: what a state means, what a client sees, when to retry.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/callback.h"
#include "base/limits.h"
#include "base/result.h"
#include "model/event_codec.h"
#include "model/model.h"
#include "store/bags.h"
#include "store/endpoints.h"
#include "store/gates.h"
#include "store/nodes.h"
#include "store/objects.h"
#include "store/questions.h"
#include "store/tables.h"
#include "store/threads.h"
#include "store/workflows.h"
#include "world/world.h"

namespace sluice::store {

template <typename T>
using Done = Objects::Answer<T>;

// An event that is written. Only a Store can make one, so a fold or a socket, which take Committed,
// cannot be handed news that a crash would take back.
class Committed {
 public:
  const model::RunEvent& event() const { return event_; }
  model::Position position() const { return position_; }
  // Calls `visitor` with what the event says, which is decoded once for all readers of the batch, on their one thread.
  void visit(auto&& visitor) const { data_.visit(event_, visitor); }

 private:
  friend class Store;
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

// Everything that comes into being when a message is accepted, in one transaction (boundary).
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
};

struct Accepted {
  model::Conversation conversation;  // as it is after acceptance
  model::Agent agent;                // the one the run uses
  model::Run run;
  CommittedBatch events;
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

class Store : public Objects, public Gates, public Threads {
 public:
  // ── tenants, keys, agents (all boundary) ──
  // With its default agent.
  virtual void create_tenant(model::Tenant tenant, model::Agent default_agent, Done<Unit> done) = 0;
  virtual void update_tenant(model::TenantId id, TenantPatch patch, Timestamp at, Done<model::Tenant> done) = 0;
  virtual void tenant(model::TenantId id, Done<model::Tenant> done) = 0;
  virtual void tenants(PageQuery<model::TenantId> query, Done<Page<model::Tenant>> done) = 0;  // oldest first

  virtual void create_service_key(model::ServiceKey key, Done<Unit> done) = 0;
  virtual void revoke_service_key(model::TenantId tenant, model::ServiceKeyId id, Timestamp at,
                                  Done<model::ServiceKey> done) = 0;  // again: as it was
  virtual void service_keys(model::TenantId tenant, PageQuery<model::ServiceKeyId> query,
                            Done<Page<model::ServiceKey>> done) = 0;
  // Revoked keys and suspended tenants are found too: the caller decides what that means.
  virtual void find_service_key(std::string secret_sha256, Done<KeyHolder> done) = 0;

  virtual void create_approver_key(model::ApproverKey key, Done<Unit> done) = 0;
  virtual void revoke_approver_key(model::TenantId tenant, model::ApproverKeyId id, Timestamp at,
                                   Done<model::ApproverKey> done) = 0;
  virtual void approver_keys(model::TenantId tenant, PageQuery<model::ApproverKeyId> query,
                             Done<Page<model::ApproverKey>> done) = 0;

  // Names are unique within a tenant: `conflict`.
  virtual void create_agent(model::Agent agent, Done<Unit> done) = 0;
  virtual void update_agent(model::TenantId tenant, model::AgentId id, AgentPatch patch, Timestamp at,
                            Done<model::Agent> done) = 0;
  // `conflict` for the default agent and for one that an active conversation uses.
  virtual void delete_agent(model::TenantId tenant, model::AgentId id, Done<Unit> done) = 0;
  virtual void agent(model::TenantId tenant, model::AgentId id, Done<model::Agent> done) = 0;
  virtual void default_agent(model::TenantId tenant, Done<model::Agent> done) = 0;
  virtual void agents(model::TenantId tenant, PageQuery<model::AgentId> query, Done<Page<model::Agent>> done) = 0;

  // ── conversations and messages ──
  // An all-zero agent_id stands for the tenant's default agent, here and in accept(); the stored
  // conversation has the real one. `not_found` when the agent is not the tenant's.
  virtual void create_conversation(NewConversation made, Done<ConversationOutcome> done) = 0;
  // Archiving destroys the conversation's secrets and deletes what is in its bag.
  virtual void update_conversation(model::TenantId tenant, model::ConversationId id, ConversationPatch patch,
                                   Timestamp at, Done<model::Conversation> done) = 0;
  virtual void conversation(model::TenantId tenant, model::ConversationId id, Done<model::Conversation> done) = 0;
  // Whosever it is: for what is kept under its id outside of the store.
  virtual void find_conversation(model::ConversationId id, Done<model::Conversation> done) = 0;
  // Latest message first. A conversation moves to the front with each message; with PageQuery::cursor_at, its
  // last_message_at in the page before, the walk goes on from where that page ended.
  virtual void conversations(model::TenantId tenant, ConversationFilter filter, PageQuery<model::ConversationId> query,
                             Done<Page<model::Conversation>> done) = 0;

  virtual void messages(model::TenantId tenant, model::ConversationId conversation, Order order,
                        PageQuery<model::MessageId> query, Done<Page<StoredMessage>> done) = 0;
  virtual void message(model::TenantId tenant, model::MessageId id, Done<StoredMessage> done) = 0;
  // The last completed turns before `before` that were not replaced, oldest first: what a model is shown. At most
  // `count_max` of them and limits::history_bytes_max; the newest counts first.
  virtual void history(model::ConversationId conversation, model::MessageId before, int count_max,
                       Done<std::vector<Turn>> done) = 0;

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
  virtual void journal(model::RunId run, model::Position after, std::size_t bytes_max, Done<JournalPage> done) = 0;

  // The head of a run that is not over may lag behind its journal here, and in lists.
  virtual void run(model::TenantId tenant, model::RunId id, Done<model::Run> done) = 0;
  virtual void run_of_message(model::TenantId tenant, model::MessageId assistant_message, Done<model::Run> done) = 0;
  // Newest first.
  virtual void runs(model::TenantId tenant, RunFilter filter, PageQuery<model::RunId> query,
                    Done<Page<model::Run>> done) = 0;
  // What recovery takes up.
  virtual void unfinished_runs(Done<UnfinishedRuns> done) = 0;
  // Of these, oldest first, those whose row names this node, which must be carrying them, or a node that is not in the
  // list: somebody must take them up.
  virtual void carried_runs(Done<std::vector<model::RunId>> done) = 0;

  // ── its other parts ──
  virtual Endpoints& endpoints() = 0;
  virtual Tables& tables() = 0;
  virtual Workflows& workflows() = 0;
  virtual Bags& bags() = 0;
  virtual Nodes& nodes() = 0;

  // ── the store itself ──
  // After `unavailable`: opens anew, so that writing is possible again. Epochs decide what counts.
  virtual void reopen(Done<Unit> done) = 0;
  // True when no write is accepted until the store is reopened. A full disk is no reason.
  virtual bool needs_reopening() const = 0;
  // Is it writable? For /readyz.
  virtual bool broken() const = 0;
  // Seals finished journals, drops idempotency keys older than `now` less 24 hours, executions that
  // expired before that and the rows of deleted tables, a bounded amount of it; says how many journals were sealed.
  // Called now and then.
  virtual void tidy_up(Timestamp now, Done<int> done) = 0;

 protected:
  static Committed commit(model::RunEvent event, model::Position position) { return {std::move(event), position}; }
};

struct SqliteOptions {
  std::string path;     // the database file
  bool strict = false;  // every commit a boundary
  int reader_count = 1;
};
// Opens or creates, migrates, and starts its threads.
Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options, world::Loop& loop, world::Metrics& metrics);

struct PostgresOptions {
  std::string url;     // postgresql://…; its password is in no error and no log
  model::NodeId node;  // of this server, among those that use the database
  int reader_count = 1;
  int64_t silent_ms_max = 1'500;  // a write that has no answer for so long: broken()
};
// Connects, migrates, and starts its threads. Every commit waits for the disk, flow too.
Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options, world::Loop& loop, world::Metrics& metrics);

}  // namespace sluice::store
