// What agents are given, what they hand back, and one-time tokens, in memory.
#include "model/cancelled.h"
#include "store/memory_answer.h"
#include "store/memory_store.h"
#include "store/patch.h"

namespace sluice::store {

namespace {

Error taken(const std::string& id) { return {ErrorKind::conflict, "the name is that of " + id}; }
Error bad_token() { return {ErrorKind::denied, "the token is not good, or not any more"}; }
Error named_by_agent() { return {ErrorKind::conflict, "an agent names it"}; }

// The row of this tenant with this name.
template <typename AnyTable>
auto* row_named(AnyTable& table, model::TenantId tenant, std::string_view name) {
  decltype(&table.begin()->second) found = nullptr;
  for (auto& [number, row] : table) {
    if (row.tenant_id == tenant && row.name == name) found = &row;
  }
  return found;
}

template <typename AnyTable, typename AnyId>
auto* row_of(AnyTable& table, model::TenantId tenant, AnyId id) {
  auto* row = table.find(id);
  return row == nullptr || row->tenant_id != tenant ? nullptr : row;
}

}  // namespace

template <typename Row, typename AnyTable>
void MemoryStore::create_row(AnyTable& table, Row made, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    if (disk_.tenants_.find(made.tenant_id) == nullptr) return no_such("tenant");
    if (const auto* other = row_named(table, made.tenant_id, made.name)) return taken(other->id.text());
    if (!table.add(made.id, made)) return Error{ErrorKind::conflict, "there is such an object already"};
    return Unit{};
  });
}

template <typename Row, typename AnyTable, typename AnyId, typename Patch>
void MemoryStore::update_row(AnyTable& table, model::TenantId tenant, AnyId id, const Patch& patch, Timestamp at,
                             Done<Row> done) {
  write(std::move(done), [&]() -> Result<Row> {
    auto* row = row_of(table, tenant, id);
    if (row == nullptr) return no_such("object");
    if (patch.name) {
      if (const auto* other = row_named(table, tenant, *patch.name); other != nullptr && other->id != id) {
        return taken(other->id.text());
      }
    }
    apply(patch, at, *row);
    return *row;
  });
}

template <typename Row, typename AnyTable, typename AnyId>
void MemoryStore::read_row(AnyTable& table, model::TenantId tenant, AnyId id, Done<Row> done) {
  const auto* row = row_of(table, tenant, id);
  answer<Row>(row == nullptr ? Result<Row>(no_such("object")) : *row, std::move(done));
}

template <typename Row, typename AnyTable, typename AnyId>
void MemoryStore::list_rows(AnyTable& table, model::TenantId tenant, const PageQuery<AnyId>& query,
                            Done<Page<Row>> done) {
  if (disk_.tenants_.find(tenant) == nullptr) return answer<Page<Row>>(no_such("tenant"), std::move(done));
  answer(cut_page(rows_of<Row>(table, tenant), query, id_of, all), std::move(done));
}

template <typename Names>
bool MemoryStore::an_agent_names_it(model::TenantId tenant, Names names) {
  const auto agents = rows_of<model::Agent>(disk_.agents_, tenant);
  return std::any_of(agents.begin(), agents.end(), names);
}

// ── repositories ──

void MemoryStore::create_repository(model::Repository made, Done<Unit> done) {
  create_row(disk_.repositories_, std::move(made), std::move(done));
}

void MemoryStore::update_repository(model::TenantId tenant, model::RepositoryId id, RepositoryPatch patch, Timestamp at,
                                    Done<model::Repository> done) {
  update_row(disk_.repositories_, tenant, id, patch, at, std::move(done));
}

void MemoryStore::delete_repository(model::TenantId tenant, model::RepositoryId id, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    if (row_of(disk_.repositories_, tenant, id) == nullptr) return no_such("repository");
    disk_.repositories_.remove(id);
    return Unit{};
  });
}

void MemoryStore::repository(model::TenantId tenant, model::RepositoryId id, Done<model::Repository> done) {
  read_row(disk_.repositories_, tenant, id, std::move(done));
}

void MemoryStore::repositories(model::TenantId tenant, PageQuery<model::RepositoryId> query,
                               Done<Page<model::Repository>> done) {
  list_rows(disk_.repositories_, tenant, query, std::move(done));
}

// ── skills ──

