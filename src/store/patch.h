// What a change makes of a record, and when it is refused: the same for every store.
#pragma once

#include "store/store.h"

namespace sluice::store {

void apply(const TenantPatch& patch, Timestamp at, model::Tenant& tenant);
void apply(const AgentPatch& patch, Timestamp at, model::Agent& agent);
// What a conversation takes from its agent when it is made.
void settle(const model::Agent& agent, model::Conversation& conversation);
void apply(const ConversationPatch& patch, Timestamp at, model::Conversation& conversation);
void apply(const RepositoryPatch& patch, Timestamp at, model::Repository& repository);
void apply(const EnvironmentPatch& patch, Timestamp at, model::Environment& environment);

// What an append makes of its run.
void apply(const Append& append, model::Run& run);
// Why a run that stands like this refuses the append; empty when it does not.
std::optional<Error> refusal(const Append& append, const model::Run& run);

// What a decision makes of an approval.
void apply(const model::Approval& decided, model::Approval& kept);
// Why an approval cannot be made or decided. `kept` is the one of its id, `open` the run's that is pending.
// Two who decide at once are told apart here: the second finds it decided (I-14).
std::optional<Error> refusal(const model::Approval& approval, const std::optional<model::Approval>& kept,
                             const std::optional<model::Approval>& open);

// What is known of the names that somebody gives.
struct KnownNames {
  std::optional<model::ConversationId> conversation;  // that the thread belongs to
  std::optional<std::string> thread;                  // of the conversation
  bool has_run = false;                               // the thread has a run of that name
};
std::optional<Error> refusal(const AguiRun& named, const KnownNames& known);
std::optional<AguiRun> names_of(const NewRun& made);

// What a run of a chat handed back, as the chat's bag has it. A chat that was deleted meanwhile has it deleted.
model::BagFile bag_file_of(const model::RunFile& file, const model::Run& run, const model::Conversation& chat);

// The end of the audit chain as it stands. Before the first entry there is no hash.
struct ChainEnd {
  int64_t number = 0;
  std::string sha256;
};
model::AuditEntry next_link(model::AuditEntry entry, const ChainEnd& end);

}  // namespace sluice::store
