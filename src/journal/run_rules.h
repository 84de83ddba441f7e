// What a write to a journal decides: what becomes of a message that is to be accepted, of an append, of a conversation
// that is to be made, of an approval, and of a run that changes its node. Each rule is one pure function from what was
// looked up to what is written, the same for every database: SQLite and PostgreSQL only look up and write. Called on
// the threads that write. It knows no SQL, no clock and no files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "journal/journal.h"

namespace sluice::journal {

inline Error no_such(std::string_view what) { return {ErrorKind::not_found, "no such " + std::string(what)}; }

// ── accepting ──

// The use that was made of an idempotency key.
struct KnownKey {
  std::string request_sha256;
  std::optional<model::Run> run;
  std::optional<std::string> response_body;
};

// What was looked up for a message.
struct AcceptLooks {
  std::optional<KnownKey> key;                      // of its idempotency key, if it was used less than a day ago
  std::optional<model::Conversation> conversation;  // if the tenant has it; empty for one that is made with the message
  std::optional<model::Run> flight;                 // the conversation's run that is not over
  std::optional<model::Agent> agent;                // the conversation's, or the tenant's default agent, if it has one
  std::optional<Error> names;                       // why its AG-UI names cannot be kept
  std::optional<Error> secrets;                     // why its secrets cannot be kept
};
// What is written, or the outcome if nothing is. The events are not in it yet: they are committed only after the write.
using AcceptDecision = std::variant<Accepted, AcceptOutcome>;
Result<AcceptDecision> decide(const NewRun& made, AcceptLooks looks, model::NodeId by);

struct ConversationLooks {
  std::optional<KnownKey> key;
  std::optional<model::Agent> agent;
};
// The conversation to write, or the outcome if none is written.
using ConversationDecision = std::variant<model::Conversation, ConversationOutcome>;
Result<ConversationDecision> decide(const NewConversation& made, ConversationLooks looks);

// The AG-UI names of a new run, with the ids of its tenant, conversation and run.
std::optional<AguiRun> names_of(const NewRun& made);
// What was looked up for AG-UI names.
struct KnownNames {
  std::optional<model::ConversationId> conversation;  // that the thread belongs to
  std::optional<std::string> thread;                  // of the conversation
  bool has_run = false;                               // the thread has a run of that name
};
// Why the names cannot be kept; empty when they can.
std::optional<Error> refusal(const AguiRun& named, const KnownNames& known);

// ── appending ──

// The run after an append to it, or why it is refused. `run` is the run as it stands, of which state, epoch, head and
// the id count.
Result<model::Run> decide(const Append& append, const model::Run& run);
// When the append ends its run; empty when it does not.
std::optional<Timestamp> end_of(const Append& append);

// Why an approval cannot be made or decided; empty when it can. `kept` is the approval of that id, `open` the run's
// pending one. Of two concurrent decisions the second finds the approval decided (I-14).
std::optional<Error> refusal(const model::Approval& approval, const std::optional<model::Approval>& kept,
                             const std::optional<model::Approval>& open);

// ── another node ──

// Why a run that stands like this is not taken over; empty when it is.
std::optional<Error> refusal_of_takeover(const model::Run& run, model::Epoch seen);
// Whether a node may take the run off the queue of another.
bool may_claim(const model::Run& run, const HeldRun& wanted, model::NodeId by);
// What a takeover and a claim make of a run: its former writer is fenced out.
void pass_on(model::Run& run, model::NodeId to);

// Stops the program if a run, as our code is about to write it, is none that may exist. Not for rows that were read:
// those may be damaged.
void check_run(const model::Run& run);

}  // namespace sluice::journal