void MemoryStore::put_skill(model::Skill made, Done<model::Skill> done) {
  write(std::move(done), [&]() -> Result<model::Skill> {
    if (disk_.tenants_.find(made.tenant_id) == nullptr) return no_such("tenant");
    auto* former = row_named(disk_.skills_, made.tenant_id, made.name);
    if (former == nullptr) {
      disk_.skills_.add(made.id, made);
      return made;
    }
    made.id = former->id;
    made.created_at = former->created_at;
    *former = made;
    return made;
  });
}

void MemoryStore::delete_skill(model::TenantId tenant, model::SkillId id, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    const auto names = [&](const model::Agent& agent) {
      return std::find(agent.skill_ids.begin(), agent.skill_ids.end(), id) != agent.skill_ids.end();
    };
    if (row_of(disk_.skills_, tenant, id) == nullptr) return no_such("skill");
    if (an_agent_names_it(tenant, names)) return named_by_agent();
    disk_.skills_.remove(id);
    return Unit{};
  });
}

void MemoryStore::skill(model::TenantId tenant, model::SkillId id, Done<model::Skill> done) {
  read_row(disk_.skills_, tenant, id, std::move(done));
}

void MemoryStore::skills(model::TenantId tenant, PageQuery<model::SkillId> query, Done<Page<model::Skill>> done) {
  list_rows(disk_.skills_, tenant, query, std::move(done));
}

// ── environments ──

void MemoryStore::create_environment(model::Environment made, Done<Unit> done) {
  create_row(disk_.environments_, std::move(made), std::move(done));
}

void MemoryStore::update_environment(model::TenantId tenant, model::EnvironmentId id, EnvironmentPatch patch,
                                     Timestamp at, Done<model::Environment> done) {
  update_row(disk_.environments_, tenant, id, patch, at, std::move(done));
}

void MemoryStore::delete_environment(model::TenantId tenant, model::EnvironmentId id, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    const auto names = [&](const model::Agent& agent) { return agent.environment_id == id; };
    if (row_of(disk_.environments_, tenant, id) == nullptr) return no_such("environment");
    if (an_agent_names_it(tenant, names)) return named_by_agent();
    disk_.environments_.remove(id);
    return Unit{};
  });
}

void MemoryStore::environment(model::TenantId tenant, model::EnvironmentId id, Done<model::Environment> done) {
  read_row(disk_.environments_, tenant, id, std::move(done));
}

void MemoryStore::environments(model::TenantId tenant, PageQuery<model::EnvironmentId> query,
                               Done<Page<model::Environment>> done) {
  list_rows(disk_.environments_, tenant, query, std::move(done));
}

// ── all of them at once ──

void MemoryStore::materials(model::TenantId tenant, MaterialNames names, Done<FoundMaterials> done) {
  FoundMaterials found;
  const auto by_id = [&](auto& table, const std::string& text, auto take) {
    const auto id = decltype(table.begin()->second.id)::parse(text);
    const auto* row = id ? row_of(table, tenant, *id) : nullptr;
    if (row != nullptr) take(*row);
    return row != nullptr;
  };
  if (names.repository) {
    const auto take = [&](const auto& row) { found.repository = row; };
    if (!by_id(disk_.repositories_, *names.repository, take)) found.missing.push_back(*names.repository);
  }
  for (const auto& name : names.skills) {
    const auto take = [&](const auto& row) { found.skills.push_back(row); };
    if (!by_id(disk_.skills_, name, take)) found.missing.push_back(name);
  }
  if (names.environment) {
    const auto take = [&](const auto& row) { found.environment = row; };
    if (!by_id(disk_.environments_, *names.environment, take)) {
      const auto* named = row_named(disk_.environments_, tenant, *names.environment);
      named != nullptr ? take(*named) : found.missing.push_back(*names.environment);
    }
  }
  answer<FoundMaterials>(std::move(found), std::move(done));
}

// ── executions and their tokens ──

void MemoryStore::create_execution(model::Execution made, std::string bearer_sha256,
                                   std::vector<model::OneTimeToken> tokens, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    if (disk_.tenants_.find(made.tenant_id) == nullptr) return no_such("tenant");
    if (!disk_.executions_.add(made.id, made)) {
      return Error{ErrorKind::conflict, "there is such an execution already"};
    }
    disk_.bearers_.emplace(bearer_sha256, made.id);
    for (const auto& token : tokens) disk_.tokens_.emplace(token.sha256, MemoryDisk::TokenRow{token, made.id});
    return Unit{};
  });
}

void MemoryStore::redeem(model::ExecutionId execution, model::TokenPurpose purpose, std::string token_sha256,
                         Timestamp now, Done<Redeemed> done) {
  write(std::move(done), [&]() -> Result<Redeemed> {
    auto* token = good_token(execution, purpose, token_sha256, now);
    if (token == nullptr) return bad_token();
    token->redeemed = true;
    return Redeemed{*disk_.executions_.find(execution)};
  });
}

