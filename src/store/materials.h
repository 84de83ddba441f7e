// What agents are given: repositories, skills and environments. Part of the store's public header: the
// errors, the threads and the transactions are those of journal/journal.h. All writes are boundaries.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "store/questions.h"

namespace sluice::store {

struct RepositoryPatch {
  std::optional<std::string> name;
  std::optional<std::string> url;
  std::optional<std::string> ref;
  std::optional<int64_t> depth;
  std::optional<std::optional<std::string>> credential_alias;
};

struct EnvironmentPatch {
  std::optional<std::string> name;
  std::optional<std::map<std::string, std::string>> variables;
  std::optional<std::string> script;
};

// Names are unique within a tenant, for each kind of thing: `conflict`. Lists: oldest first.
void create_repository(Database& database, model::Repository made, Done<Unit> done);
void update_repository(Database& database, model::TenantId tenant, model::RepositoryId id, RepositoryPatch patch,
                       Timestamp at, Done<model::Repository> done);
void delete_repository(Database& database, model::TenantId tenant, model::RepositoryId id, Done<Unit> done);
void repository(Database& database, model::TenantId tenant, model::RepositoryId id, Done<model::Repository> done);
void repositories(Database& database, model::TenantId tenant, PageQuery<model::RepositoryId> query,
                  Done<Page<model::Repository>> done);

// A skill of a name that is taken is replaced by put_skill (its id and created_at stay): a new
// version. Gives the skill as it is now.
void put_skill(Database& database, model::Skill made, Done<model::Skill> done);
// `conflict` while an agent names it; so for environments.
void delete_skill(Database& database, model::TenantId tenant, model::SkillId id, Done<Unit> done);
void skill(Database& database, model::TenantId tenant, model::SkillId id, Done<model::Skill> done);
void skills(Database& database, model::TenantId tenant, PageQuery<model::SkillId> query, Done<Page<model::Skill>> done);

void create_environment(Database& database, model::Environment made, Done<Unit> done);
void update_environment(Database& database, model::TenantId tenant, model::EnvironmentId id, EnvironmentPatch patch,
                        Timestamp at, Done<model::Environment> done);
void delete_environment(Database& database, model::TenantId tenant, model::EnvironmentId id, Done<Unit> done);
void environment(Database& database, model::TenantId tenant, model::EnvironmentId id, Done<model::Environment> done);
void environments(Database& database, model::TenantId tenant, PageQuery<model::EnvironmentId> query,
                  Done<Page<model::Environment>> done);

void materials(Database& database, model::TenantId tenant, MaterialNames names, Done<FoundMaterials> done);

}  // namespace sluice::store
