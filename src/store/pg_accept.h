// Messages and conversations of a group: looked up together, decided one by one by the rules that all stores share, and
// written together.
//
// What is looked at stays as it is until the commit: conversations are locked, other records only change under the
// records' lock, and two who take the same key or name at once run into its index, whereupon the group is tried again.
#pragma once

#include <unordered_map>
#include <vector>

#include "store/pg_group.h"
#include "store/sql_connection.h"

namespace sluice::store {

class PgAccepts {
 public:
  PgAccepts(std::vector<AcceptJob*> runs, std::vector<ConversationJob*> conversations, model::NodeId node);

  bool empty() const { return runs_.empty() && conversations_.empty(); }
  void send_looks(PgSession& session);
  // Takes what they gave and decides. What is refused has its result, and is out of it.
  void decide(PgSession& session, PgAnswers& answers, Connection& db);
  void send_writes(PgSession& session) const;

 private:
  struct Key {
    std::string request_sha256;
    std::optional<std::string> response_body;
    int64_t created_ms = 0;
    bool is_expired = false;
    std::optional<model::Run> run;
  };
  struct Place {
    model::Conversation conversation;
    int64_t number = 0;
    std::optional<model::Run> flight;
  };
  struct Numbers {
    int64_t run, user_message, assistant_message, conversation;
  };
  // One that is written.
  struct Made {
    const NewRun* source;
    model::Conversation conversation;
    model::Run run;
    Numbers numbers;
  };

  void take_keys(const PgRows& rows);
  const Key* key_of(const std::optional<Idempotency>& idempotency) const;
  const model::Agent* agent_for(model::TenantId tenant, model::AgentId wanted) const;
  Result<AcceptOutcome> decide(const NewRun& made, const Numbers& numbers, Connection& db);
  Result<ConversationOutcome> decide(const NewConversation& made, const Numbers& numbers);
  void keep_key(const std::optional<Idempotency>& idempotency, std::optional<int64_t> run,
                const std::optional<std::string>& response_body);
  void send_conversations(PgSession& session) const;
  void send_messages(PgSession& session) const;
  void send_runs(PgSession& session) const;
  void send_journal(PgSession& session) const;
  void send_keys(PgSession& session) const;

  struct KeptKey {
    const Idempotency* idempotency;
    std::optional<int64_t> run;
    std::optional<std::string> response_body;
    std::optional<int64_t> replaced;  // when the expired one of this name was made, if there is one
  };
  struct MadeConversation {
    model::Conversation conversation;
    int64_t number;
  };

  std::vector<AcceptJob*> runs_;
  std::vector<ConversationJob*> conversations_;
  model::NodeId node_;

  bool asked_for_keys_ = false;
  std::unordered_map<std::string, Key> known_keys_;
  std::unordered_map<model::ConversationId, Place> places_;
  std::unordered_map<model::AgentId, model::Agent> agents_;
  std::unordered_map<model::TenantId, model::AgentId> default_agents_;

  std::vector<Made> made_runs_;
  std::vector<MadeConversation> made_conversations_;
  std::vector<KeptKey> kept_keys_;
};

}  // namespace sluice::store
