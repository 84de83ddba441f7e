// What a run is given to work with: named by its agent, its conversation and its message, found in the
// store, given to the agent that does the work (I-25).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/engine.h"

namespace sluice::engine {

// The message's word counts before the conversation's, and that before the agent's; skills add up.
store::MaterialNames materials_named(const model::Agent& agent, const std::optional<std::string>& of_conversation,
                                     const model::Message& message);

// Puts what was found into the work; the message's own variables win.
void give(store::FoundMaterials found, dispatch::Materials& materials);

// The skills that come with the server, of those that the message wants; a tenant's own of the same name wins.
void give_builtin_skills(const model::RunExtras& extras, MaterialSource& material_source,
                         dispatch::Materials& materials);

// What the run's sandbox may do with the workspace's API: what its agent says, and more where a skill that comes with
// the server is given to it, which is made for that.
model::WorkspaceUse workspace_use_of(const model::Agent& agent, const model::RunExtras& extras);

// Which secrets' values are looked for in what the run shows: those that were supplied for its conversation or its
// agent, and of the tenant's those that it can put to use. A value that it has no use for would only be found by
// guessing.
std::function<bool(const vault::Secret&)> secrets_looked_for(const dispatch::Dispatch& work);

// The files that a chat's turn brought along, under names that are unique among them.
void give_attachments(const model::RunExtras& extras, dispatch::Materials& materials);

}  // namespace sluice::engine
