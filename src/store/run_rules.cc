#include "store/run_rules.h"

#include <utility>

#include "base/check.h"
#include "store/no_such.h"
#include "store/patch.h"

namespace sluice::store {
namespace {

template <typename Outcome>
std::optional<Outcome> replay(const std::optional<Idempotency>& asked, std::optional<KnownKey>& known) {
  if (!asked || !known) return std::nullopt;
  if (known->request_sha256 != asked->request_sha256) return Outcome(KeyConflict{});
  return Outcome(Replay{std::move(known->run), std::move(known->response_body)});
}

}  // namespace

Result<AcceptDecision> decide(const NewRun& made, AcceptLooks looks, model::NodeId by) {
  if (auto replayed = replay<AcceptOutcome>(made.idempotency, looks.key)) return AcceptDecision(*std::move(replayed));
  if (made.conversation) looks.conversation = made.conversation;
  if (!looks.conversation) return no_such("conversation");
  SLUICE_CHECK(looks.conversation->id == made.run.conversation_id);
  if (looks.names) return *std::move(looks.names);
  if (looks.conversation->status == model::ConversationStatus::archived)
    return AcceptDecision(AcceptOutcome(Archived{}));
  if (looks.flight) return AcceptDecision(AcceptOutcome(Busy{*std::move(looks.flight)}));
  if (!looks.agent) return no_such("agent");
  if (made.only_replay) return AcceptDecision(AcceptOutcome(NotCreated{}));
  if (looks.secrets) return *std::move(looks.secrets);

  Accepted accepted{*std::move(looks.conversation), *std::move(looks.agent), made.run, {}};
  settle(accepted.agent, accepted.conversation);
  accepted.conversation.last_message_at = made.user_message.created_at;
  auto& run = accepted.run;
  run.agent_id = accepted.agent.id;
  run.epoch = {1};
  run.head = {made.events.size()};
  run.node = by;
  SLUICE_CHECK(!model::is_over(run.state));  // or nobody would ever end it
  return AcceptDecision(std::move(accepted));
}

Result<ConversationDecision> decide(const NewConversation& made, ConversationLooks looks) {
  if (auto replayed = replay<ConversationOutcome>(made.idempotency, looks.key)) {
    return ConversationDecision(*std::move(replayed));
  }
  if (!looks.agent) return no_such("agent");
  if (made.only_replay) return ConversationDecision(ConversationOutcome(NotCreated{}));
  auto conversation = made.conversation;
  settle(*looks.agent, conversation);
  return ConversationDecision(std::move(conversation));
}

std::optional<Error> refusal_of_takeover(const model::Run& run, model::Epoch seen) {
  if (run.epoch != seen) return Error{ErrorKind::conflict, "another server has taken run " + run.id.text() + " over"};
  if (model::is_over(run.state)) return Error{ErrorKind::conflict, "run " + run.id.text() + " is over"};
  return std::nullopt;
}

bool may_claim(const model::Run& run, const HeldRun& wanted, model::NodeId by) {
  return run.state == model::RunState::held && run.epoch == wanted.epoch && run.node != by;
}

void pass_on(model::Run& run, model::NodeId to) {
  SLUICE_CHECK(!model::is_over(run.state));
  ++run.epoch.value;
  run.node = to;
}

}  // namespace sluice::store
