// What becomes of a message that wants to be accepted, of a conversation that shall be made and of a run that changes
// hands: decided from what was looked up, before anything is written. Pure, and the same for every database, which only
// looks up and writes. What an append is refused for is in patch.h.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "store/store.h"

namespace sluice::store {

// What an idempotency key was used for.
struct KnownKey {
  std::string request_sha256;
  std::optional<model::Run> run;
  std::optional<std::string> response_body;
};

// What was looked up for a message.
struct AcceptLooks {
  std::optional<KnownKey> key;  // of its idempotency key, if it was used less than a day ago
  std::optional<model::Conversation>
      conversation;                   // that it goes to, if the tenant has it; not of one that is made with it
  std::optional<model::Run> flight;   // the conversation's run that is not over
  std::optional<model::Agent> agent;  // the conversation's, or the tenant's default agent, if it has it
  std::optional<Error> names;         // why its AG-UI names cannot be kept
  std::optional<Error> secrets;       // why its secrets cannot be kept
};
// What is written of it, where it is accepted: it has no events yet, they are committed only after this.
using AcceptDecision = std::variant<Accepted, AcceptOutcome>;
Result<AcceptDecision> decide(const NewRun& made, AcceptLooks looks, model::NodeId by);

struct ConversationLooks {
  std::optional<KnownKey> key;
  std::optional<model::Agent> agent;
};
// The conversation to be written, or what is answered instead.
using ConversationDecision = std::variant<model::Conversation, ConversationOutcome>;
Result<ConversationDecision> decide(const NewConversation& made, ConversationLooks looks);

// Why a run that stands like this is not taken over; empty when it is.
std::optional<Error> refusal_of_takeover(const model::Run& run, model::Epoch seen);
// May a node take the run off the queue of another?
bool may_claim(const model::Run& run, const HeldRun& wanted, model::NodeId by);
// What a takeover and a claim make of it: whoever wrote it before is fenced out.
void pass_on(model::Run& run, model::NodeId to);

}  // namespace sluice::store
