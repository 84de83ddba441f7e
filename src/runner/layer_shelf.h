// Where a conversation's workspace lies between its runs: directories of layers, the highest number
// on top.
//
//   HOME/0001        what the first run changed (or a repository as it was cloned)
//   HOME/0002        what the second one changed
//   HOME/0021.whole  all of it up to there in one: what has a lower number is not looked at
//
// A layer is written beside them under another name and renamed when it is complete, so that a run
// which ends in the middle leaves nothing. Everything here blocks, but for keep().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/harness.h"
#include "workspace/workspace.h"

namespace sluice::runner {

// A conversation that works in another repository has another workspace.
std::string layer_home(const std::string& state_dir, const harness::Dispatch& dispatch);
// Whose workspace nobody goes on with: its home is removed after the run.
bool is_kept(const harness::Dispatch& dispatch);

// When nobody works yet: takes what a killed server left of workspaces that are not kept out of the
// way, quickly. What it answers is to be removed.
std::vector<std::string> set_aside_unkept(const std::string& state_dir);

// Topmost first; none if `home` is not there. Clears away what is left of broken-off work.
Result<workspace::Layers> read_layers(const std::string& home);

// A layer that is written but does not count yet.
struct LayerDraft {
  std::string from;  // empty: nothing was changed
  std::string to;
};
struct LayerWork {
  int changes_fd;
  std::string home;
  workspace::Layers below;
  std::string mark;  // of the run, so that two never write to one place
  workspace::Owner owner;
};
// When there would be more than `layers_max`, the draft has all of them in it. `home` is made when there is
// something to keep in it.
Result<LayerDraft> draft_layer(const LayerWork& work, int layers_max = 20);
void discard(const Result<LayerDraft>& draft);
// Quick; not blocking for long.
Result<Unit> keep(const LayerDraft& draft);

}  // namespace sluice::runner
