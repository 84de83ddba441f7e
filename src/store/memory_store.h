// A store for tests, with misfortune in its API.
//
// A MemoryDisk is what outlives the server; a MemoryStore is one server's use of it. Dropping the
// store drops the answers it still owes (the writes may have happened), and another store on the
// same disk is a restart.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/memory_bags.h"
#include "store/memory_desk.h"
#include "store/memory_endpoints.h"
#include "store/memory_nodes.h"
#include "store/memory_tables.h"
#include "store/memory_workflows.h"

namespace sluice::store {

class MemoryStore final : public Store {
 public:
  // Servers on one disk at the same time need nodes that differ.
  MemoryStore(MemoryDisk& disk, world::Loop& loop, model::NodeId node = {})
      : disk_(disk), desk_(disk, loop, node), nodes_(disk, desk_, node) {}
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  void create_tenant(model::Tenant tenant, model::Agent default_agent, Done<Unit> done) override;
  void update_tenant(model::TenantId id, TenantPatch patch, Timestamp at, Done<model::Tenant> done) override;
  void tenant(model::TenantId id, Done<model::Tenant> done) override;
  void tenants(PageQuery<model::TenantId> query, Done<Page<model::Tenant>> done) override;

  void create_service_key(model::ServiceKey key, Done<Unit> done) override;
  void revoke_service_key(model::TenantId tenant, model::ServiceKeyId id, Timestamp at,
                          Done<model::ServiceKey> done) override;
  void service_keys(model::TenantId tenant, PageQuery<model::ServiceKeyId> query,
                    Done<Page<model::ServiceKey>> done) override;
  void find_service_key(std::string secret_sha256, Done<KeyHolder> done) override;

  void create_approver_key(model::ApproverKey key, Done<Unit> done) override;
  void revoke_approver_key(model::TenantId tenant, model::ApproverKeyId id, Timestamp at,
                           Done<model::ApproverKey> done) override;
  void approver_keys(model::TenantId tenant, PageQuery<model::ApproverKeyId> query,
                     Done<Page<model::ApproverKey>> done) override;

  void create_agent(model::Agent agent, Done<Unit> done) override;
  void update_agent(model::TenantId tenant, model::AgentId id, AgentPatch patch, Timestamp at,
                    Done<model::Agent> done) override;
  void delete_agent(model::TenantId tenant, model::AgentId id, Done<Unit> done) override;
  void agent(model::TenantId tenant, model::AgentId id, Done<model::Agent> done) override;
  void default_agent(model::TenantId tenant, Done<model::Agent> done) override;
  void agents(model::TenantId tenant, PageQuery<model::AgentId> query, Done<Page<model::Agent>> done) override;

  void create_conversation(NewConversation made, Done<ConversationOutcome> done) override;
  void update_conversation(model::TenantId tenant, model::ConversationId id, ConversationPatch patch, Timestamp at,
                           Done<model::Conversation> done) override;
  void conversation(model::TenantId tenant, model::ConversationId id, Done<model::Conversation> done) override;
  void find_conversation(model::ConversationId id, Done<model::Conversation> done) override;
  void conversations(model::TenantId tenant, ConversationFilter filter, PageQuery<model::ConversationId> query,
                     Done<Page<model::Conversation>> done) override;

  void messages(model::TenantId tenant, model::ConversationId conversation, Order order,
                PageQuery<model::MessageId> query, Done<Page<StoredMessage>> done) override;
  void message(model::TenantId tenant, model::MessageId id, Done<StoredMessage> done) override;
  void history(model::ConversationId conversation, model::MessageId before, int count_max,
               Done<std::vector<Turn>> done) override;

  void accept(NewRun made, Done<AcceptOutcome> done) override;
  void append(Append append, Done<CommittedBatch> done) override;
  void take_over(model::RunId run, model::Epoch seen, Done<model::Run> done) override;
  void journal(model::RunId run, model::Position after, std::size_t bytes_max, Done<JournalPage> done) override;

  void run(model::TenantId tenant, model::RunId id, Done<model::Run> done) override;
  void run_of_message(model::TenantId tenant, model::MessageId assistant_message, Done<model::Run> done) override;
  void runs(model::TenantId tenant, RunFilter filter, PageQuery<model::RunId> query,
            Done<Page<model::Run>> done) override;
  void unfinished_runs(Done<UnfinishedRuns> done) override;
  void carried_runs(Done<std::vector<model::RunId>> done) override;

