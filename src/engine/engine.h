// Carries a run from accepted to its end: decide from the table, write, then do, then tell.
//
// The order never varies. A decision that is not on disk has no effect, and an effect that a crash
// swallowed is done again by the next engine, which starts by reading the journals of unfinished
// runs (recover()). Nothing is sent that is not Committed.
//
// Several engines may share one store: each run is carried by one of them (Run::node), every request about
// it is answered by any. What one carries is taken over by the others when it dies or leaves.
//
// One thread: everything here is called from the loop's.
// Not its business: HTTP, JSON of requests, who the caller is (api); how an agent works (runner).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/bytes.h"
#include "base/callback.h"
#include "dispatch/dispatch.h"
#include "model/model.h"
#include "store/store.h"
#include "vault/vault.h"
#include "wire/wire.h"
#include "world/disk_room.h"
#include "world/shared_workers.h"
#include "world/world.h"

namespace sluice::engine {

// A message to be answered. Past the API's door: every field is checked.
struct Send {
  // The run's id, where the caller had to write it down before asking. It sees to it that it asks once.
  std::optional<model::RunId> run;
  model::TenantId tenant;
  // The conversation it belongs to, or the one to create with it (I-2).
  std::variant<model::ConversationId, model::Conversation> conversation;
  std::string content;
  std::optional<std::string> repository_id;
  std::optional<std::vector<std::string>> skill_ids;
  std::optional<std::map<std::string, std::string>> env;
  std::optional<std::string> env_name;  // instead of variables
  model::TenantLimits tenant_limits;
  bool hold = false;           // when all slots are taken: wait, rather than be refused (I-12)
  bool tenant_filler = false;  // the cascade (I-11): tenant, then conversation, then message
  std::optional<bool> message_filler;
  bool streamed = true;  // there is no filler otherwise
  std::optional<journal::Idempotency> idempotency;
  // Of an existing conversation: kept with the message if it is accepted.
  std::vector<model::SealedSecret> secrets;
  std::vector<model::AuditEntry> audit;
  // Why it is refused, unless its key is known: a replay needs nothing of what the first call needed.
  std::optional<model::Problem> refusal;
  std::string request_id;
  std::string traceparent;
  model::RunExtras extras;
};

struct Sent {
  model::Run run;
  bool replayed = false;  // the key was known; nothing was created
};
using SendOutcome = std::variant<Sent, model::Problem>;

// A human's decision, proven (I-15).
struct Decision {
  model::TenantId tenant;
  model::ApprovalId approval;
  bool approve = false;
  std::string resolved_by;  // "approver_key:apk_…"
  std::optional<std::string> note;
  std::vector<model::SealedSecret> secrets;  // supplied with it
  std::string audit_detail;                  // JSON for the chain
  model::GateAnswers answers;                // of an AG-UI client: the run that goes on, and what its tools answered
};
using DecideOutcome = std::variant<model::Approval, model::Problem>;

// I-13.
struct Capacity {
  int64_t pool_size = 0;  // slots
  int64_t warm_available = 0;
  int64_t sticky_active = 0;  // slots that are pinned to a conversation
  int64_t max_sticky = 0;
  int64_t running = 0;
  int64_t held = 0;
  int64_t parked = 0;
  int64_t max_hold_seconds = 0;
  int64_t retry_hint_seconds = 0;  // for callers that are refused now
  bool at_capacity = false;
};

// Someone who reads a run: a streaming response, as a rule.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual void take(SharedBytes lines) = 0;
  // True: it has enough for now. It must call Reading::more() when that changes.
  virtual bool full() const = 0;
  // The terminal event has been taken; nothing follows.
  virtual void end() = 0;
  // The journal cannot be read on; what was taken stands, the end is not known.
  virtual void lose(const Error& why) = 0;
};

// A reader's place. Dropping it is detaching, which changes nothing for the run (I-8).
class Reading {
 public:
  virtual ~Reading() = default;
  virtual void more() = 0;
};

// Waits for the end of a run without reading it. Dropping it stops waiting.
class Waiting {
 public:
  virtual ~Waiting() = default;
};

struct EngineOptions {
  std::string public_base_url;  // for the `type` of problems
  int64_t max_running = 1'024;
  int64_t max_sticky = 64;
  int64_t max_held = 10'000;
  int64_t max_hold_seconds = 120;
  int64_t approval_seconds = 900;  // how long a gate waits that names no time
  int64_t approval_seconds_max = 7 * 86'400;
  // Where several servers share the store.
  std::string node_name;     // for people
  std::string node_version;  // of this program
  int64_t beat_ms = 500;     // how often it says that it lives
  int64_t dead_ms = 1'500;   // silence after which the others take over what it carries
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Takes up every unfinished run that no other living node carries. Call once, before the first request.
  virtual void recover(Callback<void(Result<Unit>)> done) = 0;

  virtual void send(Send send, Callback<void(SendOutcome)> done) = 0;

