// What kept workspaces take of the disk, and how they go. A layer never changes once it is kept, so it is measured once
// and has its size in an attribute of its directory ("user.sluice.bytes").
//
// Everything here blocks, but for set_workspace_aside().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/dispatch.h"
#include "sessions/layers.h"

namespace sluice::sessions {

// Of one layer: the blocks of its files, and 1 KiB for each file, link and directory.
int64_t layer_bytes(const std::string& layer);
// Of all that is kept for a conversation; 0 if there is nothing. `home`: of any of its layers.
int64_t workspace_bytes(const std::string& home);
// The same once `draft` is kept.
int64_t workspace_bytes_with(const std::string& home, const LayerDraft& draft);

// Every conversation that has a workspace. What cannot be listed is left out.
std::vector<dispatch::KeptWorkspace> list_workspaces(const std::string& state_dir);

// Takes a conversation's workspace out of the way, quickly: what it answers is to be removed, and is when a server
// starts if this one does not come to it. Empty if there was none.
std::optional<std::string> set_workspace_aside(const std::string& state_dir, model::ConversationId conversation);

}  // namespace sluice::sessions
