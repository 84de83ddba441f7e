// What a patch makes of a record: the same for every store.
#pragma once

#include "store/store.h"

namespace sluice::store {

void apply(const TenantPatch& patch, Timestamp at, model::Tenant& tenant);
void apply(const AgentPatch& patch, Timestamp at, model::Agent& agent);
void apply(const ConversationPatch& patch, Timestamp at, model::Conversation& conversation);
void apply(const RepositoryPatch& patch, Timestamp at, model::Repository& repository);
void apply(const EnvironmentPatch& patch, Timestamp at, model::Environment& environment);

// What an append makes of its run.
void apply(const Append& append, model::Run& run);
// Why a run that stands like this refuses the append; empty when it does not.
std::optional<Error> refusal(const Append& append, const model::Run& run);

}  // namespace sluice::store
