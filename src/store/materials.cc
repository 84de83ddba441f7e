#include "store/materials.h"

#include "store/database.h"
#include "store/object_counts.h"
#include "store/patch.h"
#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store {

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

void create_repository(Database& database, model::Repository made, Done<Unit> done) {
  const auto whose = made.tenant_id;
  database.write(whose, std::move(done), [made = std::move(made)](Connection& db) -> Result<Unit> {
    if (auto refused = refusal_of_name(db, made)) return *std::move(refused);
    if (auto refused = refusal_of_count(db, "repositories", made.tenant_id, limits::repositories_per_tenant_max)) {
      return *std::move(refused);
    }
    execute(db, "INSERT INTO repositories VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", made.id, made.tenant_id, made.name,
            made.url, made.ref, made.depth, made.credential_alias, made.created_at, made.updated_at);
    return Unit{};
  });
}

void update_repository(Database& database, model::TenantId tenant, model::RepositoryId id, RepositoryPatch patch,
                       Timestamp at, Done<model::Repository> done) {
  database.write(
      tenant, std::move(done), [tenant, id, patch = std::move(patch), at](Connection& db) -> Result<model::Repository> {
        auto found = sql::repository(db, tenant, id);
        if (!found) return found;
        auto& changed = found.value();
        apply(patch, at, changed);
        if (auto refused = refusal_of_name(db, changed)) return *std::move(refused);
        execute(db,
                "UPDATE repositories SET name = ?, url = ?, ref = ?, depth = ?, credential_alias = ?, updated_at = ? "
                "WHERE id = ?",
                changed.name, changed.url, changed.ref, changed.depth, changed.credential_alias, changed.updated_at,
                id);
        return found;
      });
}

void delete_repository(Database& database, model::TenantId tenant, model::RepositoryId id, Done<Unit> done) {
  database.write(tenant, std::move(done), [tenant, id](Connection& db) -> Result<Unit> {
    return delete_row<model::Repository>(db, tenant, id);
  });
}

Result<model::Repository> sql::repository(Connection& db, model::TenantId tenant, model::RepositoryId id) {
  return row_of_tenant<model::Repository>(db, tenant, id);
}

void repository(Database& database, model::TenantId tenant, model::RepositoryId id, Done<model::Repository> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::repository(db, tenant, id); });
}

void repositories(Database& database, model::TenantId tenant, PageQuery<model::RepositoryId> query,
                  Done<Page<model::Repository>> done) {
  database.read(tenant, std::move(done), [tenant, query](Connection& db) -> Result<Page<model::Repository>> {
    return page_of_tenant<model::Repository>(db, "repositories", tenant, query);
  });
}

// ── skills ──

void put_skill(Database& database, model::Skill made, Done<model::Skill> done) {
  const auto whose = made.tenant_id;
  database.write(whose, std::move(done), [made = std::move(made)](Connection& db) -> Result<model::Skill> {
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
    execute(
        db,
        "UPDATE skills SET description = ?, sha256 = ?, size_bytes = ?, file_count = ?, updated_at = ? WHERE id = ?",
        now.description, now.sha256, now.size_bytes, now.file_count, now.updated_at, now.id);
    return now;
  });
}

void delete_skill(Database& database, model::TenantId tenant, model::SkillId id, Done<Unit> done) {
  database.write(tenant, std::move(done), [tenant, id](Connection& db) -> Result<Unit> {
    const auto names = [&](const model::Agent& agent) {
      return std::find(agent.skill_ids.begin(), agent.skill_ids.end(), id) != agent.skill_ids.end();
    };
    if (an_agent_names_it(db, tenant, names)) return named_by_agent();
    return delete_row<model::Skill>(db, tenant, id);
  });
}

void skill(Database& database, model::TenantId tenant, model::SkillId id, Done<model::Skill> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) -> Result<model::Skill> {
    return row_of_tenant<model::Skill>(db, tenant, id);
  });
}

void skills(Database& database, model::TenantId tenant, PageQuery<model::SkillId> query,
            Done<Page<model::Skill>> done) {
  database.read(tenant, std::move(done), [tenant, query](Connection& db) -> Result<Page<model::Skill>> {
    return page_of_tenant<model::Skill>(db, "skills", tenant, query);
  });
}

// ── environments ──

void create_environment(Database& database, model::Environment made, Done<Unit> done) {
  const auto whose = made.tenant_id;
  database.write(whose, std::move(done), [made = std::move(made)](Connection& db) -> Result<Unit> {
    if (auto refused = refusal_of_name(db, made)) return *std::move(refused);
    if (auto refused = refusal_of_count(db, "environments", made.tenant_id, limits::environments_per_tenant_max)) {
      return *std::move(refused);
    }
    execute(db, "INSERT INTO environments VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", made.id, made.tenant_id, made.name,
            metadata_text(made.variables), made.script, made.created_at, made.updated_at);
    return Unit{};
  });
}

void update_environment(Database& database, model::TenantId tenant, model::EnvironmentId id, EnvironmentPatch patch,
                        Timestamp at, Done<model::Environment> done) {
  database.write(tenant, std::move(done),
                 [tenant, id, patch = std::move(patch), at](Connection& db) -> Result<model::Environment> {
                   auto found = sql::environment(db, tenant, id);
                   if (!found) return found;
                   auto& changed = found.value();
                   apply(patch, at, changed);
                   if (auto refused = refusal_of_name(db, changed)) return *std::move(refused);
                   execute(db,
                           "UPDATE environments SET name = ?, variables = ?, script = ?, updated_at = ? WHERE id = ?",
                           changed.name, metadata_text(changed.variables), changed.script, changed.updated_at, id);
                   return found;
                 });
}

void delete_environment(Database& database, model::TenantId tenant, model::EnvironmentId id, Done<Unit> done) {
  database.write(tenant, std::move(done), [tenant, id](Connection& db) -> Result<Unit> {
    if (an_agent_names_it(db, tenant, [&](const model::Agent& agent) { return agent.environment_id == id; })) {
      return named_by_agent();
    }
    return delete_row<model::Environment>(db, tenant, id);
  });
}

Result<model::Environment> sql::environment(Connection& db, model::TenantId tenant, model::EnvironmentId id) {
  return row_of_tenant<model::Environment>(db, tenant, id);
}

void environment(Database& database, model::TenantId tenant, model::EnvironmentId id, Done<model::Environment> done) {
  database.read(tenant, std::move(done), [tenant, id](Connection& db) { return sql::environment(db, tenant, id); });
}

void environments(Database& database, model::TenantId tenant, PageQuery<model::EnvironmentId> query,
                  Done<Page<model::Environment>> done) {
  database.read(tenant, std::move(done), [tenant, query](Connection& db) -> Result<Page<model::Environment>> {
    return page_of_tenant<model::Environment>(db, "environments", tenant, query);
  });
}

// ── all of them at once ──

FoundMaterials sql::materials(Connection& db, model::TenantId tenant, const MaterialNames& names) {
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

void materials(Database& database, model::TenantId tenant, MaterialNames names, Done<FoundMaterials> done) {
  database.read(tenant, std::move(done), [tenant, names = std::move(names)](Connection& db) -> Result<FoundMaterials> {
    return sql::materials(db, tenant, names);
  });
}

}  // namespace sluice::store
