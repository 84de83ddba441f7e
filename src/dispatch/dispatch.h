// The contract between the engine and the code that carries out a run: a Dispatch goes out, events come back, and Work
// can be stopped, suspended and continued. The engine knows no agent, and the code that does the work knows no journal.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "model/model.h"

namespace sluice::vault {
class Secrets;
}

namespace sluice::dispatch {

struct HistoryTurn {
  model::Role role = model::Role::user;
  std::string content;
  Timestamp at;  // all zero: not known
};

// ── materials of an agent (I-25) ──
struct RepositoryUse {
  std::string id;
  std::string url;
  std::string ref;                              // empty: the remote's default
  int64_t depth = 1;                            // 0: the whole history
  std::optional<std::string> credential_alias;  // never the credential
};

struct SkillUse {
  std::string id;
  std::string name;         // its directory
  std::string description;  // one line, shown to the model
  std::string sha256;       // of the bundle: 64 hexadecimal digits; its version
};

// A file that is put into the workspace before the work begins.
struct FileUse {
  std::string name;    // below `attachments/`, one plain name
  std::string sha256;  // 64 hexadecimal digits
  int64_t size_bytes = 0;
};

struct Materials {
  std::optional<RepositoryUse> repository;
  std::vector<SkillUse> skills;
  std::vector<FileUse> files;
  std::map<std::string, std::string> variables;  // of every command
  std::string setup_script;                      // runs before the first model call; empty: none
};

struct Asset {
  std::string name;
  std::string bytes;
};

// A returned file that was stored.
struct KeptAsset {
  std::string id;
  std::string name;
  int64_t size_bytes = 0;
  std::string sha256;
};

// The workspace's API as the run may use it: `base_url` is the workspace's, `token` the run's own. Only egress and the
// runner may see the token; no sandbox gets it.
struct WorkspaceAccess {
  std::string base_url;  // empty: the run has no access
  std::string token;
  model::WorkspaceUse use = model::WorkspaceUse::none;  // what the token permits
};

// The source of what a dispatch names, and the destination of the files that it returns: the server itself, or the
// workspace that issued the one-time tokens. Answers come on the loop's thread, never from inside the call, and not
// after the dispatch is dropped.
class Supplies {
 public:
  virtual ~Supplies() = default;
  // The bundle, a gzipped tar. The caller checks its digest.
  virtual void skill_bundle(const SkillUse& skill, Callback<void(Result<std::string>)> done) = 0;
  // Its bytes. The caller checks their digest.
  virtual void file(const FileUse& file, Callback<void(Result<std::string>)> done) = 0;
  // False: no files are to be returned, so they are not even collected.
  virtual bool wants_assets() const = 0;
  // All or nothing. `result` is the final text.
  virtual void take_assets(std::vector<Asset> assets, std::string result,
                           Callback<void(Result<std::vector<KeptAsset>>)> done) = 0;
};

// Whether the agent is a program of another vendor that runs in the sandbox, instead of Sluice's own loop.
inline bool is_program(const model::Agent& agent) { return agent.kit.agent_type != "native"; }
// Where agent programs keep their state in the sandbox. No event reports it, and it is neither compared nor returned.
inline constexpr std::string_view program_state_dir = "/workspace/.sluice";

// Repeats the work elsewhere if this runner is lost, unless it has seen that something was done that must not be done
// twice.
class Witness {
 public:
  virtual ~Witness() = default;
  // Calls `seen` when the events so far are known where they outlive this process; never, if their receiver is gone.
  // Not from inside.
  virtual void see(Callback<void()> seen) = 0;
};

// The phase before an agent program is started, whose acts cannot be undone. Reported only where there is a witness.
inline constexpr std::string_view launch_phase = "launch";
bool is_launch(const model::RunEvent& event);

// One piece of work: answer `prompt`.
struct Dispatch {
  model::RunId run;
  model::ConversationId conversation;  // whose workspace it continues; all zero: it begins with an empty one
  model::Agent agent;
  Materials materials;
  std::shared_ptr<Supplies> supplies;  // null: there are no skills, and no files are returned
  std::vector<HistoryTurn> history;    // before the prompt, oldest first
  std::string prompt;
  int64_t max_rounds = 0;  // of model calls that end in tool calls; 0: as many as the runner allows
  bool filler = false;
  std::string traceparent;  // W3C; empty: none
  model::RunExtras extras;  // of the message

  WorkspaceAccess workspace;  // how the sandbox reaches the workspace's API

  std::shared_ptr<vault::Secrets> secrets;  // in reach of the run; null: none
  // Awaited before the first act that must not be repeated; null: the work is never repeated elsewhere.
  std::shared_ptr<Witness> witness;
  bool may_ask = false;  // a human can be asked; otherwise what needs approval is refused
  // Whether the sandbox stays when the run ends or waits for a human. The conversation's next run continues in it.
  bool keeps_box = false;

  // The Gate::checkpoint of a parked run that continues without the Work that raised its gate. The gate was approved.
  std::string checkpoint;
  std::vector<model::ClientResult> results;  // that came with the approval: of the client's own tools

