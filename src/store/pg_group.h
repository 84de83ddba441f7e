// What one commit of the runs' writer has in it, and what became of each.
#pragma once

#include <optional>
#include <vector>

#include "store/pg_session.h"
#include "store/store.h"

namespace sluice::store {

// Results are empty until the group is committed, or given up.
struct AppendJob {
  Append append;
  bool is_written = false;
  std::optional<Error> refused;
};
struct AcceptJob {
  NewRun made;
  std::optional<Result<AcceptOutcome>> result;  // an Accepted has no events yet
};
struct ConversationJob {
  NewConversation made;
  std::optional<Result<ConversationOutcome>> result;
};
struct TakeOverJob {
  model::RunId run;
  model::Epoch seen;
  std::optional<Result<model::Run>> result;
};

inline std::string name_of_id(const Ulid& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}
inline std::string name_of_key(const Idempotency& idempotency) {
  return name_of_id(idempotency.principal.ulid).append(idempotency.operation).append(1, '\0').append(idempotency.key);
}

// What statements sent together gave, one after the other.
class PgAnswers {
 public:
  explicit PgAnswers(std::vector<PgRows> given) : given_(std::move(given)) {}
  PgRows take() { return std::move(given_.at(at_++)); }
  void skip(std::size_t count) { at_ += count; }

 private:
  std::vector<PgRows> given_;
  std::size_t at_ = 0;
};

// A run that may be open, as `run_columns` of `runs r LEFT JOIN heads h` give it.
inline constexpr std::string_view run_columns =
    "r.id, r.tenant_id, r.conversation_id, r.user_message_id, r.message_id, r.agent_id, coalesce(h.state, r.state), "
    "coalesce(h.epoch, r.epoch), coalesce(h.head, r.head), r.created_at, r.ended_at, coalesce(h.node, r.node)";
model::Run run_from(const PgRows& rows, int row, int first);

}  // namespace sluice::store
