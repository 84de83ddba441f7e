// Repositories, skills, environments, executions, tokens and files in SQL. Each function is one
// operation of the store, inside a transaction of its caller's; guards come before writes.
#pragma once

#include "store/sql_connection.h"
#include "store/store.h"

namespace sluice::store::sql {

Result<Unit> create_repository(Connection& db, const model::Repository& made);
Result<model::Repository> update_repository(Connection& db, model::TenantId tenant, model::RepositoryId id,
                                            const RepositoryPatch& patch, Timestamp at);
Result<Unit> delete_repository(Connection& db, model::TenantId tenant, model::RepositoryId id);
Result<model::Repository> repository(Connection& db, model::TenantId tenant, model::RepositoryId id);
Result<Page<model::Repository>> repositories(Connection& db, model::TenantId tenant,
                                             const PageQuery<model::RepositoryId>& query);

Result<model::Skill> put_skill(Connection& db, const model::Skill& made);
Result<Unit> delete_skill(Connection& db, model::TenantId tenant, model::SkillId id);
Result<model::Skill> skill(Connection& db, model::TenantId tenant, model::SkillId id);
Result<Page<model::Skill>> skills(Connection& db, model::TenantId tenant, const PageQuery<model::SkillId>& query);

Result<Unit> create_environment(Connection& db, const model::Environment& made);
Result<model::Environment> update_environment(Connection& db, model::TenantId tenant, model::EnvironmentId id,
                                              const EnvironmentPatch& patch, Timestamp at);
Result<Unit> delete_environment(Connection& db, model::TenantId tenant, model::EnvironmentId id);
Result<model::Environment> environment(Connection& db, model::TenantId tenant, model::EnvironmentId id);
Result<Page<model::Environment>> environments(Connection& db, model::TenantId tenant,
                                              const PageQuery<model::EnvironmentId>& query);

Result<FoundMaterials> materials(Connection& db, model::TenantId tenant, const MaterialNames& names);

Result<Unit> create_execution(Connection& db, const model::Execution& made, const std::string& bearer_sha256,
                              const std::vector<model::OneTimeToken>& tokens);
Result<Redeemed> redeem(Connection& db, model::ExecutionId execution, model::TokenPurpose purpose,
                        const std::string& token_sha256, Timestamp now);
Result<Unit> check_token(Connection& db, model::ExecutionId execution, model::TokenPurpose purpose,
                         const std::string& token_sha256, Timestamp now);
Result<model::Execution> execution_of_bearer(Connection& db, const std::string& bearer_sha256, Timestamp now);
// Those that expired before, a bounded number of them, and their tokens.
int drop_executions(Connection& db, Timestamp expired_before, int limit);

Result<Unit> create_files(Connection& db, const std::vector<model::RunFile>& made);
Result<model::RunFile> file(Connection& db, model::TenantId tenant, model::FileId id);
Result<std::vector<model::RunFile>> files_of_run(Connection& db, model::TenantId tenant, model::RunId run);
Result<std::vector<model::RunFile>> files_of_execution(Connection& db, model::TenantId tenant,
                                                       model::ExecutionId execution);

}  // namespace sluice::store::sql
