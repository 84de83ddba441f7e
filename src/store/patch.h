// What a change makes of a record, and when it is refused: the same for every store.
#pragma once

#include "store/materials.h"
#include "store/questions.h"

namespace sluice::store {

void apply(const TenantPatch& patch, Timestamp at, model::Tenant& tenant);
void apply(const AgentPatch& patch, Timestamp at, model::Agent& agent);
void apply(const ConversationPatch& patch, Timestamp at, model::Conversation& conversation);
void apply(const RepositoryPatch& patch, Timestamp at, model::Repository& repository);
void apply(const EnvironmentPatch& patch, Timestamp at, model::Environment& environment);

// What a run of a chat handed back, as the chat's bag has it. A chat that was deleted meanwhile has it deleted.
model::BagFile bag_file_of(const model::RunFile& file, const model::Run& run, const model::Conversation& chat);

}  // namespace sluice::store
