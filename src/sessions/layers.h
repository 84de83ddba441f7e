// Where a conversation's workspace lies between its runs: directories of layers, the highest number
// on top.
//
//   HOME/0001        what the first run changed (or a repository as it was cloned)
//   HOME/0002        what the second one changed
//   HOME/0021.whole  all of it up to there in one: what has a lower number is not looked at
//   HOME/base        the repository as it was cloned, once layer 1 is not looked at any more
//   HOME/run_….0021.held1
//                    what a run had changed, over layer 21, when it began to wait for a human; for this
//                    run only, and stale once there is a layer 22
//
// A layer is written beside them under another name and renamed when it is complete, so that a run
// which ends in the middle leaves nothing. Everything here blocks, but for keep().
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dispatch/dispatch.h"
#include "workspace/workspace.h"

namespace sluice::sessions {

// A conversation that works in another repository has another workspace.
std::string layer_home(const std::string& state_dir, const dispatch::Dispatch& dispatch);
// False: the workspace is not used again, and its home is removed after the run.
bool is_kept(const dispatch::Dispatch& dispatch);

// Before the first run: takes what a killed server left of workspaces that are not kept out of the
// way, quickly. What it answers is to be removed.
std::vector<std::string> set_aside_unkept(const std::string& state_dir);

// What a directory of workspaces is called once it is not used any more.
std::string aside_name(const std::string& name);

// Topmost first; none if `home` is not there. Clears away what is left of broken-off work, and stale layers of runs
// that waited.
Result<workspace::Layers> read_layers(const std::string& home);

// What a sandbox changed, and what lies below it.
struct LayerWork {
  int changes_fd;
  std::string home;
  workspace::Layers below;  // the conversation's
  std::string mark;         // of the run, so that two never write to one place
  workspace::Owner owner;
  workspace::Layers held = {};  // the run's own, between the sandbox's changes and `below`
  std::string kept = {};        // what earlier runs in the same sandbox changed: the sandbox's changes have it in them
  std::string gathered = {};    // what gather_changes() made of all this
  std::stop_token stop = {};    // what walks over files looks at it
};

// All that the run changed as one layer over `below` and `kept`, beside the others; its path.
Result<std::string> gather_changes(const LayerWork& work);
// What it reads like where the run began.
workspace::Layers before(const LayerWork& work);
// The same where the conversation began: a repository as it was cloned, or nothing at all.
workspace::Layers at_first(const LayerWork& work);
// All that the conversation changed since then; `top_fd` is what the run changed.
workspace::Changes since_then(const LayerWork& work, int top_fd);

// The same for a run that waits; its name in `home`, empty if nothing was changed. `number`: another one each time.
Result<std::string> hold_changes(const LayerWork& work, int number);
// The number of one.
int held_number(std::string_view name);
// Every run that held something. What cannot be listed, or has a name that is not given here, is left out.
std::vector<dispatch::ParkedRun> list_held(const std::string& state_dir);
// Removes all that a run held, wherever it is among the conversation's workspaces.
void remove_held(const std::string& state_dir, model::ConversationId conversation, model::RunId run);
// But for `names`.
void remove_held_but(const std::string& home, model::RunId run, const std::vector<std::string>& kept);

// A layer that is written but does not count yet.
struct LayerDraft {
  std::string from;  // empty: nothing was changed
  std::string to;    // takes the place of what is there
};
// When there would be more than `layers_max`, the draft has all of them in it. `home` is made when there is
// something to keep in it.
Result<LayerDraft> draft_layer(const LayerWork& work, int layers_max = 20);
// The same for layers that a sandbox is about to be opened over, and kept.
Result<workspace::Layers> compacted(const LayerWork& work, int layers_max = 20);
void discard(const Result<LayerDraft>& draft);
// Quick; not blocking for long. What was in its place lies at `from` then, to be discarded.
Result<Unit> keep(const LayerDraft& draft);

}  // namespace sluice::sessions