  // When the work continues on a restarted server, or on another runner than the one that was lost: what the journal
  // has of its words. The agent continues right after them.
  bool resumed = false;
  std::string told_text;
  std::string told_reasoning;
  // The last `mark` of the journal: the work may still be running elsewhere, and its events are read from there on
  // instead of beginning it anew. Only where Dispatcher::can_reattach(mark).
  std::string mark;
};

// The work cannot continue without a human.
struct Gate {
  std::string reason;
  std::vector<model::RequestedItem> items;
  int64_t lifetime_seconds = 0;  // 0: as long as the server lets approvals wait
  std::string checkpoint;        // JSON, from which another Work, perhaps of another server, can continue
  // True: the Work waits with its sandbox for go_on(). False: its workspace is kept, its sandbox proven gone, and the
  // Work is over.
  bool keeps_box = false;
};

// Receives the events of a dispatch. on_finished(), on_failed() or on_gate() without a sandbox ends it.
class DispatchListener {
 public:
  virtual ~DispatchListener() = default;
  // Kinds text, reasoning, filler, log, usage, step, output, file, diff, custom, egress, replaced, call, subagent,
  // subagent_text and mark, stamped.
  virtual void on_event(model::RunEvent event) = 0;
  virtual void on_finished(model::Usage usage) = 0;
  virtual void on_failed(model::Problem problem) = 0;
  // Only where Dispatch::may_ask.
  virtual void on_gate(Gate gate) = 0;
};

// Work in progress. Dropping it ends the work at once; the listener is not called any more.
class Work {
 public:
  virtual ~Work() = default;
  // Ends it, and calls `gone` when nothing of it is left: no process, no sandbox. The listener is not called any more.
  // Not called twice; `gone` never comes from inside.
  virtual void stop(Callback<void()> gone) = 0;
  // Its gate was approved; secrets that came with it are in Dispatch::secrets. Only while it waits.
  virtual void go_on(std::vector<model::ClientResult> results) = 0;
  // While the listener has no room for more events, nothing is begun that would report much. Work that is under way may
  // still report.
  virtual void hold_back(bool /*held*/) {}
  // While this server may have lost the run to another one, nothing is begun, sandboxes here stand still, and so does
  // the time that counts against the run. Work on a runner continues: none of it is lost.
  virtual void suspend(bool /*suspended*/) {}
  // All events up to and including this mark are in the journal.
  virtual void written(std::string_view /*mark*/) {}
};

// A run that waits at a gate, and for whose continuation something is kept.
struct ParkedRun {
  model::RunId run;
  model::ConversationId conversation;
  bool operator==(const ParkedRun&) const = default;
};

// A workspace that is kept for a conversation's next run.
struct KeptWorkspace {
  model::ConversationId conversation;
  int64_t bytes = 0;  // of the disk
  bool operator==(const KeptWorkspace&) const = default;
};

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;

  // `listener` must outlive the Work. No callback comes from inside dispatch().
  [[nodiscard]] virtual std::unique_ptr<Work> dispatch(Dispatch dispatch, DispatchListener& listener) = 0;

  // Whether work can continue whose journal has this text, and no act. True when the text is empty, or the agent's loop
  // is Sluice's own: its model gets what it said, and says the rest.
  virtual bool can_resume(const model::Agent& agent, std::string_view told_text) const = 0;

  // Whether the events of work with this mark can be read on, provided that its runner still lives. The dispatch finds
  // out whether it does.
  virtual bool can_reattach(std::string_view /*mark*/) const { return false; }

  // False when the agent's model looks only at the last message, so the history need not be read.
  virtual bool reads_history(const model::Agent& agent) const = 0;

  // Kills a conversation's kept sandbox, if there is one. If a run is using it, it goes with the run.
  virtual void release(model::ConversationId conversation) = 0;
  // A parked run ended at its gate: what was kept for its continuation is removed.
  virtual void forget_parked(model::RunId run, model::ConversationId conversation) = 0;
  // All runs for which something is kept here, by this server or by earlier ones. Unreadable ones are left out. `done`
  // may come from inside.
  virtual void list_parked(Callback<void(std::vector<ParkedRun>)> done) { done({}); }
  // ── workspaces that are kept between runs ──
  // All that are kept here, by this server or by earlier ones. `done` may come from inside.
  virtual void list_workspaces(Callback<void(std::vector<KeptWorkspace>)> done) { done({}); }
  // Counts a kept workspace for its tenant.
  virtual void count_workspace(const KeptWorkspace& /*kept*/, model::TenantId /*tenant*/) {}
  // The conversation has no next run. Nothing happens while a run of it is at work here.
  virtual void remove_workspace(model::ConversationId /*conversation*/) {}

  // Whether it has sandboxes of its own, so that a conversation can keep one.
  virtual bool keeps_boxes() const = 0;
  // Sandboxes that wait for work.
  virtual int warm_available() const = 0;
};

}  // namespace sluice::dispatch