void MemoryStore::check_token(model::ExecutionId execution, model::TokenPurpose purpose, std::string token_sha256,
                              Timestamp now, Done<Unit> done) {
  const bool is_good = good_token(execution, purpose, token_sha256, now) != nullptr;
  answer<Unit>(is_good ? Result<Unit>(Unit{}) : bad_token(), std::move(done));
}

bool MemoryStore::is_cancelled(const std::optional<model::RunId>& id) {
  const auto* row = id ? disk_.runs_.find(*id) : nullptr;
  return row != nullptr && model::is_cancelled(row->run.state);
}

MemoryDisk::TokenRow* MemoryStore::good_token(model::ExecutionId execution, model::TokenPurpose purpose,
                                              const std::string& token_sha256, Timestamp now) {
  const auto found = disk_.tokens_.find(token_sha256);
  const auto* row = disk_.executions_.find(execution);
  if (found == disk_.tokens_.end() || row == nullptr || is_cancelled(row->run_id)) return nullptr;
  auto& held = found->second;
  const bool is_good = !held.redeemed && held.execution == execution && held.token.purpose == purpose &&
                       held.token.expires_at.ms > now.ms;
  return is_good ? &held : nullptr;
}

void MemoryStore::execution_of_bearer(std::string bearer_sha256, Timestamp now, Done<model::Execution> done) {
  const auto bearer = disk_.bearers_.find(bearer_sha256);
  const auto* row = bearer == disk_.bearers_.end() ? nullptr : disk_.executions_.find(bearer->second);
  if (row != nullptr && row->expires_at.ms > now.ms) return answer<model::Execution>(*row, std::move(done));
  answer<model::Execution>(Error{ErrorKind::denied, "the bearer is not good, or not any more"}, std::move(done));
}

void MemoryStore::drop_executions(Timestamp expired_before) {
  std::vector<model::ExecutionId> expired;
  for (auto& [number, row] : disk_.executions_) {
    if (row.expires_at.ms <= expired_before.ms) expired.push_back(row.id);
  }
  for (const auto& id : expired) {
    disk_.executions_.remove(id);
    std::erase_if(disk_.bearers_, [&](const auto& bearer) { return bearer.second == id; });
    std::erase_if(disk_.tokens_, [&](const auto& token) { return token.second.execution == id; });
  }
}

// ── files that runs handed back ──

void MemoryStore::create_files(std::vector<model::RunFile> made, Done<Unit> done) {
  write(std::move(done), [&]() -> Result<Unit> {
    for (const auto& file : made) {
      if (disk_.tenants_.find(file.tenant_id) == nullptr) return no_such("tenant");
      if (disk_.files_.find(file.id) != nullptr) return Error{ErrorKind::conflict, "there is such a file already"};
      if (is_cancelled(file.run_id)) {
        return Error{ErrorKind::denied, "the run was cancelled, and its files are not kept"};
      }
    }
    for (const auto& file : made) {
      disk_.files_.add(file.id, file);
      bags_.keep(file);
    }
    return Unit{};
  });
}

void MemoryStore::file(model::TenantId tenant, model::FileId id, Done<model::RunFile> done) {
  read_row(disk_.files_, tenant, id, std::move(done));
}

void MemoryStore::files_of_run(model::TenantId tenant, model::RunId run, Done<std::vector<model::RunFile>> done) {
  const auto* row = disk_.runs_.find(run);
  if (row == nullptr || row->run.tenant_id != tenant) {
    return answer<std::vector<model::RunFile>>(no_such("run"), std::move(done));
  }
  auto files = rows_of<model::RunFile>(disk_.files_, tenant);
  std::erase_if(files, [&](const auto& file) { return file.run_id != run; });
  answer<std::vector<model::RunFile>>(std::move(files), std::move(done));
}

void MemoryStore::files_of_execution(model::TenantId tenant, model::ExecutionId execution,
                                     Done<std::vector<model::RunFile>> done) {
  auto files = rows_of<model::RunFile>(disk_.files_, tenant);
  std::erase_if(files, [&](const auto& file) { return file.execution_id != execution; });
  if (files.empty() && row_of(disk_.executions_, tenant, execution) == nullptr) {
    return answer<std::vector<model::RunFile>>(no_such("execution"), std::move(done));
  }
  answer<std::vector<model::RunFile>>(std::move(files), std::move(done));
}

}  // namespace sluice::store