  void create_repository(model::Repository made, Done<Unit> done) override;
  void update_repository(model::TenantId tenant, model::RepositoryId id, RepositoryPatch patch, Timestamp at,
                         Done<model::Repository> done) override;
  void delete_repository(model::TenantId tenant, model::RepositoryId id, Done<Unit> done) override;
  void repository(model::TenantId tenant, model::RepositoryId id, Done<model::Repository> done) override;
  void repositories(model::TenantId tenant, PageQuery<model::RepositoryId> query,
                    Done<Page<model::Repository>> done) override;
  void put_skill(model::Skill made, Done<model::Skill> done) override;
  void delete_skill(model::TenantId tenant, model::SkillId id, Done<Unit> done) override;
  void skill(model::TenantId tenant, model::SkillId id, Done<model::Skill> done) override;
  void skills(model::TenantId tenant, PageQuery<model::SkillId> query, Done<Page<model::Skill>> done) override;

  void create_environment(model::Environment made, Done<Unit> done) override;
  void update_environment(model::TenantId tenant, model::EnvironmentId id, EnvironmentPatch patch, Timestamp at,
                          Done<model::Environment> done) override;
  void delete_environment(model::TenantId tenant, model::EnvironmentId id, Done<Unit> done) override;
  void environment(model::TenantId tenant, model::EnvironmentId id, Done<model::Environment> done) override;
  void environments(model::TenantId tenant, PageQuery<model::EnvironmentId> query,
                    Done<Page<model::Environment>> done) override;

  void materials(model::TenantId tenant, MaterialNames names, Done<FoundMaterials> done) override;
  void create_execution(model::Execution made, std::string bearer_sha256, std::vector<model::OneTimeToken> tokens,
                        Done<Unit> done) override;
  void redeem(model::ExecutionId execution, model::TokenPurpose purpose, std::string token_sha256, Timestamp now,
              Done<Redeemed> done) override;
  void check_token(model::ExecutionId execution, model::TokenPurpose purpose, std::string token_sha256, Timestamp now,
                   Done<Unit> done) override;
  void execution_of_bearer(std::string bearer_sha256, Timestamp now, Done<model::Execution> done) override;
  void create_files(std::vector<model::RunFile> made, Done<Unit> done) override;
  void file(model::TenantId tenant, model::FileId id, Done<model::RunFile> done) override;
  void files_of_run(model::TenantId tenant, model::RunId run, Done<std::vector<model::RunFile>> done) override;
  void files_of_execution(model::TenantId tenant, model::ExecutionId execution,
                          Done<std::vector<model::RunFile>> done) override;

  void approval(model::TenantId tenant, model::ApprovalId id, Done<model::Approval> done) override;
  void approvals(model::TenantId tenant, ApprovalFilter filter, PageQuery<model::ApprovalId> query,
                 Done<Page<model::Approval>> done) override;
  void open_approval(model::RunId run, Done<model::Approval> done) override;
  void approver_key(model::TenantId tenant, model::ApproverKeyId id, Done<model::ApproverKey> done) override;
  void put_secrets(std::vector<model::SealedSecret> secrets, std::vector<model::AuditEntry> audit,
                   Done<Unit> done) override;
  void delete_secret(model::TenantId tenant, model::SecretScope scope, Ulid owner, std::string alias,
                     std::vector<model::AuditEntry> audit, Done<Unit> done) override;
  void secrets_of(model::TenantId tenant, model::SecretScope scope, Ulid owner,
                  Done<std::vector<model::SealedSecret>> done) override;
  void secrets_in_reach(SecretOwners owners, Done<std::vector<model::SealedSecret>> done) override;
  void sealed_page(int64_t after, int limit, Done<SealedPage> done) override;
  void reseal(std::vector<Resealed> resealed, Done<int> done) override;
  void append_audit(std::vector<model::AuditEntry> entries, Done<Unit> done) override;
  void audit(std::optional<model::TenantId> tenant, int64_t after, int limit,
             Done<std::vector<model::AuditEntry>> done) override;
  void due_notices(Timestamp now, int limit, Done<std::vector<DueNotice>> done) override;
  void notice_taken(model::NoticeId id, Done<Unit> done) override;
  void notice_failed(model::NoticeId id, Timestamp again_at, Done<Unit> done) override;

