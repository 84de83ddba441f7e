// What agents are given, what they hand back, and one-time tokens. Part of the store's door: the
// errors, the threads and the transactions are those of store/store.h. All writes are boundaries.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
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

// What a run names, each by its id as text; the environment also by its name.
struct MaterialNames {
  std::optional<std::string> repository;
  std::vector<std::string> skills;
  std::optional<std::string> environment;
};
// What of it there is. What is missing for this tenant is named, so that a person can be told.
struct FoundMaterials {
  std::optional<model::Repository> repository;
  std::vector<model::Skill> skills;  // in the order asked for
  std::optional<model::Environment> environment;
  std::vector<std::string> missing;
};

// A token was good, and is spent.
struct Redeemed {
  model::Execution execution;
};

class Objects {
 public:
  template <typename T>
  using Answer = Callback<void(Result<T>)>;

  virtual ~Objects() = default;

  // Names are unique within a tenant, for each kind of thing: `conflict`. Lists: oldest first.
  virtual void create_repository(model::Repository made, Answer<Unit> done) = 0;
  virtual void update_repository(model::TenantId tenant, model::RepositoryId id, RepositoryPatch patch, Timestamp at,
                                 Answer<model::Repository> done) = 0;
  virtual void delete_repository(model::TenantId tenant, model::RepositoryId id, Answer<Unit> done) = 0;
  virtual void repository(model::TenantId tenant, model::RepositoryId id, Answer<model::Repository> done) = 0;
  virtual void repositories(model::TenantId tenant, PageQuery<model::RepositoryId> query,
                            Answer<Page<model::Repository>> done) = 0;

  // A skill of a name that is taken is replaced by put_skill (its id and created_at stay): a new
  // version. Gives the skill as it is now.
  virtual void put_skill(model::Skill made, Answer<model::Skill> done) = 0;
  // `conflict` while an agent names it; so for environments.
  virtual void delete_skill(model::TenantId tenant, model::SkillId id, Answer<Unit> done) = 0;
  virtual void skill(model::TenantId tenant, model::SkillId id, Answer<model::Skill> done) = 0;
  virtual void skills(model::TenantId tenant, PageQuery<model::SkillId> query, Answer<Page<model::Skill>> done) = 0;

  virtual void create_environment(model::Environment made, Answer<Unit> done) = 0;
  virtual void update_environment(model::TenantId tenant, model::EnvironmentId id, EnvironmentPatch patch, Timestamp at,
                                  Answer<model::Environment> done) = 0;
  virtual void delete_environment(model::TenantId tenant, model::EnvironmentId id, Answer<Unit> done) = 0;
  virtual void environment(model::TenantId tenant, model::EnvironmentId id, Answer<model::Environment> done) = 0;
  virtual void environments(model::TenantId tenant, PageQuery<model::EnvironmentId> query,
                            Answer<Page<model::Environment>> done) = 0;

  virtual void materials(model::TenantId tenant, MaterialNames names, Answer<FoundMaterials> done) = 0;

  // ── executions and their tokens (S-3) ──
  virtual void create_execution(model::Execution made, std::string bearer_sha256,
                                std::vector<model::OneTimeToken> tokens, Answer<Unit> done) = 0;
  // Exactly one of any number of redeemers wins; the others, and whoever comes with a token that is
  // expired, of another execution, of another purpose, or of a run that was cancelled, get `denied`.
  virtual void redeem(model::ExecutionId execution, model::TokenPurpose purpose, std::string token_sha256,
                      Timestamp now, Answer<Redeemed> done) = 0;
  // What redeem would say now, and nothing is spent: `denied` as there. A yes is no promise, because somebody else may
  // redeem it in between.
  virtual void check_token(model::ExecutionId execution, model::TokenPurpose purpose, std::string token_sha256,
                           Timestamp now, Answer<Unit> done) = 0;
  // By the asbx_ bearer, which is good until the execution expires. `denied` when it is not.
  virtual void execution_of_bearer(std::string bearer_sha256, Timestamp now, Answer<model::Execution> done) = 0;

  // ── files that runs handed back ──
  // All or none, and once, however often they are made just like that. Those of a chat's run come into the chat's bag
  // with it, under the same ids. `denied` when the run was cancelled, also while its work is still being stopped.
  virtual void create_files(std::vector<model::RunFile> made, Answer<Unit> done) = 0;
  virtual void file(model::TenantId tenant, model::FileId id, Answer<model::RunFile> done) = 0;
  virtual void files_of_run(model::TenantId tenant, model::RunId run, Answer<std::vector<model::RunFile>> done) = 0;
  virtual void files_of_execution(model::TenantId tenant, model::ExecutionId execution,
                                  Answer<std::vector<model::RunFile>> done) = 0;
};

}  // namespace sluice::store
