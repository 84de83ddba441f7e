// The records of a store that is kept in a SQL database, whichever it is: each operation of the door that the two kinds
// do alike, handed in at the desk. What has to do with runs and their journals is each kind's own.
//
// Neither an interface nor final, because eighty operations would be written twice.
#pragma once

#include "store/sql_bags.h"
#include "store/sql_desk.h"
#include "store/sql_endpoints.h"
#include "store/sql_tables.h"
#include "store/sql_workflows.h"

namespace sluice::store {

class SqlStore : public Store {
 public:
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

  void run(model::TenantId tenant, model::RunId id, Done<model::Run> done) override;
  void run_of_message(model::TenantId tenant, model::MessageId assistant_message, Done<model::Run> done) override;
  void runs(model::TenantId tenant, RunFilter filter, PageQuery<model::RunId> query,
            Done<Page<model::Run>> done) override;

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

  Bags& bags() override { return bags_; }
  Endpoints& endpoints() override { return endpoints_; }
  Tables& tables() override { return tables_; }
  Workflows& workflows() override { return workflows_; }

 protected:
  // The desk may come into being after this.
  explicit SqlStore(SqlDesk& desk, int64_t table_query_ms_max = SqlTables::query_ms_max_by_default)
      : desk_(desk), bags_(desk), endpoints_(desk), tables_(desk, table_query_ms_max), workflows_(desk) {}

  template <typename T, typename Attempt>
  void write(Done<T> done, Attempt attempt) {
    desk_.write(std::move(done), std::move(attempt));
  }
  template <typename Kind, typename T, typename Attempt>
  void write(Id<Kind> whose, Done<T> done, Attempt attempt) {
    desk_.write(whose, std::move(done), std::move(attempt));
  }
  template <typename T, typename Attempt>
  void read(Done<T> done, Attempt attempt) {
    desk_.read(std::move(done), std::move(attempt));
  }
  template <typename Kind, typename T, typename Attempt>
  void read(Id<Kind> whose, Done<T> done, Attempt attempt) {
    desk_.read(whose, std::move(done), std::move(attempt));
  }
  static CommittedBatch committed(std::vector<model::RunEvent> events, model::Position first);

 private:
  SqlDesk& desk_;
  SqlBags bags_;
  SqlEndpoints endpoints_;
  SqlTables tables_;
  SqlWorkflows workflows_;
};

}  // namespace sluice::store
