#include "journal/run_rules.h"

#include <utility>

#include "base/check.h"

namespace sluice::journal {
namespace {

template <typename Outcome>
std::optional<Outcome> replay(const std::optional<Idempotency>& asked, std::optional<KnownKey>& known) {
  if (!asked || !known) return std::nullopt;
  if (known->request_sha256 != asked->request_sha256) return Outcome(KeyConflict{});
  return Outcome(Replay{std::move(known->run), std::move(known->response_body)});
}

// What a conversation takes from its agent when it is made.
void settle(const model::Agent& agent, model::Conversation& conversation) {
  conversation.agent_id = agent.id;
  if (conversation.runtime.agent_type.empty()) conversation.runtime.agent_type = agent.kit.agent_type;
}

std::optional<Error> refusal(const Append& append, const model::Run& run) {
  if (append.epoch != run.epoch) {
    return Error{ErrorKind::conflict, "run " + run.id.text() + " has another writer: its epoch is " +
                                          std::to_string(run.epoch.value) + ", not " +
                                          std::to_string(append.epoch.value)};
  }
  if (model::is_over(run.state)) return Error{ErrorKind::conflict, "run " + run.id.text() + " is over"};
  if (append.head != run.head) {
    return Error{ErrorKind::conflict, "the journal of run " + run.id.text() + " is at " +
                                          std::to_string(run.head.value) + ", not at " +
                                          std::to_string(append.head.value)};
  }
  return std::nullopt;
}

}  // namespace

void check_run(const model::Run& run) {
  SLUICE_CHECK(run.epoch.value >= 1);
  SLUICE_CHECK(model::is_over(run.state) == run.ended_at.has_value());
}

// ── accepting ──

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

  Accepted accepted{*std::move(looks.conversation), *std::move(looks.agent), made.run, {}, {}};
  settle(accepted.agent, accepted.conversation);
  accepted.conversation.last_message_at = made.user_message.created_at;
  auto& run = accepted.run;
  run.agent_id = accepted.agent.id;
  run.epoch = {1};
  run.head = {made.events.size()};
  run.node = by;
  SLUICE_CHECK(!model::is_over(run.state));  // otherwise it would never be ended
  SLUICE_CHECK(accepted.conversation.id == run.conversation_id);
  SLUICE_CHECK(accepted.conversation.agent_id == run.agent_id);
  SLUICE_CHECK(accepted.conversation.status == model::ConversationStatus::active);
  SLUICE_CHECK(accepted.agent.tenant_id == run.tenant_id);
  SLUICE_CHECK(run.node == by && run.epoch == model::Epoch{1});
  check_run(run);
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
  SLUICE_CHECK(conversation.id == made.conversation.id && conversation.tenant_id == made.conversation.tenant_id);
  SLUICE_CHECK(conversation.agent_id == looks.agent->id);
  return ConversationDecision(std::move(conversation));
}

std::optional<AguiRun> names_of(const NewRun& made) {
  auto names = made.agui;
  if (!names) return names;
  names->tenant_id = made.run.tenant_id;
  names->conversation_id = made.run.conversation_id;
  names->run = made.run.id;
  return names;
}

std::optional<Error> refusal(const AguiRun& named, const KnownNames& known) {
  const auto refuse = [](std::string what) { return Error{ErrorKind::invalid, std::move(what)}; };
  if (known.conversation && *known.conversation != named.conversation_id) {
    return refuse("thread " + named.thread_id + " belongs to another conversation");
  }
  if (known.thread && *known.thread != named.thread_id) {
    return refuse("conversation " + named.conversation_id.text() + " belongs to another thread");
  }
  if (known.has_run) return refuse("thread " + named.thread_id + " has a run " + named.run_id + " already");
  return std::nullopt;
}

std::optional<Error> refusal(const model::Approval& approval, const std::optional<model::Approval>& kept,
                             const std::optional<model::Approval>& open) {
  const auto refuse = [](std::string what) { return Error{ErrorKind::conflict, std::move(what)}; };
  if (!kept && approval.status != model::ApprovalStatus::pending) {
    return refuse("approval " + approval.id.text() + " was never asked for");
  }
  if (!kept && open) return refuse("run " + approval.run_id.text() + " waits for " + open->id.text() + " already");
  if (kept && kept->status != model::ApprovalStatus::pending) {
    return refuse("approval " + approval.id.text() + " is " + std::string(model::name_of(kept->status)) + " already");
  }
  return std::nullopt;
}

// ── appending ──

std::optional<Timestamp> end_of(const Append& append) {
  if (!append.state || !model::is_over(*append.state)) return std::nullopt;
  SLUICE_CHECK(!append.events.empty());  // otherwise no reader would learn of the end
  return append.events.back().at;
}

Result<model::Run> decide(const Append& append, const model::Run& run) {
  SLUICE_CHECK(append.run == run.id);
  if (auto refused = refusal(append, run)) return *std::move(refused);
  SLUICE_CHECK(!model::is_over(run.state));
  auto changed = run;
  changed.head.value += append.events.size();
  changed.state = append.state.value_or(run.state);
  changed.ended_at = end_of(append);
  SLUICE_CHECK(changed.head.value == append.head.value + append.events.size());
  SLUICE_CHECK(changed.ended_at.has_value() == (append.state && model::is_over(*append.state)));
  return changed;
}

// ── another node ──

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

}  // namespace sluice::journal