  // What there is of the view, then live to its end. `reader` must outlive the Reading.
  // No callback comes from inside read().
  [[nodiscard]] virtual std::unique_ptr<Reading> read(const model::Run& run, const wire::View& view,
                                                      Reader& reader) = 0;

  // Calls back once with the terminal event.
  [[nodiscard]] virtual std::unique_ptr<Waiting> wait_for_end(const model::Run& run,
                                                              Callback<void(Result<wire::Ending>)> done) = 0;

  // Answers when the run is over and nothing of it is left at work. A run that is over already is a
  // problem `run-finished`, unless it was cancelled before: that is what was wanted. After 15 s, if the store has not
  // written it, or 25 s, if nothing proves that its work stopped, the answer is `unavailable`, and it is cancelled all
  // the same.
  virtual void cancel(model::TenantId tenant, model::RunId run,
                      Callback<void(std::variant<model::Run, model::Problem>)> done) = 0;

  // Exactly one of any number of decisions counts; the others are `approval-expired`.
  virtual void decide(Decision decision, Callback<void(DecideOutcome)> done) = 0;

  // The conversation's run that is not over, wherever it is carried.
  virtual void run_of(model::TenantId tenant, model::ConversationId conversation,
                      Callback<void(Result<std::optional<model::RunId>>)> done) = 0;
  // Whether this server carries the run, takes it up or is accepting it.
  virtual bool attends(model::RunId run) const = 0;
  // Of all nodes that live, as far as this one has heard.
  virtual Capacity capacity() const = 0;
  // As far as this node has a part in it.
  virtual model::SandboxNow sandbox_of(model::ConversationId conversation) const = 0;
  // Whether one more conversation of this tenant may become sticky; the problem, if not.
  virtual std::optional<model::Problem> refusal_of_sticky(model::TenantId tenant,
                                                          const model::TenantLimits& limits) const = 0;
  // A conversation's runtime or status was changed: its lease is shortened, prolonged or ended.
  virtual void conversation_changed(const model::Conversation& conversation) = 0;
  // Secrets of the tenant changed on disk: whatever runs sees them.
  virtual void secrets_changed(model::TenantId tenant) = 0;

  // Somebody else found that the store does not say what it wrote: it is opened anew, and every
  // unfinished run is taken up again.
  virtual void store_fell_silent(const Error& why) = 0;
  // Whether the store answered within `dead_ms`: messages are taken. Asking may look whether it does, so the next
  // answer may be another one.
  virtual bool reaches_store() = 0;

  // ── servers that share the store ──
  // Those that live, as far as this one has heard, itself first.
  virtual std::vector<journal::SeenNode> nodes() const = 0;
  // Whether that one is dead or has left, so that what it carried may be taken. False while this one cannot tell.
  virtual bool is_gone(model::NodeId node) const = 0;
  // For other modules that ask something of another node: `kind` is theirs, and answered there by the handler that was
  // given to answer_nodes(). `overloaded` or `unavailable` when no answer comes.
  virtual void ask_node(model::NodeId node, std::string kind, std::string body,
                        Callback<void(Result<std::string>)> done) = 0;
  using NodeAnswerer = Callback<void(const std::string& body, Callback<void(std::string)> reply)>;
  virtual void answer_nodes(std::string kind, NodeAnswerer answerer) = 0;

  // Accepts no more messages (503), and lets go the readers of runs that wait for a slot or a human.
  // `done` when nothing is at work, or at the deadline: then the work that is left is dropped, and nothing
  // written of that. The next server, or another one, takes those runs up.
  virtual void drain(Millis deadline, Callback<void()> done) = 0;
};

// Has the bundles that runs name, keeps the files that they return, and gives their sandboxes access to the workspace.
class MaterialSource {
 public:
  virtual ~MaterialSource() = default;
  virtual std::shared_ptr<dispatch::Supplies> supplies_for(const model::Run& run) = 0;
  virtual dispatch::WorkspaceAccess workspace_for(const model::Run& run, model::WorkspaceUse use) = 0;
  // A skill that comes with the server, by its name; empty if there is none of that name.
  virtual std::optional<dispatch::SkillUse> builtin_skill(std::string_view name) = 0;
};

// All of them must outlive the engine.
struct EngineNeeds {
  store::Store& store;
  dispatch::Dispatcher& dispatcher;
  world::Loop& loop;
  world::IdSource& ids;
  world::Log& log;
  world::Metrics& metrics;
  const vault::Sealer& sealer;
  MaterialSource* material_source = nullptr;  // null: there are no skills, and files are not kept
  Callback<void()>* noticed = nullptr;        // called when a notice is in the store; null: it is ignored
  world::SharedWorkers* workers = nullptr;    // null: what takes long is done on the loop
  world::DiskRoom* disk = nullptr;            // while it is short nothing is begun; null: it is not watched
};
std::unique_ptr<Engine> make_engine(EngineNeeds needs, EngineOptions options);

}  // namespace sluice::engine
