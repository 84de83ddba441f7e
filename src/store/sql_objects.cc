// Repositories, skills and environments in SQL.
#include "store/sql_objects.h"

#include "store/object_counts.h"
#include "store/patch.h"
#include "store/sql_rows.h"

namespace sluice::store::sql {

namespace {

// Which table has the rows, and what a person calls one.
template <typename Row>
struct Table;
template <>
struct Table<model::Repository> {
  static constexpr const char* name = "repositories";
  static constexpr std::string_view noun = "repository";
};
template <>
struct Table<model::Skill> {
  static constexpr const char* name = "skills";
  static constexpr std::string_view noun = "skill";
};
template <>
struct Table<model::Environment> {
  static constexpr const char* name = "environments";
  static constexpr std::string_view noun = "environment";
};

template <typename Row, typename AnyId>
Result<Row> row_of_tenant(Connection& db, model::TenantId tenant, AnyId id) {
  const auto sql = std::string("SELECT * FROM ") + Table<Row>::name + " WHERE id = ? AND tenant_id = ?";
  auto found = find_row<Row>(db, sql, id, tenant);
  if (!found) return no_such(Table<Row>::noun);
  return *std::move(found);
}

template <typename Row>
std::optional<Row> row_named(Connection& db, model::TenantId tenant, std::string_view name) {
  const auto sql = std::string("SELECT * FROM ") + Table<Row>::name + " WHERE tenant_id = ? AND name = ?";
  return find_row<Row>(db, sql, tenant, name);
}

// Why `row` cannot be there under its name; empty when it can.
template <typename Row>
std::optional<Error> refusal_of_name(Connection& db, const Row& row) {
  if (!has_tenant(db, row.tenant_id)) return no_such("tenant");
  const auto other = row_named<Row>(db, row.tenant_id, row.name);
  if (!other || other->id == row.id) return std::nullopt;
  return Error{ErrorKind::conflict, "the name is that of " + std::string(Table<Row>::noun) + " " + other->id.text()};
}

template <typename Row, typename AnyId>
Result<Unit> delete_row(Connection& db, model::TenantId tenant, AnyId id) {
  if (const auto found = row_of_tenant<Row>(db, tenant, id); !found) return found.error();
  execute(db, std::string("DELETE FROM ") + Table<Row>::name + " WHERE id = ?", id);
  return Unit{};
}

template <typename Names>
bool an_agent_names_it(Connection& db, model::TenantId tenant, Names names) {
  Query query(db, "SELECT * FROM agents WHERE tenant_id = ?", tenant);
  while (query.next()) {
    model::Agent agent;
    read_row(query, agent);
    if (names(agent)) return true;
  }
  return false;
}

Error named_by_agent() { return {ErrorKind::conflict, "an agent names it"}; }

}  // namespace

// ── repositories ──

Result<Unit> create_repository(Connection& db, const model::Repository& made) {
  if (auto refused = refusal_of_name(db, made)) return *std::move(refused);
  if (auto refused = refusal_of_count(db, "repositories", made.tenant_id, limits::repositories_per_tenant_max)) {
    return *std::move(refused);
  }
  execute(db, "INSERT INTO repositories VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", made.id, made.tenant_id, made.name,
          made.url, made.ref, made.depth, made.credential_alias, made.created_at, made.updated_at);
  return Unit{};
}

Result<model::Repository> update_repository(Connection& db, model::TenantId tenant, model::RepositoryId id,
                                            const RepositoryPatch& patch, Timestamp at) {
  auto found = repository(db, tenant, id);
  if (!found) return found;
  auto& changed = found.value();
  apply(patch, at, changed);
  if (auto refused = refusal_of_name(db, changed)) return *std::move(refused);
  execute(db,
          "UPDATE repositories SET name = ?, url = ?, ref = ?, depth = ?, credential_alias = ?, updated_at = ? "
          "WHERE id = ?",
          changed.name, changed.url, changed.ref, changed.depth, changed.credential_alias, changed.updated_at, id);
  return found;
}

Result<Unit> delete_repository(Connection& db, model::TenantId tenant, model::RepositoryId id) {
  return delete_row<model::Repository>(db, tenant, id);
}

Result<model::Repository> repository(Connection& db, model::TenantId tenant, model::RepositoryId id) {
  return row_of_tenant<model::Repository>(db, tenant, id);
}

Result<Page<model::Repository>> repositories(Connection& db, model::TenantId tenant,
                                             const PageQuery<model::RepositoryId>& query) {
  return page_of_tenant<model::Repository>(db, "repositories", tenant, query);
}

// ── skills ──

Result<model::Skill> put_skill(Connection& db, const model::Skill& made) {
  if (!has_tenant(db, made.tenant_id)) return no_such("tenant");
  auto former = row_named<model::Skill>(db, made.tenant_id, made.name);
  if (!former) {
    if (auto refused = refusal_of_count(db, "skills", made.tenant_id, limits::skills_per_tenant_max)) {
      return *std::move(refused);
    }
    execute(db, "INSERT INTO skills VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", made.id, made.tenant_id, made.name,
            made.description, made.sha256, made.size_bytes, made.file_count, made.created_at, made.updated_at);
    return made;
  }
  auto now = made;
  now.id = former->id;
  now.created_at = former->created_at;
  execute(db,
          "UPDATE skills SET description = ?, sha256 = ?, size_bytes = ?, file_count = ?, updated_at = ? WHERE id = ?",
          now.description, now.sha256, now.size_bytes, now.file_count, now.updated_at, now.id);
  return now;
}

Result<Unit> delete_skill(Connection& db, model::TenantId tenant, model::SkillId id) {
  const auto names = [&](const model::Agent& agent) {
    return std::find(agent.skill_ids.begin(), agent.skill_ids.end(), id) != agent.skill_ids.end();
  };
  if (an_agent_names_it(db, tenant, names)) return named_by_agent();
  return delete_row<model::Skill>(db, tenant, id);
}

Result<model::Skill> skill(Connection& db, model::TenantId tenant, model::SkillId id) {
  return row_of_tenant<model::Skill>(db, tenant, id);
}

Result<Page<model::Skill>> skills(Connection& db, model::TenantId tenant, const PageQuery<model::SkillId>& query) {
  return page_of_tenant<model::Skill>(db, "skills", tenant, query);
}

// ── environments ──

Result<Unit> create_environment(Connection& db, const model::Environment& made) {
  if (auto refused = refusal_of_name(db, made)) return *std::move(refused);
  if (auto refused = refusal_of_count(db, "environments", made.tenant_id, limits::environments_per_tenant_max)) {
    return *std::move(refused);
  }
  execute(db, "INSERT INTO environments VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", made.id, made.tenant_id, made.name,
          metadata_text(made.variables), made.script, made.created_at, made.updated_at);
  return Unit{};
}

Result<model::Environment> update_environment(Connection& db, model::TenantId tenant, model::EnvironmentId id,
                                              const EnvironmentPatch& patch, Timestamp at) {
  auto found = environment(db, tenant, id);
  if (!found) return found;
  auto& changed = found.value();
  apply(patch, at, changed);
  if (auto refused = refusal_of_name(db, changed)) return *std::move(refused);
  execute(db, "UPDATE environments SET name = ?, variables = ?, script = ?, updated_at = ? WHERE id = ?", changed.name,
          metadata_text(changed.variables), changed.script, changed.updated_at, id);
  return found;
}

Result<Unit> delete_environment(Connection& db, model::TenantId tenant, model::EnvironmentId id) {
  if (an_agent_names_it(db, tenant, [&](const model::Agent& agent) { return agent.environment_id == id; })) {
    return named_by_agent();
  }
  return delete_row<model::Environment>(db, tenant, id);
}

Result<model::Environment> environment(Connection& db, model::TenantId tenant, model::EnvironmentId id) {
  return row_of_tenant<model::Environment>(db, tenant, id);
}

Result<Page<model::Environment>> environments(Connection& db, model::TenantId tenant,
                                              const PageQuery<model::EnvironmentId>& query) {
  return page_of_tenant<model::Environment>(db, "environments", tenant, query);
}

// ── all of them at once ──

Result<FoundMaterials> materials(Connection& db, model::TenantId tenant, const MaterialNames& names) {
  FoundMaterials found;
  const auto by_id = [&]<typename Row>(const std::string& text, std::type_identity<Row>) -> std::optional<Row> {
    const auto id = decltype(Row::id)::parse(text);
    if (!id) return std::nullopt;
    auto row = row_of_tenant<Row>(db, tenant, *id);
    if (!row) return std::nullopt;
    return std::move(row).take();
  };
  if (names.repository) {
    found.repository = by_id(*names.repository, std::type_identity<model::Repository>());
    if (!found.repository) found.missing.push_back(*names.repository);
  }
  for (const auto& name : names.skills) {
    if (auto skill = by_id(name, std::type_identity<model::Skill>())) {
      found.skills.push_back(*std::move(skill));
    } else {
      found.missing.push_back(name);
    }
  }
  if (names.environment) {
    found.environment = by_id(*names.environment, std::type_identity<model::Environment>());
    if (!found.environment) found.environment = row_named<model::Environment>(db, tenant, *names.environment);
    if (!found.environment) found.missing.push_back(*names.environment);
  }
  return found;
}

}  // namespace sluice::store::sql
