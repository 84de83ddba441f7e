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

// ── what an agent is given to work with (I-25) ──
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
  std::string name;    // its place below `attachments/`, one plain name
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

// What became of one.
struct KeptAsset {
  std::string id;
  std::string name;
  int64_t size_bytes = 0;
  std::string sha256;
};

// The workspace's API as the run may use it: `base_url` is the workspace's, `token` the run's own. Only egress and the
// runner may see the token; nothing in a box does.
struct WorkspaceAccess {
  std::string base_url;  // empty: there is none
  std::string token;
  model::WorkspaceUse use = model::WorkspaceUse::none;  // what the token is good for
};

// Where a dispatch gets what it names, and where it hands back what it made: the server itself, or
// the workspace at the other end of the one-time tokens. Answers come on the loop's thread, never
// from inside the call; dropping the dispatch drops the question.
class Supplies {
 public:
  virtual ~Supplies() = default;
  // The bundle, a gzipped tar. Whoever asks checks its digest.
  virtual void skill_bundle(const SkillUse& skill, Callback<void(Result<std::string>)> done) = 0;
  // Its bytes. Whoever asks checks their digest.
  virtual void file(const FileUse& file, Callback<void(Result<std::string>)> done) = 0;
  // False: files are not wanted back, so they are not even collected.
  virtual bool wants_assets() const = 0;
  // All or nothing. `result` is the final text.
  virtual void take_assets(std::vector<Asset> assets, std::string result,
                           Callback<void(Result<std::vector<KeptAsset>>)> done) = 0;
};

// Whether the agent is a program of another vendor that runs in the sandbox, instead of Sluice's own loop.
inline bool is_program(const model::Agent& agent) { return agent.kit.agent_type != "native"; }
// Where agent programs keep their state in the sandbox. No event reports it, and it is neither compared nor returned.
inline constexpr std::string_view program_state_dir = "/workspace/.sluice";

// Whoever would have the work done elsewhere if it were lost, as long as it knows of nothing that was done.
class Witness {
 public:
  virtual ~Witness() = default;
  // `seen` when all that was told so far is known where it outlives this process; never, if nobody hears it. Not from
  // inside.
  virtual void see(Callback<void()> seen) = 0;
};

// The phase before an agent program is started, which does as it likes then. Told only to a witness.
inline constexpr std::string_view launch_phase = "launch";
bool is_launch(const model::RunEvent& event);

// One piece of work: answer `prompt`.
struct Dispatch {
  model::RunId run;
  model::ConversationId conversation;  // whose workspace it goes on with; all zero: nobody's
  model::Agent agent;
  Materials materials;
  std::shared_ptr<Supplies> supplies;  // null: there are no skills, and no files are wanted back
  std::vector<HistoryTurn> history;    // before the prompt, oldest first
  std::string prompt;
  int64_t max_rounds = 0;  // of model calls that end in tool calls; 0: as many as the runner allows
  bool filler = false;
  std::string traceparent;  // W3C; empty: none
  model::RunExtras extras;  // what the message brought along

  WorkspaceAccess workspace;  // how the box reaches the workspace's API

  std::shared_ptr<vault::Secrets> secrets;  // in reach of the run; null: none
  // Waited for before the first thing is done that must not be done twice; null: nobody needs to know.
  std::shared_ptr<Witness> witness;
  bool may_ask = false;  // a human can be asked; otherwise what must be asked for is refused
  // Whether the box stays when the run ends or waits for a human; the conversation's next run goes on in it.
  bool keeps_box = false;

  // When a parked run goes on without the Work that raised its gate: what Gate::checkpoint said. The
  // gate was approved.
  std::string checkpoint;
  std::vector<model::ClientResult> results;  // that came with the approval: of the client's own tools

