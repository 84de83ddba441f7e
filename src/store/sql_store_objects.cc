// How a SqlStore does what store/objects.h asks for: each operation on its thread.
#include "store/sql_objects.h"

#include "store/sql_store.h"

namespace sluice::store {

void SqlStore::create_repository(model::Repository made, Done<Unit> done) {
  const auto whose = made.tenant_id;
  write(whose, std::move(done), [made = std::move(made)](Connection& db) { return sql::create_repository(db, made); });
}

void SqlStore::update_repository(model::TenantId tenant, model::RepositoryId id, RepositoryPatch patch, Timestamp at,
                                 Done<model::Repository> done) {
  write(tenant, std::move(done), [tenant, id, patch = std::move(patch), at](Connection& db) {
    return sql::update_repository(db, tenant, id, patch, at);
  });
}

void SqlStore::delete_repository(model::TenantId tenant, model::RepositoryId id, Done<Unit> done) {
  write(tenant, std::move(done), [tenant, id](Connection& db) { return sql::delete_repository(db, tenant, id); });
}

void SqlStore::repository(model::TenantId tenant, model::RepositoryId id, Done<model::Repository> done) {
  read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::repository(db, tenant, id); });
}

void SqlStore::repositories(model::TenantId tenant, PageQuery<model::RepositoryId> query,
                            Done<Page<model::Repository>> done) {
  read(tenant, std::move(done), [tenant, query](Connection& db) { return sql::repositories(db, tenant, query); });
}

void SqlStore::put_skill(model::Skill made, Done<model::Skill> done) {
  const auto whose = made.tenant_id;
  write(whose, std::move(done), [made = std::move(made)](Connection& db) { return sql::put_skill(db, made); });
}

void SqlStore::delete_skill(model::TenantId tenant, model::SkillId id, Done<Unit> done) {
  write(tenant, std::move(done), [tenant, id](Connection& db) { return sql::delete_skill(db, tenant, id); });
}

void SqlStore::skill(model::TenantId tenant, model::SkillId id, Done<model::Skill> done) {
  read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::skill(db, tenant, id); });
}

void SqlStore::skills(model::TenantId tenant, PageQuery<model::SkillId> query, Done<Page<model::Skill>> done) {
  read(tenant, std::move(done), [tenant, query](Connection& db) { return sql::skills(db, tenant, query); });
}

void SqlStore::create_environment(model::Environment made, Done<Unit> done) {
  const auto whose = made.tenant_id;
  write(whose, std::move(done), [made = std::move(made)](Connection& db) { return sql::create_environment(db, made); });
}

void SqlStore::update_environment(model::TenantId tenant, model::EnvironmentId id, EnvironmentPatch patch, Timestamp at,
                                  Done<model::Environment> done) {
  write(tenant, std::move(done), [tenant, id, patch = std::move(patch), at](Connection& db) {
    return sql::update_environment(db, tenant, id, patch, at);
  });
}

void SqlStore::delete_environment(model::TenantId tenant, model::EnvironmentId id, Done<Unit> done) {
  write(tenant, std::move(done), [tenant, id](Connection& db) { return sql::delete_environment(db, tenant, id); });
}

void SqlStore::environment(model::TenantId tenant, model::EnvironmentId id, Done<model::Environment> done) {
  read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::environment(db, tenant, id); });
}

void SqlStore::environments(model::TenantId tenant, PageQuery<model::EnvironmentId> query,
                            Done<Page<model::Environment>> done) {
  read(tenant, std::move(done), [tenant, query](Connection& db) { return sql::environments(db, tenant, query); });
}

void SqlStore::materials(model::TenantId tenant, MaterialNames names, Done<FoundMaterials> done) {
  read(tenant, std::move(done),
       [tenant, names = std::move(names)](Connection& db) { return sql::materials(db, tenant, names); });
}

void SqlStore::create_execution(model::Execution made, std::string bearer_sha256,
                                std::vector<model::OneTimeToken> tokens, Done<Unit> done) {
  const auto whose = made.tenant_id;
  write(whose, std::move(done),
        [made = std::move(made), bearer_sha256 = std::move(bearer_sha256), tokens = std::move(tokens)](Connection& db) {
          return sql::create_execution(db, made, bearer_sha256, tokens);
        });
}

void SqlStore::redeem(model::ExecutionId execution, model::TokenPurpose purpose, std::string token_sha256,
                      Timestamp now, Done<Redeemed> done) {
  write(execution, std::move(done), [execution, purpose, token_sha256 = std::move(token_sha256), now](Connection& db) {
    return sql::redeem(db, execution, purpose, token_sha256, now);
  });
}

void SqlStore::check_token(model::ExecutionId execution, model::TokenPurpose purpose, std::string token_sha256,
                           Timestamp now, Done<Unit> done) {
  read(std::move(done), [execution, purpose, token_sha256 = std::move(token_sha256), now](Connection& db) {
    return sql::check_token(db, execution, purpose, token_sha256, now);
  });
}

void SqlStore::execution_of_bearer(std::string bearer_sha256, Timestamp now, Done<model::Execution> done) {
  read(std::move(done), [bearer_sha256 = std::move(bearer_sha256), now](Connection& db) {
    return sql::execution_of_bearer(db, bearer_sha256, now);
  });
}

void SqlStore::create_files(std::vector<model::RunFile> made, Done<Unit> done) {
  const auto whose = made.empty() ? model::TenantId{} : made.front().tenant_id;
  write(whose, std::move(done), [made = std::move(made)](Connection& db) { return sql::create_files(db, made); });
}

void SqlStore::file(model::TenantId tenant, model::FileId id, Done<model::RunFile> done) {
  read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::file(db, tenant, id); });
}

void SqlStore::files_of_run(model::TenantId tenant, model::RunId run, Done<std::vector<model::RunFile>> done) {
  read(tenant, std::move(done), [tenant, run](Connection& db) { return sql::files_of_run(db, tenant, run); });
}

void SqlStore::files_of_execution(model::TenantId tenant, model::ExecutionId execution,
                                  Done<std::vector<model::RunFile>> done) {
  read(tenant, std::move(done),
       [tenant, execution](Connection& db) { return sql::files_of_execution(db, tenant, execution); });
}

}  // namespace sluice::store