  void thread(model::TenantId tenant, std::string thread_id, Done<model::ConversationId> done) override;
  void thread_of(model::ConversationId conversation, Done<std::optional<std::string>> done) override;
  void agui_run(model::TenantId tenant, std::string thread_id, std::string run_id, Done<AguiRun> done) override;
  void agui_run_named(model::TenantId tenant, std::string run_id, Done<AguiRun> done) override;
  void agui_runs_of(model::RunId run, Done<std::vector<AguiRun>> done) override;

  Endpoints& endpoints() override { return endpoints_; }
  Tables& tables() override { return tables_; }
  Workflows& workflows() override { return workflows_; }

  Bags& bags() override { return bags_; }
  Nodes& nodes() override { return nodes_; }

  void reopen(Done<Unit> done) override;
  bool broken() const override { return desk_.broken(); }
  void tidy_up(Timestamp now, Done<int> done) override;

 private:
  template <typename T>
  void answer(Result<T> result, Done<T> done) {
    desk_.answer<T>(std::move(result), std::move(done));
  }
  template <typename T, typename Work>
  void write(Done<T> done, Work work) {
    desk_.write<T>(std::move(done), std::move(work));
  }

  Result<model::AgentId> agent_for(model::TenantId tenant, model::AgentId wanted);
  bool in_use(model::AgentId agent);
  void step_down(model::TenantId tenant, model::AgentId chosen, Timestamp at);
  // The outcome that the key stands for already, if it was used.
  template <typename Outcome>
  std::optional<Outcome> replay(const std::optional<Idempotency>& idempotency, Timestamp now);
  void keep(const std::optional<Idempotency>& idempotency, MemoryDisk::KeptKey kept);
  MemoryDisk::ConversationRow* conversation_of(model::TenantId tenant, model::ConversationId id);

  // What the operations on repositories, skills and environments have in common.
  template <typename Row, typename AnyTable>
  void create_row(AnyTable& table, Row made, Done<Unit> done);
  template <typename Row, typename AnyTable, typename AnyId, typename Patch>
  void update_row(AnyTable& table, model::TenantId tenant, AnyId id, const Patch& patch, Timestamp at, Done<Row> done);
  template <typename Row, typename AnyTable, typename AnyId>
  void read_row(AnyTable& table, model::TenantId tenant, AnyId id, Done<Row> done);
  template <typename Row, typename AnyTable, typename AnyId>
  void list_rows(AnyTable& table, model::TenantId tenant, const PageQuery<AnyId>& query, Done<Page<Row>> done);
  template <typename Names>
  bool an_agent_names_it(model::TenantId tenant, Names names);
  bool is_cancelled(const std::optional<model::RunId>& id);
  // Null when there is none, or it is not good now.
  MemoryDisk::TokenRow* good_token(model::ExecutionId execution, model::TokenPurpose purpose,
                                   const std::string& token_sha256, Timestamp now);
  void drop_executions(Timestamp expired_before);

  // Why the owner cannot have the secret, or the run the approval; empty when they can.
  std::optional<Error> refusal_of_owner(model::TenantId tenant, model::SecretScope scope, Ulid owner);
  std::optional<Error> refusal_of_secret(const model::SealedSecret& secret);
  std::optional<Error> refusal_of_gate(const Append& append);
  void keep_gate(const Append& append);
  std::optional<Error> refusal_of_number(const std::vector<model::SealedSecret>& secrets);
  void keep_secrets(const std::vector<model::SealedSecret>& secrets);
  void drop_secrets(model::SecretScope scope, Ulid owner);
  void keep_audit(const std::vector<model::AuditEntry>& entries);
  void drop_notices(model::TenantId tenant);
  std::optional<Error> refusal_of_names(const std::optional<AguiRun>& names);
  void keep_names(const std::optional<AguiRun>& names);

  Result<ConversationOutcome> create(const NewConversation& made);
  Result<AcceptOutcome> accept(const NewRun& made);
  Result<CommittedBatch> append(Append& append);

  MemoryDisk& disk_;
  MemoryDesk desk_;
  MemoryNodes nodes_;
  MemoryBags bags_{disk_, desk_};
  MemoryEndpoints endpoints_{disk_, desk_};
  MemoryTables tables_{disk_, desk_};
  MemoryWorkflows workflows_{disk_, desk_};
};

}  // namespace sluice::store