  // When the work is taken up again, by a restarted server or by another runner than the one that was lost: what the
  // journal shows was told already. The agent goes on right after it.
  bool resumed = false;
  std::string told_text;
  std::string told_reasoning;
  // The last `mark` of the journal: the work may still be going on elsewhere, and is heard on from there instead of
  // being begun anew. Only where Dispatcher::can_reattach(mark).
  std::string mark;
};

// The work cannot go on without a human.
struct Gate {
  std::string reason;
  std::vector<model::RequestedItem> items;
  int64_t lifetime_seconds = 0;  // 0: as long as the server lets approvals wait
  std::string checkpoint;        // JSON: from where another Work, perhaps of another server, can go on
  // True: the Work waits with its box for go_on(). False: its workspace is kept, its box proven gone,
  // and the Work is over.
  bool keeps_box = false;
};

// What a dispatch hears. on_finished(), on_failed() or on_gate() without a box ends it.
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

// Work in progress. Dropping it ends the work at once; the listener hears nothing more.
class Work {
 public:
  virtual ~Work() = default;
  // Ends it, and says when nothing of it is left: no process, no box. The listener hears nothing
  // more. Not called twice; `gone` never comes from inside.
  virtual void stop(Callback<void()> gone) = 0;
  // Its gate was approved; secrets that came with it are in Dispatch::secrets. Only while it waits.
  virtual void go_on(std::vector<model::ClientResult> results) = 0;
  // Whoever listens has no room for more: nothing more is begun that would tell much, until told otherwise. What is
  // under way may still be told.
  virtual void hold_back(bool /*held*/) {}
  // This server may have lost the run to another: nothing is begun, what runs in a sandbox here stands still, and so
  // does the time that counts against the run; until told otherwise. Work on a runner goes on: nothing of it is lost.
  virtual void suspend(bool /*suspended*/) {}
  // All that was told up to and including this mark is in the journal.
  virtual void written(std::string_view /*mark*/) {}
};

// A run for whose going on after a gate something is kept.
struct ParkedRun {
  model::RunId run;
  model::ConversationId conversation;
  bool operator==(const ParkedRun&) const = default;
};

// What is kept for a conversation's next run.
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

  // Can work whose journal shows `told_text`, and nothing that was done, go on right after it? True when nothing was
  // told yet, or the agent's loop is ours: its model is told what it said, and says the rest.
  virtual bool can_resume(const model::Agent& agent, std::string_view told_text) const = 0;

  // Can work with this mark be heard on, if whoever does it still lives? Whether it does, the dispatch will tell.
  virtual bool can_reattach(std::string_view /*mark*/) const { return false; }

  // False when the agent's model looks only at the last message, so the history need not be read.
  virtual bool reads_history(const model::Agent& agent) const = 0;

  // A conversation's box that was kept is wanted no more: it is killed. No harm if there is none, or if a run is
  // using it: then it goes with the run.
  virtual void release(model::ConversationId conversation) = 0;
  // A parked run ended at its gate: what was kept for its going on is removed.
  virtual void forget_parked(model::RunId run, model::ConversationId conversation) = 0;
  // Whatever is kept here, by this server or by those that were here before it. What cannot be read is left out. `done`
  // may come from inside.
  virtual void list_parked(Callback<void(std::vector<ParkedRun>)> done) { done({}); }
  // ── workspaces that are kept between runs ──
  // All that are kept here, by this server or by those that were here before it. `done` may come from inside.
  virtual void list_workspaces(Callback<void(std::vector<KeptWorkspace>)> done) { done({}); }
  // Whose such a workspace is: it counts for that tenant.
  virtual void count_workspace(const KeptWorkspace& /*kept*/, model::TenantId /*tenant*/) {}
  // The conversation has no next run. Nothing happens while a run of it is at work here.
  virtual void remove_workspace(model::ConversationId /*conversation*/) {}

  // Whether it has boxes of its own, so that a conversation can keep one.
  virtual bool keeps_boxes() const = 0;
  // Boxes that wait for work.
  virtual int warm_available() const = 0;
};

}  // namespace sluice::dispatch
